//! Starts processes for a session.
//!
//! There are two steps: slow lookups first, then starting the process. Each step is a future that can be
//! dropped and holds nothing that is needed afterwards.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;

use serde_json::Value;
use tokio::sync::{Mutex, mpsc};
use uuid::Uuid;
use weir_process::{
    Capabilities, Environment, Found, Launch, Lock, ProbeCache, Process, StopOptions, Version,
};
use weir_wire::CliSessionId;

use crate::arguments::{FORK_AT, NEWER, RARE, Start, arguments};
use crate::error::{SessionError, StartError};
use crate::fingerprint::Fingerprint;
use crate::folder::{Admitted, FolderPolicy, FolderTrust};
use crate::hooks;
use crate::introduction;
use crate::machine::Spawn;
use crate::options::{Origin, SessionOptions};
use crate::spares::{Claimed, Greeted, Kind, Spares, Wanted};
use crate::start_files::{self, StartFiles};
use crate::transcripts::live_sessions;

/// Flags that are passed without checking the version first, because only very old versions lack them.
const ASSUMED: [&str; 3] = ["--setting-sources", "--system-prompt-file", "--append-system-prompt-file"];

/// Maximum length of a prompt passed as an argument, to versions that cannot read one from a file. Linux allows
/// 128 KiB for one argument, including its name and terminating byte.
const MAX_ARGUMENT: usize = 128_000;

/// Makes the CLI keep copies of the files that it changes. Without it, `rewind_files` is refused.
const FILE_CHECKPOINTING: &str = "CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING";

/// Makes the CLI say when it begins and ends to work, also where no turn says so. Older versions ignore it.
const READS_SESSION_STATE: &str = "CLAUDE_CODE_SDK_READS_SESSION_STATE";

/// Sets the format of previews in questions.
const QUESTION_PREVIEWS: &str = "CLAUDE_CODE_QUESTION_PREVIEW_FORMAT";

/// The oldest examined version that knows it.
const QUESTION_PREVIEWS_SINCE: Version = Version::new(2, 1, 197);

/// Starts processes for a session.
pub(crate) struct Launcher {
    options: Box<SessionOptions>,
    /// Computed on demand.
    fingerprint: Option<Fingerprint>,
    how: How,
    /// Result of checking the folder for the current start.
    admitted: Option<Admitted>,
    /// Flags that the process was given without knowing whether it has them.
    assumed: Vec<&'static str>,
    /// Files that the running process was started with.
    files: Vec<tempfile::TempPath>,
    /// Held for the lifetime of the session: one owner per session id, one writer per workspace.
    locks: Vec<Lock>,
}

enum How {
    /// Starts the real CLI.
    Cli(Option<Box<Prepared>>),
    /// Processes are provided by the caller.
    Provided(Arc<Mutex<mpsc::UnboundedReceiver<Process>>>),
}

/// What has to be looked up before a process can be started.
#[derive(Clone)]
pub(super) struct Prepared {
    found: Found,
    /// `None` if nothing depends on them.
    capabilities: Option<Box<Capabilities>>,
}

/// A completed step towards a running process.
pub(super) enum Step {
    Prepared(Result<(Prepared, Admitted), SessionError>),
    Spawned(Result<Box<Started>, SessionError>),
}

/// A process that was started.
pub(super) struct Started {
    pub(super) process: Process,
    /// Its answer to the first request, if it was asked before it became the session's.
    pub(super) introduction: Option<Value>,
    /// Lines that it has written before that.
    pub(super) said: Vec<Vec<u8>>,
}

impl From<Process> for Box<Started> {
    fn from(process: Process) -> Self {
        Self::new(Started { process, introduction: None, said: Vec::new() })
    }
}

/// A step in progress.
pub(super) type Starting = Pin<Box<dyn Future<Output = Step> + Send>>;

impl Launcher {
    pub(crate) fn new(options: SessionOptions) -> Self {
        Self::with(options, How::Cli(None))
    }

    pub(crate) fn provided(processes: mpsc::UnboundedReceiver<Process>, options: SessionOptions) -> Self {
        Self::with(options, How::Provided(Arc::new(Mutex::new(processes))))
    }

    fn with(options: SessionOptions, how: How) -> Self {
        Self {
            options: Box::new(options),
            fingerprint: None,
            how,
            admitted: None,
            assumed: Vec::new(),
            files: Vec::new(),
            locks: Vec::new(),
        }
    }

    /// Fingerprint of what the next process is started with.
    pub(super) fn fingerprint(&mut self) -> Fingerprint {
        *self.fingerprint.get_or_insert_with(|| Fingerprint::of(&self.options))
    }

    /// Starts processes with these options from now on. The session stays the same.
    pub(super) fn reconfigure(&mut self, mut options: SessionOptions, fingerprint: Option<Fingerprint>) {
        let before = self.fingerprint();
        options.origin = self.options.origin.clone();
        *self.options = options;
        self.fingerprint = fingerprint;
        if self.fingerprint() != before
            && let How::Cli(prepared) = &mut self.how
        {
            *prepared = None;
        }
    }

    pub(super) fn stop_options(&self) -> StopOptions {
        self.options.stop.clone()
    }

    /// Whether the session must stop if the raw log fails.
    pub(super) fn requires_log(&self) -> bool {
        self.options.log.as_ref().is_some_and(|log| log.require)
    }

    /// Whether the CLI is too old for the handshake.
    pub(super) fn is_too_old(&self) -> bool {
        let How::Cli(Some(prepared)) = &self.how else { return false };
        let is_old = prepared.capabilities.as_ref().is_some_and(|known| !known.has_control("initialize"));
        is_old && !self.needs_handshake()
    }

    /// Asks for the version of a CLI that ended before it answered, if it may be too old for the handshake.
    pub(super) fn probe(&self) -> Option<impl Future<Output = Option<Capabilities>> + Send + use<>> {
        let How::Cli(Some(prepared)) = &self.how else { return None };
        let options = &self.options;
        if prepared.capabilities.is_some() || !options.handshake {
            return None;
        }
        let cache = probe_cache(options);
        let (program, environment) =
            (prepared.found.path.clone(), prepared.found.environment(&options.environment_of_user()));
        Some(async move { cache.probe(&program, &environment).await.ok() })
    }

    /// Records what a CLI supports. Returns whether the next process is started or initialised differently:
    /// because this one is too old for the handshake, or was given a flag that it does not have.
    pub(super) fn learn(&mut self, known: Capabilities) -> bool {
        let lacks_flags = self.assumed.iter().any(|flag| !known.has_flag(flag));
        if let How::Cli(Some(prepared)) = &mut self.how {
            prepared.capabilities = Some(Box::new(known));
        }
        lacks_flags || self.is_too_old()
    }

    /// These options need the handshake, and an error if it is not answered.
    fn needs_handshake(&self) -> bool {
        let options = &self.options;
        let members = introduction::members(options);
        !options.hooks.is_empty() || !options.mcp_servers.is_empty() || !members.is_empty()
    }

    /// Looks up what is needed: the program once, the folder each time.
    pub(super) fn prepare(&self) -> Option<Starting> {
        let How::Cli(known) = &self.how else { return None };
        let known = known.as_deref().cloned();
        let options = &self.options;
        let program = options.program.clone();
        let depends_on_version = depends_on_version(options);
        let cache = probe_cache(options);
        let environment = options.environment_of_user();
        let (policy, cwd) = (options.folder.clone(), options.cwd.clone());
        Some(Box::pin(async move {
            let prepare = async {
                let admitted = admit(policy, cwd, &environment).await.map_err(StartError::Folder)?;
                let mut prepared = match known {
                    Some(known) => known,
                    None => {
                        let found =
                            weir_process::find(program.as_deref()).await.map_err(StartError::NotFound)?;
                        Prepared { found, capabilities: None }
                    }
                };
                if prepared.capabilities.is_none() && (depends_on_version || admitted.needs_version()) {
                    let environment = prepared.found.environment(&environment);
                    let capabilities = cache.probe(&prepared.found.path, &environment).await;
                    prepared.capabilities = Some(Box::new(capabilities.map_err(StartError::Probe)?));
                }
                Ok((prepared, admitted))
            };
            Step::Prepared(prepare.await.map_err(failed))
        }))
    }

    pub(super) fn prepared(&mut self, (found, admitted): (Prepared, Admitted)) {
        if let How::Cli(prepared) = &mut self.how {
            *prepared = Some(Box::new(found));
        }
        self.admitted = Some(admitted);
    }

    /// Starts a process.
    pub(super) fn launch(&mut self, spawn: &Spawn) -> Result<Starting, SessionError> {
        if !self.options.keep_process && self.options.spec.no_session_persistence {
            return Err(failed(StartError::Other(
                "a process for each message cannot resume the session unless the CLI keeps it on disk; keep either \
                 the process or the session"
                    .into(),
            )));
        }
        let new_id = new_session_id(&self.options, spawn);
        let id = spawn.resume.as_ref().filter(|_| !spawn.fork).or(new_id.as_ref());
        lock(&mut self.locks, &self.options, id).map_err(failed)?;
        if let (Some(id), How::Cli(_)) = (spawn.resume.as_ref().filter(|_| !spawn.fork), &self.how) {
            check_live(&self.options, id).map_err(failed)?;
        }
        match &self.how {
            How::Provided(processes) => {
                let processes = Arc::clone(processes);
                Ok(Box::pin(async move {
                    let process = processes.lock().await.recv().await;
                    let none = || failed(StartError::Other("no more processes were provided".into()));
                    Step::Spawned(process.map(Into::into).ok_or_else(none))
                }))
            }
            How::Cli(None) => Err(failed(StartError::Other("the CLI has not been looked up yet".into()))),
            How::Cli(Some(prepared)) => {
                let prepared = (**prepared).clone();
                let launch = self.build(spawn, new_id.as_ref(), &prepared)?;
                let known = prepared.capabilities.as_deref();
                let spare = self.options.spares.clone().and_then(|spares| {
                    let wanted = Wanted::of(&self.options, spawn, &launch, known)?;
                    let parked = spares.take(&wanted.kind)?;
                    Some((spares, wanted, parked))
                });
                if let Some((_, _, parked)) = &spare {
                    lock(&mut self.locks, &self.options, Some(parked.id())).map_err(failed)?;
                }
                Ok(Box::pin(async move {
                    if let Some((spares, wanted, parked)) = spare {
                        match parked.claim(&wanted).await {
                            Claimed::Process(greeted) => {
                                spares.count_taken();
                                let Greeted { process, introduction, said } = *greeted;
                                let introduction = Some(introduction);
                                return Step::Spawned(Ok(Box::new(Started { process, introduction, said })));
                            }
                            Claimed::Refused(parked) => spares.put_back(parked),
                            Claimed::Lost => {}
                        }
                    }
                    let process = launch.spawn().await.map(Into::into);
                    Step::Spawned(process.map_err(|error| failed(StartError::Spawn(error))))
                }))
            }
        }
    }

    /// How a process is started with these options.
    fn build(
        &mut self,
        spawn: &Spawn,
        new_id: Option<&CliSessionId>,
        prepared: &Prepared,
    ) -> Result<Launch, SessionError> {
        let Prepared { found, capabilities } = prepared;
        if let Some(known) = capabilities {
            check_version(&self.options, spawn, known).map_err(failed)?;
        }
        let supports = |flag: &str| capabilities.as_ref().is_none_or(|known| known.has_flag(flag));
        let admitted = self.admitted.take().unwrap_or_else(Admitted::unchecked);
        let too_old = capabilities
            .as_ref()
            .and_then(|known| admitted.refusal_of(known.version(), known.has_flag("--setting-sources")));
        if let Some(reason) = admitted.refusal().or(too_old) {
            return Err(failed(StartError::Folder(reason)));
        }
        if self.options.user.is_some() && self.options.sandbox.is_some() {
            let reason = "a session in a sandbox cannot run as another user, whose files are not in it";
            return Err(failed(StartError::Other(reason.to_owned())));
        }
        if self.options.project_config_root.is_some()
            && !matches!(self.options.folder.trust, FolderTrust::Load)
        {
            let reason = "the settings of another folder are only loaded by a session that loads those of its own \
                          folder whatever they are (load_project_settings)";
            return Err(failed(StartError::Folder(reason.to_owned())));
        }
        let (named, files) = start_files::write(&self.options).map_err(|error| {
            failed(StartError::Other(format!(
                "the prompts and settings of the session cannot be written to files: {error}"
            )))
        })?;
        let start = Start { spawn, new_id, project_settings: admitted.project_settings, files: &named };
        let args = arguments(&self.options, &start, &supports).map_err(|flags| {
            let version = capabilities.as_ref().map(|known| known.version());
            failed(StartError::Unsupported { version, flags })
        })?;
        let is_passed =
            |flag: &&str| args.iter().any(|arg| arg.as_encoded_bytes().starts_with(flag.as_bytes()));
        self.assumed = ASSUMED.into_iter().filter(is_passed).collect();
        let mut launch = launch(&self.options, found, args);
        launch.needs = files.iter().map(|file| file.to_path_buf()).collect();
        launch.needs.extend(self.options.plugin_dirs.iter().cloned());
        self.files = files;
        if !admitted.project_settings {
            launch.environment = without_git_hooks(launch.environment).set(NO_SCHEDULE, "1");
        }
        launch.directory = admitted.directory;
        Ok(launch)
    }

    /// The kind of spare that a new session with these options takes, if it takes one.
    pub(crate) async fn kind(mut self) -> Option<Kind> {
        let Step::Prepared(Ok(prepared)) = self.prepare()?.await else { return None };
        self.prepared(prepared);
        let How::Cli(Some(prepared)) = &self.how else { return None };
        let (prepared, spawn) = ((**prepared).clone(), Spawn::default());
        let launch = self.build(&spawn, None, &prepared).ok()?;
        Wanted::of(&self.options, &spawn, &launch, prepared.capabilities.as_deref()).map(|wanted| wanted.kind)
    }

    /// Starts the spares that are missing: the session has nothing to do, or is over.
    pub(super) fn refill_spares(&self) {
        if let Some(spares) = &self.options.spares {
            spares.refill();
        }
    }

    /// The CLI reports this session id, which may be new: no other process may have it. An earlier id is no
    /// longer ours.
    pub(super) fn claim(&mut self, id: &CliSessionId) -> Result<(), SessionError> {
        let Some(state) = &self.options.state_directory else { return Ok(()) };
        let (ours, folder) = (session_lock(state, id), state.join("locks"));
        lock(&mut self.locks, &self.options, Some(id)).map_err(failed)?;
        let is_other = |lock: &Lock| {
            let name = lock.path().file_name().unwrap_or_default().to_string_lossy();
            lock.path().parent() == Some(&folder) && name.starts_with("session-") && lock.path() != ours
        };
        self.locks.retain(|lock| !is_other(lock));
        Ok(())
    }
}

/// Checks the folder, which may take a moment on a slow disk.
async fn admit(
    policy: FolderPolicy,
    cwd: Option<PathBuf>,
    environment: &Environment,
) -> Result<Admitted, String> {
    let home = environment.resolve(std::env::vars_os()).get(OsStr::new("HOME")).map(PathBuf::from);
    tokio::task::spawn_blocking(move || {
        let home = home.and_then(|home| home.canonicalize().ok());
        policy.admit(cwd.as_deref(), home.as_deref())
    })
    .await
    .map_err(|error| error.to_string())?
}

/// Switches scheduled prompts off. Otherwise the CLI runs those in a folder's `.claude/scheduled_tasks.json` as turns.
const NO_SCHEDULE: &str = "CLAUDE_CODE_DISABLE_CRON";

/// Programs that git runs on its own during other commands, switched off.
const GIT_HOOKS: [(&str, &str); 2] = [("core.fsmonitor", "false"), ("core.hooksPath", "/dev/null")];

/// The CLI runs commands such as `git status` without asking, and git runs the file system monitor and hooks
/// configured by a repository. Other programs that a repository can configure cannot be switched off by name;
/// in such a repository nothing is started.
fn without_git_hooks(environment: Environment) -> Environment {
    let known = environment.resolve(std::env::vars_os());
    let count =
        known.get(OsStr::new("GIT_CONFIG_COUNT")).and_then(|count| count.to_str()?.parse::<usize>().ok());
    let count = count.unwrap_or(0);
    let environment = environment.set("GIT_CONFIG_COUNT", (count + GIT_HOOKS.len()).to_string());
    GIT_HOOKS.iter().enumerate().fold(environment, |environment, (at, (name, value))| {
        let at = count + at;
        environment.set(format!("GIT_CONFIG_KEY_{at}"), *name).set(format!("GIT_CONFIG_VALUE_{at}"), *value)
    })
}

/// What is known of CLIs. Without a cache of the session's own, its spares have one: they depend on the version, and asking
/// for it takes longer than a spare saves.
fn probe_cache(options: &SessionOptions) -> Arc<ProbeCache> {
    let own = options.probe_cache.clone();
    let shared = || options.spares.as_ref().map(Spares::probe_cache);
    own.or_else(shared).unwrap_or_else(|| Arc::new(ProbeCache::in_memory()))
}

fn failed(error: StartError) -> SessionError {
    SessionError::NotStarted(Arc::new(error))
}

/// The id for a new session. We choose it, so that it is known and locked before the process runs.
fn new_session_id(options: &SessionOptions, spawn: &Spawn) -> Option<CliSessionId> {
    match &options.origin {
        _ if spawn.resume.is_some() => None,
        _ if spawn.afresh => Some(random_id()),
        Origin::Named(id) => Some(id.clone()),
        Origin::New => Some(random_id()),
        _ => None,
    }
}

fn random_id() -> CliSessionId {
    CliSessionId::new(Uuid::new_v4().to_string())
}

/// Whether an option is set that only some versions support. Asking a CLI for its version takes from a third of
/// a second to several seconds, so it is only done if necessary.
fn depends_on_version(options: &SessionOptions) -> bool {
    let start = Start {
        spawn: &Spawn::default(),
        new_id: None,
        project_settings: true,
        files: &StartFiles::default(),
    };
    let passed = arguments(options, &start, &|_| true).unwrap_or_default();
    let is_newer = |argument: &OsString| {
        let name = argument.as_encoded_bytes().split(|byte| *byte == b'=').next();
        NEWER.iter().chain(RARE).any(|flag| name == Some(flag.as_bytes()))
    };
    !introduction::members(options).is_empty()
        || options.spec.file_checkpointing
        || options.spares.is_some()
        || options.question_previews.is_some()
        || hooks::depend_on_version(&options.hooks)
        || matches!(options.origin, Origin::ForkAt { .. })
        || passed.iter().any(is_newer)
}

/// Refuses options that the CLI does not support and would silently ignore.
fn check_version(options: &SessionOptions, spawn: &Spawn, known: &Capabilities) -> Result<(), StartError> {
    let lacks = |what: &str| {
        Err(StartError::TooOld(format!(
            "this version of Claude Code ({}) cannot {what}; update it with `npm install -g @anthropic-ai/claude-code`",
            known.version()
        )))
    };
    // The schema itself goes through standard input; the flag tells which versions support it.
    if options.spec.output_schema.is_some() && !known.has_flag("--json-schema") {
        return lacks("answer according to a JSON schema");
    }
    if let Some(what) = introduction::unsupported(options, known) {
        return lacks(what);
    }
    if options.question_previews.is_some() && known.version() < QUESTION_PREVIEWS_SINCE {
        return lacks("show previews in questions");
    }
    if let Some(what) = hooks::unsupported(&options.hooks, known) {
        return lacks(&what);
    }
    if options.spec.file_checkpointing && !known.has_control("rewind_files") {
        return lacks("keep copies of the files that it changes");
    }
    let prompts = [
        (options.spec.system_prompt.as_ref().map(String::len), "--system-prompt-file"),
        (options.appended_prompt().map(|prompt| prompt.len()), "--append-system-prompt-file"),
    ];
    for (length, flag) in prompts {
        let length = length.unwrap_or_default();
        if length > MAX_ARGUMENT && !known.has_flag(flag) {
            return lacks(&format!(
                "accept a system prompt of {length} bytes, because it takes it as an argument, which must not exceed \
                 {MAX_ARGUMENT} bytes"
            ));
        }
    }
    if spawn.fork_at.is_some() && !known.has_flag(FORK_AT) {
        return lacks("continue a session from an earlier point");
    }
    Ok(())
}

fn launch(options: &SessionOptions, found: &Found, args: Vec<OsString>) -> Launch {
    let mut launch = Launch::new(&found.path).args(args);
    launch.cwd.clone_from(&options.cwd);
    launch.sandbox.clone_from(&options.sandbox);
    launch.user.clone_from(&options.user);
    launch.environment = found.environment(&options.environment_of_user());
    launch.environment = launch.environment.set_default(READS_SESSION_STATE, "1");
    if options.spec.file_checkpointing {
        launch.environment = launch.environment.set(FILE_CHECKPOINTING, "true");
    }
    if let Some(format) = options.question_previews {
        launch.environment = launch.environment.set(QUESTION_PREVIEWS, format.as_str());
    }
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

/// Refuses a session that another CLI runs, such as one in a terminal: with two drivers the transcript gets two branches,
/// and the next one that resumes it silently loses one. In a sandbox the CLI has a home of its own.
fn check_live(options: &SessionOptions, id: &CliSessionId) -> Result<(), StartError> {
    if options.sandbox.is_some() {
        return Ok(());
    }
    let variables = options.environment_of_user().resolve(std::env::vars_os());
    let folder =
        |name: &str| variables.get(OsStr::new(name)).filter(|value| !value.is_empty()).map(PathBuf::from);
    let config = folder("CLAUDE_CONFIG_DIR").or_else(|| folder("HOME").map(|home| home.join(".claude")));
    let Some(config) = config else { return Ok(()) };
    match live_sessions(&config).into_iter().find(|live| live.id == id.as_str()) {
        None => Ok(()),
        Some(live) => Err(StartError::Locked(format!(
            "the session is open in another program (process {}), such as a terminal; end it there first",
            live.process.pid
        ))),
    }
}

fn lock(
    locks: &mut Vec<Lock>,
    options: &SessionOptions,
    id: Option<&CliSessionId>,
) -> Result<(), StartError> {
    let Some(state) = &options.state_directory else { return Ok(()) };
    let mut wanted = Vec::new();
    if let Some(id) = id {
        wanted.push((session_lock(state, id), "this session"));
    }
    if options.lock_workspace {
        let cwd = options.cwd.clone().map_or_else(std::env::current_dir, Ok);
        let cwd = cwd.and_then(|cwd| cwd.canonicalize());
        let cwd =
            cwd.map_err(|error| StartError::Other(format!("the working directory cannot be used: {error}")))?;
        let name = file_name(&cwd.to_string_lossy());
        wanted.push((state.join("locks").join(format!("workspace-{name}.lock")), "this workspace"));
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

fn session_lock(state: &Path, id: &CliSessionId) -> PathBuf {
    state.join("locks").join(format!("session-{}.lock", file_name(id.as_str())))
}

/// A unique file name for each name: special characters are written as their code.
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

#[cfg(test)]
mod tests;
