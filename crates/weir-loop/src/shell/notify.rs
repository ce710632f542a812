//! Sends notifications to a command, a webhook or a chat.

use std::future::Future;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;

use weir_process::PlainCommand;

use crate::config::Notify;
use crate::instant;
use crate::notification::Notification;

/// Posts notifications to a chat or a webhook. The loop itself knows nothing about chats and HTTP.
pub trait Messenger: Send + Sync {
    /// Posts a notification. Completes once it can no longer be lost.
    fn post<'a>(
        &'a self,
        news: &'a Notification,
    ) -> Pin<Box<dyn Future<Output = Result<(), String>> + Send + 'a>>;
}

/// Who posts the notifications that the configuration asks for.
#[derive(Clone, Default)]
pub struct Messengers {
    /// Posts to the webhook.
    pub webhook: Option<Arc<dyn Messenger>>,
    /// Posts to the chat.
    pub chat: Option<Arc<dyn Messenger>>,
}

/// Sends a notification. An error says which recipients did not get it, and why.
pub(super) async fn send(
    news: &Notification,
    notify: &Notify,
    workspace: &Path,
    messengers: &Messengers,
) -> Result<(), String> {
    instant::begin();
    let mut problems = Vec::new();
    if let Some((program, args)) = notify.command.split_first() {
        let body = serde_json::to_string(news).map_err(|error| error.to_string())?;
        let command = PlainCommand::new(program).args(args).cwd(workspace).input(body);
        problems.extend(run(command, notify).await.err());
    }
    if notify.webhook.is_some() {
        problems.extend(match &messengers.webhook {
            Some(webhook) => webhook.post(news).await.err(),
            None => Some("notify.webhook is set, but this program does not send webhooks".to_owned()),
        });
    }
    if notify.chat.is_some() {
        problems.extend(match &messengers.chat {
            Some(chat) => chat.post(news).await.err(),
            None => Some("notify.chat is set, but there is no bridge; add --bridge FILE".to_owned()),
        });
    }
    instant::reached("a notification was sent");
    if problems.is_empty() { Ok(()) } else { Err(problems.join("; ")) }
}

async fn run(command: PlainCommand, notify: &Notify) -> Result<(), String> {
    let program = command.program.display().to_string();
    let done = command.timeout(notify.timeout.duration()).run().await;
    let done = done.map_err(|error| format!("the notification by {program} failed: {error}"))?;
    if done.is_success() {
        return Ok(());
    }
    let how = if done.timed_out { "it took too long".to_owned() } else { done.exit.to_string() };
    Err(format!("the notification by {program} failed ({how}): {}", done.stderr.text().trim()))
}
