//! Isolates, connects and signals a child.

use std::io;
use std::process::Stdio;

use rustix::process::Pid;
use tokio::process::{Child, Command};

use super::pipes::{error_pipe, input_pipe, output_pipe};
use super::terminal::terminal;
use crate::launch::{Streams, StreamsError, Transport};
use crate::stream::{Sink, Source};
use crate::tree::Signal;
use crate::user::OsUser;

/// Puts the child into its own process group: a terminal's Ctrl-C is for Weir, which decides what the CLI
/// receives.
pub(crate) fn set_apart(command: &mut Command) {
    command.process_group(0);
}

/// Runs the child as another user, with that user's main group and no other one.
pub(crate) fn run_as(command: &mut Command, user: &OsUser) {
    let (uid, gid) = user.numbers();
    // Becoming another user also drops our own further groups.
    command.gid(gid).uid(uid);
}

/// Sends a signal to a process whose pid is known not to be reused.
pub(crate) fn signal(pid: u32, signal: Signal) -> bool {
    let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) else { return false };
    rustix::process::kill_process(pid, native(signal)).is_ok()
}

/// The system's name for a signal.
pub(crate) fn native(signal: Signal) -> rustix::process::Signal {
    match signal {
        Signal::Interrupt => rustix::process::Signal::INT,
        Signal::Terminate => rustix::process::Signal::TERM,
        Signal::Kill => rustix::process::Signal::KILL,
    }
}

/// Streams that are connected before the child is started.
pub(crate) struct Connected(Streams);

impl Connected {
    pub(crate) fn new(transport: Transport, command: &mut Command) -> Result<Self, StreamsError> {
        let (input, their_input) = input_pipe()?;
        command.stdin(Stdio::from(their_input));
        let (output, stderr) = match transport {
            Transport::Pipe => {
                let (output, their_output) = output_pipe()?;
                let (stderr, their_stderr) = error_pipe()?;
                command.stdout(Stdio::from(their_output)).stderr(Stdio::from(their_stderr));
                (Source::Pipe(output), Some(stderr))
            }
            Transport::Pty => {
                let (terminal, theirs) = terminal()?;
                command.stdout(Stdio::from(theirs.try_clone()?)).stderr(Stdio::from(theirs));
                (Source::Terminal(terminal), None)
            }
        };
        Ok(Self(Streams { output, input: Sink::Pipe(input), stderr }))
    }

    pub(crate) fn streams(self, _child: &mut Child) -> io::Result<Streams> {
        Ok(self.0)
    }
}

/// The process group that a child leads. With a process table it is only a part of what [`crate::tree`] finds;
/// without one it is all we know.
#[derive(Debug)]
pub(crate) struct Group(Option<Pid>);

impl Group {
    pub(crate) fn of(child: &Child) -> Self {
        Self(child.id().and_then(|pid| Pid::from_raw(i32::try_from(pid).ok()?)))
    }

    /// Kills the group. Only called while its leader is not reaped, so the group id cannot have been reused.
    pub(crate) fn kill(&self) {
        if let Some(leader) = self.0 {
            let _ = rustix::process::kill_process_group(leader, rustix::process::Signal::KILL);
        }
    }
}
