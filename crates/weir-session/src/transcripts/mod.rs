//! The transcripts that the CLI keeps in its own folder: `projects/<folder>/<session>.jsonl`.
//!
//! They are only read. `weir_transcript::import` interprets their content.

mod find;
mod load;
mod open;

pub use find::{FindError, PastSession, TranscriptFile, Transcripts};
pub use load::LoadedTranscript;
