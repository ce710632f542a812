//! What a folder would run unasked, and which folders the user has trusted.
//!
//! A CLI that is started in a folder applies the settings there: hooks, a command that prints an API key, MCP
//! servers, environment variables. All of that runs before the user is asked. So a folder's own settings are ignored
//! until the user has seen what they would run ([`scan`]) and has trusted it once ([`TrustFile::trust`]). The file
//! stores a fingerprint of the files: when they change, the folder has to be trusted again.
//!
//! This crate reads files and maintains one file of its own. It starts nothing and decides nothing about sessions.

mod file;
mod files;
mod finding;
mod git;
mod git_config;
mod git_index;
mod scan;
mod settings;

pub use file::{Standing, TrustError, TrustFile, TrustedFolder};
pub use finding::{Finding, FindingKind, Findings};
pub use scan::{ScanError, has_settings, scan};
