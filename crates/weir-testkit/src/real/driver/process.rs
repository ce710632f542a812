//! The driver itself.

use std::io;
use std::process::{ChildStdin, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use weir_transcript::HostEvent;

use super::state::Shared;
use super::threads::{read_errors, read_output, wait_for_end, write_line};
use super::{DriverError, Happening, Launch, Received, Responder};
use crate::json::Json;
use crate::real::Exit;

/// How long a process may take to exit by itself before it is killed.
const GRACE: Duration = Duration::from_secs(10);

/// How often external conditions are checked.
const POLL: Duration = Duration::from_millis(20);

/// A running CLI.
#[derive(Debug)]
pub struct Driver {
    process: Pid,
    input: Arc<Mutex<Option<ChildStdin>>>,
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

impl Driver {
    /// Starts a CLI.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn start(launch: &Launch, responder: Responder) -> Result<Self, DriverError> {
        let failed = |source| DriverError::Start { program: launch.program.clone(), source };
        #[expect(
            clippy::disallowed_methods,
            reason = "this driver reaps the process itself, also when dropped"
        )]
        let mut command = std::process::Command::new(&launch.program);
        command
            .args(&launch.arguments)
            .env_clear()
            .envs(launch.environment.iter().map(|(name, value)| (name, value)))
            .current_dir(&launch.directory)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().map_err(failed)?;
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let process = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        let (Some(process), (Some(input), Some(output), Some(errors))) = (process, pipes) else {
            let _gone = child.kill().and_then(|()| child.wait());
            return Err(failed(io::Error::other("the process has no pipes")));
        };
        let shared = Arc::new(Shared::default());
        let input = Arc::new(Mutex::new(Some(input)));
        shared.lock().happenings.push(Happening::Host(HostEvent::ProcessStarted { resumes: None }));
        let threads = vec![
            {
                let (shared, input) = (Arc::clone(&shared), Arc::clone(&input));
                std::thread::spawn(move || read_output(output, responder, &shared, &input))
            },
            {
                let shared = Arc::clone(&shared);
                std::thread::spawn(move || read_errors(errors, &shared))
            },
            {
                let shared = Arc::clone(&shared);
                std::thread::spawn(move || wait_for_end(child, process, &shared))
            },
        ];
        Ok(Self { process, input, shared, threads })
    }

    /// Writes a line.
    ///
    /// # Errors
    /// If the CLI no longer reads its input.
    pub fn send(&self, line: &Json) -> Result<(), DriverError> {
        self.send_with(line, None)
    }

    /// Writes a line that does not have to be JSON.
    ///
    /// # Errors
    /// If the CLI no longer reads its input.
    pub fn send_raw(&self, line: &str) -> Result<(), DriverError> {
        write_line(&self.input, line).map_err(|_| DriverError::InputClosed)
    }

    /// Writes a line, after recording its event for the transcript.
    ///
    /// # Errors
    /// If the CLI no longer reads its input.
    pub fn send_with(
        &self,
        line: &Json,
        events: impl IntoIterator<Item = HostEvent>,
    ) -> Result<(), DriverError> {
        self.send_together(std::slice::from_ref(line), events)
    }

    /// Writes lines in one write, so that the CLI receives them together.
    ///
    /// # Errors
    /// If the CLI no longer reads its input.
    pub fn send_together(
        &self,
        lines: &[Json],
        events: impl IntoIterator<Item = HostEvent>,
    ) -> Result<(), DriverError> {
        self.shared.lock().happenings.extend(events.into_iter().map(Happening::Host));
        let lines: Vec<String> = lines.iter().map(Json::to_string).collect();
        write_line(&self.input, &lines.join("\n")).map_err(|_| DriverError::InputClosed)
    }

    /// Closes its input.
    pub fn close_input(&self) {
        self.input.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    /// Sends it a signal. Does nothing if it has ended.
    pub fn signal(&self, signal: Signal) {
        let state = self.shared.lock();
        if !state.exited {
            let _has_just_ended = kill_process(self.process, signal);
        }
    }

    /// Waits until `question` returns a value for the lines so far.
    ///
    /// # Errors
    /// If that does not happen before the deadline, or the output ends first.
    pub fn wait_for<T>(
        &self,
        what: &str,
        deadline: Duration,
        question: impl FnMut(&[Received]) -> Option<T>,
    ) -> Result<T, DriverError> {
        self.wait(what, deadline, deadline, question)
    }

    /// Waits until something outside the process is true, by polling.
    ///
    /// # Errors
    /// If that does not happen before the deadline, or the output ends first.
    pub fn poll_for<T>(
        &self,
        what: &str,
        deadline: Duration,
        mut question: impl FnMut() -> Option<T>,
    ) -> Result<T, DriverError> {
        self.wait(what, deadline, POLL, |_| question())
    }

    fn wait<T>(
        &self,
        what: &str,
        deadline: Duration,
        longest: Duration,
        mut question: impl FnMut(&[Received]) -> Option<T>,
    ) -> Result<T, DriverError> {
        let end = Instant::now() + deadline;
        let mut state = self.shared.lock();
        loop {
            if let Some(answer) = question(&state.lines) {
                return Ok(answer);
            }
            let (what, tail, stderr) = (what.to_owned(), state.tail(), state.stderr.clone());
            if state.output_ended && state.stderr_ended {
                return Err(DriverError::Ended { what, tail, stderr });
            }
            let Some(left) = end.checked_duration_since(Instant::now()) else {
                return Err(DriverError::TimedOut { what, waited: deadline, tail, stderr });
            };
            let waited = self.shared.changed.wait_timeout(state, left.min(longest));
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Waits for this many lines of a type, and returns the last one.
    ///
    /// # Errors
    /// See [`Driver::wait_for`].
    pub fn wait_for_lines(
        &self,
        kind: &str,
        subtype: Option<&str>,
        count: usize,
        deadline: Duration,
    ) -> Result<Json, DriverError> {
        let what = format!("line {count} of type {kind} {}", subtype.unwrap_or_default());
        self.wait_for(&what, deadline, |lines| {
            let found = lines.iter().filter(|line| line.is(kind, subtype)).nth(count.saturating_sub(1));
            found.map(|line| line.json.clone())
        })
    }

    /// The lines so far.
    pub fn lines(&self) -> Vec<Received> {
        self.shared.lock().lines.clone()
    }

    /// Waits until the process has exited and all of its output has been read.
    ///
    /// # Errors
    /// If it does not exit before the deadline.
    pub fn wait_for_exit(&self, deadline: Duration) -> Result<Exit, DriverError> {
        let end = Instant::now() + deadline;
        let mut state = self.shared.lock();
        loop {
            if let (Some((code, signal)), true, true) = (state.status, state.output_ended, state.stderr_ended)
            {
                return Ok(Exit { code, signal, stderr: state.stderr.clone() });
            }
            let Some(left) = end.checked_duration_since(Instant::now()) else {
                return Err(DriverError::TimedOut {
                    what: "its end".into(),
                    waited: deadline,
                    tail: state.tail(),
                    stderr: state.stderr.clone(),
                });
            };
            state = self.shared.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Closes its input, waits for its exit, and returns everything that happened.
    ///
    /// # Errors
    /// If it does not exit before the deadline; it is then killed.
    pub fn finish(self, deadline: Duration) -> Result<(Exit, Vec<Happening>), DriverError> {
        self.close_input();
        let exit = self.wait_for_exit(deadline)?;
        let mut happenings = std::mem::take(&mut self.shared.lock().happenings);
        happenings.push(Happening::Host(HostEvent::ProcessExited {
            code: exit.code,
            signal: exit.signal,
            stderr: exit.stderr.clone(),
            wanted: false,
        }));
        Ok((exit, happenings))
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        self.close_input();
        if !self.shared.lock().exited {
            // On this signal it ends its tools.
            self.signal(Signal::TERM);
            if self.wait_for_exit(GRACE).is_err() {
                self.signal(Signal::KILL);
            }
        }
        for thread in self.threads.drain(..) {
            let _panicked = thread.join();
        }
    }
}
