//! The state of a worktree: its branch, how far it is from its upstream, and what is in no commit.

use crate::entry::path_of;
use crate::error::GitError;
use crate::repository::{Commit, Repository};

/// The state of a worktree.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Status {
    /// The commit; none before the first one.
    pub head: Option<Commit>,
    /// The branch; none for a detached `HEAD`.
    pub branch: Option<String>,
    /// The branch that it follows.
    pub upstream: Option<String>,
    /// Commits that the upstream does not have, and that only the upstream has; none where that is not known.
    pub ahead_behind: Option<(u64, u64)>,
    /// The files that differ from the last commit, new files among them and ignored ones not.
    pub changed: Vec<ChangedFile>,
}

/// A file that differs from the last commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedFile {
    /// Its path from the top. Bytes that are not UTF-8 are replaced.
    pub path: String,
    /// Whether git does not know it yet. A folder that is entirely new is one entry, which ends with a slash.
    pub is_new: bool,
    /// Whether a merge has left it in conflict.
    pub is_conflict: bool,
}

impl Repository {
    /// The state of this worktree.
    ///
    /// # Errors
    /// If git fails.
    pub async fn status(&self) -> Result<Status, GitError> {
        // What is in a submodule's own folder belongs to the submodule, and to its configuration.
        let args = [
            "status",
            "--porcelain=v2",
            "--branch",
            "--ahead-behind",
            "-z",
            "--no-renames",
            "--untracked-files=normal",
            "--ignore-submodules=dirty",
        ];
        Ok(parse(&self.bytes(&args).await?))
    }
}

fn parse(text: &[u8]) -> Status {
    let mut status = Status::default();
    for record in text.split(|byte| *byte == 0) {
        let (kind, rest) = match record {
            [kind, b' ', rest @ ..] => (*kind, rest),
            _ => continue,
        };
        // The path comes after a fixed number of words, and may have spaces itself.
        let words = match kind {
            b'#' => {
                header(&mut status, &String::from_utf8_lossy(rest));
                continue;
            }
            b'1' => 8,
            b'u' => 10,
            b'?' => 1,
            _ => continue,
        };
        let Some(path) = rest.splitn(words, |byte| *byte == b' ').last() else { continue };
        status.changed.push(ChangedFile {
            path: path_of(path).to_string_lossy().into_owned(),
            is_new: kind == b'?',
            is_conflict: kind == b'u',
        });
    }
    status
}

fn header(status: &mut Status, text: &str) {
    let Some((name, value)) = text.split_once(' ') else { return };
    match name {
        "branch.oid" => status.head = Commit::printed(value),
        "branch.head" => status.branch = Some(value.to_owned()).filter(|name| name != "(detached)"),
        "branch.upstream" => status.upstream = Some(value.to_owned()),
        "branch.ab" => {
            let mut numbers =
                value.split(' ').map(|word| word.get(1..).and_then(|digits| digits.parse().ok()));
            status.ahead_behind = numbers.next().flatten().zip(numbers.next().flatten());
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_with_odd_names_is_read() {
        let id = "a".repeat(40);
        let text = format!(
            "# branch.oid {id}\0# branch.head main\0# branch.upstream origin/main\0# branch.ab +2 -1\0\
             1 .M N... 100644 100644 100644 {id} {id} a b\nc\0\
             u UU N... 100644 100644 100644 100644 {id} {id} {id} x y\0? -n w/\0! ignored\0"
        );
        let status = parse(text.as_bytes());
        assert_eq!(status.head.unwrap().as_str(), id);
        assert_eq!(
            (status.branch.as_deref(), status.upstream.as_deref()),
            (Some("main"), Some("origin/main"))
        );
        assert_eq!(status.ahead_behind, Some((2, 1)));
        let file =
            |path: &str, is_new, is_conflict| ChangedFile { path: path.to_owned(), is_new, is_conflict };
        assert_eq!(
            status.changed,
            [file("a b\nc", false, false), file("x y", false, true), file("-n w/", true, false)]
        );
    }

    #[test]
    fn a_repository_without_a_commit_has_no_head() {
        let status = parse(b"# branch.oid (initial)\0# branch.head main\0");
        assert_eq!((status.head, status.branch.as_deref()), (None, Some("main")));
        assert_eq!(parse(b"# branch.head (detached)\0").branch, None);
    }
}
