//! Client tools: offered to the agent, called by it, answered by the client.

use axum::Extension;
use axum::extract::State;
use weir_host::{ClientTools, SessionInfo, ToolAnswer};
use weir_transcript::{Request, RequestKind};
use weir_wire::RequestId;

use super::answer::{self, Answer};
use super::errors::session_id;
use super::types::{Answered, ClientToolCall, ToolCallList};
use crate::auth::Principal;
use crate::extract::{Json, Path};
use crate::problem::Details;
use crate::state::App;

/// Replaces the client tools offered to the agent, from its next turn on.
#[utoipa::path(put, path = "/v1/sessions/{id}/client-tools", tag = "client tools",
    params(("id" = String, Path, description = "The session.")), request_body = ClientTools,
    responses((status = 200, description = "The session.", body = SessionInfo)))]
pub(crate) async fn offer(
    State(app): State<App>,
    Extension(who): Extension<Principal>,
    Path(id): Path<String>,
    Json(tools): Json<ClientTools>,
) -> Answer<SessionInfo> {
    answer::ok(app.host().set_client_tools(&session_id(&id)?, tools, &who.actor()).await?)
}

/// Lists the calls that wait for an answer of the client.
#[utoipa::path(get, path = "/v1/sessions/{id}/tool-calls", tag = "client tools",
    params(("id" = String, Path, description = "The session.")),
    responses((status = 200, description = "The calls.", body = ToolCallList)))]
pub(crate) async fn list(State(app): State<App>, Path(id): Path<String>) -> Answer<ToolCallList> {
    let open = app.host().open_requests(&session_id(&id)?).await?;
    answer::ok(ToolCallList { calls: open.into_iter().filter_map(call).collect() })
}

fn call(request: Request) -> Option<ClientToolCall> {
    match request.kind {
        RequestKind::ClientTool { name, input } => Some(ClientToolCall {
            request_id: request.id.to_string(),
            tool_use_id: request.tool.map(|id| id.to_string()),
            name,
            input,
        }),
        _ => None,
    }
}

/// Answers a call of a client tool. The first answer counts.
#[utoipa::path(post, path = "/v1/sessions/{id}/tool-calls/{request_id}", tag = "client tools",
    params(("id" = String, Path, description = "The session."), ("request_id" = String, Path, description = "The call.")),
    request_body = ToolAnswer, responses(
        (status = 200, description = "The answer was accepted.", body = Answered),
        (status = 404, description = "No such call is waiting: it was answered long ago, cancelled, or timed out.", body = Details, content_type = "application/problem+json"),
        (status = 409, description = "The call was already answered.", body = Details, content_type = "application/problem+json"),
    ))]
pub(crate) async fn give(
    State(app): State<App>,
    Extension(who): Extension<Principal>,
    Path((id, request)): Path<(String, String)>,
    Json(answer): Json<ToolAnswer>,
) -> Answer<Answered> {
    let request = RequestId::from(request.as_str());
    app.host().answer_tool_call(&session_id(&id)?, &request, answer, &who.actor()).await?;
    answer::ok(Answered { request_id: request.to_string(), answered_by: who.name.clone() })
}
