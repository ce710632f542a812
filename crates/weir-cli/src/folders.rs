//! Where things are kept between starts.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use weir_process::ProbeCache;

/// Locks, the list of live processes, and what was typed: `WEIR_STATE_DIR`, or where the system keeps such things.
pub(crate) fn state() -> Option<PathBuf> {
    folder("WEIR_STATE_DIR", "XDG_STATE_HOME", ".local/state")
}

/// What a server keeps: `WEIR_DATA_DIR`, or where the system keeps such things.
pub(crate) fn data() -> Option<PathBuf> {
    folder("WEIR_DATA_DIR", "XDG_DATA_HOME", ".local/share")
}

/// What can be found out again: `WEIR_CACHE_DIR`, or where the system keeps such things.
pub(crate) fn cache() -> Option<PathBuf> {
    folder("WEIR_CACHE_DIR", "XDG_CACHE_HOME", ".cache")
}

/// What is known of CLIs.
pub(crate) fn probe_cache() -> Option<Arc<ProbeCache>> {
    cache().map(|cache| Arc::new(ProbeCache::in_file(cache.join("claude.json"))))
}

/// The CLI's own folder: `CLAUDE_CONFIG_DIR`, or `~/.claude`.
pub(crate) fn cli_config() -> Option<PathBuf> {
    variable("CLAUDE_CONFIG_DIR").or_else(|| variable("HOME").map(|home| home.join(".claude")))
}

fn folder(own: &str, standard: &str, below_home: &str) -> Option<PathBuf> {
    if let Some(folder) = variable(own) {
        return Some(folder);
    }
    // A relative one would be another folder in each working directory; the standard says to ignore it.
    let standard = variable(standard).filter(|folder| folder.is_absolute());
    let base = standard.or_else(|| variable("HOME").map(|home| home.join(below_home)));
    base.map(|base| base.join("weir"))
}

fn variable(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// Writes a file that only its owner can read.
pub(crate) fn write_private(file: &Path, text: &str) -> std::io::Result<()> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    std::io::Write::write_all(&mut options.open(file)?, text.as_bytes())
}

/// Makes a folder that nobody else can look into.
pub(crate) fn create_private(folder: &Path) -> std::io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}
