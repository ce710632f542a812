//! What folders would run automatically, and trusting them.

use axum::Extension;
use axum::extract::State;
use weir_host::{FolderListing, FolderReport};

use super::answer::{self, Answer};
use super::types::{BrowseParams, Folder, FolderParams, TrustFolder};
use crate::auth::Principal;
use crate::extract::{Json, Query};
use crate::problem::Problem;
use crate::state::App;

/// Shows what a folder would run automatically, and whether a person has trusted it.
#[utoipa::path(get, path = "/v1/folder", tag = "folders", params(FolderParams),
    responses((status = 200, description = "The folder.", body = Folder)))]
pub(crate) async fn show(
    State(app): State<App>,
    Extension(who): Extension<Principal>,
    Query(params): Query<FolderParams>,
) -> Answer<Folder> {
    for_all_sessions(&who)?;
    answer::ok(described(app.host().folder(&params.cwd).await?))
}

/// Lists the folders in a folder that sessions may work in, with the state of its repository; the roots, if none is named.
#[utoipa::path(get, path = "/v1/folders", tag = "folders", params(BrowseParams),
    responses((status = 200, description = "The folders.", body = FolderListing)))]
pub(crate) async fn browse(
    State(app): State<App>,
    Extension(who): Extension<Principal>,
    Query(params): Query<BrowseParams>,
) -> Answer<FolderListing> {
    for_all_sessions(&who)?;
    answer::ok(app.host().folders(params.path.as_deref()).await?)
}

/// Trusts a folder as seen: its settings, hooks and MCP servers apply from the next process start on.
#[utoipa::path(put, path = "/v1/folder/trust", tag = "folders", request_body = TrustFolder, responses(
    (status = 200, description = "The folder is trusted.", body = Folder),
    (status = 409, description = "The folder has changed and would run something else now.", body = crate::problem::Details, content_type = "application/problem+json"),
))]
pub(crate) async fn trust(
    State(app): State<App>,
    Extension(who): Extension<Principal>,
    Json(body): Json<TrustFolder>,
) -> Answer<Folder> {
    for_all_sessions(&who)?;
    answer::ok(described(app.host().trust_folder(&body.cwd, &body.seal, &who.actor()).await?))
}

/// Revokes the trust in a folder.
#[utoipa::path(delete, path = "/v1/folder/trust", tag = "folders", params(FolderParams),
    responses((status = 200, description = "The folder is not trusted.", body = Folder)))]
pub(crate) async fn distrust(
    State(app): State<App>,
    Extension(who): Extension<Principal>,
    Query(params): Query<FolderParams>,
) -> Answer<Folder> {
    for_all_sessions(&who)?;
    answer::ok(described(app.host().distrust_folder(&params.cwd).await?))
}

fn described(report: FolderReport) -> Folder {
    Folder { seal: report.seal(), report }
}

/// Folders, and the sessions that the CLI keeps, are not part of any single session.
pub(super) fn for_all_sessions(who: &Principal) -> Result<(), Problem> {
    match who.session {
        None => Ok(()),
        Some(_) => Err(Problem::forbidden("one_session", "this token is valid for one session only")),
    }
}
