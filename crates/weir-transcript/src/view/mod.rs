//! The view of a session: plain data with public fields.
//!
//! This module decides nothing. A view changes only by [`Change`]s, so a snapshot and the changes since then
//! give the same view as the fold that made them.

mod agent;
mod apply;
mod change;
mod cost;
mod entry;
mod notice;
mod request;
mod said;
mod session;
mod tool;
mod turn;

pub use agent::{Agent, AgentProgress, AgentState, BackgroundTask};
pub use change::Change;
pub use cost::{Cost, MessageUsage, ModelCost, TokenUsage};
pub use entry::{
    ApiError, BlockState, CodeBlock, Entry, EntryBody, EntryId, MessageState, TextEntry, ThinkingEntry,
    UnknownEntry, UnknownReason, UserEntry, UserSource,
};
pub use notice::{HookRun, Notice};
pub(crate) use request::PLAN_TOOL;
pub use request::{PermissionRequest, Request, RequestKind, RequestState};
pub use said::{Said, is_same_message};
pub use session::{McpServer, Oddities, Plugin, RateLimit, Session, Status};
pub use tool::{FileChange, FileChangeKind, Output, Todo, TodoList, ToolCall, ToolDetail, ToolState};
pub use turn::{Denial, Failure, FailureKind, Turn, TurnCause, TurnResult, TurnState};

use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// The current state of a session.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct View {
    /// The session, with its model, tools and settings.
    pub session: Session,
    /// What it is doing.
    pub status: Status,
    /// The transcript, in order, all agents together. Numbers have no gaps. Entries are shared, so that a
    /// snapshot of a long session copies pointers and not texts.
    pub entries: Vec<Arc<Entry>>,
    /// The turns, in the order in which they began.
    pub turns: Vec<Turn>,
    /// The sub-agents; each names its parent.
    pub agents: Vec<Agent>,
    /// What runs in the background.
    pub tasks: Vec<BackgroundTask>,
    /// The CLI's requests to a person, open and settled.
    pub requests: Vec<Request>,
    /// To-do lists, one for each agent that keeps one.
    pub todos: Vec<TodoList>,
    /// Files that were changed, in order.
    pub files: Vec<FileChange>,
    /// What it has cost.
    pub cost: Cost,
    /// What each message from the model used, in the order in which they began.
    pub usages: Vec<MessageUsage>,
    /// The account's rate limit, as last reported.
    #[cfg_attr(feature = "schema", schema(required))]
    pub rate_limit: Option<Box<RateLimit>>,
    /// Counts of lines that were not as expected.
    pub oddities: Oddities,
    /// Number of entries dropped from the front because the view is bounded.
    pub dropped_entries: u64,
}
