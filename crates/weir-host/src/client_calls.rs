//! Calls of a client's tools: from the CLI to the viewers of the session, and the answer back.
//!
//! The CLI sees the tools as those of an MCP server in our own process. Each call becomes a request of the session, in its
//! log and in every stream, and waits for [`crate::Host::answer_tool_call`].

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{RoleServer, ServerHandler};
use serde_json::Value;
use tokio::sync::oneshot;
use uuid::Uuid;
use weir_store::SessionUpdate;
use weir_transcript::{HostEvent, RequestAnswer};
use weir_wire::{RequestId, ToolUseId};

use crate::client_tools::{ClientTools, ToolAnswer, ToolContent};
use crate::error::HostError;
use crate::item::Item;
use crate::live_session::LiveSession;

/// Name of the MCP server for client tools.
pub(crate) const SERVER: &str = "client";
/// Key of the metadata in which the CLI sends the id of the call.
const CALL_ID: &str = "claudecode/toolUseId";

/// Calls that wait for a client's answer.
#[derive(Debug, Default)]
pub(crate) struct ClientCalls(Mutex<HashMap<RequestId, oneshot::Sender<ToolAnswer>>>);

impl ClientCalls {
    fn lock(&self) -> MutexGuard<'_, HashMap<RequestId, oneshot::Sender<ToolAnswer>>> {
        // No statement under the lock can panic half way.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn open(&self, request: &RequestId) -> oneshot::Receiver<ToolAnswer> {
        let (sender, receiver) = oneshot::channel();
        self.lock().insert(request.clone(), sender);
        receiver
    }

    /// Takes a waiting call. The caller must answer it.
    pub(crate) fn take(&self, request: &RequestId) -> Option<oneshot::Sender<ToolAnswer>> {
        self.lock().remove(request)
    }
}

/// The MCP server for the tools of a session's client.
#[derive(Clone)]
pub(crate) struct ClientToolServer {
    tools: Arc<ClientTools>,
    /// Weak: a server must not keep its session in memory.
    live: Weak<LiveSession>,
}

impl ClientToolServer {
    pub(crate) fn new(tools: ClientTools, live: &Arc<LiveSession>) -> Self {
        Self { tools: Arc::new(tools), live: Arc::downgrade(live) }
    }

    async fn call(
        &self,
        params: CallToolRequestParams,
        tool_use_id: Option<ToolUseId>,
    ) -> Result<ToolAnswer, HostError> {
        let live = self.live.upgrade().ok_or_else(crate::recorder::gone)?;
        let request = RequestId::new(Uuid::new_v4().to_string());
        let mut answer = live.calls.open(&request);
        let mut waiting = Waiting { live: Arc::clone(&live), request: Some(request.clone()) };
        let called = HostEvent::ToolCalled {
            request: request.clone(),
            tool_use_id,
            name: params.name.into_owned(),
            input: Value::Object(params.arguments.unwrap_or_default()),
        };
        live.recorder.recorded(vec![Item::Host(called)], SessionUpdate::default()).await?;
        let in_time = tokio::time::timeout(self.tools.timeout(), &mut answer).await;
        // If it is no longer waiting, it is being answered at this moment.
        let is_expired = in_time.is_err() && live.calls.take(&request).is_some();
        waiting.request = None;
        let answered = match in_time {
            Ok(answered) => answered.ok(),
            Err(_) if is_expired => None,
            Err(_) => answer.await.ok(),
        };
        if let Some(answer) = answered {
            return Ok(answer);
        }
        if is_expired {
            let expired = HostEvent::RequestAnswered { request, answer: RequestAnswer::Expired, by: None };
            let _ = live.recorder.recorded(vec![Item::Host(expired)], SessionUpdate::default()).await;
        }
        Ok(ToolAnswer { content: vec![ToolContent::Text { text: self.no_answer() }], is_error: true })
    }

    /// The result for the model if no client has answered.
    fn no_answer(&self) -> String {
        let seconds = self.tools.timeout().as_secs();
        format!(
            "The client that offers this tool did not answer within {seconds} s. It may not be connected. Continue \
             without the tool, or say that it is not available."
        )
    }
}

/// A waiting call. If the CLI cancels it, the request is withdrawn.
struct Waiting {
    live: Arc<LiveSession>,
    request: Option<RequestId>,
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let Some(request) = self.request.take() else { return };
        if self.live.calls.take(&request).is_some() {
            let withdrawn = HostEvent::RequestWithdrawn { request };
            // The write happens even if its reply is dropped.
            drop(self.live.recorder.record(vec![Item::Host(withdrawn)], SessionUpdate::default()));
        }
    }
}

impl ServerHandler for ClientToolServer {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tool = |tool: &crate::client_tools::ClientTool| {
            Tool::new(tool.name.clone(), tool.description.clone(), tool.input_schema.clone())
        };
        Ok(ListToolsResult::with_all_items(self.tools.tools.iter().map(tool).collect()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if !self.tools.tools.iter().any(|tool| tool.name == request.name) {
            return Err(ErrorData::invalid_params(format!("no tool named {}", request.name), None));
        }
        let tool_use_id = context.meta.get(CALL_ID).and_then(Value::as_str).map(ToolUseId::from);
        let answered = tokio::select! {
            answered = self.call(request, tool_use_id) => answered,
            () = context.ct.cancelled() => return Err(ErrorData::internal_error("the call was cancelled", None)),
        };
        let ToolAnswer { content, is_error } =
            answered.map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
        let content = content.into_iter().map(|part| match part {
            ToolContent::Text { text } => ContentBlock::text(text),
            ToolContent::Image { media_type, data } => ContentBlock::image(data, media_type),
        });
        let content = content.collect();
        let result = if is_error { CallToolResult::error(content) } else { CallToolResult::success(content) };
        Ok(result.into())
    }
}
