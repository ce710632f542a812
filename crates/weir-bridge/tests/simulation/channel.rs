//! A channel that is not there: it shows messages, refuses, forgets to answer, and counts.

use std::collections::BTreeMap;

use weir_bridge::channel::{Capabilities, ChatId, MessageRef, Operation, OperationError};
use weir_bridge::markup::Markup;

use crate::random::Random;

pub(crate) fn capabilities(posts_once: bool) -> Capabilities {
    Capabilities {
        // With markup there is something that can be refused.
        markup: Markup::TelegramHtml,
        longest: 200,
        edits: true,
        deletes: true,
        typing: true,
        buttons: true,
        reactions: false,
        files: false,
        largest_picture: Some(100),
        posts_once,
        edit_interval_ms: 1_000,
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Shown {
    pub(crate) chat: ChatId,
    pub(crate) text: String,
}

fn is_marked_up(operation: &Operation) -> bool {
    match operation {
        Operation::Post { content, .. } | Operation::Edit { content, .. } => content.text.html.is_some(),
        _ => false,
    }
}

/// What the people see.
#[derive(Debug, Default)]
pub(crate) struct Screen {
    pub(crate) posts_once: bool,
    pub(crate) messages: BTreeMap<String, Shown>,
    /// What is in the pictures that were sent.
    pub(crate) uploads: Vec<String>,
    keys: BTreeMap<String, String>,
    next: u64,
    /// When each chat was edited.
    pub(crate) edits: BTreeMap<ChatId, Vec<i64>>,
}

impl Screen {
    pub(crate) fn new(posts_once: bool) -> Self {
        Self { posts_once, ..Self::default() }
    }

    /// Does what is asked, as a channel without faults would.
    pub(crate) fn apply(&mut self, operation: &Operation) -> Result<Option<MessageRef>, OperationError> {
        match operation {
            Operation::Post { place, content, key, .. } => {
                if self.posts_once
                    && let Some(known) = self.keys.get(key)
                {
                    return Ok(Some(known.as_str().into()));
                }
                self.next += 1;
                let name = format!("m{}", self.next);
                let shown = Shown { chat: place.chat.clone(), text: content.text.plain.clone() };
                assert!(shown.text.chars().count() <= 200, "too long: {}", shown.text);
                self.messages.insert(name.clone(), shown);
                self.keys.insert(key.clone(), name.clone());
                Ok(Some(name.into()))
            }
            Operation::Edit { message, content, .. } => match self.messages.get_mut(message.as_str()) {
                Some(shown) => {
                    content.text.plain.clone_into(&mut shown.text);
                    assert!(shown.text.chars().count() <= 200, "too long: {}", shown.text);
                    Ok(None)
                }
                None => Err(OperationError::Gone("no such message".into())),
            },
            Operation::Delete { message, .. } => {
                self.messages.remove(message.as_str());
                Ok(None)
            }
            Operation::Upload { file, key, .. } => {
                let again = self.keys.insert(key.clone(), String::new()).is_some();
                if !(again && self.posts_once) {
                    self.uploads.push(String::from_utf8_lossy(&file.data).into_owned());
                }
                Ok(None)
            }
            Operation::Typing { .. } | Operation::React { .. } => Ok(None),
        }
    }

    /// Does what is asked, or not, or says that it did not.
    pub(crate) fn apply_with_faults(
        &mut self,
        operation: &Operation,
        random: &mut Random,
    ) -> Result<Option<MessageRef>, OperationError> {
        match random.below(12) {
            0 => Err(OperationError::RateLimited { retry_after_ms: 1_500 }),
            1 => Err(OperationError::Passing("the line is down".into())),
            2 => {
                let _ = self.apply(operation);
                Err(OperationError::Passing("the line went down".into()))
            }
            // Somebody deletes the message. Where a post cannot be repeated safely, that is left out.
            3 if self.posts_once => {
                if let Operation::Edit { message, .. } = operation {
                    self.messages.remove(message.as_str());
                }
                self.apply(operation)
            }
            // The channel does not like the markup. What has none is taken.
            4 if is_marked_up(operation) => Err(OperationError::Refused("can't parse entities".into())),
            _ => self.apply(operation),
        }
    }

    pub(crate) fn edited(&mut self, chat: &ChatId, at: i64) {
        self.edits.entry(chat.clone()).or_default().push(at);
    }
}
