//! A reply while it is written: what it should say, and what is there already.

use std::collections::BTreeMap;

use crate::channel::Capabilities;
use crate::markup::split;

use super::records::{PartRecord, ReplyRecord};
use super::words;

/// No more of what was said is kept: what is longer ends as a file.
const LONGEST_SAID: usize = 64 << 10;

/// A reply.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) record: ReplyRecord,
    /// The model's text so far, by block.
    blocks: BTreeMap<u64, String>,
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
    /// The channel takes no markup.
    pub(super) plain: bool,
    /// The channel takes nothing at all, for this reason.
    pub(super) undeliverable: Option<String>,
    /// The engine was told to end the turn.
    pub(super) interrupting: bool,
    /// Something may be different from what is shown.
    pub(super) dirty: bool,
}

impl Reply {
    pub(super) fn new(record: ReplyRecord) -> Self {
        let shown = vec![None; record.parts.len()];
        // Parts that are kept were posted before a restart, with what is not known.
        let posted = vec![Some(0); record.parts.len()];
        Self {
            record,
            posted,
            blocks: BTreeMap::new(),
            tools: Vec::new(),
            delay: None,
            shown,
            in_flight: false,
            failures: 0,
            not_before: 0,
            plain: false,
            undeliverable: None,
            interrupting: false,
            dirty: true,
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
        let so_far = self.blocks.entry(block).or_default();
        if replaces {
            text.clone_into(so_far);
        } else {
            so_far.push_str(text);
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

    /// Nothing was heard of the model: it has said nothing yet, or the bridge was restarted.
    pub(super) fn has_heard_nothing(&self) -> bool {
        self.blocks.is_empty()
    }

    /// Keeps what is being shown. Whether that is something new.
    pub(super) fn remember_said(&mut self) -> bool {
        let so_far = self.so_far();
        let is_new = so_far != self.record.said && so_far.len() <= LONGEST_SAID;
        if is_new {
            self.record.said = so_far;
        }
        is_new
    }

    /// What the model has written so far.
    pub(super) fn so_far(&self) -> String {
        if self.has_heard_nothing() {
            return self.record.said.clone();
        }
        let blocks: Vec<&str> =
            self.blocks.values().map(|text| text.trim()).filter(|text| !text.is_empty()).collect();
        blocks.join("\n\n")
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

    /// What the messages of the reply should say now, in Markdown.
    pub(super) fn pieces(&self, channel: &Capabilities, show_tools: bool, most_parts: usize) -> Vec<String> {
        if let Some(settled) = &self.record.settled {
            return split(&settled.markdown, channel.markup, channel.longest);
        }
        let mut pieces = split(&self.so_far(), channel.markup, channel.longest);
        // What is too long for so many messages comes as a file, in the end.
        let too_long = pieces.len() > most_parts.max(1);
        pieces.truncate(most_parts.max(1));
        let live = self
            .live_line(show_tools)
            .or_else(|| (pieces.is_empty() || too_long).then(|| words::PLACEHOLDER.to_owned()));
        let Some(live) = live else { return pieces };
        let together = pieces.last().map(|last| format!("{last}\n\n{live}"));
        match (pieces.last_mut(), together) {
            (Some(last), Some(together)) if channel.markup.length(&together) <= channel.longest => {
                *last = together;
            }
            (Some(_), _) if too_long => {}
            _ => pieces.push(live),
        }
        pieces
    }
}
