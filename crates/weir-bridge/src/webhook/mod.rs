//! Signed JSON in and out, for every chat that has no channel of its own.
//!
//! Both directions are signed: `X-Weir-Signature: v1=HEX` is the HMAC-SHA256 of `TIMESTAMP.BODY` under the shared
//! secret, and `X-Weir-Timestamp` is that timestamp, in seconds since 1970. What is older than five minutes is
//! refused, and the same `id` again is the same delivery.

mod incoming;
mod listen;
mod outgoing;
mod server;
mod signature;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use crate::channel::{Capabilities, Channel, Doing, Inlet, MessageRef, Operation, OperationError};
use crate::config::{Secret, check_address};
use crate::error::BridgeError;
use crate::markup::Markup;

pub use signature::{HEADER_SIGNATURE, HEADER_TIMESTAMP, sign};

/// A picture is sent as text that is a third longer.
const LARGEST_PICTURE: u64 = 10 << 20;

/// What a webhook works with.
#[derive(Debug, Clone)]
pub struct WebhookOptions {
    /// Where to listen. Put a proxy with TLS in front of it if it is not for this machine alone.
    pub listen: SocketAddr,
    /// Where to send; must be `https`, or `http` on this machine, with nothing before its host.
    pub url: String,
    /// The secret that both sides know.
    pub secret: Secret,
    /// The other side can change messages.
    pub edits: bool,
    /// Longest message, in characters.
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
            largest_picture: Some(LARGEST_PICTURE),
            posts_once: true,
            edit_interval_ms: 1_000,
        }
    }

    fn run(self: Arc<Self>, inlet: Inlet) -> Doing<'static, Result<(), BridgeError>> {
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

    fn perform(&self, operation: Operation) -> Doing<'_, Result<Option<MessageRef>, OperationError>> {
        Box::pin(outgoing::perform(&self.client, &self.options, operation))
    }

    fn check(&self) -> Doing<'_, Result<Vec<String>, BridgeError>> {
        Box::pin(async move {
            outgoing::ping(&self.client, &self.options).await.map_err(|error| BridgeError::Channel {
                channel: "webhook".to_owned(),
                reason: format!("{} does not answer a ping: {error}", self.options.url),
            })?;
            Ok(vec![format!("{} answers", self.options.url)])
        })
    }
}
