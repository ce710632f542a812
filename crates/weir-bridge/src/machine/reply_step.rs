//! The next step of a reply on its way into the chat.

use crate::channel::{Capabilities, Content, MessageRef};

use super::cards::fingerprint;
use super::reply::Reply;
use super::words;

/// The next step of a reply.
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
    /// Nothing, for now.
    Rest,
    /// All of it is there.
    Done,
}

impl Reply {
    /// What is to be done next. Each message that is as it should be is passed over once.
    pub(super) fn next_step(&mut self, channel: &Capabilities, show_tools: bool, max_parts: usize) -> Step {
        let is_settled = self.record.settled.is_some();
        if self.undeliverable.is_some() {
            return if is_settled { Step::Done } else { Step::Rest };
        }
        // What cannot be changed is written when all is known. Until then there is nothing to look at.
        if !is_settled && !channel.edits {
            return Step::Rest;
        }
        let count = self.cut(channel, show_tools, max_parts);
        for index in self.done_before..count {
            let part = self.record.parts.get(index).cloned().unwrap_or_default();
            match part.message {
                None => {
                    let at_once = channel.edits && !part.only_once;
                    if !is_settled && !at_once {
                        return Step::Rest;
                    }
                    // A post whose fate a crash leaves open must not be the answer; an edit can be repeated.
                    let content = if at_once && !channel.posts_once {
                        self.render(words::PLACEHOLDER, channel.markup)
                    } else {
                        self.content(index, channel.markup)
                    };
                    return Step::Post { index, content };
                }
                Some(_) if part.only_once || !channel.edits => {}
                Some(message) => {
                    if !self.is_shown(index, channel.markup) {
                        let content = self.content(index, channel.markup);
                        return Step::Edit { index, message, content };
                    }
                }
            }
            if is_settled {
                self.done_before = index + 1;
            }
        }
        if is_settled { self.step_after_messages(channel, count) } else { Step::Rest }
    }

    /// What is to be done when the messages are there: others are taken away, and the file is sent.
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
