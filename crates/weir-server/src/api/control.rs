//! What happens to a session at once: interrupt, stop, resume, another model, another permission mode.

use axum::Extension;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use weir_host::{ResumeReport, SessionInfo};
use weir_wire::TaskId;

use super::answer::{self, Answer};
use super::errors::session_id;
use super::sessions::{check_mode, may_begin};
use super::types::{Interrupted, SetModel, SetPermissionMode, Stopped, StoppedTask};
use crate::auth::Principal;
use crate::extract::{Json, Path};
use crate::problem::Problem;
use crate::state::App;

/// Ends the turn at hand: the one that runs, or else the next one, whose message is taken back. Messages that wait
/// behind it stay, and so does what runs in the background.
#[utoipa::path(post, path = "/v1/sessions/{id}/interrupt", tag = "control", params(("id" = String, Path, description = "The session.")),
    responses((status = 200, description = "Whether there was one.", body = Interrupted)))]
pub(crate) async fn interrupt(
    State(app): State<App>,
    Extension(who): Extension<Principal>,
    Path(id): Path<String>,
) -> Answer<Interrupted> {
    let interrupted = app.host().interrupt(&session_id(&id)?, &who.actor()).await?;
    answer::ok(Interrupted { interrupted })
}

/// Ends everything that a session does. Answered when no process is left.
#[utoipa::path(post, path = "/v1/sessions/{id}/stop", tag = "control", params(("id" = String, Path, description = "The session.")),
    responses((status = 200, description = "No process is left.", body = Stopped)))]
pub(crate) async fn stop(
    State(app): State<App>,
    Extension(who): Extension<Principal>,
    Path(id): Path<String>,
) -> Answer<Stopped> {
    app.host().stop(&session_id(&id)?, &who.actor()).await?;
    answer::ok(Stopped { stopped: true })
}

/// Ends one task that runs in the background, and nothing else.
#[utoipa::path(post, path = "/v1/sessions/{id}/tasks/{task_id}/stop", tag = "control",
    params(("id" = String, Path, description = "The session."), ("task_id" = String, Path, description = "The task, as the view names it.")),
    responses((status = 200, description = "It was told to end.", body = StoppedTask)))]
pub(crate) async fn stop_task(
    State(app): State<App>,
    Extension(who): Extension<Principal>,
    Path((id, task_id)): Path<(String, String)>,
) -> Answer<StoppedTask> {
    let task = TaskId::new(task_id.as_str());
    app.host().stop_task(&session_id(&id)?, &task, &who.actor()).await?;
    answer::ok(StoppedTask { task_id })
}

/// Goes on after a restart: held messages are sent, and an interrupted turn is taken up again.
#[utoipa::path(post, path = "/v1/sessions/{id}/resume", tag = "control", params(("id" = String, Path, description = "The session.")),
    responses((status = 202, description = "It goes on.", body = ResumeReport)))]
pub(crate) async fn resume(
    State(app): State<App>,
    Extension(who): Extension<Principal>,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    may_begin(&app, &who)?;
    let report = app.host().resume(&session_id(&id)?, &who.actor()).await?;
    Ok(answer::json(StatusCode::ACCEPTED, &report))
}

/// Uses another model from now on.
#[utoipa::path(put, path = "/v1/sessions/{id}/model", tag = "control", params(("id" = String, Path, description = "The session.")),
    request_body = SetModel, responses((status = 200, description = "The session.", body = SessionInfo)))]
pub(crate) async fn set_model(
    State(app): State<App>,
    Extension(who): Extension<Principal>,
    Path(id): Path<String>,
    Json(body): Json<SetModel>,
) -> Answer<SessionInfo> {
    answer::ok(app.host().set_model(&session_id(&id)?, body.model, &who.actor()).await?)
}

/// Uses another permission mode from now on.
#[utoipa::path(put, path = "/v1/sessions/{id}/permission-mode", tag = "control", params(("id" = String, Path, description = "The session.")),
    request_body = SetPermissionMode, responses((status = 200, description = "The session.", body = SessionInfo)))]
pub(crate) async fn set_permission_mode(
    State(app): State<App>,
    Extension(who): Extension<Principal>,
    Path(id): Path<String>,
    Json(body): Json<SetPermissionMode>,
) -> Answer<SessionInfo> {
    let id = session_id(&id)?;
    check_mode(&app, &body.mode)?;
    answer::ok(app.host().set_permission_mode(&id, body.mode, &who.actor()).await?)
}
