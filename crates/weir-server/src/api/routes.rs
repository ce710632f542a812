//! The routes, and the role each one needs.

use axum::extract::DefaultBodyLimit;
use axum::http::{Method, StatusCode, Uri};
use axum::response::{IntoResponse as _, Redirect, Response};
use axum::routing::{delete, get, post, put};
use axum::{Router, middleware};
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::compression::CompressionLayer;
use utoipa::OpenApi;

use super::{
    asks, client_tools, control, events, folders, health, history, keys, messages, sessions, tokens, types,
};
use crate::auth::Role;
use crate::docs;
use crate::guard::{authenticate, check_origin, limit_time, observe, require};
use crate::openai;
use crate::page;
use crate::problem::{Details, Problem};
use crate::state::App;

/// The whole server as a service.
pub fn app(app: App) -> Router {
    let base = app.settings().base_path.clone();
    let page = get(page::file).layer(CompressionLayer::new());
    let routes = api(&app).merge(openai::routes(&app)).merge(open(&app));
    let routes = if base.is_empty() {
        routes.route("/", page)
    } else {
        let with_slash = format!("{base}/");
        let routes = Router::new().nest(&base, routes).route(&with_slash, page);
        routes.route(&base, get(|| async move { Redirect::permanent(&with_slash) }))
    };
    routes
        .fallback(nothing)
        .method_not_allowed_fallback(wrong_method)
        .layer(CatchPanicLayer::custom(panicked))
        .layer(middleware::from_fn_with_state(app.clone(), check_origin))
        .layer(middleware::from_fn_with_state(app.clone(), observe))
        .with_state(app)
}

/// Routes without authentication.
fn open(app: &App) -> Router<App> {
    let pages = Router::new()
        .route("/{*file}", get(page::file))
        .route("/docs", get(docs::page))
        .route("/openapi.json", get(docs::json))
        .layer(CompressionLayer::new());
    Router::new()
        .route("/healthz", get(health::healthz))
        .route("/readyz", get(health::readyz))
        .merge(pages)
        .layer(middleware::from_fn_with_state(app.settings().limits.time, limit_time))
}

/// Routes that need a token, grouped by role.
fn api(app: &App) -> Router<App> {
    let limits = &app.settings().limits;
    let streams = Router::new()
        .route("/v1/events", get(events::all))
        .route("/v1/sessions/{id}/events", get(events::session));
    let in_time = |routes: Router<App>| routes.layer(middleware::from_fn_with_state(limits.time, limit_time));
    let viewer = streams.merge(in_time(viewer().layer(CompressionLayer::new())));
    let stop = Router::new()
        .route("/v1/sessions/{id}/stop", post(control::stop))
        .layer(middleware::from_fn_with_state(limits.stop_time, limit_time));
    let send = Router::new()
        .route("/v1/sessions/{id}/messages", post(messages::send))
        .route("/v1/keys/{key}/messages", post(keys::send))
        .route("/v1/sessions/{id}/tool-calls/{request_id}", post(client_tools::give))
        .layer(DefaultBodyLimit::max(limits.message_bytes));
    let for_role =
        |role: Role, routes: Router<App>| routes.route_layer(middleware::from_fn_with_state(role, require));
    for_role(Role::Viewer, viewer)
        .merge(for_role(Role::Approver, stop.merge(in_time(approver()))))
        .merge(for_role(Role::Driver, in_time(driver().merge(send))))
        .merge(for_role(Role::Admin, in_time(admin())))
        .layer(DefaultBodyLimit::max(limits.body_bytes))
        .route_layer(middleware::from_fn_with_state(app.clone(), authenticate))
}

fn viewer() -> Router<App> {
    Router::new()
        .route("/v1/me", get(tokens::me))
        .route("/v1/sessions", get(sessions::list))
        .route("/v1/sessions/{id}", get(sessions::show))
        .route("/v1/keys/{key}", get(keys::show))
        .route("/v1/sessions/{id}/messages", get(messages::list))
        .route("/v1/sessions/{id}/transcript", get(history::transcript))
        .route("/v1/sessions/{id}/log", get(history::log))
        .route("/v1/sessions/{id}/export", get(history::export))
        .route("/v1/sessions/{id}/diff", get(history::diff))
        .route("/v1/sessions/{id}/tools/{tool_use_id}/output", get(history::tool_output))
        .route("/v1/sessions/{id}/tools/{tool_use_id}/images/{number}", get(history::tool_image))
        .route("/v1/sessions/{id}/messages/{message_id}/images/{number}", get(history::message_image))
}

fn approver() -> Router<App> {
    Router::new()
        .route("/v1/sessions/{id}/interrupt", post(control::interrupt))
        .route("/v1/sessions/{id}/tasks/{task_id}/stop", post(control::stop_task))
        .route("/v1/sessions/{id}/permissions/{request_id}", post(asks::permission))
        .route("/v1/sessions/{id}/permissions/{request_id}/preview", get(asks::preview))
        .route("/v1/sessions/{id}/questions/{request_id}", post(asks::question))
        .route("/v1/sessions/{id}/elicitations/{request_id}", post(asks::elicitation))
}

fn driver() -> Router<App> {
    Router::new()
        .route("/v1/sessions", post(sessions::create))
        .route("/v1/sessions/{id}", delete(sessions::delete).patch(sessions::change))
        .route("/v1/sessions/{id}/fork", post(sessions::fork))
        .route("/v1/sessions/{id}/messages/{message_id}", delete(messages::cancel))
        .route("/v1/sessions/{id}/resume", post(control::resume))
        .route("/v1/sessions/{id}/model", put(control::set_model))
        .route("/v1/sessions/{id}/permission-mode", put(control::set_permission_mode))
        .route("/v1/sessions/{id}/client-tools", put(client_tools::offer))
        .route("/v1/sessions/{id}/tool-calls", get(client_tools::list))
        .route("/v1/sessions/{id}/share", post(tokens::share))
        .route("/v1/sessions/{id}/files", get(messages::files))
        .route("/v1/folder", get(folders::show))
        .route("/v1/folder/trust", put(folders::trust).delete(folders::distrust))
}

fn admin() -> Router<App> {
    Router::new()
        .route("/metrics", get(health::metrics))
        .route("/v1/tokens", get(tokens::list).post(tokens::create))
        .route("/v1/tokens/{token}", delete(tokens::revoke))
        .route("/v1/audit", get(tokens::audit))
}

async fn nothing() -> Problem {
    Problem::not_found("nothing found at this address; /docs lists all routes")
}

async fn wrong_method(method: Method, uri: Uri) -> Problem {
    let detail = format!("{method} is not supported by {}; /docs lists all routes", uri.path());
    Problem::new(StatusCode::METHOD_NOT_ALLOWED, "method", detail)
}

#[expect(clippy::needless_pass_by_value, reason = "signature required by the layer")]
fn panicked(cause: Box<dyn std::any::Any + Send + 'static>) -> Response {
    let text = cause.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| cause.downcast_ref::<&str>().copied());
    Problem::internal(&format_args!("a handler panicked: {}", text.unwrap_or("no message"))).into_response()
}

/// Everything described by [`document`].
#[derive(OpenApi)]
#[openapi(
    info(
        title = "Weir",
        description = "Watch, answer and stop agents. Times are milliseconds since 1970. Errors are problem details \
            (RFC 9457); `code` tells them apart.",
    ),
    paths(
        sessions::create, sessions::list, sessions::show, sessions::change, sessions::delete, sessions::fork,
        keys::show, keys::send, messages::send, messages::list, messages::cancel, messages::files,
        control::interrupt, control::stop, control::stop_task, control::resume, control::set_model,
        control::set_permission_mode, asks::permission, asks::preview, asks::question, asks::elicitation,
        client_tools::offer, client_tools::list, client_tools::give,
        history::transcript, history::log, history::export, history::diff, history::tool_output,
        history::tool_image, history::message_image,
        folders::show, folders::trust, folders::distrust,
        events::session, events::all,
        tokens::me, tokens::share, tokens::list, tokens::create, tokens::revoke, tokens::audit,
        health::healthz, health::readyz, health::metrics,
        openai::models, openai::model, openai::chat, openai::responses,
    ),
    components(schemas(
        Details,
        openai::described::OpenAiProblem,
        openai::described::ToolsOption,
        weir_transcript::AgentEvent,
        weir_transcript::ClassicEvent,
        types::MessageEventFormat,
        weir_host::MessageOutcome,
        types::EventFormat,
        types::ExportFormat,
        weir_host::HelloEvent,
        weir_host::MessageState,
        weir_host::SessionStatus,
        weir_host::SnapshotEvent,
        weir_host::ChangesEvent,
        weir_host::MessagesEvent,
        weir_host::HeartbeatEvent,
        types::ByeEvent,
        types::SessionsEvent,
        types::RemovedEvent,
    )),
    tags(
        (name = "sessions", description = "Sessions"),
        (name = "messages", description = "Messages to the agent"),
        (name = "answers", description = "Decisions and answers of people"),
        (name = "client tools", description = "Client tools that the agent calls"),
        (name = "control", description = "Immediate control of a session"),
        (name = "folders", description = "Trust in folders"),
        (name = "events", description = "Streams of server-sent events"),
        (name = "history", description = "Transcript, log and exports"),
        (name = "tokens", description = "Tokens, share links and the audit log"),
        (name = "health", description = "Health and metrics"),
        (name = "openai", description = "For clients of OpenAI's API"),
    ),
)]
struct Document;

/// The OpenAPI document, as derived.
pub(crate) fn document() -> utoipa::openapi::OpenApi {
    Document::openapi()
}
