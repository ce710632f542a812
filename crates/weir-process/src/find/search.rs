//! The search order.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};

use super::error::FindError;
use super::files::{Files, RealFiles};
use super::interpreter::{find_in_path, interpreter_of};
use super::{PROGRAM_VARIABLE, login_shell, unix_places, windows_places};

/// Where a CLI was found or looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Place {
    /// An explicit path.
    Explicit,
    /// The variable `WEIR_CLAUDE`.
    Variable,
    /// A folder in `PATH`.
    Path,
    /// A folder that installers use.
    Usual,
    /// A folder in the `PATH` of a login shell.
    LoginShell,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Explicit => "given",
            Self::Variable => PROGRAM_VARIABLE,
            Self::Path => "PATH",
            Self::Usual => "a common install location",
            Self::LoginShell => "the login shell's PATH",
        })
    }
}

/// A CLI that can be started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The program.
    pub path: PathBuf,
    /// Where it was found.
    pub place: Place,
    /// Folders that it needs in its `PATH` and that ours lacks: those of the login shell, or its own folder if
    /// only that has its interpreter. [`Found::environment`] adds them.
    pub search_path: Option<OsString>,
}

/// Finds the CLI on this machine. `explicit` is what the user named, if anything.
///
/// Asks a login shell only if the CLI, or the interpreter of its script, is not found elsewhere, with a limit
/// of a few seconds.
pub async fn find(explicit: Option<&Path>) -> Result<Found, FindError> {
    let variable = |name: &str| std::env::var_os(name);
    let looked = match search(explicit, &variable, &RealFiles) {
        Ok(found) => return Ok(with_interpreter(found).await),
        Err(FindError::Nowhere { looked }) => looked,
        Err(error) => return Err(error),
    };
    let path = login_shell::path().await.unwrap_or_default();
    let found = search_folders(Place::LoginShell, &path, &RealFiles, looked)?;
    Ok(Found { search_path: Some(path), ..found })
}

/// Finds the interpreter of a script if `PATH` does not have it: next to the script, where node version
/// managers put it, or in the `PATH` of a login shell. Without it the CLI would exit with code 127.
async fn with_interpreter(found: Found) -> Found {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let missing = interpreter_of(&found.path).filter(|name| find_in_path(name, &path, &RealFiles).is_none());
    let Some(name) = missing else { return found };
    let has_it = |path: &OsString| find_in_path(&name, path, &RealFiles).is_some();
    let own_folder =
        std::path::absolute(&found.path).ok().and_then(|path| Some(path.parent()?.as_os_str().to_owned()));
    let search_path = match own_folder.filter(has_it) {
        Some(folder) => Some(folder),
        None => login_shell::path().await.filter(has_it),
    };
    Found { search_path, ..found }
}

/// The search without the login shell, over any environment and any files. Pure.
pub fn search(
    explicit: Option<&Path>,
    variable: &dyn Fn(&str) -> Option<OsString>,
    files: &dyn Files,
) -> Result<Found, FindError> {
    let named = variable(PROGRAM_VARIABLE).filter(|name| !name.is_empty()).map(PathBuf::from);
    let path = variable("PATH").unwrap_or_default();
    if let Some(explicit) = explicit {
        return named_program(Place::Explicit, explicit, &path, files);
    }
    if let Some(named) = named {
        return named_program(Place::Variable, &named, &path, files);
    }
    let looked = match search_folders(Place::Path, &path, files, Vec::new()) {
        Err(FindError::Nowhere { looked }) => looked,
        other => return other,
    };
    let usual = if cfg!(windows) {
        windows_places::programs(variable)
    } else {
        unix_places::programs(variable, files)
    };
    first(Place::Usual, usual, files, looked)
}

/// A program that was named explicitly: a path, or a name to look up in `PATH`.
fn named_program(place: Place, name: &Path, path: &OsStr, files: &dyn Files) -> Result<Found, FindError> {
    let not_there = || FindError::NotThere { place, path: name.to_owned() };
    let is_bare = name.components().count() == 1 && name.parent() == Some(Path::new(""));
    let candidates: Vec<PathBuf> = match name.file_name() {
        Some(file) if is_bare => folders(path).map(|folder| folder.join(file)).collect(),
        Some(_) | None => vec![name.to_owned()],
    };
    let found = candidates.into_iter().find(|candidate| files.is_program(candidate));
    found.map(|path| Found { path, place, search_path: None }).ok_or_else(not_there)
}

fn search_folders(
    place: Place,
    path: &OsStr,
    files: &dyn Files,
    looked: Vec<(Place, PathBuf)>,
) -> Result<Found, FindError> {
    let programs = folders(path).flat_map(|folder| names().map(move |name| folder.join(name)));
    first(place, programs.collect(), files, looked)
}

fn first(
    place: Place,
    candidates: Vec<PathBuf>,
    files: &dyn Files,
    mut looked: Vec<(Place, PathBuf)>,
) -> Result<Found, FindError> {
    for path in candidates {
        if looked.iter().any(|(_, earlier)| *earlier == path) {
            continue;
        }
        if files.is_program(&path) {
            return Ok(Found { path, place, search_path: None });
        }
        looked.push((place, path));
    }
    Err(FindError::Nowhere { looked })
}

/// The absolute folders in a `PATH`. Relative ones are skipped: they would mean a different program in each
/// working directory. Such a program can be named explicitly.
fn folders(path: &OsStr) -> impl Iterator<Item = PathBuf> {
    std::env::split_paths(path).filter(|folder| folder.is_absolute())
}

fn names() -> impl Iterator<Item = &'static str> {
    let names: &[&str] = if cfg!(windows) { &["claude.exe", "claude.cmd"] } else { &["claude"] };
    names.iter().copied()
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    struct Made(Vec<&'static str>);

    impl Files for Made {
        fn is_program(&self, path: &Path) -> bool {
            self.0.iter().any(|file| Path::new(file) == path)
        }

        fn list(&self, folder: &Path) -> Vec<PathBuf> {
            let mut found: Vec<PathBuf> = self
                .0
                .iter()
                .filter_map(|file| {
                    let rest = Path::new(file).strip_prefix(folder).ok()?;
                    Some(folder.join(rest.components().next()?))
                })
                .collect();
            found.dedup();
            found
        }
    }

    fn check(explicit: Option<&str>, variables: &[(&str, &str)], files: &[&'static str]) -> String {
        let variables: BTreeMap<&str, &str> = variables.iter().copied().collect();
        let variable = |name: &str| variables.get(name).map(OsString::from);
        match search(explicit.map(Path::new), &variable, &Made(files.to_vec())) {
            Ok(found) => format!("{}: {}", found.place, found.path.display()),
            Err(FindError::NotThere { path, .. }) => format!("not there: {}", path.display()),
            Err(FindError::Nowhere { .. }) => "nowhere".to_owned(),
        }
    }

    const ALL: [&str; 5] =
        ["/given/claude", "/named/claude", "/bin2/claude", "/home/u/.local/bin/claude", "/bin2/other"];

    #[test]
    fn the_order_is_explicit_variable_path_usual() {
        let variables = [("WEIR_CLAUDE", "/named/claude"), ("PATH", "/bin1:/bin2"), ("HOME", "/home/u")];
        assert_eq!(check(Some("/given/claude"), &variables, &ALL), "given: /given/claude");
        assert_eq!(check(None, &variables, &ALL), "WEIR_CLAUDE: /named/claude");
        assert_eq!(check(None, &variables[1..], &ALL), "PATH: /bin2/claude");
        assert_eq!(
            check(None, &variables[2..], &ALL),
            "a common install location: /home/u/.local/bin/claude"
        );
        assert_eq!(check(None, &[], &ALL), "nowhere");
    }

    #[test]
    fn a_named_program_that_is_missing_is_not_replaced_by_another() {
        let variables = [("WEIR_CLAUDE", "/missing/claude"), ("PATH", "/bin2")];
        assert_eq!(check(None, &variables, &ALL), "not there: /missing/claude");
        assert_eq!(check(Some("/missing/too"), &variables, &ALL), "not there: /missing/too");
    }

    #[test]
    fn a_name_is_looked_up_in_path() {
        assert_eq!(check(Some("other"), &[("PATH", "/bin1:/bin2")], &ALL), "given: /bin2/other");
        assert_eq!(
            check(None, &[("WEIR_CLAUDE", "other"), ("PATH", "/bin2")], &ALL),
            "WEIR_CLAUDE: /bin2/other"
        );
    }

    #[test]
    fn an_empty_variable_and_relative_folders_do_not_count() {
        let variables = [("WEIR_CLAUDE", ""), ("PATH", ":.:bin2:/bin2")];
        assert_eq!(check(None, &variables, &ALL), "PATH: /bin2/claude");
    }

    #[test]
    fn node_versions_are_searched_newest_first() {
        let files = [
            "/home/u/.nvm/versions/node/v9.1.0/bin/claude",
            "/home/u/.nvm/versions/node/v22.3.0/bin/claude",
            "/home/u/.nvm/versions/node/v18.20.1/bin/claude",
        ];
        let expected = "a common install location: /home/u/.nvm/versions/node/v22.3.0/bin/claude";
        assert_eq!(check(None, &[("HOME", "/home/u")], &files), expected);
    }

    #[test]
    fn a_failed_search_lists_what_was_tried_and_what_to_do() {
        let variable = |name: &str| (name == "PATH").then(|| OsString::from("/bin1"));
        let error = search(None, &variable, &Made(Vec::new())).unwrap_err().to_string();
        for part in
            ["/bin1/claude (PATH)", "/opt/homebrew/bin/claude", "npm install -g", "WEIR_CLAUDE", "weir demo"]
        {
            assert!(error.contains(part), "{part} is not in {error}");
        }
    }
}
