//! Turns command-line options into session options, for `weir run` and `weir chat`.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Map, Value};
use weir_process::{Environment, LogOptions, OsUser, ProbeCache, Sandbox, Secrets, Transport, looks_secret};
use weir_session::{
    Attachment, AttachmentError, Facts, FolderTrust, Message, Origin, SessionOptions, SessionSpec,
    SettingSource,
};
use weir_transcript::FoldOptions;
use weir_wire::{McpServerConfig, MessageOrigin};

use crate::exit::UsageError;
use crate::fence::Fence;
use crate::folders;
use crate::opts::{ConversationOpts, FileOpts, ProcessOpts, SandboxOpts, SessionOpts};
use crate::trust;
use weir_session::transcripts::Transcripts;

/// Variables that hold the user's login. Their values are masked wherever Weir writes CLI output.
const LOGINS: [&str; 4] =
    ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "AWS_BEARER_TOKEN_BEDROCK", "CLAUDE_CODE_OAUTH_TOKEN"];

/// Settings of a session. Unlike [`SessionOptions`], they can be used more than once.
#[derive(Debug, Clone)]
pub(crate) struct SessionSettings {
    pub(crate) program: Option<PathBuf>,
    pub(crate) cwd: Option<PathBuf>,
    pub(crate) conversation: Origin,
    pub(crate) spec: SessionSpec,
    pub(crate) secrets: Secrets,
    pub(crate) state_directory: Option<PathBuf>,
    /// Whether a person may be asked.
    pub(crate) asks: bool,
    /// Whether the CLI interprets messages: reads `@path` files and runs slash commands in them.
    pub(crate) interprets: bool,
    /// Whether the folder's own settings apply.
    pub(crate) trust: FolderTrust,
    files: Files,
    title: Option<String>,
    dropped_turn: Option<String>,
    user: Option<OsUser>,
    sandbox: Option<Sandbox>,
    extra_args: Vec<OsString>,
    transport: Transport,
    environment: Environment,
    log: Option<LogOptions>,
    probe_cache: Option<Arc<ProbeCache>>,
}

impl SessionSettings {
    /// `mode` is the command, for the names of log files.
    pub(crate) fn resolve(opts: SessionOpts, mode: &str, cli_flags: Vec<OsString>) -> anyhow::Result<Self> {
        let SessionOpts { permissions, process, mut spec, .. } = opts;
        if let Some(cwd) = opts.cwd.as_deref().filter(|cwd| !cwd.is_dir()) {
            return Err(UsageError(format!("--cwd {}: folder not found", cwd.display())).into());
        }
        let (environment, secrets) = environment(&process.env, &process.secret)?;
        let sandbox = sandbox(opts.sandbox, opts.cwd.as_deref())?;
        let log = log(&process, mode, !spec.no_session_persistence);
        if let Some(file) = &opts.files.agents {
            spec.agents = read_json("--agents", file)?;
        }
        Ok(Self {
            trust: trust::policy(permissions.trust_folder),
            sandbox,
            program: opts.claude,
            cwd: opts.cwd,
            conversation: conversation(&opts.conversation, opts.fork.fork_at)?,
            dropped_turn: opts.fork.drop_turn,
            user: process.os_user.as_deref().map(user).transpose()?,
            spec,
            files: Files::resolve(opts.files)?,
            title: opts.title.title,
            secrets,
            state_directory: process.state_dir.or_else(folders::state),
            asks: !permissions.no_input,
            interprets: permissions.interpret,
            extra_args: cli_flags,
            transport: process.transport.into(),
            environment,
            log,
            probe_cache: folders::probe_cache(),
        })
    }

    /// A message with this text and these pictures and documents.
    pub(crate) fn message(&self, text: String, attachments: Vec<Attachment>) -> Message {
        let message = Message::from(text).origin(MessageOrigin::Human);
        let message = attachments.into_iter().fold(message, Message::attach);
        if self.interprets { message.interpreted() } else { message }
    }

    /// The warning to show if a log was requested but could not be written.
    pub(crate) fn missing_log(&self, facts: &Facts) -> Option<String> {
        let is_requested = |log: &&LogOptions| log.folder_limits.is_none();
        let log = self.log.as_ref().filter(|_| facts.processes > 0).filter(is_requested)?;
        if facts.logs.is_some() {
            return facts.log_error.clone();
        }
        let folder = log.directory.display();
        Some(format!(
            "no log was kept: {folder} cannot be written; with --require-log nothing would have run"
        ))
    }

    /// The options for one session.
    pub(crate) fn options(&self) -> SessionOptions {
        let mut options = SessionOptions::new();
        options.program.clone_from(&self.program);
        options.cwd.clone_from(&self.cwd);
        options.folder.trust = self.trust.clone();
        options.sandbox.clone_from(&self.sandbox);
        options.origin = self.conversation.clone();
        options.spec = self.spec.clone();
        options.title.clone_from(&self.title);
        options.resume_drops_turn.clone_from(&self.dropped_turn);
        options.user.clone_from(&self.user);
        options.subagent_text = true;
        self.files.clone().apply(&mut options);
        options.extra_args.clone_from(&self.extra_args);
        options.transport = self.transport;
        options.environment = self.environment.clone();
        options.secrets = self.secrets.clone();
        options.log.clone_from(&self.log);
        options.state_directory.clone_from(&self.state_directory);
        options.probe_cache.clone_from(&self.probe_cache);
        // A user who stops the CLI does not want to wait long for it to exit.
        options.stop.grace = Duration::from_secs(3);
        // There is only one session, and it prints tool output, with the same limit as `weir replay`.
        options.fold.output_limit = FoldOptions::default().output_limit;
        options
    }
}

/// Options that are files or come from files.
#[derive(Debug, Clone)]
struct Files {
    add_dirs: Vec<PathBuf>,
    mcp_config: BTreeMap<String, McpServerConfig>,
    strict_mcp: bool,
    plugin_dirs: Vec<PathBuf>,
    settings: Option<Map<String, Value>>,
    managed_settings: Option<Map<String, Value>>,
    project_config_root: Option<PathBuf>,
    setting_sources: Option<Vec<SettingSource>>,
    tool_aliases: BTreeMap<String, String>,
    debug_file: Option<PathBuf>,
}

impl Files {
    fn resolve(opts: FileOpts) -> anyhow::Result<Self> {
        let mut mcp_config = BTreeMap::new();
        for file in &opts.mcp_config {
            let servers: McpConfig = read_json("--mcp-config", file)?;
            mcp_config.extend(servers.servers);
        }
        let settings = opts.settings.as_deref().map(|file| read_json("--settings", file)).transpose()?;
        let managed = opts.managed_settings.as_deref();
        let managed_settings = managed.map(|file| read_json("--managed-settings", file)).transpose()?;
        Ok(Self {
            managed_settings,
            project_config_root: opts.project_config_root.map(std::path::absolute).transpose()?,
            add_dirs: absolute(&opts.add_dir)?,
            mcp_config,
            strict_mcp: opts.strict_mcp_config,
            plugin_dirs: absolute(&opts.plugin_dir)?,
            settings,
            setting_sources: opts.setting_sources.map(|sources| sources.0),
            tool_aliases: opts.tool_alias.into_iter().collect(),
            debug_file: opts.debug_file.map(std::path::absolute).transpose()?,
        })
    }

    fn apply(self, options: &mut SessionOptions) {
        options.add_dirs = self.add_dirs;
        options.mcp_config = self.mcp_config;
        options.strict_mcp = self.strict_mcp;
        options.plugin_dirs = self.plugin_dirs;
        options.settings = self.settings;
        options.managed_settings = self.managed_settings;
        options.project_config_root = self.project_config_root;
        options.setting_sources = self.setting_sources;
        options.tool_aliases = self.tool_aliases;
        options.debug_file = self.debug_file;
    }
}

/// A file with MCP servers, as the CLI reads it.
#[derive(Deserialize)]
struct McpConfig {
    #[serde(rename = "mcpServers")]
    servers: BTreeMap<String, McpServerConfig>,
}

/// The CLI takes paths relative to the session's folder; people mean the one they are in.
fn absolute(paths: &[PathBuf]) -> std::io::Result<Vec<PathBuf>> {
    paths.iter().map(std::path::absolute).collect()
}

/// What goes with a message: files, or addresses that the model's API fetches.
pub(crate) fn attachments(sources: &[String]) -> Result<Vec<Attachment>, UsageError> {
    sources
        .iter()
        .map(|source| attachment(source).map_err(|error| UsageError(format!("--attach: {error}"))))
        .collect()
}

/// A picture or a PDF: a file, or a web address.
pub(crate) fn attachment(source: &str) -> Result<Attachment, AttachmentError> {
    // `./https://x` is a file.
    let is_path = source.starts_with(['.', '/']) || !source.contains("://");
    if is_path { Attachment::read(Path::new(source)) } else { Attachment::at(source) }
}

/// Reads the JSON file that a flag names.
pub(crate) fn read_json<T: serde::de::DeserializeOwned>(flag: &str, file: &Path) -> anyhow::Result<T> {
    let wrong = |error: &dyn std::fmt::Display| UsageError(format!("{flag} {}: {error}", file.display()));
    let text = std::fs::read_to_string(file).map_err(|error| wrong(&error))?;
    Ok(serde_json::from_str(&text).map_err(|error| wrong(&error))?)
}

/// The requested sandbox, around the working folder.
fn sandbox(opts: SandboxOpts, cwd: Option<&Path>) -> anyhow::Result<Option<Sandbox>> {
    let Some(data) = folders::data() else {
        return match opts.sandbox {
            true => Err(UsageError("--sandbox: no home folder found to keep its data in".to_owned()).into()),
            false => Ok(None),
        };
    };
    let folder = cwd.map_or_else(std::env::current_dir, |cwd| Ok(cwd.to_owned()))?.canonicalize()?;
    let Some(fence) = Fence::resolve(opts, &data) else { return Ok(None) };
    fence.keep_out(std::slice::from_ref(&folder), [])?;
    Ok(Some(fence.around(&folder)))
}

/// Where the raw log goes: to the given folder, or to a small one of our own. A session without persistence has no log
/// unless `--log-dir` is given.
fn log(opts: &ProcessOpts, mode: &str, is_kept: bool) -> Option<LogOptions> {
    match &opts.log_dir {
        Some(folder) => {
            let mut log = LogOptions::new(folder, mode, "weir");
            log.require = opts.require_log;
            Some(log)
        }
        None if opts.no_log || !is_kept => None,
        None => folders::cache().map(|cache| LogOptions::bounded(cache.join("logs"), mode, "weir")),
    }
}

/// The user that the CLI runs as.
fn user(name: &str) -> Result<OsUser, UsageError> {
    OsUser::named(name).map_err(|error| UsageError(format!("--os-user: {error}")))
}

fn conversation(opts: &ConversationOpts, fork_at: Option<String>) -> anyhow::Result<Origin> {
    Ok(match (&opts.resume, &opts.fork, &opts.session_id) {
        (Some(id), _, _) => Origin::Resume(full_id(id)?.as_str().into()),
        (_, Some(id), _) => {
            let session = full_id(id)?.as_str().into();
            match fork_at {
                Some(line) => Origin::ForkAt { session, line },
                None => Origin::Fork(session),
            }
        }
        (_, _, Some(id)) => Origin::Named(id.as_str().into()),
        _ if opts.r#continue => Origin::Continue,
        _ => Origin::New,
    })
}

/// Completes an id of which only the beginning was given: the CLI needs the full id.
fn full_id(id: &str) -> anyhow::Result<String> {
    let transcripts = folders::cli_config().map(|config| Transcripts::below(&config));
    match transcripts.filter(|_| uuid::Uuid::try_parse(id).is_err()) {
        Some(transcripts) => Ok(transcripts.find(id).map_err(|error| UsageError(error.to_string()))?.id),
        None => Ok(id.to_owned()),
    }
}

/// The CLI's environment, and the values in it that are masked.
pub(crate) fn environment(
    pairs: &[(String, String)],
    named: &[String],
) -> anyhow::Result<(Environment, Secrets)> {
    let mut environment = Environment::inherit();
    let mut secrets = Secrets::new();
    for (name, value) in pairs {
        environment = environment.set(name, value);
        if looks_secret(name) {
            // A value that is too short to be masked is too short to be a secret.
            let _ = secrets.insert(name, value);
        }
    }
    for name in LOGINS {
        if let Ok(value) = std::env::var(name) {
            let _ = secrets.insert(name, &value);
        }
    }
    for name in named {
        let set = pairs.iter().rev().find(|(set, _)| set == name).map(|(_, value)| value.clone());
        let Some(value) = set.or_else(|| std::env::var(name).ok()) else {
            return Err(UsageError(format!("--secret {name}: environment variable not set")).into());
        };
        secrets.insert(name, &value).map_err(|error| UsageError(error.to_string()))?;
    }
    Ok((environment, secrets))
}
