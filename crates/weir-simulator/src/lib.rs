#![doc = include_str!("../../../docs/simulated-cli.md")]

mod agent;
mod cancel;
mod clock;
mod control;
mod engine;
mod history;
mod hooks;
mod host;
mod ids;
mod input;
pub mod json;
mod ledger;
mod lines;
mod mcp;
mod misbehave;
mod options;
mod output;
mod permissions;
mod persona;
mod profile;
mod queue;
mod reader;
mod rewind;
mod run;
pub mod script;
mod sessions;
mod settings;
mod signals;
mod sim;
mod tasks;
mod tools;
mod turn;

use std::sync::{Mutex, MutexGuard, PoisonError};

pub use run::{main, play};

/// Locks a mutex, ignoring poisoning: what a panicked thread left is still the best data available.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
