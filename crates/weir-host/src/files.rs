//! All changes of a session to files, file by file.

use serde::{Deserialize, Serialize};
use weir_transcript::FileChangeKind;

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
