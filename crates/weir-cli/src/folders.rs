//! Folders for data that outlives the process.

use std::path::PathBuf;
use std::sync::Arc;

use weir_process::ProbeCache;

/// Locks, the list of live processes, and input history: `WEIR_STATE_DIR`, or the system's state folder.
pub(crate) fn state() -> Option<PathBuf> {
    folder("WEIR_STATE_DIR", "XDG_STATE_HOME", ".local/state")
}

/// Data of a server: `WEIR_DATA_DIR`, or the system's data folder.
pub(crate) fn data() -> Option<PathBuf> {
    folder("WEIR_DATA_DIR", "XDG_DATA_HOME", ".local/share")
}

/// Data that can be recreated: `WEIR_CACHE_DIR`, or the system's cache folder.
pub(crate) fn cache() -> Option<PathBuf> {
    folder("WEIR_CACHE_DIR", "XDG_CACHE_HOME", ".cache")
}

/// What is known about installed CLIs.
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
    // The XDG standard says to ignore a relative path: it would mean another folder in each working directory.
    let standard = variable(standard).filter(|folder| folder.is_absolute());
    let base = standard.or_else(|| variable("HOME").map(|home| home.join(below_home)));
    base.map(|base| base.join("weir"))
}

fn variable(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}
