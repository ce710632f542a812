//! All changes of a session to files, file by file.

use serde::{Deserialize, Serialize};
use weir_store::SessionId;
use weir_transcript::{Change, FileChange, FileChangeKind};

use crate::core::Core;
use crate::error::HostError;
use crate::history::History;
use crate::labels;
use crate::load::walk_labelled;

/// What a session did to a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct FileDiff {
    /// The file.
    pub path: String,
    /// What the first change was.
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub kind: FileChangeKind,
    /// Lines that were added, over all changes.
    pub additions: u32,
    /// Lines that were removed, over all changes.
    pub deletions: u32,
    /// The changes one after another, as unified diffs.
    pub unified: String,
}

/// Collects the changes over the whole log, of which it reads the lines that tell of any. Blocks.
pub(crate) fn diff(core: &Core, id: &SessionId) -> Result<Vec<FileDiff>, HostError> {
    let mut history = History::new(core.options.keep_entries);
    let mut files: Vec<FileDiff> = Vec::new();
    walk_labelled(core.source(), id, labels::FILES, |event| {
        history.replay_with(event, &mut |_, change| {
            if let Change::FileChanged(change) = change {
                add(&mut files, change);
            }
        });
        Ok(true)
    })?;
    Ok(files)
}

fn add(files: &mut Vec<FileDiff>, change: &FileChange) {
    let known = files.iter_mut().find(|file| file.path == change.path);
    let Some(file) = known else {
        return files.push(FileDiff {
            path: change.path.clone(),
            kind: change.kind,
            additions: change.added,
            deletions: change.removed,
            unified: change.diff.clone(),
        });
    };
    file.additions = file.additions.saturating_add(change.added);
    file.deletions = file.deletions.saturating_add(change.removed);
    if !file.unified.is_empty() && !file.unified.ends_with('\n') {
        file.unified.push('\n');
    }
    file.unified.push_str(&change.diff);
}
