//! What the machine has to know before it begins.

use std::time::Duration;

use weir_transcript::FoldOptions;
use weir_wire::{InitializeRequest, SessionId};

/// What the machine has to know before it begins.
#[derive(Debug, Clone)]
pub struct MachineSettings {
    /// The session to go on with.
    pub resume: Option<SessionId>,
    /// Whether to go on with a copy of it and leave it as it is.
    pub fork: bool,
    /// The last line of it that a copy has, by its uuid; none for all of it.
    pub fork_at: Option<String>,
    /// The folder that it was asked to work in, with all links resolved, if one was.
    pub cwd: Option<String>,
    /// What is said to the CLI at the start.
    pub greeting: Greeting,
    /// Whether a process stays after its turn. Otherwise every message gets a process of its own.
    pub keep_process: bool,
    /// Whether the CLI keeps the session on disk, so that the next process can go on with it.
    pub persistence: bool,
    /// How long things may take.
    pub limits: Limits,
    /// What the conversation may cost, in dollars.
    pub max_cost_usd: Option<f64>,
    /// How much the transcript keeps.
    pub fold: FoldOptions,
}

impl Default for MachineSettings {
    fn default() -> Self {
        Self {
            resume: None,
            fork: false,
            fork_at: None,
            cwd: None,
            greeting: Greeting::Plain,
            keep_process: true,
            persistence: true,
            limits: Limits::default(),
            max_cost_usd: None,
            fold: session_fold(),
        }
    }
}

/// How much a session keeps of its conversation, unless it is told otherwise: enough to see what it is at, and little
/// enough that a thousand of them can wait.
pub(crate) fn session_fold() -> FoldOptions {
    FoldOptions { keep_entries: Some(512), output_limit: 512, ..FoldOptions::default() }
}

/// What is said to the CLI at the start.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Greeting {
    /// Nothing: it is too old to be asked.
    None,
    /// Only the question whether it is ready.
    #[default]
    Plain,
    /// That, and what we have for it.
    With(Box<InitializeRequest>),
}

impl Greeting {
    /// The request, if there is one.
    pub fn request(&self) -> Option<InitializeRequest> {
        match self {
            Self::None => None,
            Self::Plain => Some(InitializeRequest::default()),
            Self::With(request) => Some((**request).clone()),
        }
    }
}

/// How long things may take. A limit of none is no limit.
///
/// The limits of phases are for silence: whenever the CLI writes a line, the time starts again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// From the start of the process until it answers. Not for silence alone: what it says meanwhile is no answer.
    pub starting: Option<Duration>,
    /// The model says nothing. The CLI retries a failing API for minutes, older versions without a word.
    pub model: Option<Duration>,
    /// A tool runs.
    pub tool: Option<Duration>,
    /// The history is being summarised.
    pub compaction: Option<Duration>,
    /// Only background tasks run.
    pub background: Option<Duration>,
    /// A person has to answer.
    pub person: Option<Duration>,
    /// A whole turn, from the message to its result, whatever happens in it.
    pub turn: Option<Duration>,
    /// The answer to a permission request or a question; after that it is denied.
    pub answer: Option<Duration>,
    /// The answer to a control request of ours.
    pub control: Duration,
    /// The end of a turn that was interrupted, by a caller, a limit or the end of the session; after that the process
    /// is ended.
    pub interrupt: Duration,
    /// How long a process with nothing to do stays.
    pub idle: Option<Duration>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            starting: Some(Duration::from_secs(60)),
            model: Some(Duration::from_secs(15 * 60)),
            tool: Some(Duration::from_secs(60 * 60)),
            compaction: Some(Duration::from_secs(15 * 60)),
            background: None,
            person: None,
            turn: None,
            answer: None,
            control: Duration::from_secs(20),
            interrupt: Duration::from_secs(5),
            idle: None,
        }
    }
}
