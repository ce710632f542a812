//! Sessions by the client's key, such as `flow::node`.

use axum::Extension;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use weir_host::{Accepted, HostError, SessionInfo};

use super::answer::{self, Answer};
use super::errors::session_id;
use super::messages::{send_to, wants_events};
use super::sessions;
use super::types::{CreateSession, MessageStreamParams, SendByKey};
use crate::auth::Principal;
use crate::extract::{Json, Path, Query};
use crate::problem::{Details, Problem};
use crate::state::App;

/// Shows the session with this key.
#[utoipa::path(get, path = "/v1/keys/{key}", tag = "sessions", operation_id = "show_by_key",
    params(("key" = String, Path, description = "The key, percent-encoded.")),
    responses(
        (status = 200, description = "The session.", body = SessionInfo),
        (status = 404, description = "No session has this key.", body = Details, content_type = "application/problem+json"),
    ))]
pub(crate) async fn show(
    State(app): State<App>,
    Extension(who): Extension<Principal>,
    Path(key): Path<String>,
) -> Answer<SessionInfo> {
    answer::ok(find(&app, &who, &key).await?)
}

/// The session with this key. A session that the client may not see is answered like a missing one.
async fn find(app: &App, who: &Principal, key: &str) -> Result<SessionInfo, Problem> {
    let found = app.host().with_key(key).await?;
    if !who.may_see(&found.id) {
        return Err(HostError::NoSuchKey(key.to_owned()).into());
    }
    Ok(found)
}

/// Sends a message to the session with this key. If there is none, creates it as described by `session`.
///
/// The response is the same as for a message to a session by id; with `Accept: text/event-stream` it is the message's
/// stream.
#[utoipa::path(post, path = "/v1/keys/{key}/messages", tag = "messages", operation_id = "send_by_key",
    params(("key" = String, Path, description = "The key, percent-encoded."), MessageStreamParams),
    request_body = SendByKey, responses(
        (status = 200, description = "The message's events, if requested.", content_type = "text/event-stream"),
        (status = 202, description = "The message was accepted.", body = Accepted),
        (status = 404, description = "No session has this key.", body = Details, content_type = "application/problem+json"),
    ))]
pub(crate) async fn send(
    State(app): State<App>,
    Extension(who): Extension<Principal>,
    Path(key): Path<String>,
    Query(params): Query<MessageStreamParams>,
    headers: HeaderMap,
    Json(body): Json<SendByKey>,
) -> Result<Response, Problem> {
    // Also where the session exists and it is not used.
    body.session.as_ref().map(CreateSession::check).transpose()?;
    let session = match (find(&app, &who, &key).await, body.session) {
        (Ok(found), _) => found,
        (Err(problem), Some(new)) if problem.code() == "key_not_found" => {
            if new.key.as_ref().is_some_and(|own| *own != key) {
                let detail = "the session gets the key from the path; leave out `session.key`";
                return Err(Problem::unprocessable("key", detail));
            }
            let new = CreateSession { key: Some(key), ..new };
            sessions::begin(&app, &who, &headers, new).await?.session
        }
        (Err(problem), _) => return Err(problem),
    };
    let format = wants_events(&headers).then_some(params.format);
    send_to(&app, &who, &session_id(&session.id)?, body.message, format).await
}
