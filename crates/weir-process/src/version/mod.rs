//! Detects the version of a CLI and what it supports.
//!
//! The version comes from `--version`, the flags from `--help`. Some flags are hidden from the help, and
//! control requests are not listed anywhere: for those there is a table of the versions in which they were seen
//! to work.

mod capabilities;
mod help;
mod number;
mod probe;

pub use capabilities::Capabilities;
pub use number::Version;
pub use probe::{ProbeCache, ProbeError};
