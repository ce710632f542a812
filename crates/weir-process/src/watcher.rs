//! A watcher that outlives Weir: if this process is killed, it ends what Weir has started.
//!
//! It is one small shell for the whole process, started with the first child. It holds the reading end of a
//! pipe; we hold the writing end, which closes when we end, for whatever reason. The watcher then looks for our
//! mark in the environments and limits of all processes, and ends those that have it. A parent death signal
//! (`PR_SET_PDEATHSIG`) would not do: it follows the thread that started the child, and does not reach tools
//! that the child has started.

use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};

use crate::mark::{LimitMark, Mark};

const SCRIPT: &str = include_str!("watcher.sh");

/// The child also holds the pipe, as its standard input.
static WATCHER: Mutex<Option<Child>> = Mutex::new(None);

/// Starts the watcher, or a new one if it has died.
///
/// If it cannot be started, the CLI is started anyway: the watcher is the second safety net, and the records
/// read by [`crate::leftovers`] are the third.
pub(crate) fn ensure() {
    if !cfg!(target_os = "linux") {
        return;
    }
    let mut watcher = WATCHER.lock().unwrap_or_else(PoisonError::into_inner);
    let is_alive = watcher.as_mut().is_some_and(|child| matches!(child.try_wait(), Ok(None)));
    if !is_alive {
        *watcher = start();
    }
}

/// Pid of the watcher, if it is running.
#[doc(hidden)]
pub fn watcher_pid() -> Option<u32> {
    WATCHER.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(Child::id)
}

#[expect(
    clippy::disallowed_methods,
    reason = "this crate starts processes; tokio's Command would need a runtime that stays alive"
)]
fn start() -> Option<Child> {
    let mut path = std::env::var_os("PATH").unwrap_or_default();
    path.push(":/usr/bin:/bin");
    let mut command = Command::new("/bin/sh");
    command
        .args(["-c", SCRIPT, "weir-watcher", Mark::of_this_process().as_str()])
        .arg(LimitMark::of_process().to_string())
        // In particular without our marks, or it would find itself.
        .env_clear()
        .env("PATH", path)
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    command.spawn().ok()
}
