//! Taking a conversation back to an earlier message, and branches.

use axum::Extension;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use weir_host::{Rewind, RewindOutcome, SessionInfo};
use weir_wire::MessageId;

use super::answer::{self, Answer};
use super::errors::session_id;
use super::sessions::{check_name, may_begin};
use super::types::BranchSession;
use crate::auth::Principal;
use crate::extract::{Json, Path};
use crate::guard::Audited;
use crate::problem::{Details, Problem};
use crate::state::App;

/// Takes a conversation back to before a message: the model forgets it and what came after it, and the session continues
/// from there. With `files`, the files that the agent's tools have changed since are restored, and what they hold now is
/// kept under a reference of git. With `dry_run`, nothing changes. Nothing is lost: the transcript keeps what the model has
/// forgotten, and a branch from `newest_message_id` is the conversation as it was.
#[utoipa::path(post, path = "/v1/sessions/{id}/rewind", tag = "sessions", params(("id" = String, Path, description = "The session.")),
    request_body = Rewind, responses(
    (status = 200, description = "What was done, or would be.", body = RewindOutcome),
    (status = 404, description = "No such message was sent to the agent.", body = Details, content_type = "application/problem+json"),
    (status = 409, description = "The session is at work (`at_work`), it cannot be done (`cannot_rewind`), or the CLI is too old (`not_supported`).", body = Details, content_type = "application/problem+json"),
))]
pub(crate) async fn rewind(
    State(app): State<App>,
    Extension(who): Extension<Principal>,
    Path(id): Path<String>,
    Json(body): Json<Rewind>,
) -> Answer<RewindOutcome> {
    may_begin(&app, &who)?;
    answer::ok(app.host().rewind(&session_id(&id)?, body, &who.actor()).await?)
}

/// Creates a session with a copy of this one's history up to the answer to a message.
#[utoipa::path(post, path = "/v1/sessions/{id}/branch", tag = "sessions", params(("id" = String, Path, description = "The session.")),
    request_body = BranchSession, responses(
    (status = 201, description = "The new session.", body = SessionInfo),
    (status = 404, description = "No such message was answered.", body = Details, content_type = "application/problem+json"),
))]
pub(crate) async fn branch(
    State(app): State<App>,
    Extension(who): Extension<Principal>,
    Path(id): Path<String>,
    Json(body): Json<BranchSession>,
) -> Result<Response, Problem> {
    may_begin(&app, &who)?;
    if who.session.is_some() {
        // This token could not see the copy.
        return Err(Problem::forbidden("one_session", "this token is valid for one session only"));
    }
    check_name(body.name.as_deref())?;
    let message = MessageId::new(body.message_id);
    let info = app.host().branch_at(&session_id(&id)?, message, body.name, &who.actor()).await?;
    let mut response = answer::json(StatusCode::CREATED, &info);
    response.extensions_mut().insert(Audited(format!("session {}", info.id)));
    Ok(response)
}
