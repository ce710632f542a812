//! The OpenAI-compatible front: `GET /v1/models`, `POST /v1/chat/completions`, `POST /v1/responses`.
//!
//! What requests mean and how replies look is the business of `weir-openai`. Here they are joined with the host: a
//! request finds or begins a session, its answer is waited for or streamed, and a client that goes away ends the turn.

mod conversation;
pub(crate) mod described;
mod errors;
mod histories;
mod progress;
mod stream;

use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use axum::{Extension, Router, middleware};
use weir_openai::reply::Reply;
use weir_openai::{Endpoint, Leniency, OpenAiError};

use crate::auth::{Principal, Role};
use crate::guard::{authenticate, require};
use crate::state::App;
use conversation::Conversation;
use described::{ChatCompletion, ChatRequest, FrontHeaders, ModelList, ResponseObject, ResponseRequest};
pub use histories::Histories;

/// The routes, with errors in OpenAI's shape also where the guards refuse.
pub(crate) fn routes(app: &App) -> Router<App> {
    let most = app.settings().limits.message_bytes;
    Router::new()
        .route("/v1/models", get(models))
        .route("/v1/chat/completions", post(chat))
        .route("/v1/responses", post(responses))
        .layer(DefaultBodyLimit::max(most))
        .route_layer(middleware::from_fn_with_state(Role::Driver, require))
        .route_layer(middleware::from_fn_with_state(app.clone(), authenticate))
        .layer(middleware::map_response(errors::in_openai_shape))
}

/// The models that the server offers; `default` is the CLI's own choice.
#[utoipa::path(get, path = "/v1/models", tag = "openai",
    responses((status = 200, description = "The models.", body = ModelList)))]
pub(crate) async fn models(State(app): State<App>) -> Response {
    let names = app.settings().models.iter().map(String::as_str);
    json(StatusCode::OK, &weir_openai::models(names, 0))
}

/// Answers as OpenAI's chat completions do. Behind it is the agent, with its own tools, in a session that the page
/// shows too. What cannot be honoured is refused with its name in `param`.
#[utoipa::path(post, path = "/v1/chat/completions", tag = "openai",
    params(FrontHeaders),
    request_body = ChatRequest,
    responses((status = 200, description = "The answer, whole or as events.", content(
        (ChatCompletion = "application/json"), (String = "text/event-stream"),
    ))))]
pub(crate) async fn chat(
    State(app): State<App>,
    Extension(who): Extension<Principal>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    answer(Endpoint::Chat, app, who, headers, body).await
}

/// Answers as OpenAI's responses do, in their basic form: texts and pictures in, a text out.
#[utoipa::path(post, path = "/v1/responses", tag = "openai",
    params(FrontHeaders),
    request_body = ResponseRequest,
    responses((status = 200, description = "The response, whole or as events.", content(
        (ResponseObject = "application/json"), (String = "text/event-stream"),
    ))))]
pub(crate) async fn responses(
    State(app): State<App>,
    Extension(who): Extension<Principal>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    answer(Endpoint::Responses, app, who, headers, body).await
}

async fn answer(endpoint: Endpoint, app: App, who: Principal, headers: HeaderMap, body: Bytes) -> Response {
    match try_to_answer(endpoint, app, &who, &headers, &body).await {
        Ok(response) => response,
        Err(error) => errors::response(&error),
    }
}

async fn try_to_answer(
    endpoint: Endpoint,
    app: App,
    who: &Principal,
    headers: &HeaderMap,
    body: &[u8],
) -> Result<Response, OpenAiError> {
    let request = weir_openai::read(endpoint, body, &Leniency::ignoring(&app.settings().openai_ignores))?;
    let conversation = Conversation::begin(app, who, &request, headers).await?;
    let id = uuid::Uuid::new_v4().simple().to_string();
    let reply = Reply::new(&request, &id, crate::clock::now() / 1_000);
    let session = HeaderValue::from_str(conversation.session());
    let mut response = if request.stream {
        let body = Body::from_stream(stream::stream(conversation, reply));
        let kind = (header::CONTENT_TYPE, "text/event-stream");
        let fresh = (header::CACHE_CONTROL, "no-cache, no-transform");
        ([kind, fresh, (header::HeaderName::from_static("x-accel-buffering"), "no")], body).into_response()
    } else {
        let (answer, usage) = conversation.whole(reply.id()).await?;
        json(StatusCode::OK, &reply.whole(&answer, usage))
    };
    if let Ok(session) = session {
        response.headers_mut().insert("x-weir-session", session);
    }
    Ok(response)
}

fn json(status: StatusCode, value: &serde_json::Value) -> Response {
    (status, [(header::CONTENT_TYPE, "application/json")], value.to_string()).into_response()
}
