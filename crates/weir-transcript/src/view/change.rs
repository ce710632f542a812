//! The steps by which a view changes.

use std::borrow::Cow;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use weir_wire::{OwnedJson, ToolUseId, TurnId};

use super::{
    Agent, BackgroundTask, BlockState, CodeBlock, Cost, Entry, EntryId, FileChange, MessageUsage, Oddities,
    Output, RateLimit, Request, Session, Status, TodoList, ToolDetail, ToolState, Turn,
};

/// One step. [`super::View::apply`] takes it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(tag = "change", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Change<'a> {
    /// What is known of the session has changed.
    Session(Box<Session>),
    /// It is doing something else.
    Status {
        /// What.
        status: Status,
    },
    /// A new entry, with the next number.
    EntryAdded(Arc<Entry>),
    /// An entry is now this.
    EntryReplaced(Arc<Entry>),
    /// Text was added to a text or a thinking entry.
    TextAppended {
        /// The entry.
        entry: EntryId,
        /// The text.
        text: Cow<'a, str>,
    },
    /// The text of a text or a thinking entry is now this: what had streamed was not what was meant.
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
        /// How.
        state: BlockState,
        /// The code blocks in it.
        code: Vec<CodeBlock>,
    },
    /// More of a tool's arguments has come.
    InputAppended {
        /// The entry of the tool call.
        entry: EntryId,
        /// A piece of a JSON text.
        json: Cow<'a, str>,
    },
    /// A tool call is in another state.
    ToolState {
        /// The entry of the tool call.
        entry: EntryId,
        /// The state.
        state: ToolState,
    },
    /// A tool call has its result.
    ToolEnded {
        /// The entry of the tool call.
        entry: EntryId,
        /// How it ended.
        state: ToolState,
        /// What it gave back.
        output: Output,
        /// What the tool's kind has to say besides, if that is new.
        detail: Option<ToolDetail>,
        /// What it gave back for programs.
        structured: Option<OwnedJson>,
        /// How long it took.
        duration_ms: Option<u64>,
    },
    /// A new turn, with the next number.
    TurnAdded(Box<Turn>),
    /// A turn is now this.
    TurnReplaced(Box<Turn>),
    /// A sub-agent is new, or is now this.
    Agent(Box<Agent>),
    /// This runs in the background now.
    Tasks {
        /// The tasks.
        tasks: Vec<BackgroundTask>,
    },
    /// A request for a person is new, or is now this.
    Request(Box<Request>),
    /// An agent's list of things to do is now this.
    Todos(TodoList),
    /// A file was changed.
    FileChanged(Box<FileChange>),
    /// The cost is now this.
    Cost(Cost),
    /// A message of the model has used this.
    MessageUsed(Box<MessageUsage>),
    /// The account's limit is now this.
    RateLimit(RateLimit),
    /// More lines were not as expected.
    Oddities(Oddities),
    /// The oldest entries were dropped, with everything that came up at them.
    Dropped {
        /// The first entry that is kept.
        first_entry: EntryId,
        /// The first of the newest turns, which are kept.
        first_turn: TurnId,
        /// Older turns that are kept, because they are still open or something that is kept belongs to them.
        keep_turns: Vec<TurnId>,
        /// Sub-agents that are kept although they were started earlier, because they still run.
        keep_agents: Vec<ToolUseId>,
        /// Most sub-agents, requests, files and messages that are kept, the newest of each.
        most: usize,
    },
}

impl Change<'_> {
    /// The same, borrowing nothing.
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
