//! The routes, and the role each one needs. The OpenAPI document is made from the same declarations.

use axum::extract::DefaultBodyLimit;
use axum::http::{Method, StatusCode, Uri};
use axum::response::{IntoResponse as _, Redirect, Response};
use axum::routing::{any, get};
use axum::{Router, middleware};
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::compression::CompressionLayer;
use utoipa::openapi::OpenApi;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::{
    asks, client_tools, control, costs, events, folders, health, history, keys, loops, messages, panels,
    past, reviews, rewind, sessions, tokens, viewing, worktrees,
};
use crate::auth::Role;
use crate::docs;
use crate::editors;
use crate::guard::{authenticate, check_origin, limit_time, observe, require};
use crate::openai;
use crate::page;
use crate::problem::Problem;
use crate::state::App;

/// The whole server as a service.
pub fn app(app: App) -> Router {
    let base = app.settings().base_path.clone();
    let page = get(page::file).layer(CompressionLayer::new());
    let mut routes = open(&app).merge(openai::in_openai_shape(openai().guarded(&app)));
    routes = routes.merge(remote_editors().guarded(&app));
    for group in groups() {
        routes = routes.merge(group.guarded(&app));
    }
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

/// The OpenAPI document: this general part, and every route that has an address of its own.
pub(crate) fn document(general: OpenApi) -> OpenApi {
    let mut routes = OpenApiRouter::with_openapi(general).merge(health()).merge(openai().routes);
    for group in groups() {
        routes = routes.merge(group.routes);
    }
    routes.into_openapi()
}

/// The paths of the API, without those of the OpenAI-compatible front.
pub(crate) fn own_paths() -> Vec<String> {
    groups().into_iter().flat_map(|group| group.routes.into_openapi().paths.paths.into_keys()).collect()
}

/// Routes without authentication.
fn open(app: &App) -> Router<App> {
    let pages = Router::new()
        .route("/{*file}", get(page::file))
        .route("/docs", get(docs::page))
        .route("/openapi.json", get(docs::json))
        .layer(CompressionLayer::new());
    Router::from(health())
        .merge(pages)
        .layer(middleware::from_fn_with_state(app.settings().limits.time, limit_time))
}

fn health() -> OpenApiRouter<App> {
    OpenApiRouter::default().routes(routes!(health::healthz)).routes(routes!(health::readyz))
}

/// Routes with the same rules. All of them need a token.
struct Group {
    /// What the token must allow.
    role: Role,
    time: TimeLimit,
    /// Whether bodies may be as large as a message with pictures.
    takes_messages: bool,
    is_compressed: bool,
    routes: OpenApiRouter<App>,
}

/// How long a request may take.
enum TimeLimit {
    Usual,
    /// As long as it takes to stop a process.
    Stop,
    /// As long as there are events, or as the work takes.
    None,
}

impl Group {
    fn new(role: Role, routes: OpenApiRouter<App>) -> Self {
        Self { role, time: TimeLimit::Usual, takes_messages: false, is_compressed: false, routes }
    }

    /// The routes behind everything that a request has to pass.
    fn guarded(self, app: &App) -> Router<App> {
        let limits = &app.settings().limits;
        let mut routes = Router::from(self.routes);
        if self.is_compressed {
            routes = routes.layer(CompressionLayer::new());
        }
        let time = match self.time {
            TimeLimit::Usual => Some(limits.time),
            TimeLimit::Stop => Some(limits.stop_time),
            TimeLimit::None => None,
        };
        if let Some(time) = time {
            routes = routes.layer(middleware::from_fn_with_state(time, limit_time));
        }
        let max_bytes = if self.takes_messages { limits.message_bytes } else { limits.body_bytes };
        routes
            .layer(DefaultBodyLimit::max(max_bytes))
            .route_layer(middleware::from_fn_with_state(self.role, require))
            .route_layer(middleware::from_fn_with_state(app.clone(), authenticate))
    }
}

/// Who may use which route.
fn groups() -> [Group; 9] {
    [
        Group { time: TimeLimit::None, ..Group::new(Role::Viewer, streams()) },
        Group { is_compressed: true, ..Group::new(Role::Viewer, viewer()) },
        Group { time: TimeLimit::Stop, ..Group::new(Role::Approver, stop()) },
        Group::new(Role::Approver, approver()),
        Group { takes_messages: true, ..Group::new(Role::Driver, send()) },
        Group::new(Role::Driver, driver()),
        Group { time: TimeLimit::None, is_compressed: true, ..Group::new(Role::Driver, git()) },
        Group { time: TimeLimit::None, takes_messages: true, ..Group::new(Role::Driver, long()) },
        Group::new(Role::Admin, admin()),
    ]
}

/// The OpenAI-compatible front.
fn openai() -> Group {
    Group { time: TimeLimit::None, takes_messages: true, ..Group::new(Role::Driver, openai::routes()) }
}

/// The remote transport of editors, which is not in the document: the Agent Client Protocol describes it. What a call
/// needs depends on its method, and the agent decides it.
fn remote_editors() -> Group {
    let routes = OpenApiRouter::default().route(weir_acp::Remote::PATH, any(editors::answer));
    Group { time: TimeLimit::None, takes_messages: true, ..Group::new(Role::Viewer, routes) }
}

fn streams() -> OpenApiRouter<App> {
    OpenApiRouter::default().routes(routes!(events::all)).routes(routes!(events::session))
}

fn viewer() -> OpenApiRouter<App> {
    OpenApiRouter::default()
        .routes(routes!(tokens::me))
        .routes(routes!(sessions::list))
        .routes(routes!(history::search))
        .routes(routes!(sessions::show))
        .routes(routes!(keys::show))
        .routes(routes!(messages::list))
        .routes(routes!(history::transcript))
        .routes(routes!(history::log))
        .routes(routes!(history::export))
        .routes(routes!(history::diff))
        .routes(routes!(history::tool_output))
        .routes(routes!(history::tool_image))
        .routes(routes!(history::message_image))
        .routes(routes!(costs::costs))
        .routes(routes!(panels::context))
        .routes(routes!(panels::task_tail))
        .routes(routes!(history::message_document))
        .routes(routes!(loops::loop_show))
        .routes(routes!(loops::loop_tasks))
        .routes(routes!(loops::loop_report))
}

fn stop() -> OpenApiRouter<App> {
    OpenApiRouter::default().routes(routes!(control::stop))
}

fn approver() -> OpenApiRouter<App> {
    OpenApiRouter::default()
        .routes(routes!(control::interrupt))
        .routes(routes!(control::stop_task))
        .routes(routes!(asks::permission))
        .routes(routes!(asks::preview))
        .routes(routes!(asks::question))
        .routes(routes!(asks::elicitation))
        .routes(routes!(loops::loop_answer))
}

fn send() -> OpenApiRouter<App> {
    OpenApiRouter::default()
        .routes(routes!(messages::send))
        .routes(routes!(messages::change_message))
        .routes(routes!(keys::send))
        .routes(routes!(client_tools::give))
}

fn driver() -> OpenApiRouter<App> {
    OpenApiRouter::default()
        .routes(routes!(sessions::create))
        .routes(routes!(sessions::change, sessions::delete))
        .routes(routes!(sessions::fork))
        .routes(routes!(messages::cancel))
        .routes(routes!(messages::files))
        .routes(routes!(control::resume))
        .routes(routes!(control::set_model))
        .routes(routes!(control::set_effort))
        .routes(routes!(control::set_permission_mode))
        .routes(routes!(client_tools::offer))
        .routes(routes!(client_tools::list))
        .routes(routes!(tokens::share))
        .routes(routes!(folders::show))
        .routes(routes!(health::cli))
        .routes(routes!(past::past_list))
        .routes(routes!(past::past_adopt))
        .routes(routes!(folders::trust, folders::distrust))
        .routes(routes!(folders::browse))
        .routes(routes!(worktrees::worktrees))
        .routes(routes!(viewing::file_tree))
        .routes(routes!(viewing::file_view))
        .routes(routes!(viewing::file_raw))
        .routes(routes!(panels::mcp_servers))
        .routes(routes!(panels::mcp_switch))
        .routes(routes!(panels::mcp_reconnect))
        .routes(routes!(panels::mcp_login))
        .routes(routes!(panels::account))
        .routes(routes!(panels::extensions))
        .routes(routes!(panels::rules))
        .routes(routes!(panels::remove_rule))
        .routes(routes!(loops::loop_pause))
        .routes(routes!(loops::loop_skip))
        .routes(routes!(loops::loop_retry))
}

/// Work with git takes as long as the repository is large.
fn git() -> OpenApiRouter<App> {
    OpenApiRouter::default()
        .routes(routes!(worktrees::add_worktree, worktrees::remove_worktree))
        .routes(routes!(reviews::review))
        .routes(routes!(reviews::review_file))
        .routes(routes!(reviews::revert))
        .routes(routes!(reviews::stage))
        .routes(routes!(reviews::commit))
}

/// Work that may start a process or read a whole log.
fn long() -> OpenApiRouter<App> {
    OpenApiRouter::default().routes(routes!(rewind::rewind)).routes(routes!(rewind::branch))
}

fn admin() -> OpenApiRouter<App> {
    OpenApiRouter::default()
        .routes(routes!(health::metrics))
        .routes(routes!(tokens::list, tokens::create))
        .routes(routes!(tokens::revoke))
        .routes(routes!(tokens::audit))
        .routes(routes!(panels::mcp_set))
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
