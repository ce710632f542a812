//! Which CLI it is and what it can do.
//!
//! The version comes from `--version`, the flags from `--help`. Some flags are hidden from the help, and controls are
//! not listed anywhere: for those there is a table of what was seen to work in which version.

mod capabilities;
mod help;
mod number;
mod probe;

pub use capabilities::Capabilities;
pub use number::Version;
pub use probe::{ProbeCache, ProbeError};
