//! Install locations on Windows. Pure functions over text, tested everywhere; never run on Windows by this
//! project.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::files::Files;

type Variable<'a> = &'a dyn Fn(&str) -> Option<OsString>;

fn text(variable: Variable<'_>, name: &str) -> Option<String> {
    let value = variable(name)?.into_string().ok()?;
    let value = value.trim_end_matches('\\').to_owned();
    (!value.is_empty()).then_some(value)
}

/// Common locations of the program, likeliest first.
pub(super) fn programs(variable: Variable<'_>) -> Vec<PathBuf> {
    let places = [
        ("USERPROFILE", "\\.local\\bin\\claude.exe"),
        ("USERPROFILE", "\\.claude\\local\\claude.cmd"),
        ("APPDATA", "\\npm\\claude.cmd"),
        ("LOCALAPPDATA", "\\Microsoft\\WinGet\\Links\\claude.exe"),
        ("LOCALAPPDATA", "\\pnpm\\claude.cmd"),
        ("USERPROFILE", "\\scoop\\shims\\claude.cmd"),
        ("USERPROFILE", "\\.bun\\bin\\claude.exe"),
        ("ProgramFiles", "\\nodejs\\claude.cmd"),
    ];
    let place = |(name, rest): &(&str, &str)| Some(PathBuf::from(text(variable, name)? + rest));
    places.iter().filter_map(place).collect()
}

/// The Git Bash that the CLI needs on Windows. Never WSL's `bash.exe`, which runs another system with other
/// paths and programs.
///
/// The order: `CLAUDE_CODE_GIT_BASH_PATH`, the common install folders, next to the `git.exe` in `PATH`, and any
/// other `bash.exe` in `PATH` that is not WSL's.
pub fn git_bash(variable: &dyn Fn(&str) -> Option<OsString>, files: &dyn Files) -> Option<PathBuf> {
    let is_usable = |path: &String| !is_wsl(path) && files.is_program(Path::new(path));
    let named = text(variable, "CLAUDE_CODE_GIT_BASH_PATH");
    let installed = [
        ("ProgramFiles", "\\Git\\bin\\bash.exe"),
        ("ProgramW6432", "\\Git\\bin\\bash.exe"),
        ("ProgramFiles(x86)", "\\Git\\bin\\bash.exe"),
        ("LOCALAPPDATA", "\\Programs\\Git\\bin\\bash.exe"),
        ("USERPROFILE", "\\scoop\\apps\\git\\current\\bin\\bash.exe"),
    ];
    let installed = installed.iter().filter_map(|(name, rest)| Some(text(variable, name)? + rest));
    let path = text(variable, "PATH").unwrap_or_default();
    let folders: Vec<&str> =
        path.split(';').map(|folder| folder.trim_matches('"').trim_end_matches('\\')).collect();
    let next_to_git = folders.iter().filter_map(|folder| {
        let has_git = files.is_program(Path::new(&format!("{folder}\\git.exe")));
        // Git is in `Git\cmd` or `Git\bin`, Bash in `Git\bin`.
        let root = folder.rsplit_once('\\').map(|(root, _)| root);
        root.filter(|_| has_git).map(|root| format!("{root}\\bin\\bash.exe"))
    });
    let in_path =
        folders.iter().filter(|folder| !folder.is_empty()).map(|folder| format!("{folder}\\bash.exe"));
    let mut candidates = named.into_iter().chain(installed).chain(next_to_git).chain(in_path);
    candidates.find(is_usable).map(PathBuf::from)
}

fn is_wsl(path: &str) -> bool {
    let path = path.to_ascii_lowercase().replace('/', "\\");
    ["\\system32\\", "\\sysnative\\", "\\syswow64\\", "\\windowsapps\\"]
        .iter()
        .any(|part| path.contains(part))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    struct Made<'a>(&'a [&'a str]);

    impl Files for Made<'_> {
        fn is_program(&self, path: &Path) -> bool {
            self.0.iter().any(|file| path.to_str().unwrap().eq_ignore_ascii_case(file))
        }

        fn list(&self, _folder: &Path) -> Vec<PathBuf> {
            Vec::new()
        }
    }

    fn check(variables: &[(&str, &str)], files: &[&str]) -> Option<String> {
        let variables: BTreeMap<&str, &str> = variables.iter().copied().collect();
        let variable = |name: &str| variables.get(name).map(OsString::from);
        git_bash(&variable, &Made(files)).map(|path| path.to_str().unwrap().to_owned())
    }

    const WSL: &str = "C:\\Windows\\System32\\bash.exe";
    const STORE: &str = "C:\\Users\\u\\AppData\\Local\\Microsoft\\WindowsApps\\bash.exe";
    const GIT: &str = "C:\\Program Files\\Git\\bin\\bash.exe";

    #[test]
    fn wsl_is_never_taken() {
        let path = "C:\\Windows\\System32;C:\\Users\\u\\AppData\\Local\\Microsoft\\WindowsApps";
        assert_eq!(check(&[("PATH", path)], &[WSL, STORE]), None);
        let named = [("CLAUDE_CODE_GIT_BASH_PATH", "c:/windows/SYSTEM32/bash.exe"), ("PATH", path)];
        assert_eq!(check(&named, &["c:/windows/SYSTEM32/bash.exe", WSL]), None);
        let installed = [("PATH", path), ("ProgramFiles", "C:\\Program Files")];
        assert_eq!(check(&installed, &[WSL, STORE, GIT]).as_deref(), Some(GIT));
    }

    #[test]
    fn a_valid_variable_comes_first() {
        let mine = "D:\\tools\\bash.exe";
        let variables = [("CLAUDE_CODE_GIT_BASH_PATH", mine), ("ProgramFiles", "C:\\Program Files")];
        assert_eq!(check(&variables, &[mine, GIT]).as_deref(), Some(mine));
        assert_eq!(check(&variables, &[GIT]).as_deref(), Some(GIT));
    }

    #[test]
    fn bash_is_found_next_to_git() {
        let variables = [("PATH", "C:\\x;\"E:\\Git\\cmd\\\"")];
        let files = ["E:\\Git\\cmd\\git.exe", "E:\\Git\\bin\\bash.exe"];
        assert_eq!(check(&variables, &files).as_deref(), Some("E:\\Git\\bin\\bash.exe"));
        assert_eq!(check(&variables, &files[1..]), None);
    }

    #[test]
    fn another_bash_in_path_is_the_last_choice() {
        let variables = [("PATH", "C:\\Windows\\System32;C:\\msys64\\usr\\bin")];
        let files = [WSL, "C:\\msys64\\usr\\bin\\bash.exe"];
        assert_eq!(check(&variables, &files).as_deref(), Some("C:\\msys64\\usr\\bin\\bash.exe"));
    }

    #[test]
    fn install_locations_need_their_variables() {
        let variable = |name: &str| (name == "APPDATA").then(|| OsString::from("C:\\Roaming\\"));
        assert_eq!(programs(&variable), [PathBuf::from("C:\\Roaming\\npm\\claude.cmd")]);
    }
}
