//! A simulated channel: it shows messages, refuses operations, loses responses, and records edits.

use std::collections::BTreeMap;

use weir_bridge::channel::{Capabilities, ChatId, MessageRef, Operation, OperationError};
use weir_bridge::markup::Markup;
use weir_testkit::Random;

pub(crate) fn capabilities(posts_once: bool) -> Capabilities {
    Capabilities {
        // With markup, so that there is something to refuse.
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

/// What people see.
#[derive(Debug, Default)]
pub(crate) struct Screen {
    pub(crate) posts_once: bool,
    pub(crate) messages: BTreeMap<String, Shown>,
    /// Contents of the pictures that were sent.
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

    /// Performs an operation, without faults.
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

    /// Performs an operation, or fails, or performs it and reports a failure.
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
            // A person deletes the message. Left out if a post cannot be repeated safely.
            3 if self.posts_once => {
                if let Operation::Edit { message, .. } = operation {
                    self.messages.remove(message.as_str());
                }
                self.apply(operation)
            }
            // The channel refuses the markup. Plain text is accepted.
            4 if is_marked_up(operation) => Err(OperationError::Refused("can't parse entities".into())),
            _ => self.apply(operation),
        }
    }

    pub(crate) fn edited(&mut self, chat: &ChatId, at: i64) {
        self.edits.entry(chat.clone()).or_default().push(at);
    }
}
