//! A place for a CLI to run in: its own folders, and an environment that knows of no others.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use weir_process::Environment;

use crate::processes::leftovers;

/// A key that no API would accept.
pub const DUMMY_KEY: &str = "sk-ant-dummy-loopback";

/// Folders for one test: a home, a working directory and one for temporary files. Removed on drop.
#[derive(Debug)]
pub struct Place {
    root: PathBuf,
    /// Removes the folders on drop; `None` if the caller does.
    folder: Option<tempfile::TempDir>,
}

impl Place {
    /// A fresh place.
    ///
    /// # Errors
    /// If the folders cannot be created.
    pub fn new() -> io::Result<Self> {
        // A short name: the CLI opens a socket below it, whose path may have at most 103 bytes.
        let folder = tempfile::Builder::new().prefix("weir-").tempdir()?;
        let place = Self::at(folder.path())?;
        Ok(Self { folder: Some(folder), ..place })
    }

    /// A fresh place in memory where the system has that: for tests with a simulated CLI that write thousands of files.
    ///
    /// # Errors
    /// If the folders cannot be created.
    pub fn in_memory() -> io::Result<Self> {
        let folder = crate::memory_folder()?;
        let place = Self::at(folder.path())?;
        Ok(Self { folder: Some(folder), ..place })
    }

    /// A place in a folder that the caller has created and removes.
    ///
    /// # Errors
    /// If the folders cannot be created.
    pub fn at(folder: &Path) -> io::Result<Self> {
        let place = Self { root: folder.canonicalize()?, folder: None };
        for folder in [place.home(), place.directory(), place.temporary()] {
            std::fs::create_dir_all(folder)?;
        }
        Ok(place)
    }

    /// The home directory.
    pub fn home(&self) -> PathBuf {
        self.root.join("home")
    }

    /// The working directory.
    pub fn directory(&self) -> PathBuf {
        self.root.join("work")
    }

    /// The folder for temporary files.
    pub fn temporary(&self) -> PathBuf {
        self.root.join("tmp")
    }

    /// The folder that contains the others.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// A path below the root.
    pub fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// The processes that were started here and are alive, found by their home.
    pub fn living(&self) -> Vec<u32> {
        leftovers(&self.home()).into_iter().map(|left| left.process).collect()
    }

    /// The command lines of these processes.
    pub fn commands(&self) -> Vec<String> {
        leftovers(&self.home()).into_iter().map(|left| left.command).collect()
    }

    /// Writes a file into the working directory, creating its parent folders.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write(&self, name: &str, content: &str) -> io::Result<()> {
        let path = self.directory().join(name);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent)?;
        }
        std::fs::write(path, content)
    }

    /// The environment of a simulated CLI in this place. Only the search path is inherited.
    pub fn simulated_environment(&self) -> Environment {
        Environment::only(["PATH"]).set("HOME", self.home()).set("TMPDIR", self.temporary())
    }

    /// The complete environment of a real CLI in this place, which uses the API at `url`.
    pub fn environment(&self, url: &str) -> Vec<(OsString, OsString)> {
        let temporary = self.temporary().into_os_string();
        let mut variables: Vec<(OsString, OsString)> = vec![
            ("HOME".into(), self.home().into()),
            ("PATH".into(), path_variable()),
            ("LANG".into(), "C.UTF-8".into()),
            ("TZ".into(), "UTC".into()),
            ("SHELL".into(), "/bin/bash".into()),
            ("ANTHROPIC_API_KEY".into(), DUMMY_KEY.into()),
            ("ANTHROPIC_BASE_URL".into(), url.into()),
        ];
        // Otherwise it leaves folders and sockets in the system's temporary folder.
        for name in ["TMPDIR", "CLAUDE_CODE_TMPDIR", "XDG_RUNTIME_DIR"] {
            variables.push((name.into(), temporary.clone()));
        }
        for name in [
            "DISABLE_AUTOUPDATER",
            "DISABLE_TELEMETRY",
            "DISABLE_ERROR_REPORTING",
            "DISABLE_BUG_COMMAND",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
        ] {
            variables.push((name.into(), "1".into()));
        }
        variables
    }

    /// Removes the folders and reports errors, which dropping does not.
    ///
    /// # Errors
    /// If something could not be removed.
    pub fn remove(self) -> io::Result<()> {
        self.folder.map_or(Ok(()), tempfile::TempDir::close)
    }

    /// Keeps the folders and returns the one that contains them, for finding out what went wrong.
    pub fn keep(self) -> PathBuf {
        self.folder.map_or(self.root, tempfile::TempDir::keep)
    }
}

/// The usual folders, and the one with Node: older CLIs are Node scripts.
fn path_variable() -> OsString {
    let inherited = std::env::var_os("PATH").unwrap_or_default();
    let node = std::env::split_paths(&inherited).find(|folder| folder.join("node").is_file());
    let usual = ["/usr/local/bin", "/usr/bin", "/bin"].map(PathBuf::from);
    std::env::join_paths(node.into_iter().chain(usual)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_inherited_and_everything_is_inside() {
        let place = Place::new().unwrap();
        let environment = place.environment("http://127.0.0.1:1");
        let value = |name: &str| {
            let found = environment.iter().find(|(known, _)| known == name);
            found.map(|(_, value)| value.to_str().unwrap().to_owned())
        };
        for name in ["HOME", "TMPDIR", "CLAUDE_CODE_TMPDIR"] {
            assert!(Path::new(&value(name).unwrap()).starts_with(place.root()), "{name}");
        }
        assert_eq!(value("ANTHROPIC_API_KEY").as_deref(), Some(DUMMY_KEY));
        assert_eq!(value("USER"), None);
        assert!(place.root().as_os_str().len() < 60, "sockets need short paths");
    }

    #[test]
    fn removing_a_place_deletes_its_folders() {
        let place = Place::new().unwrap();
        place.write("a/b.txt", "x").unwrap();
        let root = place.root().to_owned();
        place.remove().unwrap();
        assert!(!root.exists());
    }
}
