//! Sessions that outlive their processes: the engine that the server, the loop and the bridge share.
//!
//! A [`Host`] joins the pool of processes (`weir-session`), the log (`weir-store`) and the fold
//! (`weir-transcript`). A session of the host is a log that has a process from time to time. Only sessions with a
//! viewer or with work to do are in memory, and they can be rebuilt from the log at any time.
//!
//! - **Accepted means logged.** [`Host::send`] returns when the message is in the store. The same client id gives the
//!   same message.
//! - **One order.** Everything that happens to a session goes through the store in one order, and is folded and shown
//!   to viewers in that order, after the store has taken it. A cursor that a viewer has seen is in the log, even if
//!   this program is killed a moment later.
//! - **Viewers never block a session.** Each has a bounded queue; one that is too slow is disconnected and can resume.
//! - **After a kill** the running turn is shown as interrupted, messages that were not sent to the CLI are kept, and
//!   [`Host::resume`] continues. A message is never sent to the CLI twice.
//!
//! This crate has no HTTP and no user interface.

mod admission;
mod attachments;
mod billing;
mod checkpoint;
mod checkpoints;
mod client_calls;
mod client_tools;
mod core;
mod costs;
mod crowding;
mod error;
mod export;
mod files;
mod frame_builder;
mod history;
mod host;
mod hub;
mod info;
mod item;
mod labels;
mod live_session;
mod load;
mod log_state;
mod message;
mod message_queue;
mod message_watch;
mod metrics;
mod options;
mod output;
mod pages;
mod panels;
mod past_messages;
mod policy;
mod recorder;
mod replay;
mod retention;
mod review;
mod rewind;
mod settings;
mod steady_clock;
mod step;
mod summary;
mod transcript;
mod unasked;
mod viewer;
mod viewing;
mod watch;
mod watch_event;
mod work;
mod worktree_setup;

pub use billing::{Billing, Payment};
pub use client_tools::{ClientTool, ClientTools, ToolAnswer, ToolContent};
pub use costs::{CostQuery, CostReport, CostRow};
pub use error::HostError;
pub use files::FileDiff;
pub use host::{
    Adoption, ChangeLimits, ChangeMessage, CliReport, CliState, FolderEntry, FolderListing, FolderReport,
    GitState, Host, NewWorktree, PastSession, PastWork, RemovedWorktree, WorktreeInfo, revert, review,
};
pub use hub::{AllEvent, WatchAll};
pub use info::{ParentInfo, SessionInfo, SessionStatus, WaitingFor};
pub use message::{
    Accepted, Document, Finished, Image, MessageInfo, MessageMode, MessageOutcome, NewMessage, SlashCommand,
};
pub use message_watch::MessageWatch;
pub use metrics::{Histogram, HostMetrics};
pub use options::{HostOptions, Recipe};
pub use pages::{
    Created, Export, ExportFormat, ListSessions, LogEvent, LogPage, ResumeReport, SessionPage, TranscriptPage,
};
pub use panels::{
    AccountLimit, AccountUsage, ContextPart, ContextReport, ExtensionList, HookInfo, McpLogin, McpServerInfo,
    McpServers, RemoveRule, RuleInfo, RuleList, TaskOutputTail,
};
pub use policy::Policy;
pub use retention::Retention;
pub use review::{
    CommitChanges, CommitMade, RevertChange, RevertedChange, Review, ReviewBase, ReviewFile, ReviewHunk,
    ReviewQuery, ReviewStatus, StageChanges,
};
pub use rewind::{Rewind, RewindOutcome, RewoundFiles};
pub use settings::{Actor, Branch, KeptSettings, NewSession, SessionSettings, is_of_owner};
pub use viewer::Bye;
pub use viewing::{FileBytes, FileTree, FileView, FileViewKind, LineRange, TreeEntry, TreeKind};
pub use watch::{Format, Watch, WatchQuery};
pub use watch_event::{
    ChangesEvent, Frame, HeartbeatEvent, HelloEvent, MessagesEvent, ResumeKind, SnapshotEvent, WatchEvent,
};
pub use weir_session::{Decision, Effort, SessionSpec};
pub use weir_store::{Cursor, Hit, SearchQuery, SessionId, Snippet, Space, StoreError, Usage};
pub use weir_transcript::{Failure, FailureKind, MessageState};
pub use worktree_setup::{WorktreeSetup, WorktreeSetups};
