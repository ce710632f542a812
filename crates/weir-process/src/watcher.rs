//! A watcher that outlives us: if this process is killed, it ends what we have started.
//!
//! One small shell for the whole process, started with the first child. It holds the reading end of a pipe; the
//! writing end is ours and closes when we end, however that comes about. Then it looks for our mark in the
//! environments and the limits of all processes, and ends those that have it. A signal at the death of a parent
//! (`PR_SET_PDEATHSIG`) would not do: it follows the thread that started the child, and reaches no tool that the
//! child has started.

use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};

use crate::mark::{LimitMark, Mark};

const SCRIPT: &str = include_str!("watcher.sh");

/// Its input is the pipe; it is kept in the child.
static WATCHER: Mutex<Option<Child>> = Mutex::new(None);

/// Starts the watcher, or another one if it has died.
///
/// A watcher that cannot be started is no reason not to start the CLI: it is the second net, and the record of
/// [`crate::leftovers`] the third.
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

/// The pid of the watcher, if there is one.
#[doc(hidden)]
pub fn watcher_pid() -> Option<u32> {
    WATCHER.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(Child::id)
}

#[expect(
    clippy::disallowed_methods,
    reason = "this crate starts processes; tokio's would need a runtime that stays"
)]
fn start() -> Option<Child> {
    let mut path = std::env::var_os("PATH").unwrap_or_default();
    path.push(":/usr/bin:/bin");
    let mut command = Command::new("/bin/sh");
    command
        .args(["-c", SCRIPT, "weir-watcher", Mark::of_this_process().as_str()])
        .arg(LimitMark::of_process().to_string())
        // Above all not our marks: it would find itself.
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
