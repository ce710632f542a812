//! The transcripts that the CLI keeps in its own folder: `projects/<folder>/<session>.jsonl`.
//!
//! `weir_transcript::import` interprets their content. [`TranscriptFile`] can rename, tag and delete a session.

mod edit;
mod find;
mod live;
mod load;
mod open;

pub use edit::{AgentFile, EditError};
pub use find::{FindError, PastSession, TranscriptFile, Transcripts};
pub use live::{LiveSession, live_sessions};
pub use load::LoadedTranscript;
