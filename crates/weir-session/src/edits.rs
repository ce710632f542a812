//! Allows changes to files in a folder.

use std::path::{Component, Path, PathBuf};

use serde_json::Value;

use weir_transcript::{PermissionRequest, RequestKind};

use crate::ask::{Ask, Decision};
use crate::handler::{Deciding, DenyAll, Handler};

/// Tools that change files, each with the argument that holds the path.
const TOOLS: [(&str, &str); 4] = [
    ("Edit", "file_path"),
    ("MultiEdit", "file_path"),
    ("Write", "file_path"),
    ("NotebookEdit", "notebook_path"),
];

/// Folders whose files are run by other programs or decide what the CLI may do.
const SENSITIVE: [&str; 6] = [".git", ".claude", ".vscode", ".idea", ".husky", ".github"];

/// Allows changes to files in a folder and leaves the rest to another handler.
///
/// The other handler also decides about calls for which the CLI gives a reason, paths that links lead out of
/// the folder, and files in folders such as `.git`.
#[derive(Debug, Clone)]
pub struct AcceptEdits<H = DenyAll> {
    folder: PathBuf,
    otherwise: H,
}

impl AcceptEdits {
    /// Allows changes in this folder and denies the rest.
    pub fn below(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into(), otherwise: DenyAll }
    }
}

impl<H> AcceptEdits<H> {
    /// Leaves the rest to this handler.
    pub fn or<N: Handler>(self, otherwise: N) -> AcceptEdits<N> {
        AcceptEdits { folder: self.folder, otherwise }
    }

    fn accepts(&self, ask: &PermissionRequest) -> bool {
        let argument = TOOLS.iter().find(|(tool, _)| *tool == ask.tool_name).map(|(_, argument)| argument);
        let path = argument.and_then(|argument| ask.input.get(argument)).and_then(Value::as_str);
        let is_plain = ask.reason.is_none() && ask.blocked_path.is_none() && !ask.context.needs_a_person();
        path.filter(|_| is_plain).is_some_and(|path| is_below(&self.folder, Path::new(path)))
    }
}

impl<H: Handler> Handler for AcceptEdits<H> {
    fn decide(&self, ask: Ask) -> Deciding<'_> {
        match ask.kind() {
            Some(RequestKind::Permission(permission)) if self.accepts(permission) => {
                Box::pin(std::future::ready(Decision::allow()))
            }
            _ => self.otherwise.decide(ask),
        }
    }
}

/// Whether a file, which need not exist yet, is inside a folder and not in a sensitive one.
fn is_below(folder: &Path, file: &Path) -> bool {
    let Ok(folder) = folder.canonicalize() else { return false };
    let file = folder.join(file);
    if file.components().any(|part| part == Component::ParentDir) {
        return false;
    }
    // Links are followed as far as the path exists; a path that does not exist yet cannot contain one.
    let Some(existing) = file.ancestors().find(|part| part.symlink_metadata().is_ok()) else { return false };
    let (Ok(real), Ok(rest)) = (existing.canonicalize(), file.strip_prefix(existing)) else { return false };
    let real = if rest.as_os_str().is_empty() { real } else { real.join(rest) };
    let Ok(inside) = real.strip_prefix(&folder) else { return false };
    !inside.components().any(|part| SENSITIVE.iter().any(|name| part.as_os_str() == *name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_files_in_the_folder_may_be_changed() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("work");
        std::fs::create_dir_all(folder.join("src")).unwrap();
        std::fs::write(place.path().join("secret"), "x").unwrap();
        let inside = |path: &str| is_below(&folder, Path::new(path));
        assert!(inside("src/new.rs"));
        assert!(inside(folder.join("src/deep/new.rs").to_str().unwrap()));
        assert!(!inside("../secret"));
        assert!(!inside("src/../../secret"));
        assert!(!inside(place.path().join("secret").to_str().unwrap()));
        assert!(!inside("/etc/passwd"));
        assert!(!inside(".git/hooks/post-commit"));
        assert!(!inside("src/.claude/settings.json"));
    }

    #[cfg(unix)]
    #[test]
    fn a_link_out_of_the_folder_is_not_followed() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("work");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::create_dir_all(place.path().join("other")).unwrap();
        std::os::unix::fs::symlink(place.path().join("other"), folder.join("out")).unwrap();
        std::os::unix::fs::symlink(place.path().join("nothing"), folder.join("dangling")).unwrap();
        assert!(!is_below(&folder, Path::new("out/file")));
        assert!(!is_below(&folder, Path::new("dangling")));
    }
}
