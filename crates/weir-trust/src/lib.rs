//! What a folder would run by itself, and which folders a person has trusted.
//!
//! A CLI that is started in a folder honours the settings that lie there: hooks, a command that prints an API key, MCP
//! servers, environment variables. All of that runs before anyone is asked. So a folder's own settings are left out
//! until a person has seen what they would run ([`scan`]) and has said so once ([`TrustFile::trust`]). What was trusted
//! is remembered with a fingerprint of the files: when they change, the folder has to be trusted again.
//!
//! This crate reads files and keeps one file of its own. It starts nothing and decides nothing about sessions.

mod file;
mod finding;
mod git;
mod git_config;
mod git_index;
mod scan;
mod settings;

pub use file::{Standing, TrustError, TrustFile, TrustedFolder};
pub use finding::{Finding, FindingKind, Findings};
pub use scan::{ScanError, has_settings, scan};
