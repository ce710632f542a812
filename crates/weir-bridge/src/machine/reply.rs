//! A reply while it is written: what it should say, and what is there already.
//!
//! A text that grows costs its own length: what was cut into messages once is not looked at again, and what is being
//! written is looked at as often as the channel may be edited, however small the pieces are in which it comes.

use crate::channel::{Capabilities, Content};
use crate::markup::{Markup, Splitter};

use super::cards::{fingerprint, rendered};
use super::records::{PartRecord, ReplyRecord};
use super::said::Said;
use super::words;

/// No more of what was said is kept: what is longer ends as a file.
const LONGEST_SAID: usize = 64 << 10;

/// A reply.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) record: ReplyRecord,
    /// The model's text so far.
    said: Said,
    /// Cuts the text into messages while it grows.
    splitter: Option<Splitter>,
    /// What the messages should say.
    wanted: Vec<Wanted>,
    /// How many of them later text cannot change.
    closed: usize,
    /// The last form of the reply was cut into messages.
    is_cut: bool,
    /// Messages of the last form before this one are as they should be.
    pub(super) done_before: usize,
    /// Tools at work, the newest last.
    tools: Vec<(String, String)>,
    delay: Option<String>,
    /// What each part shows, as far as is known.
    pub(super) shown: Vec<Option<u64>>,
    /// What each part was first posted with: a channel that recognises a post keeps that.
    pub(super) posted: Vec<Option<u64>>,
    pub(super) in_flight: bool,
    pub(super) failures: u32,
    pub(super) not_before: i64,
    /// While it is being written, it is not looked at before this time.
    pub(super) next_look: i64,
    /// The channel takes no markup.
    plain: bool,
    /// The channel takes nothing at all, for this reason.
    pub(super) undeliverable: Option<String>,
    /// The engine was told to end the turn.
    pub(super) interrupting: bool,
    /// Something may be different from what is shown.
    pub(super) dirty: bool,
    /// Bytes that were looked at and not counted yet.
    pub(super) looked_at: u64,
}

/// What one message should say.
#[derive(Debug)]
struct Wanted {
    markdown: String,
    /// A number that stands for it once it is rendered.
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
        // Parts that are kept were posted before a restart, with what is not known.
        let posted = vec![Some(0); record.parts.len()];
        Self {
            record,
            posted,
            said: Said::default(),
            splitter: None,
            wanted: Vec::new(),
            closed: 0,
            is_cut: false,
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
            looked_at: 0,
        }
    }

    /// Makes room for a part, and says that it is posted with this.
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
            self.cut_again();
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

    /// The text is another one: it is cut into messages anew.
    pub(super) fn cut_again(&mut self) {
        self.splitter = None;
        self.wanted.clear();
        (self.closed, self.done_before) = (0, 0);
        self.is_cut = false;
        self.dirty = true;
    }

    /// The channel does not take the markup. Whether it had any.
    pub(super) fn drop_markup(&mut self) -> bool {
        for wanted in &mut self.wanted {
            wanted.print = None;
        }
        self.done_before = 0;
        !std::mem::replace(&mut self.plain, true)
    }

    /// Nothing was heard of the model: it has said nothing yet, or the bridge was restarted.
    pub(super) fn has_heard_nothing(&self) -> bool {
        self.said.is_empty()
    }

    /// Keeps what is being shown. Whether that is something new.
    pub(super) fn remember_said(&mut self) -> bool {
        let so_far = self.so_far();
        let is_new = so_far.len() <= LONGEST_SAID && so_far != self.record.said;
        if is_new {
            self.record.said = so_far.to_owned();
        }
        is_new
    }

    /// What the model has written so far.
    pub(super) fn so_far(&self) -> &str {
        if self.has_heard_nothing() { &self.record.said } else { self.said.as_str() }
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

    /// Sees to it that what the messages should say is known. Gives how many messages that are.
    pub(super) fn cut(&mut self, channel: &Capabilities, show_tools: bool, max_parts: usize) -> usize {
        match &self.record.settled {
            Some(_) if self.is_cut => {}
            Some(settled) => {
                let mut splitter = Splitter::new(channel.markup, channel.longest);
                let last = splitter.advance(&settled.markdown, usize::MAX);
                self.looked_at += splitter.looked_at();
                self.wanted = splitter.closed().iter().cloned().chain(last).map(Wanted::new).collect();
                self.is_cut = true;
            }
            None => self.cut_what_grows(channel, show_tools, max_parts.max(1)),
        }
        self.wanted.len()
    }

    fn cut_what_grows(&mut self, channel: &Capabilities, show_tools: bool, max_parts: usize) {
        let text = if self.said.is_empty() { &self.record.said } else { self.said.as_str() };
        let fresh = || Splitter::new(channel.markup, channel.longest);
        let splitter = self.splitter.get_or_insert_with(fresh);
        let before = splitter.looked_at();
        let open = splitter.advance(text, max_parts);
        self.looked_at += splitter.looked_at() - before;
        // What is too long for this many messages comes as a file, in the end.
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
        self.looked_at += together.as_ref().map_or(0, |together| length(together));
        match (self.wanted.last_mut(), together) {
            (Some(last), Some(together)) if channel.markup.length(&together) <= channel.longest => {
                *last = Wanted::new(together);
                self.closed = self.closed.min(self.wanted.len() - 1);
            }
            (Some(_), _) if too_long => {}
            _ => self.wanted.push(Wanted::new(live)),
        }
    }

    /// What a text looks like in the channel.
    pub(super) fn render(&mut self, markdown: &str, markup: Markup) -> Content {
        self.looked_at += length(markdown);
        Content { text: rendered(markup, markdown, self.plain), buttons: Vec::new() }
    }

    /// What a message should look like.
    pub(super) fn content(&mut self, index: usize, markup: Markup) -> Content {
        let markdown = self.wanted.get(index).map(|wanted| wanted.markdown.clone()).unwrap_or_default();
        let content = self.render(&markdown, markup);
        if let Some(wanted) = self.wanted.get_mut(index) {
            wanted.print = Some(fingerprint(&content));
        }
        content
    }

    /// Whether a message looks as it should.
    pub(super) fn is_shown(&mut self, index: usize, markup: Markup) -> bool {
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
