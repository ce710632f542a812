//! Starts a process.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::process::Command;
use weir_wire::Framer;

use crate::child::ChildLife;
use crate::directory::Directory;
use crate::environment::Environment;
use crate::handle::Handle;
use crate::input::Input;
use crate::log::{self, LogError, LogOptions, LogPaths};
use crate::mark::{self, LimitMark, Mark};
use crate::output::Output;
use crate::registry::{Record, RegistryError};
use crate::sandbox::{Sandbox, SandboxError};
use crate::secrets::Secrets;
use crate::spawning::{fenced, is_name, no_sandbox, resolved, sandbox_failed, set_cwd};
use crate::stderr::{self, Stderr};
use crate::stream::{Sink, Source};
use crate::tree::{self, ProcessId, Tree};
use crate::user::OsUser;
use crate::watcher;

#[cfg(unix)]
use crate::unix as platform;
#[cfg(windows)]
use crate::windows as platform;

/// What the CLI's output is connected to. Its input is always a pipe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Transport {
    /// One pipe for output, another for diagnostics.
    #[default]
    Pipe,
    /// A terminal in raw mode for both, for programs that buffer or behave differently without one. Diagnostics
    /// are then mixed into the output. Unix only.
    Pty,
}

/// What to start, and how.
///
/// Nothing is passed through a shell. Prompts belong on standard input: every user of the machine can read
/// arguments.
#[derive(Debug, Clone)]
pub struct Launch {
    /// The program: a path, or a name that is looked up in `PATH`.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// Its working directory; ours if `None`.
    pub cwd: Option<PathBuf>,
    /// The working directory, held open; takes precedence over `cwd`.
    pub directory: Option<Directory>,
    /// Sandbox to run it in, if any.
    pub sandbox: Option<Sandbox>,
    /// The user that it runs as, if not ours.
    pub user: Option<OsUser>,
    /// Files that it has to read, made readable in the sandbox.
    pub needs: Vec<PathBuf>,
    /// Its environment.
    pub environment: Environment,
    /// What its output is connected to.
    pub transport: Transport,
    /// Maximum length of a line that is kept whole, in bytes.
    pub line_limit: usize,
    /// Raw log settings; no raw logs if `None`.
    pub log: Option<LogOptions>,
    /// Values masked in raw logs and diagnostics.
    pub secrets: Secrets,
    /// Directory where the process is recorded, so that [`crate::leftovers`] finds it if Weir is killed.
    pub state_directory: Option<PathBuf>,
    /// What the process is for, as stated in that record.
    pub purpose: String,
}

/// A started process, in parts that can be waited for separately.
///
/// Dropping it kills the process and all its descendants. The handle is the first field, so it is dropped first
/// and everything written before the kill still reaches the raw log.
#[derive(Debug)]
#[non_exhaustive]
pub struct Process {
    /// Waits for it and stops it.
    pub handle: Handle,
    /// Lines from it.
    pub output: Output,
    /// Lines to it.
    pub input: Input,
    /// Its diagnostics.
    pub stderr: Stderr,
    /// Its raw logs, if it has any.
    pub logs: Option<LogPaths>,
}

/// Why a process could not be started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SpawnError {
    /// The program was not found.
    #[error("program {} not found; give the path of the claude CLI, or set WEIR_CLAUDE", program.display())]
    NotFound {
        /// The program that was looked for.
        program: PathBuf,
    },
    /// The command was not found.
    #[error("command {} not found; is it installed and in PATH?", program.display())]
    NoSuchCommand {
        /// The command that was looked for.
        program: PathBuf,
    },
    /// It exists but cannot be run.
    #[error("{} cannot be run: {source}; is it executable, and is the interpreter in its first line installed?", program.display())]
    NotExecutable {
        /// The program that was tried.
        program: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The working directory cannot be used.
    #[error("the working directory {} cannot be used: {source}", path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The raw log is required and cannot be created.
    #[error("nothing was started, because the raw log is required")]
    Log(#[from] LogError),
    /// The process could not be recorded in the state directory.
    #[error("nothing was started, because the process could not be recorded")]
    Registry(#[from] RegistryError),
    /// The sandbox could not be created, so nothing was started.
    #[error("nothing was started: {source}")]
    Sandbox {
        /// Why the sandbox could not be created.
        #[source]
        source: SandboxError,
    },
    /// It could not be started as the other user.
    #[error(
        "{} cannot be run as the user {name}: {source}; only root can start a process as another user, who needs access to the \
         program and the folder",
        program.display()
    )]
    User {
        /// The user.
        name: String,
        /// The program that was to be started.
        program: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The pty transport is not available on this system.
    #[error("the pty transport is not available on this system; use the pipe transport")]
    NoPty,
    /// Any other failure, such as too many processes or open files.
    #[error("could not start {}: {source}", program.display())]
    System {
        /// The program that was to be started.
        program: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
}

impl Launch {
    /// A launch with pipes, our own environment and working directory, and no log.
    pub fn new(program: impl Into<PathBuf>) -> Self {
        Self {
            program: program.into(),
            args: Vec::new(),
            cwd: None,
            directory: None,
            sandbox: None,
            user: None,
            needs: Vec::new(),
            environment: Environment::inherit(),
            transport: Transport::Pipe,
            line_limit: Framer::DEFAULT_LIMIT,
            log: None,
            secrets: Secrets::new(),
            state_directory: None,
            purpose: String::new(),
        }
    }

    /// Adds arguments.
    #[must_use]
    pub fn args<A: Into<OsString>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Starts the process. Must be called in a tokio runtime with IO enabled.
    ///
    /// If the future is dropped, either nothing was started or what was started is ended.
    pub async fn spawn(self) -> Result<Process, SpawnError> {
        let mark = Mark::random();
        let mut command = self.command(&mark)?;
        let connected = platform::Connected::new(self.transport, &mut command)
            .map_err(|error| error.into_spawn_error(&self.program))?;
        watcher::ensure();
        let mut record = match &self.state_directory {
            Some(directory) => Some(Record::create(directory, &mark, &self.purpose)?),
            None => None,
        };
        let logs = log::create(self.log.as_ref(), &self.secrets)?;
        let mut child = match spawn_patiently(&mut command).await {
            Ok(child) => child,
            Err(source) => {
                logs.discard();
                return Err(self.explain(source));
            }
        };
        // Closes our copies of the CLI's ends of the pipes: otherwise its output would never end.
        drop(command);
        let id = child.id().and_then(ProcessId::of);
        if let Some(id) = id {
            tree::set_mark(id, LimitMark::of(&mark));
        }
        let streams = connected.streams(&mut child);
        let group = platform::Group::of(&child);
        if let (Some(record), Some(id)) = (&mut record, id) {
            record.started(id);
        }
        let tree = Tree::new(id, mark);
        // From here on the handle ends what was started, whatever happens.
        let child = ChildLife::new(child, id, group, tree, record);
        let streams =
            streams.map_err(|source| SpawnError::System { program: self.program.clone(), source })?;
        let shared = stderr::Shared::new(streams.stderr, &self.secrets, logs.stderr);
        Ok(Process {
            handle: Handle::child(child, Arc::clone(&shared)),
            output: Output::new(streams.output, self.line_limit, logs.output),
            input: Input::new(streams.input, logs.input),
            stderr: Stderr::new(shared),
            logs: logs.paths,
        })
    }

    #[expect(clippy::disallowed_methods, reason = "this is the one place where a CLI is started")]
    fn command(&self, mark: &Mark) -> Result<Command, SpawnError> {
        let ours: Vec<_> = std::env::vars_os().collect();
        let inherited = ours.iter().find(|(name, _)| name == mark::VARIABLE).map(|(_, value)| value.clone());
        let environment = self.environment.resolve(ours);
        let mut command = match &self.sandbox {
            None => Command::new(self.absolute_program()),
            Some(sandbox) => self.fenced(sandbox, environment.get(OsStr::new("PATH")))?,
        };
        command.args(&self.args);
        command.env_clear().envs(environment);
        command.env(mark::VARIABLE, mark::value(inherited.as_deref(), mark));
        if self.sandbox.is_some() {
            // It changes into the folder and sets the variables that differ inside.
        } else if let Some(directory) = &self.directory {
            // By its handle, so that a link that has changed since it was opened does not lead elsewhere.
            command.current_dir(directory.by_handle().unwrap_or_else(|| directory.path().to_owned()));
        } else if let Some(cwd) = &self.cwd {
            set_cwd(&mut command, cwd)?;
        }
        if let Some(user) = &self.user {
            platform::run_as(&mut command, user);
        }
        platform::set_apart(&mut command);
        Ok(command)
    }

    /// The command that creates the sandbox and starts the program in it.
    fn fenced(&self, sandbox: &Sandbox, search_path: Option<&OsString>) -> Result<Command, SpawnError> {
        for folder in sandbox.kept() {
            std::fs::create_dir_all(folder).map_err(no_sandbox)?;
        }
        let cwd = match &self.directory {
            Some(directory) => Ok(directory.path().to_owned()),
            None => resolved(self.cwd.as_deref()),
        };
        let search_path = search_path.map(OsString::as_os_str);
        fenced(sandbox, &self.absolute_program(), cwd, search_path, &self.needs)
    }

    /// A relative path is relative to our working directory, not the child's.
    fn absolute_program(&self) -> PathBuf {
        match std::path::absolute(&self.program) {
            Ok(absolute) if !is_name(&self.program) => absolute,
            Ok(_) | Err(_) => self.program.clone(),
        }
    }

    fn explain(&self, source: io::Error) -> SpawnError {
        let program = self.program.clone();
        if let Some(sandbox) = &self.sandbox {
            return sandbox_failed(sandbox, &source);
        }
        if let (Some(user), io::ErrorKind::PermissionDenied) = (&self.user, source.kind()) {
            return SpawnError::User { name: user.name().to_owned(), program, source };
        }
        match source.kind() {
            // The interpreter of a script can also be missing.
            io::ErrorKind::NotFound if !program.exists() => SpawnError::NotFound { program },
            io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied => {
                SpawnError::NotExecutable { program, source }
            }
            _ => SpawnError::System { program, source },
        }
    }
}

/// Retries while the program is busy: a file that was just written may still be open for writing in a process
/// being started elsewhere in this program. That passes quickly.
async fn spawn_patiently(command: &mut Command) -> io::Result<tokio::process::Child> {
    const ATTEMPTS: usize = 20;
    for _ in 1..ATTEMPTS {
        match command.spawn() {
            Err(error) if error.kind() == io::ErrorKind::ExecutableFileBusy => {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            other => return other,
        }
    }
    command.spawn()
}

/// Our ends of the CLI's streams.
pub(crate) struct Streams {
    pub(crate) output: Source,
    pub(crate) input: Sink,
    /// `None` for a terminal, which carries both.
    pub(crate) stderr: Option<platform::ErrorPipe>,
}

/// Why the streams could not be created.
pub(crate) enum StreamsError {
    #[cfg_attr(unix, expect(dead_code, reason = "for systems without terminals of this kind"))]
    NoPty,
    System(io::Error),
}

impl From<io::Error> for StreamsError {
    fn from(error: io::Error) -> Self {
        Self::System(error)
    }
}

impl StreamsError {
    fn into_spawn_error(self, program: &Path) -> SpawnError {
        match self {
            Self::NoPty => SpawnError::NoPty,
            Self::System(source) => SpawnError::System { program: program.to_owned(), source },
        }
    }
}
