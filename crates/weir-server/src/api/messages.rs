//! Messages to the agent.

use axum::Extension;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::Response;
use weir_host::{
    Accepted, ChangeMessage, Format, MessageInfo, MessageState, NewMessage, SessionId, WatchQuery,
};
use weir_wire::MessageId;

use super::answer::{self, Answer};
use super::errors::session_id;
use super::events;
use super::message_stream::MessageStream;
use super::sessions::may_begin;
use super::sse::Holder;
use super::types::{
    CancelledMessage, ChangeQueued, FileList, FileParams, MessageEventFormat, MessageList, MessageParams,
    MessageStreamParams, SendMessage,
};
use crate::auth::Principal;
use crate::extract::{Json, Path, Query};
use crate::guard::Audited;
use crate::problem::{Details, Problem};
use crate::state::App;

/// Sends a message. It is in the log before the response; sent twice with the same `client_id`, it is one message.
///
/// With `Accept: text/event-stream` the response is a stream of this message's events: `accepted`, the events of the
/// turn that answers it in the given `format`, and finally `message` with its outcome. A client that disconnects ends
/// the stream, not the turn; repeating the request replays it from the beginning.
#[utoipa::path(post, path = "/v1/sessions/{id}/messages", tag = "messages",
    params(("id" = String, Path, description = "The session."), MessageStreamParams),
    request_body = SendMessage, responses(
        (status = 200, description = "The message's events, if requested.", content_type = "text/event-stream"),
        (status = 202, description = "The message was accepted.", body = Accepted),
        (status = 409, description = "Another message has this `client_id`, or the session accepts no messages.", body = Details, content_type = "application/problem+json"),
    ))]
pub(crate) async fn send(
    State(app): State<App>,
    Extension(who): Extension<Principal>,
    Path(id): Path<String>,
    Query(params): Query<MessageStreamParams>,
    headers: HeaderMap,
    Json(body): Json<SendMessage>,
) -> Result<Response, Problem> {
    let format = wants_events(&headers).then_some(params.format);
    send_to(&app, &who, &session_id(&id)?, body, format).await
}

/// Whether the client wants an event stream as the response.
pub(super) fn wants_events(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    let mut ranges = accepted.flat_map(|value| value.split(','));
    ranges.any(|range| {
        let name = range.split(';').next().unwrap_or_default().trim();
        name.eq_ignore_ascii_case("text/event-stream")
    })
}

/// Sends a message, and responds with its events if a format is given.
pub(super) async fn send_to(
    app: &App,
    who: &Principal,
    id: &SessionId,
    body: SendMessage,
    format: Option<MessageEventFormat>,
) -> Result<Response, Problem> {
    may_begin(app, who)?;
    if body.client_id.is_empty() || body.client_id.len() > 200 {
        let detail = "client_id must have 1 to 200 bytes; use a random one for each message";
        return Err(Problem::unprocessable("client_id", detail));
    }
    if let Some(command) = &body.command {
        check_command(app, who, &command.name)?;
    }
    let message = NewMessage {
        client_id: Some(body.client_id),
        text: body.text,
        images: body.images,
        documents: body.documents,
        links: body.links,
        mode: body.mode,
        files: body.files,
        command: body.command,
    };
    let (accepted, stream) = match format {
        None => (app.host().send(id, message, &who.actor()).await?, None),
        Some(format) => {
            // Before the message is accepted: a refused one must not be in the log.
            let slot = events::stream_slot(app, who)?;
            let holder = Holder::new(app.tokens(), who);
            let query = WatchQuery {
                format: match format {
                    MessageEventFormat::Agent => Format::Agent,
                    MessageEventFormat::Classic => Format::Classic,
                },
                cursor: None,
                heartbeat: Some(app.settings().heartbeat),
            };
            let (accepted, watch) = app.host().send_and_watch(id, message, &who.actor(), query).await?;
            (accepted, watch.map(|watch| (watch, holder, slot)))
        }
    };
    if accepted.differs {
        let detail = "another message was sent with this client_id; use a different one";
        return Err(Problem::new(StatusCode::CONFLICT, "client_id_used", detail)
            .with("message_id", accepted.message_id.to_string()));
    }
    let mut response = match stream {
        None => answer::json(StatusCode::ACCEPTED, &accepted),
        Some((watch, holder, slot)) => {
            MessageStream::new(app, &accepted, watch, holder, slot).into_response()
        }
    };
    response.extensions_mut().insert(Audited(format!("message {}", accepted.message_id)));
    Ok(response)
}

/// Whether this token may run this slash command. Some CLI commands change the owner's settings, so the server has its
/// own list of allowed commands.
fn check_command(app: &App, who: &Principal, name: &str) -> Result<(), Problem> {
    let allowed = app.settings().commands_for(who.role);
    if allowed.iter().any(|allowed| allowed == name) {
        return Ok(());
    }
    let detail = match allowed {
        [] => "this token may not run slash commands".to_owned(),
        some => format!(
            "the command must be one of {}; the operator can add others with --slash-command",
            some.join(", ")
        ),
    };
    Err(Problem::forbidden("slash_command", detail))
}

/// Lists files in the session's folder that can be sent with a message.
#[utoipa::path(get, path = "/v1/sessions/{id}/files", tag = "messages",
    params(("id" = String, Path, description = "The session."), FileParams),
    responses((status = 200, description = "The files.", body = FileList)))]
pub(crate) async fn files(
    State(app): State<App>,
    Path(id): Path<String>,
    Query(params): Query<FileParams>,
) -> Answer<FileList> {
    answer::ok(FileList { files: app.host().find_files(&session_id(&id)?, &params.query).await? })
}

/// Lists messages of a session, the oldest first.
#[utoipa::path(get, path = "/v1/sessions/{id}/messages", tag = "messages",
    params(("id" = String, Path, description = "The session."), MessageParams),
    responses((status = 200, description = "The messages.", body = MessageList)))]
pub(crate) async fn list(
    State(app): State<App>,
    Path(id): Path<String>,
    Query(params): Query<MessageParams>,
) -> Answer<MessageList> {
    let state = params.state.as_deref().map(state_named).transpose()?;
    answer::ok(MessageList { messages: app.host().messages(&session_id(&id)?, state).await? })
}

fn state_named(word: &str) -> Result<MessageState, Problem> {
    let all = MessageState::ALL;
    all.into_iter().find(|state| state.as_str() == word).ok_or_else(|| {
        let words = all.map(MessageState::as_str).join(", ");
        Problem::bad_request("state", format!("state must be one of {words}"))
    })
}

/// Changes the text of a message that was not sent to the CLI yet, or its place in the queue.
#[utoipa::path(patch, path = "/v1/sessions/{id}/messages/{message_id}", tag = "messages",
    params(("id" = String, Path, description = "The session."), ("message_id" = String, Path, description = "The message.")),
    request_body = ChangeQueued, responses(
        (status = 200, description = "The message.", body = MessageInfo),
        (status = 409, description = "The message was already sent to the CLI.", body = Details, content_type = "application/problem+json"),
    ))]
pub(crate) async fn change_message(
    State(app): State<App>,
    Extension(who): Extension<Principal>,
    Path((id, message)): Path<(String, String)>,
    Json(body): Json<ChangeQueued>,
) -> Answer<MessageInfo> {
    may_begin(&app, &who)?;
    let change = ChangeMessage { text: body.text, position: body.position };
    let message = MessageId::from(message.as_str());
    answer::ok(app.host().change_message(&session_id(&id)?, &message, change, &who.actor()).await?)
}

/// Cancels a message that was not sent to the CLI yet.
#[utoipa::path(delete, path = "/v1/sessions/{id}/messages/{message_id}", tag = "messages",
    params(("id" = String, Path, description = "The session."), ("message_id" = String, Path, description = "The message.")),
    responses(
        (status = 200, description = "The message was cancelled.", body = CancelledMessage),
        (status = 409, description = "The message was already sent to the CLI.", body = Details, content_type = "application/problem+json"),
    ))]
pub(crate) async fn cancel(
    State(app): State<App>,
    Extension(who): Extension<Principal>,
    Path((id, message)): Path<(String, String)>,
) -> Answer<CancelledMessage> {
    let message_id = MessageId::from(message.as_str());
    app.host().cancel_message(&session_id(&id)?, &message_id, &who.actor()).await?;
    answer::ok(CancelledMessage { message_id: message, state: MessageState::Cancelled })
}
