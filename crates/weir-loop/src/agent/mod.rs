//! The agent: works on a task in one session of a host. The rest of the loop knows it only by one small trait, so that
//! it can be tested without processes.

mod answers;
mod approvals;
mod follower;
mod hooks;
mod host;
mod log;
mod options;
mod record;
mod run;
mod stop;

use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use weir_session::SessionSpec;

use crate::protection::Protection;

pub use answers::{AnswerError, match_answers};
pub use approvals::{ApprovalMessage, Approvals, OpenAsk};
pub use host::{HostAgent, LoopSessions};
pub use log::{answer_from_log, find_log, killed_run_from_log, run_from_log};
pub use options::SessionFactory;
pub use run::{AgentEnd, AgentRun, DeniedTool, LimitInfo, ModelUse, Setup};

/// What the agent is asked to do.
#[derive(Debug, Clone)]
pub struct AgentRequest {
    /// The task, used in file names.
    pub task: String,
    /// `coder` or `planner`, used in file names.
    pub mode: String,
    /// The working directory.
    pub cwd: PathBuf,
    /// The session id to use, a UUID, so that its log can be found again.
    pub session_id: String,
    /// Whether to resume that session.
    pub resume: bool,
    /// The message to send.
    pub prompt: String,
    /// What the session is to be like, with what it may cost. The tools are derived from the allowed ones.
    pub spec: SessionSpec,
    /// More arguments for the CLI.
    pub extra_args: Vec<String>,
    /// Rules for every session of this mode. They follow the CLI's own system prompt, or the configured one.
    pub rules: &'static str,
    /// How long the session may take.
    pub timeout: Duration,
    /// Whether all permissions are skipped.
    pub skip_permissions: bool,
    /// Files that the session must not change.
    pub protected: Protection,
}

/// How urgently a session has to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Hurry {
    /// Not at all: keep working.
    #[default]
    None,
    /// End the turn.
    Interrupt,
    /// End the process.
    Now,
}

/// What an agent needs apart from its request.
#[derive(Clone)]
pub struct Surroundings {
    /// Takes questions and permission requests.
    pub approvals: Approvals,
    /// Says when to end.
    pub hurry: watch::Receiver<Hurry>,
    /// Receives one line about what the session is doing.
    pub activity: Arc<dyn Fn(&str) + Send + Sync>,
}

/// A running session.
pub type Running<'a> = Pin<Box<dyn Future<Output = AgentRun> + Send + 'a>>;

/// Works on a task in one session.
pub trait Agent: Send + Sync + 'static {
    /// Runs the session to its end. Never fails: what went wrong is in the [`AgentRun`].
    fn run(&self, request: AgentRequest, surroundings: Surroundings) -> Running<'_>;
}
