//! The host of a standalone bridge.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use weir_bridge::config::Config;
use weir_host::{Host, HostOptions, SessionSettings};
use weir_process::{Environment, ProbeCache};
use weir_session::SessionOptions;
use weir_store::{DEFAULT_RESERVE, Durability, SqliteOptions, SqliteStore};

use crate::fence::Fence;
use crate::folders;

/// How much later than the chat the host gives up on a request.
const EXTRA_WAIT: Duration = Duration::from_secs(60);

/// The folder with messages and sessions. It may not exist yet.
pub(super) fn data_dir_name(config: &Config) -> anyhow::Result<PathBuf> {
    if let Some(folder) = &config.data_dir {
        return Ok(folder.clone());
    }
    Ok(folders::state().context("data_dir: set it to a folder, because HOME is not set")?.join("bridge"))
}

/// The folder with messages and sessions, created if it does not exist.
pub(super) fn data_dir(config: &Config) -> anyhow::Result<PathBuf> {
    let folder = data_dir_name(config)?;
    weir_base::file::create_private_folder(&folder)
        .with_context(|| format!("cannot create {}", folder.display()))?;
    Ok(folder)
}

/// Describes the CLI that sessions would use, in one line.
pub(super) async fn cli_in_words(claude: Option<&Path>) -> anyhow::Result<String> {
    let found = weir_process::find(claude).await?;
    let cache = folders::probe_cache().unwrap_or_else(|| ProbeCache::in_memory().into());
    let capabilities = cache.probe(&found.path, &found.environment(&Environment::inherit())).await?;
    Ok(format!("the CLI is {}, version {}", found.path.display(), capabilities.version()))
}

/// Opens a host that keeps its sessions in this folder.
pub(super) async fn open(
    folder: &Path,
    claude: Option<PathBuf>,
    roots: Vec<PathBuf>,
    ask_timeout: Duration,
    environment: Environment,
    fence: Option<Fence>,
) -> anyhow::Result<Host> {
    if let Some(fence) = &fence {
        // If the requested sandbox is not available, the bridge does not start without it.
        fence.check().await?;
    }
    let sqlite = SqliteOptions {
        durability: Durability::Process,
        reserve: DEFAULT_RESERVE,
        ..SqliteOptions::default()
    };
    let store = SqliteStore::open(folder.join("weir.db"), &sqlite)?;
    let probe_cache = folders::probe_cache();
    let fenced = roots.clone();
    let recipe = move |settings: &SessionSettings| {
        let mut options = session(claude.clone(), probe_cache.clone(), environment.clone());
        options.sandbox = fence.as_ref().map(|fence| fence.around_root_of(&settings.cwd, &fenced));
        options
    };
    let mut options = HostOptions::new(Arc::new(store), recipe);
    for root in roots {
        options = options.root(root);
    }
    options.state_directory = Some(folder.join("state"));
    options.trust = folders::data().map(|data| crate::trust::file_in(&data));
    // The chat's own timeout comes first. This one is for requests that no chat can show.
    options.ask_timeout = Some(ask_timeout + EXTRA_WAIT);
    Ok(Host::open(options).await?)
}

fn session(
    claude: Option<PathBuf>,
    probe_cache: Option<Arc<ProbeCache>>,
    environment: Environment,
) -> SessionOptions {
    let mut options = SessionOptions::new();
    options.environment = environment;
    options.program = claude;
    options.probe_cache = probe_cache;
    options
}
