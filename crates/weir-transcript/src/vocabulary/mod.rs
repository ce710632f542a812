//! The normalised vocabularies: streams of small events for programs that do not need a view.
//!
//! Both are derived from the fold's changes through [`milestones`], so they agree with each other and with the
//! view about what happened.

mod agent;
mod both;
mod classic;
mod milestones;

pub use agent::{AgentEvent, AgentEventKind, AgentVocabulary};
pub use both::{Vocabularies, VocabularySinks};
pub use classic::{
    ClassicData, ClassicDone, ClassicError, ClassicEvent, ClassicResult, ClassicSession, ClassicStderr,
    ClassicSystem, ClassicText, ClassicTextSource, ClassicToolResult, ClassicToolUse, ClassicVocabulary,
};
pub(crate) use milestones::{Milestone, Milestones};
