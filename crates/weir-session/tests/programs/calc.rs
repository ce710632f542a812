//! A small MCP server for the tests.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rmcp::handler::server::wrapper::Parameters;
use rmcp::model::{ErrorData, ProgressNotificationParam};
use rmcp::schemars::{self, JsonSchema};
use rmcp::service::RequestContext;
use rmcp::{RoleServer, tool, tool_router};
use serde::Deserialize;
use tokio::sync::mpsc;

/// A server with tools that add, wait, fail and report.
#[derive(Clone)]
pub(crate) struct Calc {
    events: mpsc::UnboundedSender<&'static str>,
}

#[derive(Deserialize, JsonSchema)]
struct Pair {
    a: f64,
    b: f64,
}

#[tool_router(server_handler)]
impl Calc {
    #[tool(description = "Adds two numbers.")]
    async fn add(&self, Parameters(Pair { a, b }): Parameters<Pair>) -> String {
        (a + b).to_string()
    }

    #[tool(description = "Waits until it is cancelled.")]
    async fn wait(&self, context: RequestContext<RoleServer>) -> String {
        self.events.send("waiting").unwrap();
        context.ct.cancelled().await;
        self.events.send("cancelled").unwrap();
        "never seen".to_owned()
    }

    #[tool(description = "Panics.")]
    async fn panic(&self) -> String {
        panic!("on purpose, in a test")
    }

    #[tool(description = "Refuses.")]
    async fn refuse(&self) -> Result<String, ErrorData> {
        Err(ErrorData::invalid_params("not with these numbers", None))
    }

    #[tool(description = "Reports how far it is.")]
    async fn report(&self, context: RequestContext<RoleServer>) -> String {
        if let Some(token) = context.meta.get_progress_token() {
            let half = ProgressNotificationParam::new(token, 0.5).with_total(1.0);
            context.peer.notify_progress(half).await.unwrap();
        }
        context.peer.notify_tool_list_changed().await.unwrap();
        "reported".to_owned()
    }
}

/// A factory of servers, the events that they report, and how many were created.
pub(crate) fn calc() -> (
    impl Fn() -> Calc + Clone + Send + Sync + 'static,
    mpsc::UnboundedReceiver<&'static str>,
    Arc<AtomicUsize>,
) {
    let (events, heard) = mpsc::unbounded_channel();
    let made = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&made);
    let make = move || {
        count.fetch_add(1, Ordering::SeqCst);
        Calc { events: events.clone() }
    };
    (make, heard, made)
}
