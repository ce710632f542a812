//! Runs each command in its own process session, like the real CLI: killing the CLI's process group does not reach
//! them, and SIGKILL of the CLI leaves them alive.

use std::fs::File;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};

use crate::cancel::{Cancel, Stop, Watch};

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    /// With this status; 128 plus the signal if it was killed.
    Exited(i32),
    /// It was told to stop.
    Stopped(Stop),
    /// It took too long.
    TimedOut,
}

enum Event {
    Exited(i32),
    Stop(Stop),
}

/// A running command.
pub(crate) struct Running {
    events: Receiver<Event>,
    waiter: JoinHandle<()>,
    group: Option<Pid>,
    /// Kills it when it should stop.
    _watch: Watch,
}

/// Starts a command with bash. Its output goes to files, so that a process it leaves behind does not block any
/// reader. It is killed on the thread that raises the flag, because the process may be about to end.
#[expect(clippy::disallowed_methods, reason = "the simulated CLI runs tools itself, like the real one")]
#[expect(unsafe_code, reason = "the standard library starts a new session only by a callback before exec")]
pub(crate) fn start(
    command: &str,
    cwd: &Path,
    (stdout, stderr): (File, File),
    cancel: &Arc<Cancel>,
) -> std::io::Result<Running> {
    let mut shell = Command::new("bash");
    shell.arg("-c").arg(command).current_dir(cwd).env("CLAUDECODE", "1");
    shell.stdin(Stdio::null()).stdout(stdout).stderr(stderr);
    // SAFETY: between fork and exec only `setsid` is called, which is safe in a signal handler and allocates nothing.
    unsafe {
        shell.pre_exec(|| rustix::process::setsid().map(drop).map_err(Into::into));
    }
    let mut child = shell.spawn()?;
    let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let (sender, events) = mpsc::channel();
    let exits = sender.clone();
    let waiter = std::thread::spawn(move || {
        let status = child
            .wait()
            .map_or(-1, |status| status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or_default()));
        drop(exits.send(Event::Exited(status)));
    });
    let watch = cancel.watch(move |reason| {
        // The reason first: otherwise the resulting exit may be seen before it.
        drop(sender.send(Event::Stop(reason)));
        kill(group, Signal::KILL);
    });
    Ok(Running { events, waiter, group, _watch: watch })
}

impl Running {
    /// Waits for its end, or until the timeout.
    pub(crate) fn wait(self, timeout: Option<Duration>) -> Ended {
        let event = match timeout {
            Some(timeout) => self.events.recv_timeout(timeout),
            None => self.events.recv().map_err(|_| RecvTimeoutError::Disconnected),
        };
        let ended = match event {
            Ok(Event::Exited(status)) => Ended::Exited(status),
            Ok(Event::Stop(reason)) => Ended::Stopped(reason),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                kill(self.group, Signal::TERM);
                if self.events.recv_timeout(Duration::from_millis(500)).is_err() {
                    kill(self.group, Signal::KILL);
                }
                Ended::TimedOut
            }
        };
        // Reaps the child; a panicked thread has nothing to report.
        drop(self.waiter.join());
        ended
    }
}

fn kill(group: Option<Pid>, signal: Signal) {
    if let Some(group) = group {
        // It may be gone already.
        _ = kill_process_group(group, signal);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run_in(
        folder: &Path,
        command: &str,
        timeout: Option<Duration>,
        cancel: &Arc<Cancel>,
    ) -> (Ended, String) {
        let path = folder.join("out");
        let file = File::create(&path).unwrap();
        let files = (file.try_clone().unwrap(), file);
        let ended = start(command, folder, files, cancel).unwrap().wait(timeout);
        (ended, std::fs::read_to_string(path).unwrap())
    }

    #[test]
    fn output_and_status_are_returned() {
        let folder = tempfile::tempdir().unwrap();
        let (ended, output) = run_in(folder.path(), "echo out; echo err >&2; exit 3", None, &Cancel::new());
        assert_eq!((ended, output.as_str()), (Ended::Exited(3), "out\nerr\n"));
    }

    #[test]
    fn a_command_has_its_own_session_and_is_killed_with_its_children() {
        let folder = tempfile::tempdir().unwrap();
        let cancel = Cancel::new();
        let other = Arc::clone(&cancel);
        let path = folder.path().to_owned();
        let runner = std::thread::spawn(move || {
            run_in(&path, "echo $(ps -o sid= -p $$) $$; sleep 600 & echo $! > pid; wait", None, &other)
        });
        let pid = loop {
            let text = std::fs::read_to_string(folder.path().join("pid")).unwrap_or_default();
            if let Ok(pid) = text.trim().parse::<i32>() {
                break Pid::from_raw(pid).unwrap();
            }
            std::thread::yield_now();
        };
        cancel.cancel(Stop::Interrupt);
        let (ended, output) = runner.join().unwrap();
        assert_eq!(ended, Ended::Stopped(Stop::Interrupt));
        let (session, shell) = output.trim().split_once(' ').unwrap();
        assert_eq!(session, shell, "the shell leads a session");
        // The grandchild belongs to the group and dies with it; the process that adopted it has to reap it first.
        while rustix::process::test_kill_process(pid).is_ok() && !is_zombie(pid) {
            std::thread::yield_now();
        }
    }

    fn is_zombie(pid: Pid) -> bool {
        let status =
            std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).unwrap_or_default();
        status.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('Z'))
    }

    #[test]
    fn a_command_times_out() {
        let folder = tempfile::tempdir().unwrap();
        let (ended, _) = run_in(folder.path(), "sleep 600", Some(Duration::from_millis(50)), &Cancel::new());
        assert_eq!(ended, Ended::TimedOut);
    }
}
