//! Raw logs: the CLI's output, its input and its diagnostics, each in a separate file.
//!
//! Bytes are written as they arrive, with one blocking write per chunk. Writing a chunk to a local file goes to
//! the page cache and takes microseconds; a channel to a writer thread would cost more, and its content would
//! be lost if Weir is killed. The only change ever made is masking, see [`crate::Secrets`].

mod files;
mod folder;
mod mask;
mod options;
#[cfg(test)]
mod tests;
mod writer;

pub(crate) use files::{create, none};
pub(crate) use mask::Masker;
pub use options::{FolderLimits, LogError, LogOptions, LogPaths};
pub(crate) use writer::LogWriter;
