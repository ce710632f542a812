//! The files of a session's folder, to be read.

use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse as _, Response};
use weir_host::{FileTree, FileView};

use super::answer::{self, Answer};
use super::errors::session_id;
use super::types::{PictureBytes, ViewParams};
use crate::extract::{Path, Query};
use crate::problem::Problem;
use crate::state::App;

/// Lists a folder of the session's folder. Links are named and not followed.
#[utoipa::path(get, path = "/v1/sessions/{id}/tree", tag = "folders",
    params(("id" = String, Path, description = "The session."), ViewParams),
    responses((status = 200, description = "The folder.", body = FileTree)))]
pub(crate) async fn file_tree(
    State(app): State<App>,
    Path(id): Path<String>,
    Query(params): Query<ViewParams>,
) -> Answer<FileTree> {
    answer::ok(app.host().file_tree(&session_id(&id)?, params.path).await?)
}

/// Shows a file of the session's folder, with the lines that the agent has edited.
#[utoipa::path(get, path = "/v1/sessions/{id}/file", tag = "folders",
    params(("id" = String, Path, description = "The session."), ViewParams),
    responses((status = 200, description = "The file.", body = FileView)))]
pub(crate) async fn file_view(
    State(app): State<App>,
    Path(id): Path<String>,
    Query(params): Query<ViewParams>,
) -> Answer<FileView> {
    answer::ok(app.host().file_view(&session_id(&id)?, params.path).await?)
}

/// A file of the session's folder as it is, up to 16 MiB. Only a picture has its content type; anything else is downloaded.
#[utoipa::path(get, path = "/v1/sessions/{id}/file/raw", tag = "folders",
    params(("id" = String, Path, description = "The session."), ViewParams),
    responses((status = 200, description = "The file.", content(
        (PictureBytes = "image/png"), (PictureBytes = "image/jpeg"), (PictureBytes = "image/gif"), (PictureBytes = "image/webp"),
        (PictureBytes = "application/octet-stream")))))]
pub(crate) async fn file_raw(
    State(app): State<App>,
    Path(id): Path<String>,
    Query(params): Query<ViewParams>,
) -> Result<Response, Problem> {
    let file = app.host().file_bytes(&session_id(&id)?, params.path).await?;
    // The name is not sent: it can be anything.
    Ok(match file.picture {
        Some(kind) => ([(header::CONTENT_TYPE, kind)], file.data).into_response(),
        None => {
            let headers = [
                (header::CONTENT_TYPE, "application/octet-stream"),
                (header::CONTENT_DISPOSITION, "attachment"),
            ];
            (headers, file.data).into_response()
        }
    })
}
