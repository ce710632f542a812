//! Sends a loop's notifications to its webhook.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use weir_bridge::http::post_json;
use weir_loop::config::Notify;
use weir_loop::notification::Notification;
use weir_loop::shell::Messenger;

/// The webhook of a loop. Its URL may be a secret, so nothing shows it.
pub(super) struct Webhook {
    url: String,
    timeout: Duration,
}

impl Webhook {
    /// The configured webhook, if there is one.
    pub(super) fn new(notify: &Notify) -> Option<Self> {
        let url = notify.webhook.clone()?;
        Some(Self { url, timeout: notify.timeout.duration() })
    }
}

impl Messenger for Webhook {
    fn post<'a>(
        &'a self,
        notification: &'a Notification,
    ) -> Pin<Box<dyn Future<Output = Result<(), String>> + Send + 'a>> {
        Box::pin(async {
            let sent = post_json(&self.url, notification, self.timeout).await;
            sent.map_err(|error| format!("the notification by webhook failed: {error}"))
        })
    }
}
