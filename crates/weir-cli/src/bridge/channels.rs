//! The channels that a configuration switches on.

use std::collections::BTreeMap;
use std::sync::Arc;

use weir_bridge::channel::{Channel, ChannelName};
use weir_bridge::config::Config;
use weir_bridge::webhook::{WebhookChannel, WebhookOptions};
use weir_telegram::{TelegramChannel, TelegramOptions};

use crate::exit::UsageError;

/// The channels by their names.
pub(super) type Channels = BTreeMap<ChannelName, Arc<dyn Channel>>;

/// Makes the channels. Nobody is called yet.
pub(super) fn channels(config: &Config) -> anyhow::Result<Channels> {
    let mut channels: Channels = BTreeMap::new();
    if let Some(telegram) = &config.telegram {
        let token = telegram.token.read("telegram.token")?;
        let options = TelegramOptions { token, api_url: telegram.api_url.clone() };
        channels.insert("telegram".into(), Arc::new(TelegramChannel::new(options)?));
    }
    if let Some(webhook) = &config.webhook {
        let options = WebhookOptions {
            listen: webhook.listen,
            url: webhook.url.clone(),
            secret: webhook.secret.read("webhook.secret")?,
            edits: webhook.edits,
            longest: webhook.longest,
        };
        channels.insert("webhook".into(), Arc::new(WebhookChannel::new(options)?));
    }
    if channels.is_empty() {
        let text = "no channel is switched on: see [telegram] and [webhook] in the configuration";
        return Err(UsageError(text.into()).into());
    }
    Ok(channels)
}
