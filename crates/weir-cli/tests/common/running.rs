//! A running program.

use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::Instant;

use rustix::process::{Pid, Signal, kill_process};
use weir_testkit::DEADLINE;

use super::Done;
use super::capture::Capture;

/// A running program and its output.
pub(crate) struct Running {
    child: Child,
    pub(crate) stdout: Capture,
    pub(crate) stderr: Capture,
}

impl Running {
    pub(crate) fn start(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let stdout = Capture::of(child.stdout.take().unwrap());
        let stderr = Capture::of(child.stderr.take().unwrap());
        Self { child, stdout, stderr }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn input(&mut self) -> &mut ChildStdin {
        self.child.stdin.as_mut().unwrap()
    }

    pub(crate) fn close_input(&mut self) {
        self.child.stdin = None;
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    #[track_caller]
    pub(crate) fn wait_for(&self, text: &str) {
        self.stdout.wait(text, |bytes| String::from_utf8_lossy(bytes).contains(text));
    }

    #[track_caller]
    pub(crate) fn wait_for_stderr(&self, text: &str) {
        self.stderr.wait(text, |bytes| String::from_utf8_lossy(bytes).contains(text));
    }

    /// Waits for the program to exit.
    #[track_caller]
    pub(crate) fn finish(mut self) -> Done {
        let code = wait(&mut self.child, &self.stderr);
        let stderr = String::from_utf8_lossy(&self.stderr.all()).into_owned();
        Done { code, stdout: self.stdout.all(), stderr }
    }
}

/// Waits for a program to exit and returns its exit code. One that does not exit is killed and fails the test.
#[track_caller]
pub(super) fn wait(child: &mut Child, printed: &Capture) -> Option<i32> {
    let deadline = Instant::now() + DEADLINE;
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status.code();
        }
        if Instant::now() > deadline {
            let _ = child.kill();
            let _ = child.wait();
            panic!("the program does not exit:\n{}", String::from_utf8_lossy(&printed.so_far()));
        }
        super::breathe();
    }
}
