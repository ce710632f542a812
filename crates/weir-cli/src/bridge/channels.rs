//! The channels that a configuration enables.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use weir_bridge::channel::{Channel, ChannelName};
use weir_bridge::config::{Config, MatrixConfig, TelegramConfig, WebhookConfig};
use weir_bridge::webhook::{WebhookChannel, WebhookOptions};
use weir_telegram::{TelegramChannel, TelegramOptions};

use crate::exit::UsageError;

/// The channels by their names.
pub(super) type Channels = BTreeMap<ChannelName, Arc<dyn Channel>>;

/// A channel, or an error: its secrets cannot be read, or its settings are invalid.
type Made = anyhow::Result<Arc<dyn Channel>>;

/// Creates the channels, which keep their data below this folder. Opens no connections yet.
pub(super) fn channels(config: &Config, folder: &Path) -> anyhow::Result<Channels> {
    each(config, folder)?.into_iter().map(|(name, made)| Ok((name, made?))).collect()
}

/// Each enabled channel, even if others are invalid.
pub(super) fn each(config: &Config, folder: &Path) -> anyhow::Result<BTreeMap<ChannelName, Made>> {
    let mut channels: BTreeMap<ChannelName, Made> = BTreeMap::new();
    if let Some(config) = &config.matrix {
        channels.insert("matrix".into(), matrix(config, folder));
    }
    if let Some(config) = &config.telegram {
        channels.insert("telegram".into(), telegram(config));
    }
    if let Some(config) = &config.webhook {
        channels.insert("webhook".into(), webhook(config));
    }
    if channels.is_empty() {
        let text = "no channel is enabled: see [matrix], [telegram] and [webhook] in the configuration";
        return Err(UsageError(text.into()).into());
    }
    Ok(channels)
}

fn telegram(config: &TelegramConfig) -> Made {
    let token = config.token.read("telegram.token")?;
    let options = TelegramOptions { token, api_url: config.api_url.clone() };
    Ok(Arc::new(TelegramChannel::new(options)?))
}

fn webhook(config: &WebhookConfig) -> Made {
    let options = WebhookOptions {
        listen: config.listen,
        url: config.url.clone(),
        secret: config.secret.read("webhook.secret")?,
        edits: config.edits,
        longest: config.max_length,
    };
    Ok(Arc::new(WebhookChannel::new(options)?))
}

#[cfg(feature = "matrix")]
fn matrix(config: &MatrixConfig, folder: &Path) -> Made {
    let options = weir_matrix::MatrixOptions {
        homeserver: config.homeserver.clone(),
        login: config.login()?,
        folder: folder.join("matrix"),
        passphrase: config.passphrase()?,
    };
    Ok(Arc::new(weir_matrix::MatrixChannel::new(options)))
}

#[cfg(not(feature = "matrix"))]
fn matrix(_: &MatrixConfig, _: &Path) -> Made {
    let text = "[matrix] is in the configuration, but this weir was built without Matrix: build it with `cargo build --release -p weir-cli --features matrix`, or remove [matrix]";
    Err(UsageError(text.into()).into())
}
