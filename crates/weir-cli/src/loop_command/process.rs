//! How the CLI of a loop is run: what no task and no configuration decides.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use weir_bridge::config::Config;
use weir_loop::agent::{AgentRequest, SessionAgent, SessionFactory};
use weir_loop::shell::Folders;
use weir_process::{Environment, LogOptions, ProbeCache, Secrets};
use weir_session::{FolderTrust, SessionOptions};

use crate::conversation::environment;
use crate::folders;
use crate::opts::LoopProcessOpts;

/// How the CLI is run.
pub(super) struct Process {
    pub(super) program: Option<PathBuf>,
    pub(super) environment: Environment,
    /// What is masked.
    pub(super) secrets: Secrets,
    pub(super) probe_cache: Option<Arc<ProbeCache>>,
    /// Gives the options of a session.
    pub(super) factory: SessionFactory,
}

impl Process {
    /// `bridge` is the configuration of the chats that are told, if there are any: their secrets are not for the agent.
    pub(super) fn resolve(
        opts: LoopProcessOpts,
        places: &Folders,
        bridge: Option<&Path>,
    ) -> anyhow::Result<Self> {
        let (environment, secrets) = environment(&opts.env, &opts.secret)?;
        let chats = bridge.map(Config::read).transpose()?.unwrap_or_default();
        let environment = chats.secret_variables().into_iter().fold(environment, Environment::exclude);
        // The CLI's own word for what our hook forbids as well.
        let environment = environment.set("CLAUDE_CODE_DISABLE_BACKGROUND_TASKS", "1");
        let probe_cache = folders::probe_cache();
        let (logs, state) = (places.logs(), places.state());
        let (program, cache) = (opts.claude.clone(), probe_cache.clone());
        let (variables, masked) = (environment.clone(), secrets.clone());
        let trust = crate::trust::policy(opts.trust_folder);
        crate::trust::tell_if_left_out(Some(&places.workspace), &trust);
        let workspace = places.workspace.canonicalize()?;
        let factory = move |request: &AgentRequest| {
            let mut options = SessionOptions::new();
            options.folder.trust = match &trust {
                // A worktree is a copy of the repository that a person has looked at.
                FolderTrust::Remembered(file) if !is_same(&request.cwd, &workspace) => {
                    FolderTrust::CopyOf(Arc::clone(file), workspace.clone())
                }
                trust => trust.clone(),
            };
            options.program.clone_from(&program);
            options.environment = variables.clone();
            options.secrets = masked.clone();
            options.probe_cache.clone_from(&cache);
            options.state_directory = Some(state.clone());
            options.partial_messages = false;
            let mut log = LogOptions::new(&logs, &request.mode, &request.task);
            // Without its log a run could not go on after a kill, nor be checked.
            log.require = true;
            options.log = Some(log);
            options.stop.grace = Duration::from_secs(3);
            options
        };
        Ok(Self { program: opts.claude, environment, secrets, probe_cache, factory: Arc::new(factory) })
    }

    /// The agent that has its sessions for itself.
    pub(super) fn agent(&self) -> SessionAgent {
        SessionAgent::new(Arc::clone(&self.factory))
    }
}

fn is_same(folder: &Path, workspace: &Path) -> bool {
    folder.canonicalize().is_ok_and(|folder| folder == workspace)
}
