//! `assistant` lines: complete blocks, merged with what has already streamed.

use std::sync::Arc;

use weir_wire::{ApiMessageId, AssistantMessage, Content, ContentBlock, IdRef, Text, ToolUseId};

use super::streams::{BlockKind, StreamedBlock};
use super::{Fold, Sink};
use crate::code_blocks::code_blocks;
use crate::time::stamp_milliseconds;
use crate::view::{
    ApiError, BlockState, Change, Entry, EntryBody, EntryId, TextEntry, ThinkingEntry, UnknownReason,
};

/// What all blocks of one line share.
struct Whole<'a> {
    parent: Option<IdRef<'a, ToolUseId>>,
    message: Option<ApiMessageId>,
    state: BlockState,
    error: Option<Box<ApiError>>,
}

/// The model of lines that the CLI writes itself.
const SYNTHETIC: &str = "<synthetic>";

impl Fold {
    pub(super) fn assistant(&mut self, line: &AssistantMessage<'_>, sink: &mut Sink<'_>) {
        self.line_time = line.timestamp.and_then(stamp_milliseconds);
        let parent = line.parent_tool_use_id;
        match parent {
            None => {
                // What the CLI says in the model's place is about a later failure, unless the model's message ends after it.
                if line.message.model.is_some_and(|model| model.to_str() == SYNTHETIC) {
                    self.cut_off = None;
                }
                self.ensure_turn(sink);
            }
            Some(parent) => {
                self.agent_heard_of(&parent.to_id(), line.task_description, line.subagent_type, sink);
            }
        }
        self.turn_answers(line.user_message_uuids.iter().copied(), sink);
        let whole = Whole {
            parent,
            message: line.message.id.map(|id| self.api_message_id(id)),
            state: if line.aborted == Some(true) { BlockState::Aborted } else { BlockState::Complete },
            error: api_error(line).map(Box::new),
        };
        self.message_used(
            whole.message.as_ref(),
            parent,
            line.message.model,
            line.message.usage.as_ref(),
            sink,
        );
        match &line.message.content {
            Content::Text(text) => self.whole_text(&whole, *text, sink),
            Content::Blocks(blocks) => {
                for block in blocks {
                    self.whole_block(&whole, block, sink);
                }
            }
        }
    }

    /// Most lines carry the same message id as the line before, so it is reused.
    fn api_message_id(&mut self, id: IdRef<'_, ApiMessageId>) -> ApiMessageId {
        match &self.last_message {
            Some(last) if id == *last => last.clone(),
            _ => self.last_message.insert(id.to_id()).clone(),
        }
    }

    fn whole_block(&mut self, whole: &Whole<'_>, block: &ContentBlock<'_>, sink: &mut Sink<'_>) {
        match block {
            ContentBlock::Text(block) => self.whole_text(whole, block.text, sink),
            ContentBlock::Thinking(block) => self.whole_thinking(whole, block.thinking, false, sink),
            ContentBlock::RedactedThinking(_) => self.whole_thinking(whole, Text::default(), true, sink),
            ContentBlock::ToolUse(block) => {
                let id = block.id.map_or_else(|| self.unnamed_call(), |id| id.to_id());
                self.tool_called(whole.parent, &id, block.name, block.input, false, sink);
                self.confirm_tool(whole, &id);
            }
            ContentBlock::ServerToolUse(block) => {
                let id = block.id.to_id();
                self.tool_called(whole.parent, &id, block.name, block.input, true, sink);
                self.confirm_tool(whole, &id);
            }
            ContentBlock::ServerToolResult(block) => {
                let output = self.raw_output(block.content.unwrap_or_default());
                let failed = block.is_error.unwrap_or(false);
                self.server_tool_ended(whole.parent, &block.tool_use_id.to_id(), output, failed, sink);
            }
            // Models do not send these, but programs that write the CLI's format do.
            ContentBlock::ToolResult(block) => self.tool_result(whole.parent, &[], block, None, sink),
            ContentBlock::Image(block) | ContentBlock::Document(block) => {
                let json = block.source.json();
                self.unknown_part(UnknownReason::UnknownBlock, whole.parent, None, None, json, sink);
            }
            ContentBlock::Mismatch { kind, reason, json } => {
                let detail = Some(reason.clone());
                self.unknown_part(
                    UnknownReason::BlockMismatch,
                    whole.parent,
                    Some(*kind),
                    detail,
                    *json,
                    sink,
                );
            }
            ContentBlock::Unknown { kind, json } => {
                self.unknown_part(UnknownReason::UnknownBlock, whole.parent, *kind, None, *json, sink);
            }
            _ => {}
        }
    }

    /// The entry of a streamed block of this kind whose complete line has not arrived yet.
    fn streamed(&mut self, whole: &Whole<'_>, kind: BlockKind, text: &str) -> Option<EntryId> {
        let view = &self.view;
        let stream = self.streams.of(whole.parent)?;
        // A stream that was joined in the middle learns its message here.
        if stream.message.is_none() {
            stream.message.clone_from(&whole.message);
        }
        if stream.message != whole.message {
            return None;
        }
        // Complete blocks arrive in the order in which they began, but some never arrive, so the text of those that
        // were stopped decides: best if it is the beginning of the complete text. Then the one that is being
        // written, whose text must not count: a log does not have it yet. Then a stopped one whose text is the end
        // of the complete one (the beginning was missed), then one into which nothing was streamed.
        let fit = |block: &StreamedBlock| match view.entry(block.entry).and_then(written) {
            _ if !block.stopped => 3,
            Some("") => 1,
            Some(streamed) if text.starts_with(streamed) => 4,
            Some(streamed) if text.ends_with(streamed) => 2,
            _ => 0,
        };
        let candidates = stream.blocks.iter_mut().filter(|block| !block.whole && block.kind == kind);
        let best = candidates.reduce(|best, next| if fit(next) > fit(best) { next } else { best })?;
        best.whole = true;
        Some(best.entry)
    }

    fn confirm_tool(&mut self, whole: &Whole<'_>, tool: &ToolUseId) {
        let entry = self.tools.get(tool).copied();
        if let Some(stream) = self.streams.of(whole.parent)
            && let Some(block) = stream.blocks.iter_mut().find(|block| Some(block.entry) == entry)
        {
            block.whole = true;
        }
    }

    fn whole_text(&mut self, whole: &Whole<'_>, text: Text<'_>, sink: &mut Sink<'_>) {
        let text = text.to_str();
        if let Some(entry) = self.streamed(whole, BlockKind::Text, &text) {
            return self.complete(entry, &text, whole, sink);
        }
        let body = EntryBody::Text(TextEntry {
            message: whole.message.clone(),
            index: None,
            code: code_blocks(&text),
            text: text.into_owned(),
            state: whole.state,
            error: whole.error.clone(),
        });
        self.add_entry(self.turn_for(whole.parent), whole.parent.map(|id| id.to_id()), body, sink);
    }

    fn whole_thinking(&mut self, whole: &Whole<'_>, text: Text<'_>, redacted: bool, sink: &mut Sink<'_>) {
        let text = text.to_str();
        if let Some(entry) = self.streamed(whole, BlockKind::Thinking, &text) {
            return self.complete(entry, &text, whole, sink);
        }
        let body = EntryBody::Thinking(ThinkingEntry {
            message: whole.message.clone(),
            index: None,
            text: text.into_owned(),
            state: whole.state,
            redacted,
        });
        self.add_entry(self.turn_for(whole.parent), whole.parent.map(|id| id.to_id()), body, sink);
    }

    /// The complete block is authoritative: missing text is appended, and different text is replaced.
    fn complete(&mut self, id: EntryId, text: &str, whole: &Whole<'_>, sink: &mut Sink<'_>) {
        let Some(streamed) = self.view.entry(id).and_then(written) else { return };
        match text.strip_prefix(streamed) {
            Some("") => {}
            Some(missing) => {
                self.emit(Change::TextAppended { entry: id, text: missing.to_owned().into() }, sink);
            }
            // Some versions stream thinking that the complete line leaves out.
            None if text.is_empty() => self.keep_streamed(id),
            None => self.emit(Change::TextReplaced { entry: id, text: text.to_owned() }, sink),
        }
        let Some(entry) = self.view.entry(id) else { return };
        let (state, code, error) = match &entry.body {
            EntryBody::Text(text) => (text.state, code_blocks(&text.text), text.error.clone()),
            EntryBody::Thinking(thinking) => (thinking.state, Vec::new(), None),
            _ => return,
        };
        let is_new_code = matches!(&entry.body, EntryBody::Text(text) if text.code != code);
        if state != whole.state || is_new_code {
            self.emit(Change::BlockEnded { entry: id, state: whole.state, code }, sink);
        }
        if whole.error.is_some() && error != whole.error {
            self.set_error(id, whole, sink);
        }
    }

    fn set_error(&mut self, id: EntryId, whole: &Whole<'_>, sink: &mut Sink<'_>) {
        let Some(mut entry) = self.view.entry(id).cloned() else { return };
        if let EntryBody::Text(text) = &mut entry.body {
            text.error.clone_from(&whole.error);
            self.emit(Change::EntryReplaced(Arc::new(entry)), sink);
        }
    }
}

/// The text of an entry that the model writes.
fn written(entry: &Entry) -> Option<&str> {
    match &entry.body {
        EntryBody::Text(text) => Some(&text.text),
        EntryBody::Thinking(thinking) => Some(&thinking.text),
        _ => None,
    }
}

fn api_error(line: &AssistantMessage<'_>) -> Option<ApiError> {
    let is_error = line.is_api_error_message == Some(true) || line.error.is_some();
    is_error.then(|| ApiError {
        error: line.error.map(|error| error.to_str().into()),
        status: line.api_error_status,
        api_type: line.api_error_type.map(|kind| kind.to_str().into()),
    })
}
