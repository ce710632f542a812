//! Changes: the steps by which a view changes.

use std::borrow::Cow;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use weir_wire::{OwnedJson, ToolUseId, TurnId};

use super::{
    Agent, BackgroundTask, BlockState, CodeBlock, Cost, Entry, EntryId, FileChange, MessageUsage, Oddities,
    Output, RateLimit, Request, Session, Status, TodoList, ToolDetail, ToolState, Turn,
};

/// One step, applied with [`super::View::apply`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(tag = "change", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Change<'a> {
    /// The session's properties have changed.
    Session(Box<Session>),
    /// The session's status has changed.
    Status {
        /// The new status.
        status: Status,
    },
    /// A new entry, with the next number.
    EntryAdded(Arc<Entry>),
    /// An entry was replaced.
    EntryReplaced(Arc<Entry>),
    /// Text was added to a text or a thinking entry.
    TextAppended {
        /// The entry.
        entry: EntryId,
        /// The text.
        text: Cow<'a, str>,
    },
    /// The text of a text or a thinking entry was replaced because the streamed text differed from the final
    /// one.
    TextReplaced {
        /// The entry.
        entry: EntryId,
        /// The whole text.
        text: String,
    },
    /// A text or a thinking entry has ended.
    BlockEnded {
        /// The entry.
        entry: EntryId,
        /// How it ended.
        state: BlockState,
        /// The code blocks in it.
        code: Vec<CodeBlock>,
    },
    /// More of a tool's arguments has arrived.
    InputAppended {
        /// The entry of the tool call.
        entry: EntryId,
        /// A piece of a JSON text.
        json: Cow<'a, str>,
    },
    /// The state of a tool call has changed.
    ToolState {
        /// The entry of the tool call.
        entry: EntryId,
        /// The new state.
        state: ToolState,
    },
    /// A tool call has its result.
    ToolEnded {
        /// The entry of the tool call.
        entry: EntryId,
        /// How it ended.
        state: ToolState,
        /// Its output.
        output: Output,
        /// Details that depend on the kind of tool, if they have changed.
        detail: Option<ToolDetail>,
        /// Its structured result.
        structured: Option<OwnedJson>,
        /// How long it took.
        duration_ms: Option<u64>,
    },
    /// A new turn, with the next number.
    TurnAdded(Box<Turn>),
    /// A turn was replaced.
    TurnReplaced(Box<Turn>),
    /// A sub-agent was added or replaced.
    Agent(Box<Agent>),
    /// The background tasks have changed.
    Tasks {
        /// The tasks.
        tasks: Vec<BackgroundTask>,
    },
    /// A request was added or replaced.
    Request(Box<Request>),
    /// An agent's to-do list was replaced.
    Todos(TodoList),
    /// A file was changed.
    FileChanged(Box<FileChange>),
    /// The cost has changed.
    Cost(Cost),
    /// The usage of a message from the model was added or replaced.
    MessageUsed(Box<MessageUsage>),
    /// The account's rate limit has changed.
    RateLimit(RateLimit),
    /// The counts of unexpected lines have changed.
    Oddities(Oddities),
    /// The oldest entries were dropped, with everything that belongs to them.
    Dropped {
        /// The first entry that is kept.
        first_entry: EntryId,
        /// The first of the newest turns, which are kept.
        first_turn: TurnId,
        /// Older turns that are kept because they are still open or because a kept entry belongs to them.
        keep_turns: Vec<TurnId>,
        /// Sub-agents that are kept although they were started earlier, because they still run.
        keep_agents: Vec<ToolUseId>,
        /// Maximum number of sub-agents, requests, files and messages that are kept, the newest of each.
        most: usize,
    },
}

impl Change<'_> {
    /// The change with all its data owned.
    pub fn into_owned(self) -> Change<'static> {
        match self {
            Self::TextAppended { entry, text } => {
                Change::TextAppended { entry, text: Cow::Owned(text.into_owned()) }
            }
            Self::InputAppended { entry, json } => {
                Change::InputAppended { entry, json: Cow::Owned(json.into_owned()) }
            }
            Self::TextReplaced { entry, text } => Change::TextReplaced { entry, text },
            Self::Session(session) => Change::Session(session),
            Self::Status { status } => Change::Status { status },
            Self::EntryAdded(entry) => Change::EntryAdded(entry),
            Self::EntryReplaced(entry) => Change::EntryReplaced(entry),
            Self::BlockEnded { entry, state, code } => Change::BlockEnded { entry, state, code },
            Self::ToolState { entry, state } => Change::ToolState { entry, state },
            Self::ToolEnded { entry, state, output, detail, structured, duration_ms } => {
                Change::ToolEnded { entry, state, output, detail, structured, duration_ms }
            }
            Self::TurnAdded(turn) => Change::TurnAdded(turn),
            Self::TurnReplaced(turn) => Change::TurnReplaced(turn),
            Self::Agent(agent) => Change::Agent(agent),
            Self::Tasks { tasks } => Change::Tasks { tasks },
            Self::Request(request) => Change::Request(request),
            Self::Todos(todos) => Change::Todos(todos),
            Self::FileChanged(file) => Change::FileChanged(file),
            Self::Cost(cost) => Change::Cost(cost),
            Self::MessageUsed(usage) => Change::MessageUsed(usage),
            Self::RateLimit(limit) => Change::RateLimit(limit),
            Self::Oddities(oddities) => Change::Oddities(oddities),
            Self::Dropped { first_entry, first_turn, keep_turns, keep_agents, most } => {
                Change::Dropped { first_entry, first_turn, keep_turns, keep_agents, most }
            }
        }
    }
}
