//! Finds out what a configuration protects in a commit, and whether it can be used with it.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use super::git::{Git, GitError};
use crate::config::Config;
use crate::protection::{Protection, unmatched};

/// What a configuration protects in a commit. Reads the files that gates name, and those that these run.
pub(super) async fn protection_at(
    home: &Git,
    config: &Config,
    config_file: Option<&Path>,
    commit: &str,
) -> Result<Protection, GitError> {
    let files: HashSet<PathBuf> = files_of(home, commit).await?.into_iter().collect();
    let mut texts: HashMap<PathBuf, String> = HashMap::new();
    loop {
        let wanted = RefCell::new(Vec::new());
        let protection = Protection::of(config, config_file, &|path| {
            let known = texts.get(path).cloned();
            files.contains(path).then(|| {
                known.unwrap_or_else(|| {
                    wanted.borrow_mut().push(path.to_owned());
                    String::new()
                })
            })
        });
        let wanted = wanted.into_inner();
        if wanted.is_empty() {
            return Ok(protection);
        }
        for path in wanted {
            let bytes = home.file_in(commit, &path).await?.unwrap_or_default();
            texts.insert(path, String::from_utf8_lossy(&bytes).into_owned());
        }
    }
}

async fn files_of(home: &Git, commit: &str) -> Result<Vec<PathBuf>, GitError> {
    Ok(home.entries_in(commit, Path::new("")).await?.into_iter().map(|(path, _)| path).collect())
}

/// Why a run with this configuration cannot begin at a commit: a pattern that matches nothing protects nothing, and a
/// gate whose program is missing would fail after the first session was paid for.
pub(super) async fn problems(home: &Git, config: &Config, commit: &str) -> Result<Vec<String>, GitError> {
    let files = files_of(home, commit).await?;
    let mut problems: Vec<String> = unmatched(config, &files)
        .into_iter()
        .map(|(place, pattern)| {
            format!("{place}: {pattern:?} matches no file of the last commit; correct or remove it, or commit the file")
        })
        .collect();
    for gate in config.gates.iter().chain(&config.setup_as_gates()) {
        let Some(program) = gate.command.first() else { continue };
        if !is_there(program, &files) {
            problems.push(format!(
                "the program of the gate {:?} was not found: {program}; install it, or correct the command",
                gate.name
            ));
        }
    }
    Ok(problems)
}

/// Whether a program can be started: it is in `PATH`, at an absolute path, or in the commit.
fn is_there(program: &str, files: &[PathBuf]) -> bool {
    let path = Path::new(program);
    if path.is_absolute() {
        return path.is_file();
    }
    if path.components().count() > 1 {
        let plain: PathBuf =
            path.components().filter(|part| !matches!(part, std::path::Component::CurDir)).collect();
        // A program that a setup makes, such as `node_modules/.bin/jest`, is not in the commit.
        return files.contains(&plain) || plain.starts_with("node_modules") || plain.starts_with("target");
    }
    let folders = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&folders).any(|folder| folder.join(path).is_file())
}
