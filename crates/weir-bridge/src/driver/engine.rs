//! The interface between the driver and an engine.

use std::fmt::Debug;

use tokio::sync::mpsc;

use crate::channel::{BoxFuture, OutgoingFile};
use crate::engine::{Answer, ConversationSettings, Ending, Facts, Report, WantedPictures};

/// A prompt with the bytes of its files.
#[derive(Debug, Clone)]
pub struct Prompt {
    /// Client id.
    pub client_id: String,
    /// Text.
    pub text: String,
    /// Files that come with it.
    pub files: Vec<PromptFile>,
    /// Whether to add it to the running turn, if there is one.
    pub steer: bool,
    /// Name of the sender.
    pub by: String,
}

/// A file that comes with a prompt.
#[derive(Debug, Clone)]
pub struct PromptFile {
    /// Name given by the sender.
    pub name: String,
    /// Media type.
    pub media_type: String,
    /// Whether the model can see it as a picture.
    pub is_picture: bool,
    /// Its bytes.
    pub data: Vec<u8>,
}

/// Why a call of the engine failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct EngineError {
    /// The reason, in a sentence for the people in the chat.
    pub message: String,
    /// Whether a later attempt may succeed.
    pub passing: bool,
}

/// Runs sessions with the agent.
pub trait Engine: Debug + Send + Sync {
    /// Finds the session with this key, or starts one. Returns its id.
    fn open<'a>(&'a self, settings: &'a ConversationSettings) -> BoxFuture<'a, Result<String, EngineError>>;

    /// Sends a prompt. Prompts with the same client id are the same prompt. Returns the engine's id of the message.
    fn send<'a>(&'a self, session: &'a str, prompt: Prompt) -> BoxFuture<'a, Result<String, EngineError>>;

    /// Waits for the end of the turn that a prompt belongs to.
    fn finished<'a>(
        &'a self,
        session: &'a str,
        message: &'a str,
    ) -> BoxFuture<'a, Result<Ending, EngineError>>;

    /// Reports what happens in a session from now on, until dropped. Signals `ready` once no event can be missed.
    fn follow<'a>(
        &'a self,
        session: &'a str,
        ready: tokio::sync::oneshot::Sender<()>,
        reports: mpsc::UnboundedSender<Report>,
    ) -> BoxFuture<'a, ()>;

    /// Interrupts the running turn.
    fn interrupt<'a>(&'a self, session: &'a str, by: &'a str) -> BoxFuture<'a, Result<(), EngineError>>;

    /// Stops a background task, given by its 1-based position in [`Facts::tasks`] or by its id. Returns its
    /// description. Engines without tasks need not implement this.
    fn stop_task<'a>(
        &'a self,
        _session: &'a str,
        _task: &'a str,
        _by: &'a str,
    ) -> BoxFuture<'a, Result<String, EngineError>> {
        let message = "Nothing runs in the background.".to_owned();
        Box::pin(std::future::ready(Err(EngineError { message, passing: false })))
    }

    /// Stops the process.
    fn stop<'a>(&'a self, session: &'a str, by: &'a str) -> BoxFuture<'a, Result<(), EngineError>>;

    /// Answers a request.
    fn answer<'a>(
        &'a self,
        session: &'a str,
        request: &'a str,
        answer: Answer,
        by: &'a str,
    ) -> BoxFuture<'a, Result<(), EngineError>>;

    /// Changes the model.
    fn set_model<'a>(
        &'a self,
        session: &'a str,
        model: Option<String>,
    ) -> BoxFuture<'a, Result<(), EngineError>>;

    /// Loads pictures of a session. Engines without pictures need not implement this.
    fn pictures<'a>(
        &'a self,
        _session: &'a str,
        _wanted: &'a WantedPictures,
    ) -> BoxFuture<'a, Vec<OutgoingFile>> {
        Box::pin(std::future::ready(Vec::new()))
    }

    /// Ids of the tool calls that returned pictures in the turn of a message.
    fn calls_with_pictures<'a>(&'a self, _session: &'a str, _message: &'a str) -> BoxFuture<'a, Vec<String>> {
        Box::pin(std::future::ready(Vec::new()))
    }

    /// Whether nothing can happen in a session until it gets a message: it has no process and no queued messages.
    fn is_idle<'a>(&'a self, _session: &'a str) -> BoxFuture<'a, bool> {
        Box::pin(std::future::ready(true))
    }

    /// The absolute path of a folder, if sessions may work in it. Does not start a session. Engines without folders
    /// need not implement this.
    fn folder<'a>(&'a self, folder: &'a str) -> BoxFuture<'a, Result<String, EngineError>> {
        Box::pin(std::future::ready(Ok(folder.to_owned())))
    }

    /// The state of the session with this key, or `None` if there is none. Does not start one.
    fn facts<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Option<Facts>>;
}
