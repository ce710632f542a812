//! Settings of the machine.

use std::time::Duration;

use weir_transcript::FoldOptions;
use weir_wire::{CliSessionId, InitializeRequest};

use super::guard;

/// Settings of the machine.
#[derive(Debug, Clone)]
pub struct MachineSettings {
    /// The session to resume.
    pub resume: Option<CliSessionId>,
    /// Whether to resume a copy of it and leave the original unchanged.
    pub fork: bool,
    /// The uuid of the last line in the copy; all lines if `None`.
    pub fork_at: Option<String>,
    /// The requested working directory, with all links resolved, if one was given.
    pub cwd: Option<String>,
    /// What the CLI is sent at startup.
    pub greeting: Greeting,
    /// Whether a process stays after its turn. Otherwise every message gets its own process.
    pub keep_process: bool,
    /// Whether the CLI keeps the session on disk, so that the next process can resume it.
    pub persistence: bool,
    /// Time limits.
    pub limits: Limits,
    /// Cost limit of the session, in dollars.
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

/// How much of its transcript a session keeps by default: enough to show what it is doing, and little enough
/// that a thousand idle sessions fit in memory.
pub(crate) fn session_fold() -> FoldOptions {
    FoldOptions { keep_entries: Some(512), output_limit: 512, ..FoldOptions::default() }
}

/// What the CLI is sent at startup.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Greeting {
    /// Nothing: it is too old for the handshake.
    None,
    /// Only the question whether it is ready.
    #[default]
    Plain,
    /// The same, with our hooks and servers.
    With(Box<InitializeRequest>),
}

impl Greeting {
    /// The request, if there is one, with the hook that guards what a model can reach unasked.
    pub fn request(&self) -> Option<InitializeRequest> {
        let mut request = match self {
            Self::None => return None,
            Self::Plain => InitializeRequest::default(),
            Self::With(request) => (**request).clone(),
        };
        request.hooks.push(guard::registration());
        Some(request)
    }
}

/// Time limits. `None` means no limit.
///
/// The limits of phases apply to silence: the time starts again whenever the CLI writes a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// From the start of the process until it answers. Other output meanwhile does not restart the time.
    pub starting: Option<Duration>,
    /// The model is silent. The CLI retries a failing API for minutes, older versions without any output.
    pub model: Option<Duration>,
    /// A tool is running.
    pub tool: Option<Duration>,
    /// The history is being summarised.
    pub compaction: Option<Duration>,
    /// Only background tasks are running.
    pub background: Option<Duration>,
    /// A person has to answer.
    pub person: Option<Duration>,
    /// A whole turn, from the message to its result, whatever happens in it.
    pub turn: Option<Duration>,
    /// The answer to a permission request or a question; afterwards it is denied.
    pub answer: Option<Duration>,
    /// The answer to one of our control requests.
    pub control: Duration,
    /// The end of a turn that was interrupted by a caller, a limit or the end of the session; afterwards the
    /// process is ended.
    pub interrupt: Duration,
    /// How long an idle process stays.
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
