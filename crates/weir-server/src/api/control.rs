//! Immediate control of a session: interrupt, stop, resume, model, permission mode.

use axum::Extension;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use weir_host::{ResumeReport, SessionInfo};
use weir_wire::TaskId;

use super::answer::{self, Answer};
use super::errors::session_id;
use super::sessions::{check_mode, may_begin};
use super::types::{Interrupted, SetEffort, SetModel, SetPermissionMode, Stopped, StoppedTask};
use crate::auth::Principal;
use crate::extract::{Json, Path};
use crate::problem::Problem;
use crate::state::App;

/// Ends the current turn. If none is running, cancels the message of the next one. Other queued messages and background
/// tasks are not affected.
#[utoipa::path(post, path = "/v1/sessions/{id}/interrupt", tag = "control", params(("id" = String, Path, description = "The session.")),
    responses((status = 200, description = "Whether there was a turn to end.", body = Interrupted)))]
pub(crate) async fn interrupt(
    State(app): State<App>,
    Extension(who): Extension<Principal>,
    Path(id): Path<String>,
) -> Answer<Interrupted> {
    let interrupted = app.host().interrupt(&session_id(&id)?, &who.actor()).await?;
    answer::ok(Interrupted { interrupted })
}

/// Stops a session completely. Responds when no process is left.
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

/// Stops one background task, and nothing else.
#[utoipa::path(post, path = "/v1/sessions/{id}/tasks/{task_id}/stop", tag = "control",
    params(("id" = String, Path, description = "The session."), ("task_id" = String, Path, description = "The task's id in the view.")),
    responses((status = 200, description = "The task was told to stop.", body = StoppedTask)))]
pub(crate) async fn stop_task(
    State(app): State<App>,
    Extension(who): Extension<Principal>,
    Path((id, task_id)): Path<(String, String)>,
) -> Answer<StoppedTask> {
    let task = TaskId::new(task_id.as_str());
    app.host().stop_task(&session_id(&id)?, &task, &who.actor()).await?;
    answer::ok(StoppedTask { task_id })
}

/// Resumes a session after a restart: sends held messages and continues an interrupted turn.
#[utoipa::path(post, path = "/v1/sessions/{id}/resume", tag = "control", params(("id" = String, Path, description = "The session.")),
    responses((status = 202, description = "The session resumes.", body = ResumeReport)))]
pub(crate) async fn resume(
    State(app): State<App>,
    Extension(who): Extension<Principal>,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    may_begin(&app, &who)?;
    let report = app.host().resume(&session_id(&id)?, &who.actor()).await?;
    Ok(answer::json(StatusCode::ACCEPTED, &report))
}

/// Changes the model from now on.
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

/// Changes how thoroughly the model works, from the next turn on.
#[utoipa::path(put, path = "/v1/sessions/{id}/effort", tag = "control", params(("id" = String, Path, description = "The session.")),
    request_body = SetEffort, responses((status = 200, description = "The session.", body = SessionInfo)))]
pub(crate) async fn set_effort(
    State(app): State<App>,
    Extension(who): Extension<Principal>,
    Path(id): Path<String>,
    Json(body): Json<SetEffort>,
) -> Answer<SessionInfo> {
    answer::ok(app.host().set_effort(&session_id(&id)?, body.effort, &who.actor()).await?)
}

/// Changes the permission mode from now on.
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
