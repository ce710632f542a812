//! Files of a session's folder that are sent with a message.
//!
//! A text cannot make the CLI read a file, so a sender lists files apart from the text and the host reads them: only
//! inside the session's folder with all links followed, only regular text files, and only up to a limit.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use weir_session::read_text_below;

use crate::error::HostError;

/// The most files of one message.
const MAX_FILES: usize = 20;
/// How many entries of a folder are looked at, and how many are offered.
const MAX_LOOKED_AT: usize = 50_000;
const MAX_FOUND: usize = 50;
/// Folders that are passed over: large, and seldom what is meant.
const PASSED_OVER: [&str; 4] = [".git", "node_modules", "target", "__pycache__"];

/// A file that was read when the message was accepted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct AttachedFile {
    /// Relative to the session's folder.
    pub(crate) path: String,
    pub(crate) text: String,
}

impl AttachedFile {
    /// What the model is given.
    pub(crate) fn block(&self) -> String {
        format!("The file {} has this content:\n\n{}", self.path, self.text)
    }
}

/// Reads files for a message. Blocks.
pub(crate) fn read(folder: &Path, files: &[String]) -> Result<Vec<AttachedFile>, HostError> {
    if files.len() > MAX_FILES {
        return Err(HostError::Invalid(format!("a message may have at most {MAX_FILES} files")));
    }
    let read = |path: &String| match read_text_below(folder, Path::new(path)) {
        Ok(text) => Ok(AttachedFile { path: path.clone(), text }),
        Err(reason) => Err(HostError::Invalid(format!("the file {path} cannot be sent: {reason}"))),
    };
    files.iter().map(read).collect()
}

/// Files below a folder whose path has these letters, the shortest first. Links are not followed. Blocks.
pub(crate) fn find(folder: &Path, query: &str) -> Vec<String> {
    let query = query.to_lowercase();
    let (mut found, mut looked_at) = (Vec::new(), 0);
    let mut waiting: Vec<PathBuf> = vec![folder.to_owned()];
    while let Some(current) = waiting.pop() {
        let Ok(entries) = std::fs::read_dir(&current) else { continue };
        for entry in entries.flatten() {
            looked_at += 1;
            if looked_at > MAX_LOOKED_AT {
                waiting.clear();
                break;
            }
            let Ok(kind) = entry.file_type() else { continue };
            let name = entry.file_name();
            if kind.is_dir() && !PASSED_OVER.iter().any(|passed| name == *passed) {
                waiting.push(entry.path());
            } else if kind.is_file()
                && let Some(path) = entry.path().strip_prefix(folder).ok().and_then(Path::to_str)
                && path.to_lowercase().contains(&query)
            {
                found.push(path.to_owned());
            }
        }
    }
    let rank = |path: &String| {
        let name = path.rsplit('/').next().unwrap_or(path).to_lowercase();
        (!name.starts_with(&query), !name.contains(&query), path.len(), path.clone())
    };
    found.sort_by_cached_key(rank);
    found.truncate(MAX_FOUND);
    found
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;

    fn place() -> (tempfile::TempDir, PathBuf) {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().canonicalize().unwrap().join("work");
        for (file, text) in [("src/main.rs", "fn main"), ("notes.md", "hello"), (".git/config", "x")] {
            let file = folder.join(file);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, text).unwrap();
        }
        std::fs::write(folder.join("../secret"), "the secret").unwrap();
        std::os::unix::fs::symlink(folder.join("../secret"), folder.join("link")).unwrap();
        std::os::unix::fs::symlink("/", folder.join("all")).unwrap();
        (place, folder)
    }

    #[test]
    fn only_files_of_the_folder_are_read() {
        let (_place, folder) = place();
        let read = |path: &str| read(&folder, &[path.to_owned()]).map(|files| files[0].text.clone());
        assert_eq!(read("src/main.rs").unwrap(), "fn main");
        assert_eq!(read("./src/../notes.md").unwrap(), "hello");
        let inside = folder.join("notes.md").display().to_string();
        assert_eq!(read(&inside).unwrap(), "hello");
        for outside in ["../secret", "link", "all/etc/hostname", "/etc/passwd", "src", "nothing", "~/x", ""] {
            assert!(read(outside).is_err(), "{outside}");
        }
    }

    #[test]
    fn files_are_found_by_their_letters() {
        let (_place, folder) = place();
        assert_eq!(find(&folder, "MAIN"), ["src/main.rs"]);
        assert_eq!(find(&folder, ""), ["notes.md", "src/main.rs"]);
        assert_eq!(find(&folder, "config"), Vec::<String>::new());
    }
}
