//! Raw logs: what the CLI wrote, what it was sent, and its diagnostics, each in a file of its own.
//!
//! Bytes are written as they come, with one blocking write for each chunk. A write of a chunk to a local file goes to
//! the page cache and takes microseconds; a channel to a writing thread would cost more, and what was in the
//! channel when Weir is killed would be lost. The one change ever made is masking, see [`crate::Secrets`].

mod files;
mod folder;
mod mask;
mod options;
#[cfg(test)]
mod tests;
mod writer;

pub(crate) use files::{create, create_directory, none, write_private};
pub(crate) use mask::Masker;
pub use options::{FolderLimits, LogError, LogOptions, LogPaths};
pub(crate) use writer::LogWriter;
