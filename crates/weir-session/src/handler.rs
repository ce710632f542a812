//! Handlers, which decide the CLI's requests.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use serde_json::Value;
use tokio::sync::{mpsc, oneshot};

use weir_transcript::{PermissionRequest, RequestKind};

use crate::ask::{Ask, Decision};

/// A decision in progress.
pub type Deciding<'a> = Pin<Box<dyn Future<Output = Decision> + Send + 'a>>;

/// Decides requests of the CLI: permissions, questions, hooks, messages for MCP servers.
///
/// It is called in its own task, so it may take its time while the session continues. If it panics, or the time
/// limit for answers passes, the request is denied. If the CLI withdraws the request, the future is dropped.
///
/// Functions are handlers too:
///
/// ```
/// use weir_session::{Ask, Decision, Handler};
///
/// fn takes(_: impl Handler) {}
/// takes(|ask: Ask| async move {
///     match ask {
///         Ask::Request(request) if request.kind.tool_name() == Some("Read") => Decision::allow(),
///         _ => Decision::deny("only reading is allowed"),
///     }
/// });
/// ```
pub trait Handler: Send + Sync + 'static {
    /// Decides a request.
    fn decide(&self, ask: Ask) -> Deciding<'_>;
}

impl<F, D> Handler for F
where
    F: Fn(Ask) -> D + Send + Sync + 'static,
    D: Future<Output = Decision> + Send + 'static,
{
    fn decide(&self, ask: Ask) -> Deciding<'_> {
        Box::pin(self(ask))
    }
}

impl Handler for Arc<dyn Handler> {
    fn decide(&self, ask: Ask) -> Deciding<'_> {
        (**self).decide(ask)
    }
}

/// Denies everything.
#[derive(Debug, Clone, Copy, Default)]
pub struct DenyAll;

impl Handler for DenyAll {
    fn decide(&self, ask: Ask) -> Deciding<'_> {
        Box::pin(std::future::ready(denied(&ask)))
    }
}

/// Leaves everything to callers of `Session::answer`.
#[derive(Debug, Clone, Copy, Default)]
pub struct LeaveOpen;

impl Handler for LeaveOpen {
    fn decide(&self, ask: Ask) -> Deciding<'_> {
        let decision = if ask.is_for_a_person() { Decision::LeaveOpen } else { denied(&ask) };
        Box::pin(std::future::ready(decision))
    }
}

/// Allows some tools by name, wherever they act, and leaves the rest to another handler, including plans and requests
/// that the CLI wants a person to decide.
#[derive(Debug, Clone)]
pub struct AllowTools<H = DenyAll> {
    tools: Vec<String>,
    otherwise: H,
}

impl AllowTools {
    /// Allows these tools and denies the rest.
    pub fn new<T: Into<String>>(tools: impl IntoIterator<Item = T>) -> Self {
        Self { tools: tools.into_iter().map(Into::into).collect(), otherwise: DenyAll }
    }
}

impl<H> AllowTools<H> {
    /// Leaves the rest to this handler.
    pub fn or<N: Handler>(self, otherwise: N) -> AllowTools<N> {
        AllowTools { tools: self.tools, otherwise }
    }
}

impl<H: Handler> Handler for AllowTools<H> {
    fn decide(&self, ask: Ask) -> Deciding<'_> {
        match ask.kind() {
            Some(RequestKind::Permission(PermissionRequest {
                tool_name,
                blocked_path: None,
                context,
                ..
            })) if !context.needs_a_person() && self.tools.iter().any(|tool| tool == tool_name) => {
                Box::pin(std::future::ready(Decision::allow()))
            }
            _ => self.otherwise.decide(ask),
        }
    }
}

/// Passes requests on through a channel.
#[derive(Debug, Clone)]
pub struct AskChannel {
    sender: mpsc::Sender<OpenQuestion>,
}

/// A request that waits for [`OpenQuestion::answer`]. Dropping it denies.
#[derive(Debug)]
pub struct OpenQuestion {
    /// The request.
    pub ask: Ask,
    reply: oneshot::Sender<Decision>,
}

impl OpenQuestion {
    /// Answers. `false` if the CLI no longer waits for the answer.
    pub fn answer(self, decision: Decision) -> bool {
        self.reply.send(decision).is_ok()
    }

    /// Waits until the answer is no longer wanted. Cancel safe.
    pub async fn withdrawn(&mut self) {
        self.reply.closed().await;
    }
}

impl AskChannel {
    /// Creates a handler and the receiver of its requests.
    pub fn new() -> (Self, mpsc::Receiver<OpenQuestion>) {
        let (sender, receiver) = mpsc::channel(16);
        (Self { sender }, receiver)
    }
}

impl Handler for AskChannel {
    fn decide(&self, ask: Ask) -> Deciding<'_> {
        Box::pin(async move {
            let fallback = denied(&ask);
            let (reply, decision) = oneshot::channel();
            if self.sender.send(OpenQuestion { ask, reply }).await.is_err() {
                return fallback;
            }
            decision.await.unwrap_or(fallback)
        })
    }
}

/// The answer if there is no one to give one.
pub(crate) fn denied(ask: &Ask) -> Decision {
    match ask {
        Ask::Request(request) => match (&request.kind, request.kind.tool_name()) {
            (RequestKind::Question { .. }, _) => {
                Decision::deny("No one is available to answer. Continue with what you know.")
            }
            (_, Some(tool)) => {
                Decision::deny(format!("{tool} is not allowed here, and no one is available to ask."))
            }
            (_, None) => Decision::deny("declined"),
        },
        // A hook without an opinion.
        Ask::Hook(_) => Decision::Value(Value::Object(serde_json::Map::new())),
        Ask::Mcp(ask) => Decision::Error(format!("no MCP server {} here", ask.server)),
        Ask::Dialog(_) => Decision::deny("No one is available to see it."),
    }
}
