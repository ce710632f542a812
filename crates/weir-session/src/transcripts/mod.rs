//! The transcripts that the CLI keeps in its own folder: `projects/<folder>/<session>.jsonl`.
//!
//! They are only read. `weir_transcript::import` interprets their content.

mod find;
mod live;
mod load;

pub use find::{FindError, PastSession, TranscriptFile, Transcripts};
pub use live::{LiveSession, live_sessions};
pub use load::LoadedTranscript;
