//! The environment that a CLI needs to run from where it was found. Pure.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

use super::files::{Files, RealFiles};
use super::search::Found;
use super::windows_places::git_bash;
use crate::environment::Environment;

/// Tells the CLI on Windows which Bash to use.
const GIT_BASH: &str = "CLAUDE_CODE_GIT_BASH_PATH";

impl Found {
    /// The environment for this CLI: the given one, plus the folders and programs that it needs. Folders set by
    /// the user come first in `PATH`, and an existing Git Bash setting is kept if it is valid.
    pub fn environment(&self, given: &Environment) -> Environment {
        let needs_bash = cfg!(windows);
        if self.search_path.is_none() && !needs_bash {
            return given.clone();
        }
        let known = given.resolve(std::env::vars_os());
        completed(given, &known, self.search_path.as_deref(), needs_bash.then_some(&RealFiles))
    }
}

/// `known` is the resolved environment; `bash` is where to look for a Git Bash, if one is needed.
fn completed(
    given: &Environment,
    known: &BTreeMap<OsString, OsString>,
    search_path: Option<&OsStr>,
    bash: Option<&dyn Files>,
) -> Environment {
    let variable = |name: &str| known.get(OsStr::new(name)).cloned();
    let mut environment = given.clone();
    if let Some(more) = search_path
        && let Some(path) = joined(&variable("PATH").unwrap_or_default(), more)
    {
        environment = environment.set("PATH", path);
    }
    if let Some(found) = bash.and_then(|files| git_bash(&variable, files))
        && variable(GIT_BASH).as_deref() != Some(found.as_os_str())
    {
        environment = environment.set(GIT_BASH, found);
    }
    environment
}

/// Both lists of folders joined, without duplicates. `None` if they cannot be joined or the second adds
/// nothing.
fn joined(path: &OsStr, more: &OsStr) -> Option<OsString> {
    let mut folders: Vec<_> =
        std::env::split_paths(path).filter(|folder| !folder.as_os_str().is_empty()).collect();
    let before = folders.len();
    for folder in std::env::split_paths(more).filter(|folder| folder.is_absolute()) {
        if !folders.contains(&folder) {
            folders.push(folder);
        }
    }
    if folders.len() == before {
        return None;
    }
    std::env::join_paths(folders).ok()
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::*;

    struct Made(&'static [&'static str]);

    impl Files for Made {
        fn is_program(&self, path: &Path) -> bool {
            self.0.iter().any(|file| Path::new(file) == path)
        }

        fn list(&self, _folder: &Path) -> Vec<PathBuf> {
            Vec::new()
        }
    }

    fn check(given: &[(&str, &str)], search_path: Option<&str>, bash: Option<&dyn Files>) -> Vec<String> {
        let mut environment = Environment::empty();
        for (name, value) in given {
            environment = environment.set(name, value);
        }
        let known = environment.resolve([]);
        let completed = completed(&environment, &known, search_path.map(OsStr::new), bash);
        let told = completed.resolve([]);
        told.iter().map(|(name, value)| format!("{}={}", name.display(), value.display())).collect()
    }

    #[cfg(unix)]
    #[test]
    fn login_shell_folders_follow_those_already_set() {
        let path = [("PATH", "/usr/bin:/bin")];
        assert_eq!(
            check(&path, Some("/home/u/.nvm/bin:/bin:relative:"), None),
            ["PATH=/usr/bin:/bin:/home/u/.nvm/bin"]
        );
        assert_eq!(check(&path, Some("/bin:/usr/bin"), None), ["PATH=/usr/bin:/bin"]);
        assert_eq!(check(&[], Some("/opt/node/bin"), None), ["PATH=/opt/node/bin"]);
        assert_eq!(check(&path, None, None), ["PATH=/usr/bin:/bin"]);
    }

    #[test]
    fn the_git_bash_found_is_passed_on() {
        const FOUND: &str = "C:\\Program Files\\Git\\bin\\bash.exe";
        const MINE: &str = "D:\\tools\\bash.exe";
        const WSL: &str = "C:\\Windows\\System32\\bash.exe";
        let programs = ("ProgramFiles", "C:\\Program Files");
        let handed = format!("CLAUDE_CODE_GIT_BASH_PATH={FOUND}");
        let told = check(&[programs], None, Some(&Made(&[FOUND])));
        assert!(told.contains(&handed), "{told:?}");
        // A Bash that is set and exists is kept; a missing one is replaced, and so is WSL's.
        let mine = [programs, ("CLAUDE_CODE_GIT_BASH_PATH", MINE)];
        let told = check(&mine, None, Some(&Made(&[FOUND, MINE])));
        assert!(told.contains(&format!("CLAUDE_CODE_GIT_BASH_PATH={MINE}")), "{told:?}");
        assert!(check(&mine, None, Some(&Made(&[FOUND]))).contains(&handed));
        let told = check(&[("PATH", "C:\\Windows\\System32")], None, Some(&Made(&[WSL])));
        assert_eq!(told, ["PATH=C:\\Windows\\System32"]);
    }
}
