//! Makes sure that the CLI gets an answer even if a server panics.

use std::borrow::Cow;
use std::sync::Arc;

use rmcp::model::{
    ClientNotification, ClientRequest, ErrorData, ProtocolVersion, ServerConfig, ServerResult,
};
use rmcp::service::{NotificationContext, RequestContext};
use rmcp::{RoleServer, ServerHandler, Service};
use tokio::task::JoinSet;

/// A server whose requests each run in their own task: a panic becomes an error instead of silence.
pub(super) struct Guarded<S>(pub(super) Arc<S>);

impl<S: ServerHandler> Service<RoleServer> for Guarded<S> {
    async fn handle_request(
        &self,
        request: ClientRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<ServerResult, ErrorData> {
        let server = Arc::clone(&self.0);
        // In a set, so that the task is aborted if the answer is no longer wanted.
        let mut task = JoinSet::new();
        task.spawn(async move { server.handle_request(request, context).await });
        match task.join_next().await {
            Some(Ok(answer)) => answer,
            _ => Err(ErrorData::internal_error("the MCP server panicked while handling this request", None)),
        }
    }

    async fn handle_notification(
        &self,
        notification: ClientNotification,
        context: NotificationContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.0.handle_notification(notification, context).await
    }

    fn get_info(&self) -> ServerConfig {
        Service::get_info(&*self.0)
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Service::supported_protocol_versions(&*self.0)
    }
}
