//! Long polling: one poller, for ever, whatever happens to the network.

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

/// Longest wait between two tries.
const LONGEST_WAIT: u64 = 60;

/// Delivers updates until it is dropped. It ends only where the token is wrong.
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
        match updates::ask(poller.bot.api(), poller.offset, POLL.as_secs()).await {
            Ok(updates) => {
                poller.failures = 0;
                poller.inlet.connected(true);
                for update in updates {
                    if !poller.take(&update, &me).await {
                        return Ok(());
                    }
                    // Asking for the next one tells Telegram that this one need not come again.
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
                    reason: format!("{why}; the token is wrong, ask @BotFather for the right one"),
                });
            }
            RequestError::RetryAfter(time) => u64::from(time.seconds()),
            _ => 1_u64 << self.failures.min(6),
        };
        self.failures = self.failures.saturating_add(1);
        self.inlet.note(if matches!(error, RequestError::Api(ApiError::TerminatedByOtherGetUpdates)) {
            format!(
                "{why}; another program polls with the same token, or this one did a moment ago: trying again"
            )
        } else {
            format!("{why}; trying again")
        });
        tokio::time::sleep(Duration::from_secs(seconds.clamp(1, LONGEST_WAIT))).await;
        Ok(())
    }

    /// Delivers an update. `false` if the bridge takes nothing any more.
    async fn take(&self, update: &Value, me: &User) -> bool {
        let Some(update) = updates::understand(update) else {
            let number = updates::number(update).unwrap_or_default();
            self.inlet.note(format!("update {number} is of an unknown kind, so it is not read"));
            return true;
        };
        let Some(incoming) = read(&update, self.inlet.channel(), me) else { return true };
        let kept = self.inlet.deliver(incoming, Vec::new()).await.is_ok();
        if let UpdateKind::CallbackQuery(query) = update.kind
            && kept
        {
            // Ends the waiting sign of the button. It is only a courtesy, so nobody waits for it.
            let answer = self.bot.api().answer_callback_query(query.id);
            tokio::spawn(async move { answer.await.is_ok() });
        }
        kept
    }
}
