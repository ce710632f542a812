//! What a session's CLI says about itself: MCP servers, background tasks, rules, hooks, usage. Most of it needs a running
//! process; without one the answer is 409 `not_running`.

use axum::Extension;
use axum::extract::State;
use weir_host::{
    AccountUsage, ContextReport, ExtensionList, McpLogin, McpServers, RemoveRule, RuleList, SessionInfo,
    TaskOutputTail,
};
use weir_wire::TaskId;

use super::answer::{self, Answer};
use super::errors::session_id;
use super::types::{SetMcpServers, SwitchMcpServer};
use crate::auth::Principal;
use crate::extract::{Json, Path};
use crate::state::App;

/// The MCP servers of a session.
#[utoipa::path(get, path = "/v1/sessions/{id}/mcp", tag = "panels", params(("id" = String, Path, description = "The session.")),
    responses((status = 200, description = "The servers.", body = McpServers)))]
pub(crate) async fn mcp_servers(State(app): State<App>, Path(id): Path<String>) -> Answer<McpServers> {
    answer::ok(app.host().mcp_servers(&session_id(&id)?).await?)
}

/// Replaces the MCP servers that were added for the running process before. A server may be any program, so only an admin
/// may do this; servers of the settings stay.
#[utoipa::path(put, path = "/v1/sessions/{id}/mcp", tag = "panels", params(("id" = String, Path, description = "The session.")),
    request_body = SetMcpServers, responses((status = 200, description = "The servers.", body = McpServers)))]
pub(crate) async fn mcp_set(
    State(app): State<App>,
    Extension(who): Extension<Principal>,
    Path(id): Path<String>,
    Json(body): Json<SetMcpServers>,
) -> Answer<McpServers> {
    answer::ok(app.host().set_mcp_servers(&session_id(&id)?, body.read()?, &who.actor()).await?)
}

/// Connects to an MCP server again.
#[utoipa::path(post, path = "/v1/sessions/{id}/mcp/{server}/reconnect", tag = "panels",
    params(("id" = String, Path, description = "The session."), ("server" = String, Path, description = "The server's name, percent-encoded.")),
    responses((status = 200, description = "The servers.", body = McpServers),
        (status = 422, description = "No server can have this name.", body = crate::problem::Details, content_type = "application/problem+json")))]
pub(crate) async fn mcp_reconnect(
    State(app): State<App>,
    Extension(who): Extension<Principal>,
    Path((id, server)): Path<(String, String)>,
) -> Answer<McpServers> {
    answer::ok(app.host().reconnect_mcp_server(&session_id(&id)?, &server, &who.actor()).await?)
}

/// Begins the login to an MCP server. A person continues on the page that is named.
#[utoipa::path(post, path = "/v1/sessions/{id}/mcp/{server}/login", tag = "panels",
    params(("id" = String, Path, description = "The session."), ("server" = String, Path, description = "The server's name, percent-encoded.")),
    responses((status = 200, description = "Where to log in.", body = McpLogin),
        (status = 422, description = "No server can have this name.", body = crate::problem::Details, content_type = "application/problem+json")))]
pub(crate) async fn mcp_login(
    State(app): State<App>,
    Extension(who): Extension<Principal>,
    Path((id, server)): Path<(String, String)>,
) -> Answer<McpLogin> {
    answer::ok(app.host().log_in_to_mcp_server(&session_id(&id)?, &server, &who.actor()).await?)
}

/// Switches an MCP server on or off, until the process ends.
#[utoipa::path(put, path = "/v1/sessions/{id}/mcp/{server}", tag = "panels",
    params(("id" = String, Path, description = "The session."), ("server" = String, Path, description = "The server's name, percent-encoded.")),
    request_body = SwitchMcpServer, responses((status = 200, description = "The servers.", body = McpServers)))]
pub(crate) async fn mcp_switch(
    State(app): State<App>,
    Extension(who): Extension<Principal>,
    Path((id, server)): Path<(String, String)>,
    Json(body): Json<SwitchMcpServer>,
) -> Answer<McpServers> {
    let id = session_id(&id)?;
    answer::ok(app.host().toggle_mcp_server(&id, &server, body.enabled, &who.actor()).await?)
}

/// The end of the output of a background task.
#[utoipa::path(get, path = "/v1/sessions/{id}/tasks/{task_id}/output", tag = "panels",
    params(("id" = String, Path, description = "The session."), ("task_id" = String, Path, description = "The task's id in the view.")),
    responses((status = 200, description = "The end of the output.", body = TaskOutputTail)))]
pub(crate) async fn task_tail(
    State(app): State<App>,
    Path((id, task)): Path<(String, String)>,
) -> Answer<TaskOutputTail> {
    answer::ok(app.host().task_output(&session_id(&id)?, &TaskId::new(task.as_str())).await?)
}

/// What fills the context window.
#[utoipa::path(get, path = "/v1/sessions/{id}/context", tag = "panels", params(("id" = String, Path, description = "The session.")),
    responses((status = 200, description = "The context window.", body = ContextReport)))]
pub(crate) async fn context(State(app): State<App>, Path(id): Path<String>) -> Answer<ContextReport> {
    answer::ok(app.host().context(&session_id(&id)?).await?)
}

/// How much of the account's limits is used, and when they start over.
#[utoipa::path(get, path = "/v1/sessions/{id}/account", tag = "panels", params(("id" = String, Path, description = "The session.")),
    responses((status = 200, description = "The account's limits.", body = AccountUsage)))]
pub(crate) async fn account(State(app): State<App>, Path(id): Path<String>) -> Answer<AccountUsage> {
    answer::ok(app.host().account_usage(&session_id(&id)?).await?)
}

/// The hooks, skills and plugins that are on.
#[utoipa::path(get, path = "/v1/sessions/{id}/extensions", tag = "panels", params(("id" = String, Path, description = "The session.")),
    responses((status = 200, description = "Hooks, skills and plugins.", body = ExtensionList)))]
pub(crate) async fn extensions(State(app): State<App>, Path(id): Path<String>) -> Answer<ExtensionList> {
    answer::ok(app.host().extensions(&session_id(&id)?).await?)
}

/// The permission rules that apply to a session.
#[utoipa::path(get, path = "/v1/sessions/{id}/rules", tag = "panels", params(("id" = String, Path, description = "The session.")),
    responses((status = 200, description = "The rules.", body = RuleList)))]
pub(crate) async fn rules(State(app): State<App>, Path(id): Path<String>) -> Answer<RuleList> {
    answer::ok(app.host().rules(&session_id(&id)?).await?)
}

/// Removes a permission rule that was made for this session. The process is replaced as soon as nothing runs in it, and
/// with it end all rules that were allowed "for this session".
#[utoipa::path(post, path = "/v1/sessions/{id}/rules/remove", tag = "panels", params(("id" = String, Path, description = "The session.")),
    request_body = RemoveRule, responses((status = 200, description = "The session.", body = SessionInfo)))]
pub(crate) async fn remove_rule(
    State(app): State<App>,
    Extension(who): Extension<Principal>,
    Path(id): Path<String>,
    Json(body): Json<RemoveRule>,
) -> Answer<SessionInfo> {
    answer::ok(app.host().remove_rule(&session_id(&id)?, &body, &who.actor()).await?)
}
