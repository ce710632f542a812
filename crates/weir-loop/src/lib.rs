//! The unattended loop: works through a task list with fresh sessions, checks the work itself, keeps to its budgets,
//! and writes down everything.
//!
//! The core is pure: task lists ([`tasks`]), configuration ([`config`]), what is allowed ([`allowlist`]), prompts
//! ([`prompt`]), judgements ([`judge`]), the state of a run ([`state`]) and its transitions ([`machine`]), reports
//! ([`report`]). The shell ([`shell`]) does what the machine says, after the state is on disk. It talks to the CLI
//! only through [`agent`], which is a session of `weir-session`, by itself or in a `weir-host` where people see it, or
//! whatever a test puts in its place.
//!
//! It never prints, and it never believes what a model says about its own work.

pub mod agent;
pub mod allowlist;
pub mod config;
pub mod detect;
pub mod event;
pub mod fingerprint;
mod instant;
pub mod judge;
pub mod machine;
pub mod message;
pub mod news;
pub mod outcome;
pub mod prompt;
pub mod report;
pub mod shell;
pub mod state;
pub mod tasks;
pub mod time;
