//! The channels that a configuration switches on.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use weir_bridge::channel::{Channel, ChannelName};
use weir_bridge::config::{Config, MatrixConfig};
use weir_bridge::webhook::{WebhookChannel, WebhookOptions};
use weir_telegram::{TelegramChannel, TelegramOptions};

use crate::exit::UsageError;

/// The channels by their names.
pub(super) type Channels = BTreeMap<ChannelName, Arc<dyn Channel>>;

/// Makes the channels, which keep what they need below this folder. Nobody is called yet.
pub(super) fn channels(config: &Config, folder: &Path) -> anyhow::Result<Channels> {
    let mut channels: Channels = BTreeMap::new();
    if let Some(config) = &config.matrix {
        channels.insert("matrix".into(), matrix(config, folder)?);
    }
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
        let text = "no channel is switched on: see [matrix], [telegram] and [webhook] in the configuration";
        return Err(UsageError(text.into()).into());
    }
    Ok(channels)
}

#[cfg(feature = "matrix")]
fn matrix(config: &MatrixConfig, folder: &Path) -> anyhow::Result<Arc<dyn Channel>> {
    let options = weir_matrix::MatrixOptions {
        homeserver: config.homeserver.clone(),
        login: config.login()?,
        folder: folder.join("matrix"),
        passphrase: config.passphrase()?,
    };
    Ok(Arc::new(weir_matrix::MatrixChannel::new(options)))
}

#[cfg(not(feature = "matrix"))]
fn matrix(_: &MatrixConfig, _: &Path) -> anyhow::Result<Arc<dyn Channel>> {
    let text = "[matrix] is in the configuration, but this weir was built without Matrix: build it with `cargo build --release -p weir-cli --features matrix`, or take [matrix] out";
    Err(UsageError(text.into()).into())
}
