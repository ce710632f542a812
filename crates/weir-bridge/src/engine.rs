//! What the bridge needs of an engine, as plain data.
//!
//! The machine tells the engine what to do with a [`Command`] and hears of it in a [`Report`]. Who carries that out
//! is not its business: a host with processes, or a test.

use serde::{Deserialize, Serialize};
use weir_transcript::{ModelCost, TokenUsage};

use crate::channel::Attachment;

/// What the names of all prompts of the bridge begin with.
pub const PROMPT_PREFIX: &str = "bridge-";

/// What a conversation is started with.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ConversationSettings {
    /// The key under which the engine knows the conversation. The same key is the same conversation.
    pub key: String,
    /// What people see as its name.
    pub name: String,
    /// The working directory.
    pub workspace: String,
    /// The model; the CLI's own choice where none is named.
    pub model: Option<String>,
    /// The permission mode.
    pub permission_mode: Option<String>,
    /// The tools that there are; all where nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
    /// Tools that need no permission.
    pub allowed_tools: Vec<String>,
    /// Tools that are not there.
    pub disallowed_tools: Vec<String>,
    /// What is added to the system prompt.
    pub append_system_prompt: Option<String>,
    /// Most that it may cost, in dollars.
    pub max_cost_usd: Option<f64>,
    /// Whether the CLI keeps nothing of it on disk.
    #[serde(default)]
    pub no_session_persistence: bool,
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
    /// Those that tools give back.
    #[default]
    Tools,
    /// Also files that were written in the turn and that the answer names.
    Named,
}

/// Pictures that an engine is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WantedPictures {
    /// Those in the result of a tool.
    OfTool {
        /// The call.
        tool: String,
    },
    /// Files in the workspace that a text names.
    Named {
        /// The text, in Markdown.
        text: String,
        /// They were written after this time, in milliseconds since 1970.
        since: i64,
    },
}

/// Something that the engine is to do.
#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    /// Gives a prompt to the conversation. The same client id is the same prompt, however often it is given.
    Send {
        /// Names the prompt.
        client_id: String,
        /// What it says.
        text: String,
        /// What is with it.
        attachments: Vec<Attachment>,
        /// Into the turn that runs, if one does.
        steer: bool,
        /// Who says it.
        by: String,
    },
    /// Ends the turn that runs.
    Interrupt,
    /// Ends the process; the conversation can go on later.
    Stop,
    /// Ends one task in the background, and tells which in a [`Report::Task`] with this number.
    StopTask {
        /// The number.
        number: u64,
        /// The task: its place in the list of [`Facts::tasks`], from 1, or its name.
        task: String,
    },
    /// Answers what the CLI asks.
    Answer {
        /// The request.
        request: String,
        /// The answer.
        answer: Answer,
        /// Who answers.
        by: String,
    },
    /// Takes another model from the next turn on.
    SetModel {
        /// The model; the CLI's own choice where none is named.
        model: Option<String>,
    },
    /// Tells how the conversation is doing, in a [`Report::Facts`] with this number.
    Describe {
        /// The number.
        number: u64,
    },
    /// Tells whether conversations may work in a folder, in a [`Report::Folder`] with this number.
    LookAt {
        /// The number.
        number: u64,
        /// The folder.
        folder: String,
    },
}

/// The answer to what the CLI asks.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// The tool may be used.
    Allow {
        /// From now on without asking.
        always: bool,
    },
    /// It may not.
    Deny {
        /// What the model is told.
        message: String,
    },
    /// Answers to questions: each question with what was chosen.
    Choices(Vec<(String, Vec<String>)>),
}

/// What the engine tells of a conversation.
#[derive(Debug, Clone, PartialEq)]
pub enum Report {
    /// The model writes.
    Text {
        /// The block of text that it belongs to; later blocks have higher numbers.
        block: u64,
        /// What.
        text: String,
        /// The block says this, instead of what came before.
        replaces: bool,
    },
    /// A tool is at work.
    ToolStarted {
        /// The call.
        id: String,
        /// What it does, in a line.
        title: String,
    },
    /// A tool is done.
    ToolEnded {
        /// The call.
        id: String,
    },
    /// There are pictures for the chat. The driver asks the engine for them, and tells [`Report::Pictures`].
    Pictured(WantedPictures),
    /// Pictures for the chat, whose bytes are kept.
    Pictures(Vec<Attachment>),
    /// It takes longer, for this reason.
    Delayed {
        /// The reason, in a sentence.
        reason: String,
    },
    /// The CLI asks a person.
    Asked(Ask),
    /// A request has been settled, by somebody or by itself.
    Settled {
        /// The request.
        request: String,
        /// How, in a few words.
        how: String,
    },
    /// An answer of ours was the first.
    Taken {
        /// The request.
        request: String,
    },
    /// An answer of ours came too late.
    TooLate {
        /// The request.
        request: String,
        /// What happened instead, in a few words.
        how: String,
    },
    /// The turn that a prompt belongs to has ended.
    Finished {
        /// The prompt.
        client_id: String,
        /// How.
        ending: Ending,
    },
    /// The prompt was not taken.
    NotTaken {
        /// The prompt.
        client_id: String,
        /// Why, in a sentence.
        reason: String,
        /// It may be taken later.
        passing: bool,
    },
    /// Something that nobody asked for: what came of work in the background.
    Unasked {
        /// What it says, in Markdown.
        text: String,
    },
    /// How the conversation is doing.
    Facts {
        /// The number of the question.
        number: u64,
        /// The facts; none if the conversation has not begun.
        facts: Option<Facts>,
    },
    /// What came of ending a task in the background.
    Task {
        /// The number of the command.
        number: u64,
        /// In a sentence.
        how: String,
    },
    /// Whether conversations may work in a folder.
    Folder {
        /// The number of the question.
        number: u64,
        /// The folder by its full name, or why not, in a sentence.
        folder: Result<String, String>,
    },
}

/// How a turn has ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Ending {
    /// Names the turn: prompts that were answered together have the same.
    pub turn: String,
    /// How.
    pub outcome: EndingOutcome,
    /// Whether the CLI's result was empty, so that the answer is what was said in the turn.
    pub degraded: bool,
    /// What had been said until then, as far as the engine has kept it. It is shown where nothing else is known.
    pub said: String,
    /// What it cost, in dollars, where that is known.
    pub cost_usd: Option<f64>,
    /// Tokens of the main agent, where that is known.
    pub usage: Option<TokenUsage>,
    /// What each model was used for, sub-agents included.
    pub models: Vec<ModelCost>,
    /// How long it took.
    pub duration_ms: Option<u64>,
}

impl Ending {
    /// A turn that has ended so, and of which nothing else is known.
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

/// How a turn has ended.
#[derive(Debug, Clone, PartialEq)]
pub enum EndingOutcome {
    /// With an answer, in Markdown.
    Answered(String),
    /// Somebody ended it.
    Interrupted,
    /// Something went wrong, in a sentence.
    Failed(String),
}

/// What the CLI asks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ask {
    /// Names the request.
    pub request: String,
    /// What.
    pub kind: AskKind,
}

/// What the CLI asks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum AskKind {
    /// May this tool be used?
    Permission {
        /// The tool.
        tool: String,
        /// What it would do, in Markdown.
        details: String,
        /// The rules that would allow it for good, in words; none where it cannot be.
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
    /// The choices, each with what it means.
    pub options: Vec<(String, String)>,
    /// Several may be chosen.
    pub several: bool,
}

/// How a conversation is doing.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Facts {
    /// The engine's name for it, which the page shows too.
    pub session: String,
    /// What it does.
    pub status: String,
    /// The model.
    pub model: Option<String>,
    /// The working directory.
    pub workspace: String,
    /// What it has cost, where that is known.
    pub cost_usd: Option<f64>,
    /// Most that it may cost.
    pub max_cost_usd: Option<f64>,
    /// What runs in the background, in words.
    pub tasks: Vec<String>,
}
