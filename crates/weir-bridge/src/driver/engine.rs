//! The engine as the driver sees it.

use std::fmt::Debug;

use tokio::sync::mpsc;

use crate::channel::{Doing, OutgoingFile};
use crate::engine::{Answer, ConversationSettings, Ending, Facts, Report, WantedPictures};

/// A prompt with the bytes of its files.
#[derive(Debug, Clone)]
pub struct Prompt {
    /// Names it.
    pub client_id: String,
    /// What it says.
    pub text: String,
    /// What is with it.
    pub files: Vec<PromptFile>,
    /// Into the turn that runs, if one does.
    pub steer: bool,
    /// Who says it.
    pub by: String,
}

/// A file that is with a prompt.
#[derive(Debug, Clone)]
pub struct PromptFile {
    /// What the sender calls it.
    pub name: String,
    /// What it is.
    pub media_type: String,
    /// The model can look at it.
    pub is_picture: bool,
    /// Its bytes.
    pub data: Vec<u8>,
}

/// Why the engine did not do something.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct EngineError {
    /// Why, in a sentence for the person in the chat.
    pub message: String,
    /// It may work later.
    pub passing: bool,
}

/// Conversations with the agent.
pub trait Engine: Debug + Send + Sync {
    /// Begins a conversation, or finds the one of this key. Gives the engine's name for it.
    fn open<'a>(&'a self, settings: &'a ConversationSettings) -> Doing<'a, Result<String, EngineError>>;

    /// Gives a prompt to a conversation. The same client id is the same prompt. Gives the engine's name for it.
    fn send<'a>(&'a self, session: &'a str, prompt: Prompt) -> Doing<'a, Result<String, EngineError>>;

    /// Waits for the end of the turn that a prompt belongs to.
    fn finished<'a>(&'a self, session: &'a str, message: &'a str) -> Doing<'a, Result<Ending, EngineError>>;

    /// Tells what happens in a conversation from now on, until it is dropped. `ready` is told when nothing is missed
    /// any more.
    fn follow<'a>(
        &'a self,
        session: &'a str,
        ready: tokio::sync::oneshot::Sender<()>,
        reports: mpsc::UnboundedSender<Report>,
    ) -> Doing<'a, ()>;

    /// Ends the turn that runs.
    fn interrupt<'a>(&'a self, session: &'a str, by: &'a str) -> Doing<'a, Result<(), EngineError>>;

    /// Ends one task in the background: the one at this place of [`Facts::tasks`], from 1, or of this name. Says which it
    /// was. An engine without tasks need not look.
    fn stop_task<'a>(
        &'a self,
        _session: &'a str,
        _task: &'a str,
        _by: &'a str,
    ) -> Doing<'a, Result<String, EngineError>> {
        let message = "Nothing runs in the background.".to_owned();
        Box::pin(std::future::ready(Err(EngineError { message, passing: false })))
    }

    /// Ends the process.
    fn stop<'a>(&'a self, session: &'a str, by: &'a str) -> Doing<'a, Result<(), EngineError>>;

    /// Answers a request.
    fn answer<'a>(
        &'a self,
        session: &'a str,
        request: &'a str,
        answer: Answer,
        by: &'a str,
    ) -> Doing<'a, Result<(), EngineError>>;

    /// Takes another model.
    fn set_model<'a>(&'a self, session: &'a str, model: Option<String>)
    -> Doing<'a, Result<(), EngineError>>;

    /// Pictures of a conversation. An engine without pictures need not say so.
    fn pictures<'a>(
        &'a self,
        _session: &'a str,
        _wanted: &'a WantedPictures,
    ) -> Doing<'a, Vec<OutgoingFile>> {
        Box::pin(std::future::ready(Vec::new()))
    }

    /// The calls of tools that gave pictures back, in the turn of a prompt.
    fn calls_with_pictures<'a>(&'a self, _session: &'a str, _message: &'a str) -> Doing<'a, Vec<String>> {
        Box::pin(std::future::ready(Vec::new()))
    }

    /// Whether nothing can come of a conversation before somebody says something: no process is there for it.
    fn is_at_rest<'a>(&'a self, _session: &'a str) -> Doing<'a, bool> {
        Box::pin(std::future::ready(true))
    }

    /// A folder by its full name, if conversations may work in it. Nothing is begun by this. An engine without folders
    /// need not look.
    fn folder<'a>(&'a self, folder: &'a str) -> Doing<'a, Result<String, EngineError>> {
        Box::pin(std::future::ready(Ok(folder.to_owned())))
    }

    /// How a conversation is doing; nothing if it has not begun. It is not begun by this.
    fn facts<'a>(&'a self, key: &'a str) -> Doing<'a, Option<Facts>>;
}
