//! The sandbox of a session, from what was typed.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};

use weir_process::Sandbox;

use crate::folders;
use crate::opts::SandboxOpts;

/// Puts sessions behind a fence.
#[derive(Debug, Clone)]
pub(crate) struct Fence {
    /// Where the homes of fenced sessions are kept.
    homes: PathBuf,
    readable: Vec<PathBuf>,
    writable: Vec<PathBuf>,
}

impl Fence {
    /// What was asked for, if anything was. `data` is where homes are kept.
    pub(crate) fn resolve(opts: SandboxOpts, data: &Path) -> Option<Self> {
        opts.sandbox.then(|| Self {
            homes: data.join("sandbox"),
            readable: opts.sandbox_read,
            writable: opts.sandbox_write,
        })
    }

    /// The sandbox of a session in this folder: around the root that it lies in.
    pub(crate) fn around_root_of(&self, folder: &Path, roots: &[PathBuf]) -> Sandbox {
        let is_around = |root: &&PathBuf| {
            folder.starts_with(root) || root.canonicalize().is_ok_and(|root| folder.starts_with(root))
        };
        let root =
            roots.iter().find(is_around).map(|root| root.canonicalize().unwrap_or_else(|_| root.clone()));
        self.around(root.as_deref().unwrap_or(folder))
    }

    /// The sandbox of sessions below this root. Those of one root share a home, so that one can be forked from another;
    /// those of other roots cannot look into it.
    pub(crate) fn around(&self, root: &Path) -> Sandbox {
        let mut hasher = DefaultHasher::new();
        root.hash(&mut hasher);
        let name = root.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let home = self.homes.join(format!("{:016x}-{name}", hasher.finish()));
        let mut sandbox = Sandbox::new(home).writable(root);
        sandbox.writable.extend(self.writable.iter().cloned());
        sandbox.readable.extend(self.readable.iter().cloned());
        sandbox.credentials = folders::cli_config().map(|config| config.join(".credentials.json"));
        sandbox
    }
}
