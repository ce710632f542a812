//! Which changes to review.

use serde::Deserialize;
use utoipa::IntoParams;
use weir_host::{ReviewBase, ReviewQuery};

/// Which changes.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct ReviewParams {
    /// What the files are compared with; `head` if left out.
    #[serde(default)]
    base: ReviewBase,
    /// The revision for `merge_base` and `revision`: a branch, tag or commit.
    revision: Option<String>,
}

impl ReviewParams {
    pub(crate) fn query(self) -> ReviewQuery {
        ReviewQuery { base: self.base, revision: self.revision }
    }
}

/// Which change.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct ReviewFileParams {
    /// The path of the file, as the review names it.
    path: String,
    /// What the files are compared with; `head` if left out.
    #[serde(default)]
    base: ReviewBase,
    /// The revision for `merge_base` and `revision`: a branch, tag or commit.
    revision: Option<String>,
}

impl ReviewFileParams {
    /// The changes, and the path.
    pub(crate) fn split(self) -> (ReviewQuery, String) {
        (ReviewQuery { base: self.base, revision: self.revision }, self.path)
    }
}
