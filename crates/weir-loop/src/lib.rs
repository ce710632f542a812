//! x
#![allow(missing_docs)]
pub mod agent;
pub mod allowlist;
pub mod config;
pub mod detect;
pub mod event;
pub mod fingerprint;
pub mod judge;
pub mod machine;
pub mod message;
pub mod outcome;
pub mod prompt;
pub mod report;
pub mod shell;
pub mod state;
pub mod tasks;
pub mod time;
