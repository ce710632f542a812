//! Long polling with a single poller, forever, whatever happens to the network.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use teloxide_core::requests::Requester as _;
use teloxide_core::types::{UpdateKind, User};
use teloxide_core::{ApiError, RequestError};
use weir_bridge::BridgeError;
use weir_bridge::channel::Inlet;

use crate::bot::{POLL, TelegramBot};
use crate::channel::TelegramChannel;
use crate::read::read;
use crate::updates;

/// Maximum wait between two attempts, in seconds.
const MAX_WAIT: u64 = 60;

/// Delivers updates until dropped. Ends only if the token is wrong.
pub(crate) async fn poll(channel: Arc<TelegramChannel>, inlet: Inlet) -> Result<(), BridgeError> {
    let mut poller = Poller { bot: channel.bot().clone(), inlet, failures: 0, offset: 0 };
    let me = loop {
        match channel.me().await {
            Ok(me) => break me,
            Err(error) => poller.wait(&error).await?,
        }
    };
    poller.inlet.connected(true);
    loop {
        match updates::request(poller.bot.api(), poller.offset, POLL.as_secs()).await {
            Ok(updates) => {
                poller.failures = 0;
                poller.inlet.connected(true);
                for update in updates {
                    if !poller.deliver(&update, &me).await {
                        return Ok(());
                    }
                    // Requesting the next one tells Telegram that this one is done.
                    poller.offset =
                        poller.offset.max(updates::number(&update).map_or(0, |number| number + 1));
                }
            }
            Err(error) => poller.wait(&error).await?,
        }
    }
}

struct Poller {
    bot: TelegramBot,
    inlet: Inlet,
    failures: u32,
    offset: i64,
}

impl Poller {
    async fn wait(&mut self, error: &RequestError) -> Result<(), BridgeError> {
        self.inlet.connected(false);
        let why = self.bot.explain(error);
        let seconds = match error {
            RequestError::Api(ApiError::InvalidToken) => {
                return Err(BridgeError::Channel {
                    channel: self.inlet.channel().to_string(),
                    reason: format!("{why}; the token is wrong, get the right one from @BotFather"),
                });
            }
            RequestError::RetryAfter(time) => u64::from(time.seconds()),
            _ => 1_u64 << self.failures.min(6),
        };
        self.failures = self.failures.saturating_add(1);
        self.inlet.note(if matches!(error, RequestError::Api(ApiError::TerminatedByOtherGetUpdates)) {
            format!(
                "{why}; another program is polling with the same token, or this one was a moment ago; trying again"
            )
        } else {
            format!("{why}; trying again")
        });
        tokio::time::sleep(Duration::from_secs(seconds.clamp(1, MAX_WAIT))).await;
        Ok(())
    }

    /// Delivers an update. Returns `false` if the bridge accepts no more messages.
    async fn deliver(&self, update: &Value, me: &User) -> bool {
        let Some(update) = updates::parse(update) else {
            let number = updates::number(update).unwrap_or_default();
            self.inlet.note(format!("update {number} is of an unknown kind, so it is not read"));
            return true;
        };
        let Some(incoming) = read(&update, self.inlet.channel(), me) else { return true };
        let kept = self.inlet.deliver(incoming, Vec::new()).await.is_ok();
        if let UpdateKind::CallbackQuery(query) = update.kind
            && kept
        {
            // Stops the progress animation of the button. Only a courtesy, so the result does not matter.
            let answer = self.bot.api().answer_callback_query(query.id);
            tokio::spawn(async move { answer.await.is_ok() });
        }
        kept
    }
}
