//! Prints the model's text, block by block, as it arrives.

use std::io;

use weir_transcript::{Change, Entry, EntryBody, EntryId, TextEntry, View, is_same_message};
use weir_wire::ApiMessageId;

/// The destination of text.
pub(crate) trait TextSink {
    /// A block begins.
    fn block_began(&mut self, is_first: bool) -> io::Result<()>;

    /// More text of the block.
    fn piece(&mut self, text: &str) -> io::Result<()>;

    /// A block ends. `ends_in_line` says whether its last line is incomplete.
    fn block_ended(&mut self, ends_in_line: bool) -> io::Result<()>;

    /// Whether only text goes there. Then the end of a block is delayed, because the next block of the same message
    /// continues its line.
    fn is_text_alone(&self) -> bool;
}

/// Prints the text of the main agent.
#[derive(Debug, Default)]
pub(crate) struct TextPrinter {
    /// The block that is being printed, and its text so far.
    block: Option<(EntryId, String)>,
    /// The message of the newest block.
    message: Option<ApiMessageId>,
    /// Set if the end of the last block was not passed on yet: whether its last line is incomplete.
    unended: Option<bool>,
    any: bool,
}

impl TextPrinter {
    pub(crate) fn change(
        &mut self,
        view: &View,
        change: &Change<'_>,
        sink: &mut impl TextSink,
    ) -> io::Result<()> {
        let id = match change {
            Change::EntryAdded(entry) | Change::EntryReplaced(entry) => entry.id,
            Change::TextAppended { entry, .. }
            | Change::TextReplaced { entry, .. }
            | Change::BlockEnded { entry, .. } => *entry,
            _ => return Ok(()),
        };
        let Some(Entry { body: EntryBody::Text(block), parent: None, .. }) = view.entry(id) else {
            return Ok(());
        };
        match (change, &mut self.block) {
            // The fast path, without comparing what was printed before.
            (Change::TextAppended { text, .. }, Some((open, printed))) if *open == id => {
                printed.push_str(text);
                sink.piece(text)?;
            }
            _ => self.print(id, block, sink)?,
        }
        if matches!(change, Change::BlockEnded { .. }) {
            self.end_block(sink)?;
        }
        Ok(())
    }

    fn print(&mut self, id: EntryId, block: &TextEntry, sink: &mut impl TextSink) -> io::Result<()> {
        let text = block.text.as_str();
        if text.is_empty() {
            return Ok(());
        }
        if block.error.is_some() {
            // It is not an answer. The end of the turn tells it, once.
            self.any = true;
            return Ok(());
        }
        if self.block.as_ref().is_none_or(|(open, _)| *open != id) {
            self.end_block(sink)?;
            if self.any && is_same_message(self.message.as_ref(), block.message.as_ref()) {
                self.unended = None;
            } else {
                self.pass_end(sink)?;
                sink.block_began(!self.any)?;
            }
            self.any = true;
            self.message.clone_from(&block.message);
            self.block = Some((id, String::new()));
        }
        let Some((_, printed)) = &mut self.block else { return Ok(()) };
        match text.strip_prefix(printed.as_str()) {
            Some("") => {}
            Some(rest) => sink.piece(rest)?,
            // The final text differs from what was streamed: print all of it again.
            None => {
                sink.block_ended(!printed.ends_with('\n'))?;
                sink.block_began(false)?;
                sink.piece(text)?;
            }
        }
        text.clone_into(printed);
        Ok(())
    }

    fn end_block(&mut self, sink: &mut impl TextSink) -> io::Result<()> {
        if let Some((_, printed)) = self.block.take() {
            self.unended = Some(!printed.ends_with('\n'));
        }
        if sink.is_text_alone() { Ok(()) } else { self.pass_end(sink) }
    }

    fn pass_end(&mut self, sink: &mut impl TextSink) -> io::Result<()> {
        self.unended.take().map_or(Ok(()), |ends_in_line| sink.block_ended(ends_in_line))
    }

    /// Ends an answer. Prints it if none of it was streamed.
    pub(crate) fn end(&mut self, answer: Option<&str>, sink: &mut impl TextSink) -> io::Result<()> {
        self.end_block(sink)?;
        self.pass_end(sink)?;
        let any = std::mem::take(&mut self.any);
        if let Some(answer) = answer.filter(|answer| !any && !answer.is_empty()) {
            sink.block_began(true)?;
            sink.piece(answer)?;
            sink.block_ended(!answer.ends_with('\n'))?;
        }
        Ok(())
    }
}
