//! Telegram as a channel of the bridge.

use std::sync::Arc;

use teloxide_core::RequestError;
use teloxide_core::requests::Requester as _;
use teloxide_core::types::User;
use weir_bridge::BridgeError;
use weir_bridge::channel::{
    BoxFuture, Capabilities, Channel, Inlet, MessageRef, Operation, OperationError, RemoteFile,
};
use weir_bridge::config::Secret;
use weir_bridge::markup::Markup;

use crate::bot::TelegramBot;
use crate::download::download;
use crate::perform::perform;
use crate::poll;

/// Maximum size of a file that a bot can send.
const MAX_FILE_BYTES: u64 = 50 << 20;

/// Options of the channel.
#[derive(Debug, Clone)]
pub struct TelegramOptions {
    /// The bot's token.
    pub token: Secret,
    /// URL of a Bot API server other than Telegram's.
    pub api_url: Option<String>,
}

/// The Telegram channel.
#[derive(Debug)]
pub struct TelegramChannel {
    bot: TelegramBot,
}

impl TelegramChannel {
    /// A channel with these options. Does not contact Telegram yet.
    pub fn new(options: TelegramOptions) -> Result<Self, BridgeError> {
        Ok(Self { bot: TelegramBot::new(options.api_url.as_deref(), options.token)? })
    }

    pub(crate) fn bot(&self) -> &TelegramBot {
        &self.bot
    }

    pub(crate) async fn me(&self) -> Result<User, RequestError> {
        self.bot.api().get_me().await.map(|me| me.user)
    }
}

impl Channel for TelegramChannel {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            markup: Markup::TelegramHtml,
            longest: 4_096,
            edits: true,
            deletes: true,
            typing: true,
            buttons: true,
            reactions: false,
            files: true,
            largest_picture: Some(MAX_FILE_BYTES),
            posts_once: false,
            edit_interval_ms: 1_000,
        }
    }

    fn run(self: Arc<Self>, inlet: Inlet) -> BoxFuture<'static, Result<(), BridgeError>> {
        Box::pin(poll::poll(self, inlet))
    }

    fn perform(&self, operation: Operation) -> BoxFuture<'_, Result<Option<MessageRef>, OperationError>> {
        Box::pin(perform(&self.bot, operation))
    }

    fn fetch<'a>(&'a self, file: &'a RemoteFile, max_bytes: u64) -> BoxFuture<'a, Result<Vec<u8>, String>> {
        Box::pin(download(&self.bot, file, max_bytes))
    }

    fn check(&self) -> BoxFuture<'_, Result<Vec<String>, BridgeError>> {
        Box::pin(async move {
            let me = self.me().await.map_err(|error| BridgeError::Channel {
                channel: "telegram".to_owned(),
                reason: self.bot.explain(&error),
            })?;
            let name = me.username.unwrap_or(me.first_name);
            Ok(vec![format!("logged in as @{name} ({})", me.id)])
        })
    }
}
