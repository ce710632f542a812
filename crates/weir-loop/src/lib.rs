//! The unattended loop: works through a task list with fresh sessions, checks the work itself, stays within its
//! budgets, and records everything.
//!
//! The core is pure: task lists ([`tasks`]), configuration ([`config`]), what is allowed ([`allowlist`]), prompts
//! ([`prompt`]), judgements ([`judge`]), the state of a run ([`state`]) and its transitions ([`machine`]), reports
//! ([`report`]). The shell ([`shell`]) performs the machine's actions, after the state is on disk. It talks to the CLI
//! only through [`agent`]: a session of `weir-session`, alone or in a `weir-host` where people see it, or a substitute
//! in tests.
//!
//! It never prints, and it never trusts what a model says about its own work.

pub mod agent;
pub mod allowlist;
pub mod config;
pub mod detect;
pub mod event;
pub mod fingerprint;
pub mod forecast;
mod instant;
pub mod judge;
pub mod limits;
pub mod machine;
pub mod message;
pub mod notification;
pub mod outcome;
pub mod plan;
pub mod prompt;
pub mod protection;
pub mod report;
pub mod shell;
pub mod state;
pub mod tasks;
