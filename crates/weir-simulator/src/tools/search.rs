//! Simple versions of `Glob` and `Grep`: no ignore files, and plain text instead of regular expressions.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::Call;
use super::outcome::Outcome;
use crate::object;
use crate::permissions::resolve;
use crate::sim::Sim;

/// Files that match a pattern, oldest first.
pub(super) fn glob(sim: &Sim, call: &Call) -> Outcome {
    let root = resolve(sim.cwd(), call.input.str_of("path").unwrap_or_default());
    let pattern = call.input.str_of("pattern").unwrap_or_default();
    let mut files = files_below(&root);
    files.retain(|(_, path)| {
        path.strip_prefix(&root).is_ok_and(|name| matches(pattern, &name.to_string_lossy()))
    });
    let names: Vec<String> = files.iter().map(|(_, path)| path.display().to_string()).collect();
    let text = if names.is_empty() { "No files found".to_owned() } else { names.join("\n") };
    let count = names.len();
    Outcome::text(
        text,
        object! { "filenames" => names, "durationMs" => 1, "numFiles" => count, "truncated" => false },
    )
}

/// Lines or files that contain a text. Files are listed newest first.
pub(super) fn grep(sim: &Sim, call: &Call) -> Outcome {
    let root = resolve(sim.cwd(), call.input.str_of("path").unwrap_or_default());
    let pattern = call.input.str_of("pattern").unwrap_or_default();
    let glob = call.input.str_of("glob");
    let (mut names, mut lines) = (Vec::new(), Vec::new());
    for (_, path) in files_below(&root).into_iter().rev() {
        let name = path.strip_prefix(&root).unwrap_or(&path).display().to_string();
        if glob.is_some_and(|glob| !matches(glob, &name)) {
            continue;
        }
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        let found: Vec<_> = text.lines().enumerate().filter(|(_, line)| line.contains(pattern)).collect();
        if found.is_empty() {
            continue;
        }
        lines.extend(found.iter().map(|(number, line)| {
            if call.input.is_true("-n") {
                format!("{name}:{}:{line}", number + 1)
            } else {
                format!("{name}:{line}")
            }
        }));
        names.push(name);
    }
    if call.input.str_of("output_mode") == Some("content") {
        let content = if lines.is_empty() { "No matches found".to_owned() } else { lines.join("\n") };
        let none: Vec<String> = Vec::new();
        let structured = object! {
            "mode" => "content",
            "numFiles" => 0,
            "filenames" => none,
            "content" => content.as_str(),
            "numLines" => lines.len(),
        };
        return Outcome::text(content, structured);
    }
    let text = match names.len() {
        0 => "No files found".to_owned(),
        1 => format!("Found 1 file\n{}", names.join("\n")),
        count => format!("Found {count} files\n{}", names.join("\n")),
    };
    let count = names.len();
    Outcome::text(text, object! { "mode" => "files_with_matches", "filenames" => names, "numFiles" => count })
}

/// All files below a folder, oldest first.
fn files_below(root: &Path) -> Vec<(SystemTime, PathBuf)> {
    let (mut found, mut folders) = (Vec::new(), vec![root.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let Ok(kind) = entry.metadata() else { continue };
            if kind.is_dir() && entry.file_name() != ".git" {
                folders.push(entry.path());
            } else if kind.is_file() {
                found.push((kind.modified().unwrap_or(SystemTime::UNIX_EPOCH), entry.path()));
            }
        }
    }
    found.sort();
    found
}

/// Whether a path matches a pattern with `*`, `**` and `?`.
fn matches(pattern: &str, path: &str) -> bool {
    if let Some(rest) = pattern.strip_prefix("**/") {
        return matches(rest, path)
            || path.split_once('/').is_some_and(|(_, deeper)| matches(pattern, deeper));
    }
    let mut pattern_letters = pattern.chars();
    let mut path_letters = path.chars();
    match (pattern_letters.next(), path_letters.next()) {
        (None, None) => true,
        (Some('*'), next) => {
            matches(pattern_letters.as_str(), path)
                || next.is_some_and(|letter| letter != '/') && matches(pattern, path_letters.as_str())
        }
        (Some('?'), Some(letter)) => {
            letter != '/' && matches(pattern_letters.as_str(), path_letters.as_str())
        }
        (Some(wanted), Some(letter)) => {
            wanted == letter && matches(pattern_letters.as_str(), path_letters.as_str())
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn patterns_match_as_people_expect() {
        for (pattern, path) in
            [("*.txt", "a.txt"), ("**/*.rs", "src/a/b.rs"), ("**/*.rs", "b.rs"), ("s?c/*", "src/x")]
        {
            assert!(matches(pattern, path), "{pattern} {path}");
        }
        for (pattern, path) in [("*.txt", "a/b.txt"), ("*.txt", "a.rs"), ("a", "ab")] {
            assert!(!matches(pattern, path), "{pattern} {path}");
        }
    }
}
