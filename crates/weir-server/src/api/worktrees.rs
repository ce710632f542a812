//! Worktrees of git, in which sessions have a folder and a branch of their own.

use axum::Extension;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use weir_host::{RemovedWorktree, WorktreeInfo};

use super::answer::{self, Answer};
use super::folders::for_all_sessions;
use super::types::{CreateWorktree, FolderParams, RemoveWorktreeParams, WorktreeList};
use crate::auth::Principal;
use crate::extract::{Json, Query};
use crate::guard::Audited;
use crate::problem::{Details, Problem};
use crate::state::App;

/// Lists the worktrees of the repository that a folder is in, with the sessions that work in them.
#[utoipa::path(get, path = "/v1/worktrees", tag = "folders", params(FolderParams), responses(
    (status = 200, description = "The worktrees, the main one first.", body = WorktreeList),
    (status = 422, description = "The folder is in no repository.", body = Details, content_type = "application/problem+json"),
))]
pub(crate) async fn worktrees(
    State(app): State<App>,
    Extension(who): Extension<Principal>,
    Query(params): Query<FolderParams>,
) -> Answer<WorktreeList> {
    for_all_sessions(&who)?;
    answer::ok(WorktreeList { worktrees: app.host().worktrees(&params.cwd).await? })
}

/// Makes a worktree with a branch of its own, in `.weir/worktrees` of the repository.
#[utoipa::path(post, path = "/v1/worktrees", tag = "folders", request_body = CreateWorktree, responses(
    (status = 201, description = "The worktree.", body = WorktreeInfo),
    (status = 409, description = "The branch exists.", body = Details, content_type = "application/problem+json"),
))]
pub(crate) async fn add_worktree(
    State(app): State<App>,
    Extension(who): Extension<Principal>,
    Json(body): Json<CreateWorktree>,
) -> Result<Response, Problem> {
    for_all_sessions(&who)?;
    let (cwd, new) = body.split();
    let made = app.host().add_worktree(&cwd, new).await?;
    let mut response = answer::json(StatusCode::CREATED, &made);
    response.extensions_mut().insert(Audited(format!("worktree {}", made.path)));
    Ok(response)
}

/// Removes a worktree that Weir has made. Files that git ignores are lost; other uncommitted changes are kept under a
/// reference, and only removed if `confirm` is true.
#[utoipa::path(delete, path = "/v1/worktrees", tag = "folders", params(RemoveWorktreeParams), responses(
    (status = 200, description = "What is left of it.", body = RemovedWorktree),
    (status = 404, description = "Weir has made no such worktree.", body = Details, content_type = "application/problem+json"),
    (status = 409, description = "It has uncommitted changes (`uncommitted_changes`), or a session is at work in it (`folder_in_use`).", body = Details, content_type = "application/problem+json"),
))]
pub(crate) async fn remove_worktree(
    State(app): State<App>,
    Extension(who): Extension<Principal>,
    Query(params): Query<RemoveWorktreeParams>,
) -> Answer<RemovedWorktree> {
    for_all_sessions(&who)?;
    let RemoveWorktreeParams { path, confirm, with_branch } = params;
    answer::ok(app.host().remove_worktree(&path, confirm, with_branch).await?)
}
