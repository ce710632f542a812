//! What a session's folder has that a base has not, as data for clients.

use serde::{Deserialize, Serialize};
use weir_git::{FileChange, FileStatus, Hunk, LineKind, Patch};

/// How many lines of a patch are part of an answer about all files.
const MAX_LINES: usize = 30_000;
/// The same for one file among others.
const MAX_FILE_LINES: usize = 6_000;
/// The same for one file that was asked for by its name.
const MAX_SINGLE_LINES: usize = 200_000;

/// What the files are compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub enum ReviewBase {
    /// The commit that is checked out: what is not committed.
    #[default]
    Head,
    /// Where the branch and a revision part: what the branch has done.
    MergeBase,
    /// A revision itself.
    Revision,
}

/// Which changes.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct ReviewQuery {
    /// What the files are compared with.
    #[serde(default)]
    pub base: ReviewBase,
    /// The revision: a branch, tag or commit. For `merge_base` the branch of the main worktree if left out.
    pub revision: Option<String>,
}

/// Everything that a worktree has and its base has not, new files included and ignored ones not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Review {
    /// The top folder of the worktree; paths are relative to it.
    pub top: String,
    /// The branch; none if a commit is checked out without one.
    pub branch: Option<String>,
    /// The commit that the files are compared with; none before the first commit.
    pub base: Option<String>,
    /// The revision that the base comes from, if one was named or found.
    pub revision: Option<String>,
    /// The files, by path.
    pub files: Vec<ReviewFile>,
}

/// A file that differs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct ReviewFile {
    /// Its path now; its old path if it is gone.
    pub path: String,
    /// Its path in the base, if that is another one.
    pub old_path: Option<String>,
    /// What happened to it.
    pub status: ReviewStatus,
    /// Number of added lines; none for a binary file.
    pub added: Option<u64>,
    /// Number of removed lines; none for a binary file.
    pub removed: Option<u64>,
    /// Whether it is a submodule, of which only the commit counts.
    pub submodule: bool,
    /// Whether its name cannot be written as text. It is shown with replaced characters, and only git itself can change
    /// it.
    pub unnameable: bool,
    /// Whether its content, or a part of it, is in the index.
    pub staged: bool,
    /// Names what the file is now and was in the base. It is sent back to revert it, so that only what was seen is.
    pub seal: String,
    /// The places that differ; none for a binary file, a submodule, or if there are too many lines.
    pub hunks: Option<Vec<ReviewHunk>>,
}

/// What happened to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub enum ReviewStatus {
    /// It is new.
    Added,
    /// It is gone.
    Deleted,
    /// Its content or mode is another one.
    Modified,
    /// It has another name, and maybe other content.
    Renamed,
    /// It was a file and is a link or submodule now, or the other way round.
    Retyped,
}

/// A place where a file differs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct ReviewHunk {
    /// First line in the base, from 1; 0 if the file is new.
    pub old_start: u64,
    /// First line now, from 1; 0 if the file is gone.
    pub new_start: u64,
    /// What git says of the place, such as the name of a function.
    pub title: String,
    /// The lines. The first character says what each is: a space for one that is in both, `-` for one of the base, `+`
    /// for one of now, and `\` for the remark that the line before it has no line feed.
    pub lines: Vec<String>,
}

/// A change to take back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct RevertChange {
    /// The path, as the review names it.
    pub path: String,
    /// The `seal` of the file as it was shown.
    pub seal: String,
    /// The hunk, from 0; the whole file if left out.
    pub hunk: Option<usize>,
    /// What the files were compared with.
    #[serde(default)]
    pub base: ReviewBase,
    /// The revision, as in the review.
    pub revision: Option<String>,
}

/// What was reverted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct RevertedChange {
    /// The reference that has all files as they were before: `git checkout REFERENCE -- PATH` brings one back.
    pub kept: String,
}

/// Files to put into the index, or to take out of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct StageChanges {
    /// The paths, as the review against `head` names them.
    pub paths: Vec<String>,
    /// Whether they are put into the index.
    pub staged: bool,
}

/// A commit to make of what is in the index.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct CommitChanges {
    /// The message.
    pub message: String,
}

/// A commit that was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct CommitMade {
    /// Its id.
    pub commit: String,
    /// The branch that it is on.
    pub branch: Option<String>,
}

impl ReviewFile {
    /// A file without its hunks.
    pub(crate) fn of(file: &FileChange, is_staged: bool) -> Self {
        let text = |path: &std::path::Path| path.to_string_lossy().into_owned();
        let names = || [Some(&file.path), file.old_path.as_ref()].into_iter().flatten();
        Self {
            path: text(&file.path),
            old_path: file.old_path.as_deref().map(text),
            status: match file.status {
                FileStatus::Added => ReviewStatus::Added,
                FileStatus::Deleted => ReviewStatus::Deleted,
                FileStatus::Modified => ReviewStatus::Modified,
                FileStatus::Renamed => ReviewStatus::Renamed,
                FileStatus::Retyped => ReviewStatus::Retyped,
            },
            added: file.lines.map(|(added, _)| added),
            removed: file.lines.map(|(_, removed)| removed),
            submodule: file.is_submodule(),
            unnameable: names().any(|path| path.to_str().is_none()),
            staged: is_staged,
            seal: seal(file),
            hunks: None,
        }
    }
}

/// Names a change, so that what is reverted is what was seen.
pub(crate) fn seal(file: &FileChange) -> String {
    let side = |entry: &Option<weir_git::Entry>| {
        entry.as_ref().map_or_else(|| "none".to_owned(), |entry| format!("{}-{}", entry.mode, entry.object))
    };
    format!("{}.{}", side(&file.old), side(&file.new))
}

/// Gives files their hunks, as long as there are not too many lines.
pub(crate) fn fill(files: &mut [ReviewFile], changes: &[FileChange], patches: &[Patch]) {
    let mut left = MAX_LINES;
    let max = if files.len() == 1 { MAX_SINGLE_LINES } else { MAX_FILE_LINES };
    if files.len() == 1 {
        left = MAX_SINGLE_LINES;
    }
    for ((file, change), patch) in files.iter_mut().zip(changes).zip(patches) {
        let lines = patch.len();
        if change.is_binary() || change.is_submodule() || lines > max || lines > left {
            continue;
        }
        left -= lines;
        file.hunks = Some(patch.hunks.iter().map(hunk).collect());
    }
}

fn hunk(hunk: &Hunk) -> ReviewHunk {
    let mut lines = Vec::with_capacity(hunk.lines.len());
    for line in &hunk.lines {
        let mark = match line.kind {
            LineKind::Context => ' ',
            LineKind::Added => '+',
            LineKind::Removed => '-',
        };
        let mut text = String::with_capacity(line.text.len() + 1);
        text.push(mark);
        text.push_str(&line.text);
        lines.push(text);
        if line.is_unended {
            lines.push("\\ No newline at end of file".to_owned());
        }
    }
    ReviewHunk { old_start: hunk.old_start, new_start: hunk.new_start, title: hunk.title.clone(), lines }
}
