//! What a standalone bridge works with: its folder, the CLI, and the engine of its sessions.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
use weir_bridge::config::Config;
use weir_process::{Environment, ProbeCache};

use crate::engine::Engine;
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

/// The engine of a bridge that keeps its sessions in this folder.
pub(super) fn engine(
    folder: &Path,
    claude: Option<PathBuf>,
    roots: Vec<PathBuf>,
    ask_timeout: Duration,
    environment: Environment,
) -> Engine {
    Engine {
        program: claude,
        trust: folders::data().map(|data| crate::trust::file_in(&data)),
        // The chat's own timeout comes first. This one is for requests that no chat can show.
        ask_timeout: Some(ask_timeout + EXTRA_WAIT),
        ..Engine::new(folder.to_owned(), roots, environment)
    }
}
