//! What a new worktree of a project gets: files that git does not have, such as `.env`, and a command that sets it up.
//!
//! The owner of the server decides it, with `weir worktree setup`. No request can, and no file of the repository.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use weir_process::PlainCommand;

use crate::error::HostError;

/// How long a setup command may take.
const MAX_DURATION: Duration = Duration::from_secs(15 * 60);
/// How much of its output is kept for the error.
const MAX_OUTPUT: usize = 4 << 10;
/// A larger file is not one that is copied by hand.
const MAX_BYTES: u64 = 64 << 20;

/// What a new worktree of a project gets.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct WorktreeSetup {
    /// Files to copy, relative to the top of the main worktree. Those that are not there are left out.
    pub copy: Vec<String>,
    /// A command for the shell, run in the new worktree.
    pub run: Option<String>,
}

/// The file with the setup of each project, by the top folder of its main worktree.
#[derive(Debug)]
pub struct WorktreeSetups {
    file: PathBuf,
    writing: Mutex<()>,
}

impl WorktreeSetups {
    /// The setups in this file, which need not exist.
    pub fn new(file: PathBuf) -> Self {
        Self { file, writing: Mutex::new(()) }
    }

    /// The setup of a project.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn of(&self, top: &Path) -> Result<WorktreeSetup, HostError> {
        Ok(self.read()?.remove(top).unwrap_or_default())
    }

    /// Sets the setup of a project. An empty one is removed.
    ///
    /// # Errors
    /// If a path leads out of the project, or the file cannot be written.
    pub fn set(&self, top: &Path, setup: WorktreeSetup) -> Result<(), HostError> {
        for name in &setup.copy {
            check(name)?;
        }
        let _writing = self.writing.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let mut all = self.read()?;
        if setup == WorktreeSetup::default() {
            all.remove(top);
        } else {
            all.insert(top.to_owned(), setup);
        }
        let text = serde_json::to_vec_pretty(&all).map_err(|error| self.failed(&error))?;
        if let Some(folder) = self.file.parent() {
            weir_base::file::create_private_folder(folder).map_err(|error| self.failed(&error))?;
        }
        weir_base::file::replace(&self.file, &text).map_err(|error| self.failed(&error))
    }

    fn read(&self) -> Result<BTreeMap<PathBuf, WorktreeSetup>, HostError> {
        match fs::read(&self.file) {
            Ok(text) => serde_json::from_slice(&text).map_err(|error| self.failed(&error)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(BTreeMap::new()),
            Err(error) => Err(self.failed(&error)),
        }
    }

    fn failed(&self, error: &dyn std::fmt::Display) -> HostError {
        HostError::Invalid(format!("cannot use {}: {error}", self.file.display()))
    }
}

impl WorktreeSetup {
    /// Copies the files from the main worktree, and runs the command. `shell` makes a command of its text.
    ///
    /// # Errors
    /// If a file cannot be copied, or the command fails.
    pub async fn apply(
        &self,
        main: &Path,
        worktree: &Path,
        shell: impl FnOnce(PlainCommand) -> PlainCommand + Send,
    ) -> Result<(), HostError> {
        let (names, from, to) = (self.copy.clone(), main.to_owned(), worktree.to_owned());
        let copied = tokio::task::spawn_blocking(move || {
            names.iter().try_for_each(|name| {
                copy(&from, &to, name).map_err(|error| failed(&format!("cannot copy {name}: {error}")))
            })
        });
        copied.await.map_err(|error| HostError::Failed(error.to_string()))??;
        let Some(run) = &self.run else { return Ok(()) };
        let mut command =
            PlainCommand::new("/bin/sh").args(["-c", run.as_str()]).cwd(worktree).timeout(MAX_DURATION);
        command.keep_bytes = MAX_OUTPUT;
        command.purpose = "worktree setup".to_owned();
        let done = shell(command).run().await.map_err(|error| failed(&error.to_string()))?;
        if done.is_success() {
            return Ok(());
        }
        let printed = format!("{}{}", done.stdout.text(), done.stderr.text());
        let how = if done.timed_out { "took too long".to_owned() } else { done.exit.to_string() };
        Err(failed(&format!("`{run}`: {how}: {}", printed.trim())))
    }
}

fn failed(what: &str) -> HostError {
    HostError::Setup(what.to_owned())
}

/// A path that cannot lead out of the folder it is relative to, nor into the repository itself.
fn check(name: &str) -> Result<(), HostError> {
    let path = Path::new(name);
    let is_plain =
        |part: Component<'_>| matches!(part, Component::Normal(name) if !name.eq_ignore_ascii_case(".git"));
    if !name.is_empty() && path.components().all(is_plain) {
        return Ok(());
    }
    Err(HostError::Invalid(format!("{name:?} is not the path of a file in the project, such as `.env`")))
}

/// Copies a file, unless git has one there. Neither side follows a link: a session may have placed it.
fn copy(main: &Path, worktree: &Path, name: &str) -> io::Result<()> {
    check(name).map_err(io::Error::other)?;
    let (main, worktree) = (main.canonicalize()?, worktree.canonicalize()?);
    let source = main.join(name);
    let found = match source.canonicalize() {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    if found != source {
        return Err(io::Error::other("a link leads elsewhere"));
    }
    let mut file = File::open(&found)?;
    let about = file.metadata()?;
    if !about.is_file() || about.len() > MAX_BYTES {
        return Err(io::Error::other("it is not a file, or too large"));
    }
    let target = worktree.join(name);
    let Some(parent) = target.parent() else { return Ok(()) };
    make_folders(&worktree, parent)?;
    match OpenOptions::new().write(true).create_new(true).open(&target) {
        Ok(mut copy) => {
            io::copy(&mut file, &mut copy)?;
            copy.set_permissions(about.permissions())
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    }
}

/// Makes the folders between a worktree and a folder in it, one by one.
fn make_folders(worktree: &Path, folder: &Path) -> io::Result<()> {
    let mut path = worktree.to_owned();
    for part in folder.strip_prefix(worktree).map_err(io::Error::other)?.components() {
        path.push(part);
        match fs::create_dir(&path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        if !fs::symlink_metadata(&path)?.is_dir() {
            return Err(io::Error::other("a link leads elsewhere"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn setups_are_kept_by_project_and_lead_nowhere_else() {
        let folder = tempfile::tempdir().unwrap();
        let setups = WorktreeSetups::new(folder.path().join("worktrees.json"));
        let setup = WorktreeSetup { copy: vec![".env".into(), "a/b".into()], run: Some("make".into()) };
        setups.set(Path::new("/p"), setup.clone()).unwrap();
        assert_eq!(setups.of(Path::new("/p")).unwrap(), setup);
        assert_eq!(setups.of(Path::new("/q")).unwrap(), WorktreeSetup::default());
        for name in ["", "../x", "/etc/passwd", "a/../../x", ".git/config", "sub/.GIT/hooks/x"] {
            let setup = WorktreeSetup { copy: vec![name.into()], run: None };
            assert!(setups.set(Path::new("/p"), setup).is_err(), "{name}");
        }
        setups.set(Path::new("/p"), WorktreeSetup::default()).unwrap();
        assert_eq!(setups.of(Path::new("/p")).unwrap(), WorktreeSetup::default());
    }

    #[tokio::test]
    #[cfg(unix)]
    async fn files_are_copied_and_links_are_not_followed() {
        use std::os::unix::fs::{PermissionsExt as _, symlink};
        let folder = tempfile::tempdir().unwrap();
        let (main, worktree) = (folder.path().join("main"), folder.path().join("worktree"));
        let outside = folder.path().join("outside");
        for path in [&main, &worktree, &outside, &main.join("deep"), &main.join("away")] {
            fs::create_dir_all(path).unwrap();
        }
        fs::write(main.join(".env"), "SECRET=1\n").unwrap();
        fs::set_permissions(main.join(".env"), fs::Permissions::from_mode(0o600)).unwrap();
        fs::write(main.join("deep/x"), "x").unwrap();
        fs::write(main.join("away/x"), "x").unwrap();
        fs::write(main.join("tracked"), "mine").unwrap();
        fs::write(worktree.join("tracked"), "git's").unwrap();
        let copy = vec![".env".into(), "deep/x".into(), "tracked".into(), "absent".into()];
        let setup = WorktreeSetup { copy, run: Some("cat .env > seen".into()) };
        setup.apply(&main, &worktree, |command| command).await.unwrap();
        assert_eq!(fs::read_to_string(worktree.join("seen")).unwrap(), "SECRET=1\n");
        assert_eq!(fs::metadata(worktree.join(".env")).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read_to_string(worktree.join("deep/x")).unwrap(), "x");
        assert_eq!(fs::read_to_string(worktree.join("tracked")).unwrap(), "git's");
        // A link where the file is read, and one where it is written.
        fs::write(outside.join("secret"), "secret").unwrap();
        symlink(outside.join("secret"), main.join("link")).unwrap();
        symlink(&outside, worktree.join("away")).unwrap();
        for name in ["link", "away/x"] {
            let setup = WorktreeSetup { copy: vec![name.into()], run: None };
            let error = setup.apply(&main, &worktree, |command| command).await.unwrap_err();
            assert!(error.to_string().contains("a link leads elsewhere"), "{error}");
        }
        assert!(!outside.join("x").exists() && !worktree.join("link").exists());
        let setup = WorktreeSetup { copy: Vec::new(), run: Some("echo broken >&2; exit 3".into()) };
        let error = setup.apply(&main, &worktree, |command| command).await.unwrap_err();
        assert!(error.to_string().contains("broken"), "{error}");
    }
}
