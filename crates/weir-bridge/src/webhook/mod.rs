//! Signed JSON in and out, for chat networks without a channel of their own.
//!
//! Both directions are signed: `X-Weir-Signature: v1=HEX` is the HMAC-SHA256 of `TIMESTAMP.BODY` under the shared
//! secret, and `X-Weir-Timestamp` is that timestamp, in seconds since 1970. Requests older than five minutes are
//! refused, and requests with the same `id` are the same delivery.

mod incoming;
mod listen;
mod outgoing;
mod server;
mod signature;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use crate::channel::{BoxFuture, Capabilities, Channel, Inlet, MessageRef, Operation, OperationError};
use crate::config::{Secret, check_address};
use crate::error::BridgeError;
use crate::markup::Markup;

pub use signature::{HEADER_SIGNATURE, HEADER_TIMESTAMP, sign};

/// Maximum size of a picture. Base64 makes it a third longer.
const MAX_PICTURE_BYTES: u64 = 10 << 20;

/// Options of a webhook.
#[derive(Debug, Clone)]
pub struct WebhookOptions {
    /// Address to listen on. If other machines can reach it, put a proxy with TLS in front of it.
    pub listen: SocketAddr,
    /// URL to send to. Must be `https`, or `http` on this machine, without credentials.
    pub url: String,
    /// The shared secret.
    pub secret: Secret,
    /// Whether the other side can edit messages.
    pub edits: bool,
    /// Maximum message length in characters.
    pub longest: usize,
}

/// The webhook channel.
#[derive(Debug)]
pub struct WebhookChannel {
    options: WebhookOptions,
    client: reqwest::Client,
}

impl WebhookChannel {
    /// A channel with these options.
    pub fn new(options: WebhookOptions) -> Result<Self, BridgeError> {
        check_address("webhook.url", &options.url)?;
        Ok(Self { options, client: crate::http::client(Duration::from_secs(30))? })
    }
}

impl Channel for WebhookChannel {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            markup: Markup::Plain,
            longest: self.options.longest,
            edits: self.options.edits,
            deletes: self.options.edits,
            typing: false,
            buttons: true,
            reactions: false,
            files: true,
            largest_picture: Some(MAX_PICTURE_BYTES),
            posts_once: true,
            edit_interval_ms: 1_000,
        }
    }

    fn run(self: Arc<Self>, inlet: Inlet) -> BoxFuture<'static, Result<(), BridgeError>> {
        Box::pin(async move {
            let listener = tokio::net::TcpListener::bind(self.options.listen).await.map_err(|error| {
                BridgeError::Channel {
                    channel: inlet.channel().to_string(),
                    reason: format!(
                        "cannot listen on {}: {error}; choose another webhook.listen",
                        self.options.listen
                    ),
                }
            })?;
            inlet.connected(true);
            server::serve(listener, inlet, self.options.secret.clone()).await;
            Ok(())
        })
    }

    fn perform(&self, operation: Operation) -> BoxFuture<'_, Result<Option<MessageRef>, OperationError>> {
        Box::pin(outgoing::perform(&self.client, &self.options, operation))
    }

    fn check(&self) -> BoxFuture<'_, Result<Vec<String>, BridgeError>> {
        Box::pin(async move {
            outgoing::ping(&self.client, &self.options).await.map_err(|error| BridgeError::Channel {
                channel: "webhook".to_owned(),
                reason: format!("{} does not answer a ping: {error}", self.options.url),
            })?;
            Ok(vec![format!("{} answers", self.options.url)])
        })
    }
}
