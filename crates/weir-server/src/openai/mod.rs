//! The OpenAI-compatible front: `GET /v1/models`, `GET /v1/models/{model}`, `POST /v1/chat/completions`, `POST
//! /v1/responses`.
//!
//! `weir-openai` parses requests and formats replies. This module connects them with the host: a request finds or
//! creates a session, and its answer is awaited or streamed. A turn does not belong to the connection that started it:
//! a retry finds it, and it ends a while after the last client has disconnected.

mod conversation;
pub(crate) mod described;
mod errors;
mod front;
mod histories;
mod missing;
mod progress;
mod settle;
mod setup;
mod stream;
mod turn;

use axum::body::{Body, Bytes};
use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{MethodRouter, any};
use axum::{Extension, Router, middleware};
use utoipa_axum::router::{OpenApiRouter, UtoipaMethodRouterExt as _};
use utoipa_axum::routes;
use weir_openai::body::{ChatCompletion, ModelEntry, ModelList, ResponseObject};
use weir_openai::{Endpoint, Leniency, OpenAiError};

use crate::api::{json, stream_slot};
use crate::auth::Principal;
use crate::state::App;
use conversation::{Call, Conversation};
use described::{ChatRequest, FrontHeaders, ResponseRequest};
pub(crate) use front::Front;
pub use histories::Histories;
use stream::Writing;

/// Tells OpenAI's clients not to retry: otherwise they retry anything that looks temporary.
const SHOULD_RETRY: HeaderName = HeaderName::from_static("x-should-retry");
/// Session of an answer.
const SESSION: HeaderName = HeaderName::from_static("x-weir-session");
/// Ignored parameters.
const IGNORED: HeaderName = HeaderName::from_static("x-weir-ignored");
/// Set if the answer is that of an earlier attempt.
const RETRY: HeaderName = HeaderName::from_static("x-weir-retry");
/// Why the message before this one got no answer.
const EARLIER_FAILURE: HeaderName = HeaderName::from_static("x-weir-earlier-failure");
/// Set if the CLI's result was empty, so that the answer is the text of the turn.
const DEGRADED: HeaderName = HeaderName::from_static("x-weir-degraded");

/// Maximum length of our own headers, in characters.
const MAX_HEADER: usize = 500;

/// The routes.
pub(crate) fn routes() -> OpenApiRouter<App> {
    let elsewhere = |methods: MethodRouter<App>| methods.fallback(missing::method);
    OpenApiRouter::default()
        .routes(routes!(models).map(elsewhere))
        .routes(routes!(model).map(elsewhere))
        .routes(routes!(chat).map(elsewhere))
        .routes(routes!(responses).map(elsewhere))
}

/// The routes with their guards, all errors in OpenAI's format.
pub(crate) fn in_openai_shape(guarded: Router<App>) -> Router<App> {
    guarded
        .layer(middleware::map_response(errors::in_openai_shape))
        .route("/v1/{*rest}", any(missing::address))
}

/// Lists the models that the server offers; `default` is the CLI's default.
#[utoipa::path(get, path = "/v1/models", tag = "openai",
    responses((status = 200, description = "The models.", body = ModelList)))]
pub(crate) async fn models(State(app): State<App>) -> Response {
    let names = app.settings().models.iter().map(String::as_str);
    json(StatusCode::OK, &ModelList::new(names))
}

/// Shows a model that the server offers.
#[utoipa::path(get, path = "/v1/models/{model}", tag = "openai",
    params(("model" = String, Path, description = "The model.")),
    responses((status = 200, description = "The model.", body = ModelEntry)))]
pub(crate) async fn model(State(app): State<App>, Path(name): Path<String>) -> Response {
    if app.settings().models.contains(&name) {
        return json(StatusCode::OK, &ModelEntry::new(&name));
    }
    let message =
        format!("This server does not offer the model '{name}'; /v1/models lists the available ones.");
    errors::response(&OpenAiError::not_found("model_not_found", message))
}

/// Answers like OpenAI's chat completions. The answer comes from the agent, with its own tools, in a session that is
/// also visible on the page. Tuning parameters that are not supported are listed in `X-Weir-Ignored`; parameters that
/// would change the meaning are refused with their name in `param`.
#[utoipa::path(post, path = "/v1/chat/completions", tag = "openai",
    params(FrontHeaders),
    request_body = ChatRequest,
    responses((status = 200, description = "The answer, complete or as events.", content(
        (ChatCompletion = "application/json"), ("text/event-stream"),
    ))))]
pub(crate) async fn chat(
    State(app): State<App>,
    Extension(who): Extension<Principal>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    answer(Endpoint::Chat, app, who, headers, body).await
}

/// Answers like OpenAI's responses, in their basic form: text and pictures in, text out.
#[utoipa::path(post, path = "/v1/responses", tag = "openai",
    params(FrontHeaders),
    request_body = ResponseRequest,
    responses((status = 200, description = "The response, complete or as events.", content(
        (ResponseObject = "application/json"), ("text/event-stream"),
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
    let openai = &app.settings().openai;
    let leniency = Leniency::default().strict(openai.strict).ignoring(&openai.ignores);
    let read = || {
        let request = weir_openai::read(endpoint, &body, &leniency)?;
        Ok((request, Call::read(&who, endpoint, &headers, &body)?))
    };
    let (request, call) = match read() {
        Ok(read) => read,
        Err(error) => return errors::response(&error),
    };
    let (is_stream, ignored) = (request.stream, request.ignored.join(", "));
    // Before anything starts: a turn whose answer cannot be streamed would be wasted.
    let slot = match is_stream.then(|| stream_slot(&app, &who)).transpose() {
        Ok(slot) => slot,
        Err(problem) => return errors::response(&errors::of_problem(&problem)),
    };
    let conversation = match Conversation::open(app, who, request, call, slot).await {
        Ok(conversation) => conversation,
        Err(error) => return errors::response(&error),
    };
    // From here on there is work that a retry would repeat.
    let about = [
        (SHOULD_RETRY, Some("false".to_owned())),
        (SESSION, Some(conversation.turn.begun.session.clone())),
        (IGNORED, Some(ignored).filter(|ignored| !ignored.is_empty())),
        (RETRY, conversation.is_attached.then(|| "attached".to_owned())),
        (EARLIER_FAILURE, conversation.earlier_failure.clone()),
    ];
    let replayed_for = conversation.replayed_for;
    let answered = if is_stream { streamed(conversation).await } else { whole(conversation).await };
    let mut response = answered.unwrap_or_else(|mut error| {
        if let Some(seconds) = replayed_for {
            error.message.push_str(&format!(
                " (this request failed a moment ago and was not run again; change it, or retry in {seconds} \
                 seconds)"
            ));
        }
        errors::response(&error)
    });
    for (name, value) in about {
        if let Some(value) = value.and_then(|value| HeaderValue::from_str(&plain(&value)).ok()) {
            response.headers_mut().insert(name, value);
        }
    }
    response
}

async fn whole(mut conversation: Conversation) -> Result<Response, OpenAiError> {
    let (answer, usage) = conversation.whole().await?;
    let mut response = json(StatusCode::OK, &conversation.reply.whole(&answer, usage));
    if answer.degraded {
        response.headers_mut().insert(DEGRADED, HeaderValue::from_static("true"));
    }
    Ok(response)
}

async fn streamed(conversation: Conversation) -> Result<Response, OpenAiError> {
    let mut writing = Writing::new(conversation);
    let first = writing.begin().await?;
    let body = Body::from_stream(writing.stream(first));
    let kind = (header::CONTENT_TYPE, "text/event-stream");
    let fresh = (header::CACHE_CONTROL, "no-cache, no-transform");
    Ok(([kind, fresh, (HeaderName::from_static("x-accel-buffering"), "no")], body).into_response())
}

/// Makes a text safe for a header: one line, plain ASCII, and not too long.
fn plain(text: &str) -> String {
    let plain = |letter: char| if letter == ' ' || letter.is_ascii_graphic() { letter } else { '?' };
    text.chars().take(MAX_HEADER).map(plain).collect()
}
