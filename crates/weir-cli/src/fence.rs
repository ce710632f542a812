//! The sandbox of a session, from the command-line options.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};

use weir_process::{Sandbox, SandboxError};

use crate::exit::UsageError;
use crate::folders;
use crate::opts::SandboxOpts;

/// Builds the sandboxes of sessions.
#[derive(Debug, Clone)]
pub(crate) struct Fence {
    /// The data folder.
    data: PathBuf,
    readable: Vec<PathBuf>,
    writable: Vec<PathBuf>,
}

impl Fence {
    /// The fence, if `--sandbox` was given. `data` is the folder in which the sandboxes' homes are kept.
    pub(crate) fn resolve(opts: SandboxOpts, data: &Path) -> Option<Self> {
        opts.sandbox.then(|| Self {
            data: data.to_owned(),
            readable: opts.sandbox_read,
            writable: opts.sandbox_write,
        })
    }

    /// The sandbox of a session in this folder: around the root that contains it.
    pub(crate) fn around_root_of(&self, folder: &Path, roots: &[PathBuf]) -> Sandbox {
        let is_around = |root: &&PathBuf| {
            folder.starts_with(root) || root.canonicalize().is_ok_and(|root| folder.starts_with(root))
        };
        let root =
            roots.iter().find(is_around).map(|root| root.canonicalize().unwrap_or_else(|_| root.clone()));
        self.around(root.as_deref().unwrap_or(folder))
    }

    /// Refuses a sandbox that sessions could escape from. Files that control sessions, or that take effect outside the
    /// sandbox, must not be in a folder that sessions can write; Weir's own files must not be where they can read. Hiding
    /// a subfolder is not enough, because the folders above it can be renamed and recreated. `more` are files with secrets.
    pub(crate) fn keep_out<'a>(
        &self,
        roots: &[PathBuf],
        more: impl IntoIterator<Item = &'a Path>,
    ) -> Result<(), UsageError> {
        let home = std::env::var_os("HOME").map(PathBuf::from);
        let outside = home.into_iter().chain(folders::cli_config());
        let own = [Some(self.data.clone()), folders::data(), folders::state(), folders::cache()];
        let own: Vec<PathBuf> =
            own.into_iter().flatten().chain(more.into_iter().map(Path::to_owned)).collect();
        let written = roots.iter().chain(&self.writable);
        let written =
            written.flat_map(|folder| outside.clone().chain(own.clone()).map(move |path| (folder, path)));
        let read = self.readable.iter().flat_map(|folder| own.iter().map(move |path| (folder, path.clone())));
        for (folder, path) in written.chain(read) {
            if resolved(&path).starts_with(resolved(folder)) {
                return Err(UsageError(format!(
                    "--sandbox: sessions could reach {}, because it is inside {}, which they can access; give them a smaller \
                     folder, or move it elsewhere",
                    path.display(),
                    folder.display()
                )));
            }
        }
        Ok(())
    }

    /// Checks that a sandbox can be created.
    pub(crate) async fn check(&self) -> Result<(), SandboxError> {
        Sandbox::new(self.homes()).check().await
    }

    /// The folder with the homes of sandboxed sessions.
    fn homes(&self) -> PathBuf {
        self.data.join("sandbox")
    }

    /// The sandbox of sessions below this root. Sessions of one root share a home, so that one can be forked from another;
    /// sessions of other roots cannot access it.
    pub(crate) fn around(&self, root: &Path) -> Sandbox {
        let mut hasher = DefaultHasher::new();
        root.hash(&mut hasher);
        let name = root.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let home = self.homes().join(format!("{:016x}-{name}", hasher.finish()));
        let mut sandbox = Sandbox::new(home).writable(root);
        sandbox.writable.extend(self.writable.iter().cloned());
        sandbox.readable.extend(self.readable.iter().cloned());
        sandbox.credentials = folders::cli_config().map(|config| config.join(".credentials.json"));
        sandbox
    }
}

/// A path with all links resolved, as far as it exists.
fn resolved(path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let known = path.ancestors().find_map(|above| Some((above, above.canonicalize().ok()?)));
    match known {
        Some((above, real)) => path.strip_prefix(above).map_or_else(|_| path.clone(), |rest| real.join(rest)),
        None => path,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sandbox_with_control_files_inside_is_refused() {
        let place = tempfile::tempdir().unwrap();
        let (data, project) = (place.path().join("data"), place.path().join("project"));
        for folder in [&data, &project] {
            std::fs::create_dir(folder).unwrap();
        }
        let link = place.path().join("link");
        std::os::unix::fs::symlink(place.path(), &link).unwrap();
        let fence = |readable: &[&Path], writable: &[&Path]| Fence {
            data: data.clone(),
            readable: readable.iter().map(|path| path.to_path_buf()).collect(),
            writable: writable.iter().map(|path| path.to_path_buf()).collect(),
        };
        let ready = project.join("not-yet/ready.json");
        let roots = [project.clone()];
        assert!(fence(&[], &[]).keep_out(&roots, []).is_ok());
        assert!(fence(&[], &[]).keep_out(&roots, [place.path().join("ready.json").as_path()]).is_ok());
        assert!(fence(&[], &[]).keep_out(&roots, [ready.as_path()]).is_err());
        assert!(fence(&[], &[]).keep_out(&[place.path().to_owned()], []).is_err());
        assert!(fence(&[], &[]).keep_out(std::slice::from_ref(&link), []).is_err());
        assert!(fence(&[], &[&link]).keep_out(&roots, []).is_err());
        assert!(fence(&[place.path()], &[]).keep_out(&roots, []).is_err());
        assert!(fence(&[&data.join("sandbox")], &[]).keep_out(&roots, []).is_ok());
        assert!(fence(&[], &[]).keep_out(&[PathBuf::from("/")], []).is_err());
    }
}
