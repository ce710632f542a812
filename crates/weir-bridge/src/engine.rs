//! The interface between the bridge and an engine, as plain data.
//!
//! The machine sends the engine a [`Command`] and gets a [`Report`] back. It does not know whether a host with real
//! processes or a test is behind the engine.
//!
//! A *conversation* is the chat's handle to a session: a key that the engine maps to one of its sessions. The key stays
//! the same if the session behind it is deleted and a new one is started.

use serde::{Deserialize, Serialize};
use weir_session::SessionSpec;
use weir_transcript::{ModelCost, TokenUsage};

use crate::channel::Attachment;

/// Prefix of the client ids of all prompts that the bridge sends.
pub const PROMPT_PREFIX: &str = "bridge-";

/// The settings that a conversation is started with.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ConversationSettings {
    /// The key by which the engine identifies the conversation.
    pub key: String,
    /// The name that people see.
    pub name: String,
    /// The working directory.
    pub workspace: String,
    /// What the session is to be like. Boxed, because it is large and travels with every command.
    #[serde(flatten)]
    pub spec: Box<SessionSpec>,
    /// Which pictures of the agent are shown in the chat.
    #[serde(default)]
    pub pictures: Pictures,
}

/// Which pictures of the agent are shown in the chat.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pictures {
    /// None.
    None,
    /// Pictures returned by tools.
    #[default]
    Tools,
    /// Also picture files written during the turn and named in the answer.
    Named,
}

/// Pictures requested from an engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WantedPictures {
    /// The pictures in the result of a tool call.
    OfTool {
        /// Id of the tool call.
        tool: String,
    },
    /// Picture files in the workspace that are named in a text.
    Named {
        /// The text, in Markdown.
        text: String,
        /// Only files written after this time, in milliseconds since 1970.
        since: i64,
    },
}

/// A command to the engine.
#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    /// Sends a prompt. Prompts with the same client id are the same prompt, however often they are sent.
    Send {
        /// Client id of the prompt.
        client_id: String,
        /// Text of the prompt.
        text: String,
        /// Files that come with it.
        attachments: Vec<Attachment>,
        /// Whether to add it to the running turn, if there is one.
        steer: bool,
        /// Name of the sender.
        by: String,
    },
    /// Interrupts the running turn.
    Interrupt,
    /// Stops the process. The conversation can be resumed later.
    Stop,
    /// Stops a background task. The result is a [`Report::Task`] with the same number.
    StopTask {
        /// Number of the command.
        number: u64,
        /// The task: its 1-based position in [`Facts::tasks`], or its id.
        task: String,
    },
    /// Answers a request of the CLI.
    Answer {
        /// Id of the request.
        request: String,
        /// The answer.
        answer: Answer,
        /// Who answers.
        by: String,
    },
    /// Changes the model, starting with the next turn.
    SetModel {
        /// The model, or `None` for the CLI's default.
        model: Option<String>,
    },
    /// Requests the state of the conversation. The result is a [`Report::Facts`] with the same number.
    Describe {
        /// Number of the command.
        number: u64,
    },
    /// Checks whether conversations may work in a folder. The result is a [`Report::Folder`] with the same number.
    LookAt {
        /// Number of the command.
        number: u64,
        /// The folder.
        folder: String,
    },
}

/// The answer to a request of the CLI.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// The tool may be used.
    Allow {
        /// Whether to allow it without asking for the rest of the session.
        always: bool,
    },
    /// The tool may not be used.
    Deny {
        /// What the model is told.
        message: String,
    },
    /// Answers to questions: each question with its chosen options.
    Choices(Vec<(String, Vec<String>)>),
}

/// What the engine reports about a conversation.
#[derive(Debug, Clone, PartialEq)]
pub enum Report {
    /// The model has written text.
    Text {
        /// The block that the text belongs to. Later blocks have higher numbers.
        block: u64,
        /// The text.
        text: String,
        /// Whether the text replaces what the block said before.
        replaces: bool,
    },
    /// A tool call has started.
    ToolStarted {
        /// Id of the call.
        id: String,
        /// What it does, in one line.
        title: String,
    },
    /// A tool call has ended.
    ToolEnded {
        /// Id of the call.
        id: String,
    },
    /// There are pictures for the chat. The driver gets them from the engine and sends [`Report::Pictures`].
    Pictured(WantedPictures),
    /// Pictures for the chat, with their bytes already stored.
    Pictures(Vec<Attachment>),
    /// The turn is delayed.
    Delayed {
        /// The reason, in a sentence.
        reason: String,
    },
    /// The CLI asks for a decision or an answer.
    Asked(Ask),
    /// A request has been settled: answered elsewhere, expired or cancelled.
    Settled {
        /// Id of the request.
        request: String,
        /// The outcome, in a few words.
        how: String,
    },
    /// Our answer to a request was the first and counts.
    Taken {
        /// Id of the request.
        request: String,
    },
    /// Our answer to a request came too late.
    TooLate {
        /// Id of the request.
        request: String,
        /// What happened instead, in a few words.
        how: String,
    },
    /// The turn that a prompt belongs to has ended.
    Finished {
        /// Client id of the prompt.
        client_id: String,
        /// How the turn ended.
        ending: Ending,
    },
    /// The engine did not accept a prompt.
    NotTaken {
        /// Client id of the prompt.
        client_id: String,
        /// The reason, in a sentence.
        reason: String,
        /// Whether a later attempt may succeed.
        passing: bool,
    },
    /// Text that does not answer a message, such as the result of background work.
    Unasked {
        /// The text, in Markdown.
        text: String,
    },
    /// The state of the conversation.
    Facts {
        /// Number of the command.
        number: u64,
        /// The state, or `None` if the conversation has not started.
        facts: Option<Facts>,
    },
    /// The result of stopping a background task.
    Task {
        /// Number of the command.
        number: u64,
        /// The result, in a sentence.
        how: String,
    },
    /// Whether conversations may work in a folder.
    Folder {
        /// Number of the command.
        number: u64,
        /// The absolute path of the folder, or the reason why not, in a sentence.
        folder: Result<String, String>,
    },
}

/// How a turn ended, with details.
#[derive(Debug, Clone, PartialEq)]
pub struct Ending {
    /// Id of the turn. Prompts that were answered together have the same one.
    pub turn: String,
    /// How it ended.
    pub outcome: EndingOutcome,
    /// Whether the CLI's result was empty and the answer is the text written during the turn.
    pub degraded: bool,
    /// The text written so far, as far as the engine has kept it. Shown if the bridge has nothing better.
    pub said: String,
    /// Cost in dollars, if known.
    pub cost_usd: Option<f64>,
    /// Tokens of the main agent, if known.
    pub usage: Option<TokenUsage>,
    /// Usage and cost per model, including sub-agents.
    pub models: Vec<ModelCost>,
    /// Duration in milliseconds.
    pub duration_ms: Option<u64>,
}

impl Ending {
    /// A turn with this outcome, and no other details.
    pub fn new(turn: impl Into<String>, outcome: EndingOutcome) -> Self {
        Self {
            turn: turn.into(),
            outcome,
            degraded: false,
            said: String::new(),
            cost_usd: None,
            usage: None,
            models: Vec::new(),
            duration_ms: None,
        }
    }
}

/// How a turn ended.
#[derive(Debug, Clone, PartialEq)]
pub enum EndingOutcome {
    /// With an answer, in Markdown.
    Answered(String),
    /// It was interrupted.
    Interrupted,
    /// It failed, for this reason, in a sentence.
    Failed(String),
}

/// A request of the CLI that a person answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ask {
    /// Id of the request.
    pub request: String,
    /// What the CLI asks for.
    pub kind: AskKind,
}

/// What the CLI asks for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum AskKind {
    /// Permission to use a tool.
    Permission {
        /// The tool.
        tool: String,
        /// What it would do, in Markdown.
        details: String,
        /// The rules that would allow it for the rest of the session, in words, or `None` if there are none to offer.
        #[serde(default)]
        always: Option<String>,
    },
    /// Questions with choices.
    Questions(Vec<Question>),
}

/// A question with choices.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Question {
    /// The question.
    pub question: String,
    /// The choices, each with its description.
    pub options: Vec<(String, String)>,
    /// Whether several may be chosen.
    pub several: bool,
}

/// The state of a conversation.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Facts {
    /// Id of the session, which the page shows too.
    pub session: String,
    /// Status of the session.
    pub status: String,
    /// The model.
    pub model: Option<String>,
    /// The working directory.
    pub workspace: String,
    /// Cost so far in dollars, if known.
    pub cost_usd: Option<f64>,
    /// Maximum cost in dollars.
    pub max_cost_usd: Option<f64>,
    /// Descriptions of the background tasks.
    pub tasks: Vec<String>,
}
