//! The transcripts that the CLI keeps in its own folder: `projects/<folder>/<session>.jsonl`.
//!
//! They are only read. What stands in them is the business of `weir_transcript::import`.

mod find;
mod load;

pub(crate) use find::{Found, Past, Transcripts};
pub(crate) use load::Loaded;
