//! Reviews: what a session's folder has that a base has not, taking it back, and commits.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use weir_host::{CommitChanges, CommitMade, RevertChange, RevertedChange, Review, ReviewFile, StageChanges};

use super::answer::{self, Answer};
use super::errors::session_id;
use super::types::{ReviewFileParams, ReviewParams};
use crate::extract::{Json, Path, Query};
use crate::problem::{Details, Problem};
use crate::state::App;

/// Shows what the session's folder has and a base has not: everything git sees, no matter who or which program changed it.
/// Files with too many lines come without their hunks.
#[utoipa::path(get, path = "/v1/sessions/{id}/changes", tag = "review",
    params(("id" = String, Path, description = "The session."), ReviewParams), responses(
    (status = 200, description = "The changes.", body = Review),
    (status = 422, description = "The folder is in no repository, or the revision does not exist.", body = Details, content_type = "application/problem+json"),
))]
pub(crate) async fn review(
    State(app): State<App>,
    Path(id): Path<String>,
    Query(params): Query<ReviewParams>,
) -> Answer<Review> {
    answer::ok(app.host().review(&session_id(&id)?, &params.query()).await?)
}

/// Shows the change of one file, with all its lines.
#[utoipa::path(get, path = "/v1/sessions/{id}/changes/file", tag = "review",
    params(("id" = String, Path, description = "The session."), ReviewFileParams),
    responses((status = 200, description = "The change.", body = ReviewFile)))]
pub(crate) async fn review_file(
    State(app): State<App>,
    Path(id): Path<String>,
    Query(params): Query<ReviewFileParams>,
) -> Answer<ReviewFile> {
    let (query, path) = params.split();
    answer::ok(app.host().review_file(&session_id(&id)?, &query, &path).await?)
}

/// Takes back the change of a file, or of one place in it. All files as they were before are kept under a reference.
#[utoipa::path(post, path = "/v1/sessions/{id}/changes/revert", tag = "review",
    params(("id" = String, Path, description = "The session.")), request_body = RevertChange, responses(
    (status = 200, description = "Where the files are kept.", body = RevertedChange),
    (status = 404, description = "The file does not differ from the base.", body = Details, content_type = "application/problem+json"),
    (status = 409, description = "The file is not as it was shown.", body = Details, content_type = "application/problem+json"),
))]
pub(crate) async fn revert(
    State(app): State<App>,
    Path(id): Path<String>,
    Json(body): Json<RevertChange>,
) -> Answer<RevertedChange> {
    answer::ok(app.host().revert_change(&session_id(&id)?, body).await?)
}

/// Puts files into the index of git, or takes them out of it.
#[utoipa::path(post, path = "/v1/sessions/{id}/changes/stage", tag = "review",
    params(("id" = String, Path, description = "The session.")), request_body = StageChanges,
    responses((status = 204, description = "It is done.")))]
pub(crate) async fn stage(
    State(app): State<App>,
    Path(id): Path<String>,
    Json(body): Json<StageChanges>,
) -> Result<Response, Problem> {
    app.host().stage_changes(&session_id(&id)?, body).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// Commits what is in the index. No hook of the repository runs.
#[utoipa::path(post, path = "/v1/sessions/{id}/changes/commit", tag = "review",
    params(("id" = String, Path, description = "The session.")), request_body = CommitChanges, responses(
    (status = 200, description = "The commit.", body = CommitMade),
    (status = 409, description = "Nothing is staged.", body = Details, content_type = "application/problem+json"),
))]
pub(crate) async fn commit(
    State(app): State<App>,
    Path(id): Path<String>,
    Json(body): Json<CommitChanges>,
) -> Answer<CommitMade> {
    answer::ok(app.host().commit_changes(&session_id(&id)?, body).await?)
}
