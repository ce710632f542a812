//! A reply while it is being written: what its messages should say, and what they show already.
//!
//! The work is proportional to the length of the text: messages that are complete are not processed again, and the
//! current one is processed only as often as the channel may be edited, however small the pieces in which text arrives.

use crate::channel::{Capabilities, Content};
use crate::markup::{Markup, Splitter};

use super::cards::{fingerprint, rendered};
use super::records::{PartRecord, ReplyRecord};
use super::said::WrittenText;
use super::words;

/// Maximum size of the text so far that is stored with the reply, in bytes. Longer replies end up as files anyway.
const MAX_STORED_TEXT: usize = 64 << 10;

/// A reply.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) record: ReplyRecord,
    /// The model's text so far.
    said: WrittenText,
    /// Splits the text into messages while it grows.
    splitter: Option<Splitter>,
    /// What the messages should say.
    wanted: Vec<Wanted>,
    /// Number of messages that later text cannot change.
    closed: usize,
    /// The final text has been split into messages.
    is_split: bool,
    /// Messages of the final text before this index are done.
    pub(super) done_before: usize,
    /// Running tools, the newest last.
    tools: Vec<(String, String)>,
    delay: Option<String>,
    /// Fingerprint of what each part shows, if known.
    pub(super) shown: Vec<Option<u64>>,
    /// Fingerprint of the first post of each part. A channel that recognises a repeated post keeps the first content.
    pub(super) posted: Vec<Option<u64>>,
    pub(super) in_flight: bool,
    pub(super) failures: u32,
    pub(super) not_before: i64,
    /// While it is being written, it is not processed before this time.
    pub(super) next_look: i64,
    /// The channel refused the markup, so plain text is sent.
    plain: bool,
    /// The channel refused the reply even as plain text, for this reason.
    pub(super) undeliverable: Option<String>,
    /// The engine was told to interrupt the turn.
    pub(super) interrupting: bool,
    /// Something may differ from what is shown.
    pub(super) dirty: bool,
    /// Bytes processed and not yet added to the bridge's count.
    pub(super) bytes_processed: u64,
}

/// What one message should say.
#[derive(Debug)]
struct Wanted {
    markdown: String,
    /// Fingerprint of the rendered content, once it is rendered.
    print: Option<u64>,
}

impl Wanted {
    fn new(markdown: String) -> Self {
        Self { markdown, print: None }
    }
}

impl Reply {
    pub(super) fn new(record: ReplyRecord) -> Self {
        let shown = vec![None; record.parts.len()];
        // Stored parts were posted before a restart, with unknown content.
        let posted = vec![Some(0); record.parts.len()];
        Self {
            record,
            posted,
            said: WrittenText::default(),
            splitter: None,
            wanted: Vec::new(),
            closed: 0,
            is_split: false,
            done_before: 0,
            tools: Vec::new(),
            delay: None,
            shown,
            in_flight: false,
            failures: 0,
            not_before: 0,
            next_look: 0,
            plain: false,
            undeliverable: None,
            interrupting: false,
            dirty: true,
            bytes_processed: 0,
        }
    }

    /// Adds a part if necessary, and records what it is first posted with.
    pub(super) fn post(&mut self, index: usize, shown: u64) {
        while self.record.parts.len() <= index {
            self.record.parts.push(PartRecord::default());
            self.shown.push(None);
            self.posted.push(None);
        }
        if let Some(posted) = self.posted.get_mut(index) {
            posted.get_or_insert(shown);
        }
    }

    pub(super) fn text(&mut self, block: u64, text: &str, replaces: bool) {
        let was_empty = self.said.is_empty();
        if self.said.write(block, text, replaces) || was_empty {
            self.split_again();
        }
        self.delay = None;
        self.dirty = true;
    }

    pub(super) fn tool_started(&mut self, id: String, title: String) {
        self.tools.push((id, title));
        self.delay = None;
        self.dirty = true;
    }

    pub(super) fn tool_ended(&mut self, id: &str) {
        self.tools.retain(|(other, _)| other != id);
        self.dirty = true;
    }

    pub(super) fn delayed(&mut self, reason: String) {
        self.delay = Some(reason);
        self.dirty = true;
    }

    /// Splits the text into messages from the beginning, because it has changed.
    pub(super) fn split_again(&mut self) {
        self.splitter = None;
        self.wanted.clear();
        (self.closed, self.done_before) = (0, 0);
        self.is_split = false;
        self.dirty = true;
    }

    /// Switches to plain text. Returns whether markup was used before.
    pub(super) fn drop_markup(&mut self) -> bool {
        for wanted in &mut self.wanted {
            wanted.print = None;
        }
        self.done_before = 0;
        !std::mem::replace(&mut self.plain, true)
    }

    /// Whether no text has arrived: the model has written nothing yet, or the bridge was restarted.
    pub(super) fn has_no_text(&self) -> bool {
        self.said.is_empty()
    }

    /// Records the text that is being shown. Returns whether it has changed.
    pub(super) fn remember_said(&mut self) -> bool {
        let so_far = self.so_far();
        let is_new = so_far.len() <= MAX_STORED_TEXT && so_far != self.record.said;
        if is_new {
            self.record.said = so_far.to_owned();
        }
        is_new
    }

    /// What the model has written so far.
    pub(super) fn so_far(&self) -> &str {
        if self.has_no_text() { &self.record.said } else { self.said.as_str() }
    }

    fn live_line(&self, show_tools: bool) -> Option<String> {
        if let Some(delay) = &self.delay {
            return Some(format!("_{delay}_"));
        }
        let (_, title) = self.tools.last().filter(|_| show_tools)?;
        let title: String = title.lines().next().unwrap_or_default().chars().take(120).collect();
        let title = title.replace('`', "'");
        Some(match self.tools.len() {
            1 => format!("`{title}`"),
            count => format!("`{title}` and {} more", count - 1),
        })
    }

    /// Splits the text into messages, if necessary. Returns the number of messages.
    pub(super) fn split(&mut self, channel: &Capabilities, show_tools: bool, max_parts: usize) -> usize {
        match &self.record.settled {
            Some(_) if self.is_split => {}
            Some(settled) => {
                let mut splitter = Splitter::new(channel.markup, channel.longest);
                let last = splitter.advance(&settled.markdown, usize::MAX);
                self.bytes_processed += splitter.bytes_processed();
                self.wanted = splitter.closed().iter().cloned().chain(last).map(Wanted::new).collect();
                self.is_split = true;
            }
            None => self.split_growing(channel, show_tools, max_parts.max(1)),
        }
        self.wanted.len()
    }

    fn split_growing(&mut self, channel: &Capabilities, show_tools: bool, max_parts: usize) {
        let text = if self.said.is_empty() { &self.record.said } else { self.said.as_str() };
        let fresh = || Splitter::new(channel.markup, channel.longest);
        let splitter = self.splitter.get_or_insert_with(fresh);
        let before = splitter.bytes_processed();
        let open = splitter.advance(text, max_parts);
        self.bytes_processed += splitter.bytes_processed() - before;
        // A text that is too long for this many messages will be sent as a file.
        let too_long = splitter.closed().len() >= max_parts && splitter.has_more(text);
        self.wanted.truncate(self.closed);
        let closed = splitter.closed().iter().skip(self.wanted.len()).cloned();
        self.wanted.extend(closed.map(Wanted::new));
        self.closed = self.wanted.len();
        self.wanted.extend(open.map(Wanted::new));
        let live = self
            .live_line(show_tools)
            .or_else(|| (self.wanted.is_empty() || too_long).then(|| words::PLACEHOLDER.to_owned()));
        let Some(live) = live else { return };
        let together = self.wanted.last().map(|last| format!("{}\n\n{live}", last.markdown));
        self.bytes_processed += together.as_ref().map_or(0, |together| length(together));
        match (self.wanted.last_mut(), together) {
            (Some(last), Some(together)) if channel.markup.length(&together) <= channel.longest => {
                *last = Wanted::new(together);
                self.closed = self.closed.min(self.wanted.len() - 1);
            }
            (Some(_), _) if too_long => {}
            _ => self.wanted.push(Wanted::new(live)),
        }
    }

    /// Renders a text for the channel.
    pub(super) fn render(&mut self, markdown: &str, markup: Markup) -> Content {
        self.bytes_processed += length(markdown);
        Content { text: rendered(markup, markdown, self.plain), buttons: Vec::new() }
    }

    /// Renders a message.
    pub(super) fn content(&mut self, index: usize, markup: Markup) -> Content {
        let markdown = self.wanted.get(index).map(|wanted| wanted.markdown.clone()).unwrap_or_default();
        let content = self.render(&markdown, markup);
        if let Some(wanted) = self.wanted.get_mut(index) {
            wanted.print = Some(fingerprint(&content));
        }
        content
    }

    /// Renders a message if necessary. Returns whether the chat shows it already.
    pub(super) fn renders_as_shown(&mut self, index: usize, markup: Markup) -> bool {
        let print = match self.wanted.get(index).and_then(|wanted| wanted.print) {
            Some(print) => print,
            None => fingerprint(&self.content(index, markup)),
        };
        self.shown.get(index).copied().flatten() == Some(print)
    }
}

fn length(text: &str) -> u64 {
    u64::try_from(text.len()).unwrap_or(u64::MAX)
}
