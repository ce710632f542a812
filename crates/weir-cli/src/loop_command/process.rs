//! How the CLI of a loop is run: settings that neither tasks nor the configuration can change.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use weir_bridge::config::Config;
use weir_loop::agent::{AgentRequest, HostAgent, SessionFactory};
use weir_loop::shell::{Folders, INSIDE, fence_place};
use weir_process::{Environment, LogOptions, ProbeCache, Sandbox, Secrets};
use weir_session::{FolderTrust, SessionOptions};

use crate::conversation::environment;
use crate::exit::UsageError;
use crate::fence::Fence;
use crate::folders;
use crate::opts::{LoopProcessOpts, SandboxOpts};

/// How the CLI is run.
pub(super) struct Process {
    pub(super) program: Option<PathBuf>,
    pub(super) environment: Environment,
    pub(super) secrets: Secrets,
    pub(super) probe_cache: Option<Arc<ProbeCache>>,
    /// Builds sandboxes for sessions.
    pub(super) fence: Option<Fence>,
    /// The sandbox around the workspace. Sessions and gates get one for their place.
    pub(super) sandbox: Option<Sandbox>,
    /// Creates the options of a session.
    pub(super) factory: SessionFactory,
}

impl Process {
    /// `bridge` is the configuration of the chat bridge, if there is one: its secrets are hidden from the agent.
    pub(super) fn resolve(
        opts: LoopProcessOpts,
        places: &Folders,
        bridge: Option<&Path>,
    ) -> anyhow::Result<Self> {
        let (environment, secrets) = environment(&opts.env, &opts.secret)?;
        let chats = bridge.map(Config::read).transpose()?.unwrap_or_default();
        let environment = chats.secret_variables().into_iter().fold(environment, Environment::exclude);
        // Our hook forbids background tasks too; this is the CLI's own switch.
        let environment = environment.set("CLAUDE_CODE_DISABLE_BACKGROUND_TASKS", "1");
        let probe_cache = folders::probe_cache();
        let (logs, state) = (places.logs(), places.state());
        let (program, cache) = (opts.claude.clone(), probe_cache.clone());
        let (variables, masked) = (environment.clone(), secrets.clone());
        let trust = crate::trust::policy(opts.trust_folder);
        crate::trust::warn_if_ignored(Some(&places.workspace), &trust);
        let workspace = places.workspace.canonicalize()?;
        let root = places.root.clone();
        let fence = fence(opts.sandbox)?;
        if let Some(fence) = &fence {
            fence.keep_out(std::slice::from_ref(&workspace), bridge)?;
        }
        let sandbox = fence.as_ref().map(|fence| {
            let mut sandbox = fence.around(&workspace);
            // The repository of a worktree is elsewhere. The planner can read it.
            sandbox
                .readable
                .extend(git_folders(&workspace).into_iter().filter(|path| !path.starts_with(&workspace)));
            sandbox
        });
        let objects = objects(&workspace);
        let fenced = sandbox.clone();
        // No gate has to log in.
        let sandbox = sandbox.map(|sandbox| Sandbox { credentials: None, ..sandbox });
        let factory = move |request: &AgentRequest| {
            let mut options = SessionOptions::new();
            options.folder.trust = match &trust {
                // A worktree is a copy of the repository that a person has reviewed.
                FolderTrust::Remembered(file) if !is_same(&request.cwd, &workspace) => {
                    FolderTrust::CopyOf(Arc::clone(file), workspace.clone())
                }
                trust => trust.clone(),
            };
            options.sandbox = fenced.as_ref().map(|sandbox| match is_same(&request.cwd, &workspace) {
                true => sandbox.clone(),
                // A task has its own place, and of the repository only the objects, to read.
                false => fence_place(sandbox, &workspace, &request.cwd, &objects),
            });
            options.program.clone_from(&program);
            options.environment = variables.clone();
            if !is_same(&request.cwd, &workspace) {
                options.environment = std::mem::take(&mut options.environment).set(INSIDE, &root);
            }
            options.secrets = masked.clone();
            options.probe_cache.clone_from(&cache);
            options.state_directory = Some(state.clone());
            options.partial_messages = false;
            let mut log = LogOptions::new(&logs, &request.mode, &request.task);
            // Without its log, a run could neither resume after a kill nor be checked.
            log.require = true;
            options.log = Some(log);
            options.stop.grace = Duration::from_secs(3);
            options
        };
        let factory = Arc::new(factory);
        Ok(Self { program: opts.claude, environment, secrets, probe_cache, fence, sandbox, factory })
    }

    /// An agent on a host in memory, for a loop without a page.
    pub(super) async fn agent(&self, places: &Folders, parallel: usize) -> anyhow::Result<HostAgent> {
        Ok(HostAgent::in_memory(&places.workspace, parallel, Arc::clone(&self.factory)).await?)
    }
}

/// The fence, if `--sandbox` was given.
fn fence(opts: SandboxOpts) -> anyhow::Result<Option<Fence>> {
    match folders::data() {
        Some(data) => Ok(Fence::resolve(opts, &data)),
        None if opts.sandbox => {
            Err(UsageError("--sandbox: no home folder found to keep its data in".to_owned()).into())
        }
        None => Ok(None),
    }
}

/// The folders with the objects of a repository, and those that they borrow from.
fn objects(workspace: &Path) -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> = git_folders(workspace)
        .into_iter()
        .map(|folder| folder.join("objects"))
        .filter(|path| path.is_dir())
        .collect();
    let mut next = 0;
    while let Some(folder) = all.get(next).cloned() {
        let text = std::fs::read_to_string(folder.join("info/alternates")).unwrap_or_default();
        let more: Vec<PathBuf> = text
            .lines()
            .map(|line| folder.join(line))
            .filter(|path| path.is_dir() && !all.contains(path))
            .collect();
        all.extend(more);
        next += 1;
    }
    all
}

/// The git folders of a workspace. In a worktree, the file `.git` names its own git folder, which in turn names the
/// common one.
fn git_folders(workspace: &Path) -> Vec<PathBuf> {
    let at = |folder: &Path, name: &str| {
        let path = Path::new(name.trim());
        folder.join(path).canonicalize().ok()
    };
    let dot_git = workspace.join(".git");
    let named = std::fs::read_to_string(&dot_git).ok();
    let own = match named.as_deref().and_then(|text| text.strip_prefix("gitdir:")) {
        Some(name) => at(workspace, name),
        None => dot_git.canonicalize().ok(),
    };
    let Some(own) = own else { return Vec::new() };
    let common = std::fs::read_to_string(own.join("commondir")).ok().and_then(|name| at(&own, &name));
    common.into_iter().chain([own]).collect()
}

fn is_same(folder: &Path, workspace: &Path) -> bool {
    folder.canonicalize().is_ok_and(|folder| folder == workspace)
}
