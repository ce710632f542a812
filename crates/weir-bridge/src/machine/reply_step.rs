//! Chooses the next step of sending a reply.

use crate::channel::{Capabilities, Content, MessageRef};

use super::cards::fingerprint;
use super::reply::Reply;
use super::words;

/// The next step of sending a reply.
#[derive(Debug)]
pub(super) enum Step {
    Post {
        index: usize,
        content: Content,
    },
    Edit {
        index: usize,
        message: MessageRef,
        content: Content,
    },
    Delete {
        index: usize,
        message: MessageRef,
    },
    File {
        text: String,
    },
    /// Nothing to do for now.
    Wait,
    /// All of it has been sent.
    Done,
}

impl Reply {
    /// Chooses the next step. A message that is done is not checked again.
    pub(super) fn next_step(&mut self, channel: &Capabilities, show_tools: bool, max_parts: usize) -> Step {
        let is_settled = self.record.settled.is_some();
        if self.undeliverable.is_some() {
            return if is_settled { Step::Done } else { Step::Wait };
        }
        // Without edits, the reply is posted when it is complete.
        if !is_settled && !channel.edits {
            return Step::Wait;
        }
        let count = self.split(channel, show_tools, max_parts);
        for index in self.done_before..count {
            let part = self.record.parts.get(index).cloned().unwrap_or_default();
            match part.message {
                None => {
                    let at_once = channel.edits && !part.only_once;
                    if !is_settled && !at_once {
                        return Step::Wait;
                    }
                    // If a crash leaves it open whether a post succeeded, it must not be the answer. An edit can be
                    // repeated.
                    let content = if at_once && !channel.posts_once {
                        self.render(words::PLACEHOLDER, channel.markup)
                    } else {
                        self.content(index, channel.markup)
                    };
                    return Step::Post { index, content };
                }
                Some(_) if part.only_once || !channel.edits => {}
                Some(message) => {
                    if !self.renders_as_shown(index, channel.markup) {
                        let content = self.content(index, channel.markup);
                        return Step::Edit { index, message, content };
                    }
                }
            }
            if is_settled {
                self.done_before = index + 1;
            }
        }
        if is_settled { self.step_after_messages(channel, count) } else { Step::Wait }
    }

    /// Chooses the next step once all messages are posted: delete surplus ones, then send the file.
    fn step_after_messages(&mut self, channel: &Capabilities, count: usize) -> Step {
        let surplus = self.record.parts.iter().enumerate().skip(count);
        let last = surplus.filter_map(|(index, part)| Some((index, part.message.clone()?))).next_back();
        if let Some((index, message)) = last {
            if channel.deletes {
                return Step::Delete { index, message };
            }
            let content = self.render(words::PLACEHOLDER, channel.markup);
            let shown = self.shown.get(index).copied().flatten();
            if channel.edits && shown != Some(fingerprint(&content)) {
                return Step::Edit { index, message, content };
            }
        }
        match self.record.settled.as_ref() {
            Some(settled) if !settled.file_sent => {
                settled.file.clone().map_or(Step::Done, |text| Step::File { text })
            }
            _ => Step::Done,
        }
    }
}
