//! Finds, starts, watches and stops a `claude` process.
//!
//! This crate is the only one in Weir that starts processes: all access to the operating system's processes
//! goes through it. It deals with bytes, lines, files, signals and process trees, and knows nothing about the
//! protocol spoken over those lines.
//!
//! A [`Launch`] describes what to start and how. [`Launch::spawn`] returns a [`Process`], whose parts are
//! separate so that a driver can wait for all of them at once: [`Output`] (lines from the CLI), [`Input`]
//! (lines to it), [`Stderr`] (its diagnostics as they arrive) and [`Handle`] (waiting for and stopping it).
//! [`memory()`] provides the same parts without a process, for tests.
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use weir_process::{Launch, StopOptions};
//!
//! let mut process = Launch::new("claude").args(["-p", "--verbose"]).spawn().await?;
//! process.input.queue(br#"{"type":"user","message":{"role":"user","content":"Hello"}}"#);
//! process.input.flush().await?;
//! while process.output.fill().await? {
//!     while let Some(frame) = process.output.next_frame() {
//!         // Hand the line to the decoder.
//! #       drop(frame);
//!     }
//! }
//! process.handle.stop(&StopOptions::default()).await;
//! # Ok(())
//! # }
//! ```

mod brief;
mod browser;
mod child;
mod clock;
mod command;
mod detached;
mod directory;
mod environment;
mod exit;
mod find;
mod handle;
mod input;
mod launch;
mod lock;
mod log;
mod mark;
mod memory;
mod output;
mod reaper;
mod registry;
mod sandbox;
mod secrets;
mod spawning;
mod stderr;
mod stream;
mod tree;
mod user;
mod version;
mod watcher;

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

pub use browser::{desktop_opener, show_file};
pub use clock::time_passed;
pub use command::{Captured, CommandOutput, PlainCommand};
pub use detached::{Detached, leave_terminal};
pub use directory::Directory;
pub use environment::Environment;
pub use exit::{Exit, StopOptions, StopReport, StopStep};
pub use find::{
    Files, FindError, Found, PROGRAM_VARIABLE, Place, RealFiles, find, find_in_path, git_bash,
    interpreter_of, search,
};
pub use handle::Handle;
pub use input::Input;
pub use launch::{Launch, Process, SpawnError, Transport};
pub use lock::{Lock, LockError, LockOwner};
pub use log::{FolderLimits, LogError, LogOptions, LogPaths};
pub use memory::{Peer, PeerSignal, memory, memory_with};
pub use output::Output;
pub use reaper::buried;
pub use registry::{Leftover, RegistryError, end_leftovers, leftovers};
pub use sandbox::{Sandbox, SandboxError};
pub use secrets::{SecretError, Secrets, looks_secret};
pub use stderr::{Stderr, StderrText};
pub use tree::{ProcessId, adopt_orphans};
pub use user::{OsUser, UserError};
pub use version::{Capabilities, ProbeCache, ProbeError, Version};
#[doc(hidden)]
pub use watcher::watcher_pid;
