//! Starts processes for a session.

use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;

use uuid::Uuid;
use weir_process::{Capabilities, Environment, Found, Launch, Lock, ProbeCache, Process, StopOptions};
use weir_wire::SessionId;

use crate::arguments::arguments;
use crate::error::{SessionError, StartError};
use crate::machine::Spawn;
use crate::options::{Conversation, SessionOptions};

/// Starts processes for a session.
pub(crate) struct Launcher {
    how: How,
    stop: StopOptions,
    /// Held as long as the session lives: one owner for a session id, one writer for a workspace.
    locks: Vec<Lock>,
}

enum How {
    /// For real.
    Cli { options: Box<SessionOptions>, found: Option<Found>, capabilities: Option<Capabilities> },
    /// By somebody else.
    Provided(tokio::sync::mpsc::UnboundedReceiver<Process>),
}

impl Launcher {
    pub(crate) fn new(options: SessionOptions) -> Self {
        let stop = options.stop.clone();
        let how = How::Cli { options: Box::new(options), found: None, capabilities: None };
        Self { how, stop, locks: Vec::new() }
    }

    pub(crate) fn provided(
        processes: tokio::sync::mpsc::UnboundedReceiver<Process>,
        stop: StopOptions,
    ) -> Self {
        Self { how: How::Provided(processes), stop, locks: Vec::new() }
    }

    pub(crate) fn stop_options(&self) -> StopOptions {
        self.stop.clone()
    }

    pub(crate) async fn spawn(&mut self, spawn: &Spawn) -> Result<Process, SessionError> {
        match &mut self.how {
            How::Provided(processes) => {
                let none = || StartError::Other("no other process was provided".into());
                processes.recv().await.ok_or_else(|| failed(none()))
            }
            How::Cli { options, found, capabilities } => {
                if let Some(before) = options.predecessor.take() {
                    // Its turn may end; an error means that it is over already.
                    let _ = before.close().await;
                    before.stop().await;
                }
                let program = match found {
                    Some(found) => found.path.clone(),
                    None => {
                        let new = {
                            let explicit = options.program.clone();
                            weir_process::find(explicit.as_deref()).await
                        };
                        found.insert(new.map_err(|error| failed(StartError::NotFound(error)))?).path.clone()
                    }
                };
                if capabilities.is_none() && depends_on_version(options) {
                    let (cache, environment) = (options.probe_cache.clone(), options.environment.clone());
                    *capabilities = Some(probe(cache, &environment, &program).await.map_err(failed)?);
                }
                let new_id = new_session_id(options, spawn);
                let id = spawn.resume.as_ref().filter(|_| !spawn.fork).or(new_id.as_ref());
                lock(&mut self.locks, options, id).map_err(failed)?;
                let supports = |flag: &str| capabilities.as_ref().is_none_or(|known| known.has_flag(flag));
                let args = arguments(options, spawn, new_id.as_ref(), &supports);
                let launch = launch(options, &program, args);
                launch.spawn().await.map_err(|error| failed(StartError::Spawn(error)))
            }
        }
    }
}

fn failed(error: StartError) -> SessionError {
    SessionError::NotStarted(Arc::new(error))
}

/// The name for a new conversation. We choose it, so that it is known and locked before the process runs.
fn new_session_id(options: &SessionOptions, spawn: &Spawn) -> Option<SessionId> {
    match &options.conversation {
        _ if spawn.resume.is_some() => None,
        Conversation::Named(id) => Some(id.clone()),
        Conversation::New => Some(SessionId::new(Uuid::new_v4().to_string())),
        _ => None,
    }
}

/// Whether something is wanted that only some versions have. Asking a CLI for its version takes from a third of a
/// second to several, so it is asked only then.
fn depends_on_version(options: &SessionOptions) -> bool {
    options.max_cost_usd.is_some() || !options.persistence || options.subagent_text
}

async fn probe(
    cache: Option<Arc<ProbeCache>>,
    environment: &Environment,
    program: &Path,
) -> Result<Capabilities, StartError> {
    let cache = cache.unwrap_or_else(|| Arc::new(ProbeCache::in_memory()));
    cache.probe(program, environment).await.map_err(StartError::Probe)
}

fn launch(options: &SessionOptions, program: &Path, args: Vec<OsString>) -> Launch {
    let mut launch = Launch::new(program).args(args);
    launch.cwd.clone_from(&options.cwd);
    launch.environment = options.environment.clone();
    launch.transport = options.transport;
    launch.log.clone_from(&options.log);
    launch.secrets = options.secrets.clone();
    launch.state_directory.clone_from(&options.state_directory);
    launch.purpose = "session".into();
    if let Some(limit) = options.line_limit {
        launch.line_limit = limit;
    }
    launch
}

fn lock(locks: &mut Vec<Lock>, options: &SessionOptions, id: Option<&SessionId>) -> Result<(), StartError> {
    let Some(state) = &options.state_directory else { return Ok(()) };
    let folder = state.join("locks");
    let mut wanted = Vec::new();
    if let Some(id) = id {
        wanted.push((folder.join(format!("session-{}.lock", file_name(id.as_str()))), "this session"));
    }
    if options.lock_workspace {
        let cwd = options.cwd.clone().map_or_else(std::env::current_dir, Ok);
        let cwd = cwd.and_then(|cwd| cwd.canonicalize());
        let cwd =
            cwd.map_err(|error| StartError::Other(format!("the working directory cannot be used: {error}")))?;
        let name = file_name(&cwd.to_string_lossy());
        wanted.push((folder.join(format!("workspace-{name}.lock")), "this workspace"));
    }
    for (path, purpose) in wanted {
        if locks.iter().all(|held| held.path() != path) {
            let lock =
                Lock::acquire(&path, purpose).map_err(|error| StartError::Locked(error.to_string()))?;
            locks.push(lock);
        }
    }
    Ok(())
}

/// A file name that no two names share: what is not plain is written as its code.
fn file_name(name: &str) -> String {
    use std::fmt::Write as _;
    let mut out = String::new();
    for byte in name.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' => out.push(char::from(byte)),
            _ => {
                let _ = write!(out, "_{byte:02x}");
            }
        }
    }
    out
}
