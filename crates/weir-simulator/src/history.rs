//! A conversation as the model sees it, and its file.

use super::rewind::{Asked, Cut};
use super::sessions::SessionFile;
use crate::json::Json;
use crate::{array, object};

/// The messages of one agent.
#[derive(Debug, Default)]
pub(crate) struct History {
    /// Objects with `role` and `content`, oldest first.
    pub(crate) messages: Vec<Json>,
    /// Where they are saved. Sub-agents have no file.
    pub(crate) file: Option<SessionFile>,
}

impl History {
    /// A sub-agent's history, which begins with its prompt.
    pub(crate) fn of_prompt(prompt: &str) -> Self {
        let mut history = Self::default();
        history.user(Json::from(prompt), "", object! {});
        history
    }

    /// A message that is about to be added, as it can be taken back.
    pub(crate) fn asked(&self, uuid: &str, text: &str) -> Asked {
        let after = self.file.as_ref().and_then(SessionFile::leaf);
        Asked { uuid: uuid.to_owned(), text: text.to_owned(), before: self.messages.len(), after }
    }

    /// Forgets what follows.
    pub(crate) fn cut(&mut self, cut: Cut) {
        self.messages.truncate(cut.messages);
        if let Some(file) = &mut self.file {
            file.continue_after(cut.leaf);
        }
    }

    /// Adds a user message, or one that the CLI writes on the user's behalf.
    pub(crate) fn user(&mut self, content: Json, uuid: &str, extra: Json) {
        let message = object! { "role" => "user", "content" => content };
        if let Some(file) = &mut self.file {
            file.message("user", &message, uuid, extra);
        }
        self.messages.push(message);
    }

    /// Adds tool results as one message. They were saved one by one.
    pub(crate) fn tool_results(&mut self, results: Vec<Json>) {
        self.messages.push(object! { "role" => "user", "content" => results });
    }

    /// Saves a tool result.
    pub(crate) fn save_result(&mut self, block: &Json, uuid: &str, structured: Json) {
        if let Some(file) = &mut self.file {
            let message = object! { "role" => "user", "content" => array![block] };
            file.message("user", &message, uuid, object! { "toolUseResult" => structured });
        }
    }

    /// Adds a response of the model with all its blocks. They were saved one by one.
    pub(crate) fn assistant(&mut self, blocks: Vec<Json>) {
        self.messages.push(object! { "role" => "assistant", "content" => blocks });
    }

    /// Saves a block of a response.
    pub(crate) fn save_block(&mut self, message: &Json, uuid: &str) {
        if let Some(file) = &mut self.file {
            file.message("assistant", message, uuid, object! {});
        }
    }
}
