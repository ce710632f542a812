//! The fold from the CLI's lines to a view of a session, and the vocabularies derived from it.
//!
//! This crate uses no runtime, no files, no clock and no HTTP. It takes the lines of `weir-wire` and the host's
//! events, and produces a [`View`] and the [`Change`]s that lead to it.

mod code_blocks;
mod diff;
pub mod export;
mod fold;
mod host;
pub mod import;
pub mod lookup;
mod proposal;
mod reveal;
mod summary;
mod time;
mod view;
mod vocabulary;

pub use code_blocks::code_blocks;
pub use fold::{Fold, FoldOptions, Sink};
pub use host::{HostEvent, RequestAnswer, RewindPoint};
pub use proposal::{FileEffect, FilePreview, proposed_path};
pub use reveal::{reveal, reveal_command};
pub use summary::{Outcome, RunSummary, SummaryBuilder};
pub use time::milliseconds;
pub use view::*;
pub use vocabulary::{
    AgentEvent, AgentEventKind, AgentVocabulary, ClassicData, ClassicDone, ClassicError, ClassicEvent,
    ClassicResult, ClassicSession, ClassicStderr, ClassicSystem, ClassicText, ClassicTextSource,
    ClassicToolResult, ClassicToolUse, ClassicVocabulary, Vocabularies, VocabularySinks,
};
