//! A conversation as the model would see it, and its file.

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
    /// A sub-agent's, which begins with its prompt.
    pub(crate) fn of_prompt(prompt: &str) -> Self {
        let mut history = Self::default();
        history.user(Json::from(prompt), "", object! {});
        history
    }

    /// A message of the user, or what the CLI says in the user's place.
    pub(crate) fn user(&mut self, content: Json, uuid: &str, extra: Json) {
        let message = object! { "role" => "user", "content" => content };
        if let Some(file) = &mut self.file {
            file.message("user", &message, uuid, extra);
        }
        self.messages.push(message);
    }

    /// Results of tools, as one message. They were saved one by one.
    pub(crate) fn tool_results(&mut self, results: Vec<Json>) {
        self.messages.push(object! { "role" => "user", "content" => results });
    }

    /// Saves the result of a tool.
    pub(crate) fn save_result(&mut self, block: &Json, uuid: &str, structured: Json) {
        if let Some(file) = &mut self.file {
            let message = object! { "role" => "user", "content" => array![block] };
            file.message("user", &message, uuid, object! { "toolUseResult" => structured });
        }
    }

    /// An answer of the model with all its blocks. They were saved one by one.
    pub(crate) fn assistant(&mut self, blocks: Vec<Json>) {
        self.messages.push(object! { "role" => "assistant", "content" => blocks });
    }

    /// Saves a block of an answer.
    pub(crate) fn save_block(&mut self, message: &Json, uuid: &str) {
        if let Some(file) = &mut self.file {
            file.message("assistant", message, uuid, object! {});
        }
    }
}
