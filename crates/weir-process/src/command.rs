//! Runs a plain command to completion: a gate, git, a notification.
//!
//! Both its run time and the amount of output kept are limited, nothing goes through a shell, and no descendant
//! is left once the command has finished or the future is dropped.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::Command;

use crate::child::ChildLife;
use crate::environment::Environment;
use crate::exit::{Exit, StopOptions};
use crate::launch::SpawnError;
use crate::mark::{self, LimitMark, Mark};
use crate::registry::Record;
use crate::sandbox::Sandbox;
use crate::spawning::{fenced, is_name, resolved, sandbox_failed, set_cwd};
use crate::tree::{self, ProcessId, Tree};
use crate::watcher;

#[cfg(unix)]
use crate::unix as platform;
#[cfg(windows)]
use crate::windows as platform;

/// How long to wait for more output after the command and everything it started have ended.
const LAST_OUTPUT: Duration = Duration::from_secs(2);

/// A command and its arguments, run to completion.
///
/// ```no_run
/// # async fn example() -> Result<(), weir_process::SpawnError> {
/// use std::time::Duration;
/// use weir_process::PlainCommand;
///
/// let done = PlainCommand::new("cargo").args(["test"]).timeout(Duration::from_secs(600)).run().await?;
/// println!("{}: {}", done.exit, done.stdout.text());
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct PlainCommand {
    /// The program: a path, or a name that is looked up in `PATH`.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// Its working directory; ours if `None`.
    pub cwd: Option<PathBuf>,
    /// Its environment.
    pub environment: Environment,
    /// Sandbox to run it in, if any.
    pub sandbox: Option<Sandbox>,
    /// Its standard input.
    pub input: Vec<u8>,
    /// The command and everything it started are ended after this time.
    pub timeout: Option<Duration>,
    /// How many bytes of each output stream are kept; the last ones are.
    pub keep_bytes: usize,
    /// How long each step of stopping it may take.
    pub stop: StopOptions,
    /// Directory where the process is recorded, so that [`crate::leftovers`] finds it if Weir is killed.
    pub state_directory: Option<PathBuf>,
    /// What the process is for, as stated in that record.
    pub purpose: String,
    /// Whether it is known to leave nothing behind when it ends by itself, as git's plumbing does. The search
    /// for descendants, which costs a millisecond, is then skipped.
    pub leaves_nothing: bool,
}

/// What a command wrote to one of its streams.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Captured {
    /// The last bytes.
    pub bytes: Vec<u8>,
    /// How many earlier bytes were not kept.
    pub dropped: u64,
}

impl Captured {
    /// The bytes as text; invalid UTF-8 is replaced.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }
}

/// How a command ended and what it wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CommandOutput {
    /// How it ended.
    pub exit: Exit,
    /// Whether it took too long and was stopped.
    pub timed_out: bool,
    /// Its standard output.
    pub stdout: Captured,
    /// Its standard error.
    pub stderr: Captured,
    /// How long it took.
    pub took: Duration,
}

impl CommandOutput {
    /// Whether it ended by itself with code 0.
    pub fn is_success(&self) -> bool {
        !self.timed_out && self.exit.is_success()
    }
}

impl PlainCommand {
    /// A command with Weir's environment and working directory, no input, no time limit, keeping the last MiB
    /// of output.
    pub fn new(program: impl Into<PathBuf>) -> Self {
        Self {
            program: program.into(),
            args: Vec::new(),
            cwd: None,
            environment: Environment::inherit(),
            sandbox: None,
            input: Vec::new(),
            timeout: None,
            keep_bytes: 1 << 20,
            stop: StopOptions {
                grace: Duration::ZERO,
                terminate: Duration::from_secs(2),
                ..StopOptions::default()
            },
            state_directory: None,
            purpose: "command".to_owned(),
            leaves_nothing: false,
        }
    }

    weir_base::setters! {
        /// Sets its environment.
        environment: Environment = std::convert::identity;
        /// Runs it in this sandbox.
        sandbox: Sandbox = Some;
        /// Sets how many bytes of each output stream are kept.
        keep_bytes: usize = std::convert::identity;
        /// Sets how long each step of stopping it may take.
        stop: StopOptions = std::convert::identity;
        /// Records the process here.
        state_directory: PathBuf = Some;
        /// Sets what the process is for, as stated in that record.
        purpose: String = std::convert::identity;
        /// Declares that it leaves nothing behind when it ends by itself.
        leaves_nothing: bool = std::convert::identity;
    }

    /// Adds arguments.
    #[must_use]
    pub fn args<A: Into<OsString>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Sets its working directory.
    #[must_use]
    pub fn cwd(mut self, cwd: impl Into<PathBuf>) -> Self {
        self.cwd = Some(cwd.into());
        self
    }

    /// Sets its standard input.
    #[must_use]
    pub fn input(mut self, input: impl Into<Vec<u8>>) -> Self {
        self.input = input.into();
        self
    }

    /// Stops it after this time.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Runs it to completion. If the future is dropped, the command and everything it started are killed.
    pub async fn run(self) -> Result<CommandOutput, SpawnError> {
        let started = Instant::now();
        let mark = Mark::random();
        let mut command = self.command(&mark)?;
        watcher::ensure();
        let mut record = match &self.state_directory {
            Some(directory) => Some(Record::create(directory, &mark, &self.purpose)?),
            None => None,
        };
        let mut child = command.spawn().map_err(|source| self.explain(source))?;
        let id = child.id().and_then(ProcessId::of);
        if let Some(id) = id {
            tree::set_mark(id, LimitMark::of(&mark));
        }
        if let (Some(record), Some(id)) = (&mut record, id) {
            record.started(id);
        }
        let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let group = platform::Group::of(&child);
        let mut life = ChildLife::new(child, id, group, Tree::new(id, mark), record);

        let write = async {
            if let Some(mut stdin) = stdin {
                // A command that does not read all its input reports any problem through its exit code.
                let _ = stdin.write_all(&self.input).await;
                let _ = stdin.shutdown().await;
            }
        };
        let (mut out, mut err) = (Captured::default(), Captured::default());
        let keep = self.keep_bytes;
        let mut streams = Box::pin(async {
            tokio::join!(write, read(stdout, &mut out, keep), read(stderr, &mut err, keep));
        });
        let mut is_read = false;
        let timed_out = {
            let ended = async {
                tokio::select! {
                    () = &mut streams => {
                        is_read = true;
                        life.wait().await;
                    }
                    _ = life.wait() => {}
                }
            };
            match self.timeout {
                Some(limit) => tokio::time::timeout(limit, ended).await.is_err(),
                None => {
                    ended.await;
                    false
                }
            }
        };
        let exit = match life.try_wait() {
            Some(exit) if self.leaves_nothing && is_read && !timed_out => {
                life.set_clean();
                exit
            }
            _ => life.stop(&self.stop).await.exit,
        };
        if !is_read {
            // Everything has ended, and so have the streams, unless a process that we do not know of holds them
            // open.
            let _ = tokio::time::timeout(LAST_OUTPUT, &mut streams).await;
        }
        drop(streams);
        Ok(CommandOutput { exit, timed_out, stdout: out, stderr: err, took: started.elapsed() })
    }

    #[expect(clippy::disallowed_methods, reason = "this crate starts processes")]
    fn command(&self, mark: &Mark) -> Result<Command, SpawnError> {
        let ours: Vec<_> = std::env::vars_os().collect();
        let inherited = ours.iter().find(|(name, _)| name == mark::VARIABLE).map(|(_, value)| value.clone());
        let theirs: Vec<_> = self.environment.resolve(ours).into_iter().collect();
        let path = theirs.iter().find(|(name, _)| name == "PATH").map(|(_, value)| value.as_os_str());
        let program = self.absolute_program(path);
        let mut command = match &self.sandbox {
            None => Command::new(program),
            Some(sandbox) => fenced(sandbox, &program, resolved(self.cwd.as_deref()), path, &[])?,
        };
        command.args(&self.args);
        command.env_clear().envs(theirs);
        command.env(mark::VARIABLE, mark::value(inherited.as_deref(), mark));
        if let Some(cwd) = &self.cwd {
            set_cwd(&mut command, cwd)?;
        }
        command.stdin(if self.input.is_empty() { Stdio::null() } else { Stdio::piped() });
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        platform::set_apart(&mut command);
        Ok(command)
    }

    /// A relative path with a slash is relative to the command's working directory, as it would be in a shell
    /// there. A bare name is looked up here: a child whose `PATH` we set could only be spawned by copying this
    /// process, which costs more than the command itself.
    fn absolute_program(&self, path: Option<&OsStr>) -> PathBuf {
        let is_name = is_name(&self.program);
        match (&self.cwd, path) {
            (Some(cwd), _) if !is_name => cwd.join(&self.program),
            // If it is not found there, the system reports that.
            (_, Some(path)) if is_name => {
                let folders = std::env::split_paths(path).filter(|folder| folder.is_absolute());
                let mut found = folders.map(|folder| folder.join(&self.program));
                found.find(|file| is_executable(file)).unwrap_or_else(|| self.program.clone())
            }
            _ => self.program.clone(),
        }
    }

    fn explain(&self, source: io::Error) -> SpawnError {
        let program = self.program.clone();
        if let Some(sandbox) = &self.sandbox {
            return sandbox_failed(sandbox, &source);
        }
        match source.kind() {
            io::ErrorKind::NotFound => SpawnError::NoSuchCommand { program },
            io::ErrorKind::PermissionDenied => SpawnError::NotExecutable { program, source },
            _ => SpawnError::System { program, source },
        }
    }
}

fn is_executable(file: &Path) -> bool {
    let Ok(metadata) = std::fs::metadata(file) else { return false };
    #[cfg(unix)]
    let may_run = std::os::unix::fs::PermissionsExt::mode(&metadata.permissions()) & 0o111 != 0;
    #[cfg(not(unix))]
    let may_run = true;
    metadata.is_file() && may_run
}

/// Reads a stream to its end, keeping the last part.
async fn read(stream: Option<impl AsyncRead + Unpin>, captured: &mut Captured, keep: usize) {
    let Some(mut stream) = stream else { return };
    let mut buffer = [0; 8 << 10];
    loop {
        match stream.read(&mut buffer).await {
            Ok(0) => break,
            Ok(count) => {
                captured.bytes.extend_from_slice(buffer.get(..count).unwrap_or_default());
                // Cut in large steps, so that each byte is moved only a few times.
                if captured.bytes.len() > keep.saturating_mul(2).max(64 << 10) {
                    captured.cut(keep);
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => break,
        }
    }
    captured.cut(keep);
}

impl Captured {
    fn cut(&mut self, keep: usize) {
        let over = self.bytes.len().saturating_sub(keep);
        self.bytes.drain(..over);
        self.dropped += over as u64;
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;

    fn shell(script: &str) -> PlainCommand {
        PlainCommand::new("/bin/sh").args(["-c", script])
    }

    #[tokio::test]
    async fn output_input_and_exit_code_come_through() {
        let done = shell("cat; echo problem >&2; exit 3").input("text").run().await.unwrap();
        assert_eq!(done.exit, Exit::with_code(3));
        assert_eq!((done.stdout.text().as_str(), done.stderr.text().as_str()), ("text", "problem\n"));
        assert!(!done.is_success());
    }

    #[tokio::test]
    async fn a_name_is_looked_up_in_the_path_of_the_command() {
        let empty = tempfile::tempdir().unwrap();
        let run = |path: &Path| {
            let mut command = PlainCommand::new("sh").args(["-c", "echo found"]);
            command.environment = Environment::empty().set("PATH", path);
            command.run()
        };
        assert!(matches!(run(empty.path()).await, Err(SpawnError::NoSuchCommand { .. })));
        assert_eq!(run(Path::new("/bin")).await.unwrap().stdout.text(), "found\n");
    }

    #[tokio::test]
    async fn only_the_last_of_the_output_is_kept() {
        let mut command = shell("i=0; while [ $i -lt 30000 ]; do echo $i; i=$((i+1)); done");
        command.keep_bytes = 12;
        let done = command.run().await.unwrap();
        assert_eq!(done.stdout.text(), "29998\n29999\n");
        assert_eq!(done.stdout.dropped, 168_890 - 12);
    }

    #[tokio::test]
    async fn a_command_that_times_out_is_ended_with_its_descendants() {
        let mut command = shell("(trap '' TERM; sleep 300) & echo $!; sleep 300");
        command.timeout = Some(Duration::from_millis(300));
        command.stop.terminate = Duration::from_millis(200);
        let done = command.run().await.unwrap();
        assert!(done.timed_out);
        let pid: u32 = done.stdout.text().trim().parse().unwrap();
        assert!(ProcessId::of(pid).is_none_or(|id| !id.is_alive()));
    }

    #[tokio::test]
    async fn leftovers_of_a_command_are_ended_after_it() {
        let done = shell("sleep 300 & echo $!").run().await.unwrap();
        assert!(done.is_success());
        let pid: u32 = done.stdout.text().trim().parse().unwrap();
        assert!(ProcessId::of(pid).is_none_or(|id| !id.is_alive()));
    }

    #[tokio::test]
    async fn a_missing_command_is_reported() {
        let error = PlainCommand::new("no-such-command-at-all").run().await.unwrap_err();
        assert!(matches!(error, SpawnError::NoSuchCommand { .. }), "{error}");
        assert!(error.to_string().contains("no-such-command-at-all"));
    }
}
