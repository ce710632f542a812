//! The agent: whoever works on a task in one session. The loop knows it by one small trait, so that the rest of it can
//! be tested without processes.

mod answers;
mod desk;
mod hooks;
mod hosted;
mod log;
mod run;
mod session;

use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

pub use answers::{AnswerError, match_answers};
pub use desk::{Desk, FromDesk, OpenAsk, Reply};
pub use hosted::{HostAgent, LoopSessions};
pub use log::{answer_from_log, find_log, run_from_log};
pub use run::{AgentEnd, AgentRun, DeniedTool, LimitInfo, ModelUse, Setup};
pub use session::{SessionAgent, SessionFactory};

/// What the agent is asked to do.
#[derive(Debug, Clone)]
pub struct AgentRequest {
    /// The task, for names of files.
    pub task: String,
    /// `coder` or `planner`, for names of files.
    pub mode: String,
    /// Where it works.
    pub cwd: PathBuf,
    /// The session that it shall be, a UUID, so that its log is found again.
    pub session_id: String,
    /// Whether that session is gone on with.
    pub resume: bool,
    /// What it is told.
    pub prompt: String,
    /// How the CLI is run.
    pub settings: crate::config::Mode,
    /// What every session of its mode is told, after the CLI's own system prompt or the one of the configuration.
    pub rules: &'static str,
    /// What it may cost.
    pub max_cost_usd: f64,
    /// How long it may take.
    pub timeout: Duration,
    /// Rounds with the model.
    pub max_turns: Option<u32>,
    /// Whether all permissions are skipped.
    pub skip_permissions: bool,
    /// Files that it must not change.
    pub protected: Vec<PathBuf>,
}

/// How much of a hurry there is to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Hurry {
    /// None: go on.
    #[default]
    None,
    /// End the turn.
    Interrupt,
    /// End the process.
    Now,
}

/// What an agent needs besides its request.
#[derive(Clone)]
pub struct Surroundings {
    /// Who answers questions and decides about permissions.
    pub desk: Desk,
    /// Says when to end.
    pub hurry: watch::Receiver<Hurry>,
    /// Hears what goes on at the moment, in a line.
    pub activity: Arc<dyn Fn(&str) + Send + Sync>,
}

/// A session that goes on.
pub type Running<'a> = Pin<Box<dyn Future<Output = AgentRun> + Send + 'a>>;

/// Works on a task in one session.
pub trait Agent: Send + Sync + 'static {
    /// Works on it to its end. Never fails: what went wrong is in the run.
    fn run(&self, request: AgentRequest, surroundings: Surroundings) -> Running<'_>;
}
