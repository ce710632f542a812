//! Sends notifications to a command, a webhook or a chat.

use std::future::Future;
use std::path::Path;
use std::pin::Pin;

use weir_process::PlainCommand;

use crate::config::Notify;
use crate::instant;
use crate::notification::Notification;

/// Posts notifications to a chat. The loop itself knows nothing about chats.
pub trait Messenger: Send + Sync {
    /// Posts a notification. Completes once it can no longer be lost.
    fn post<'a>(
        &'a self,
        news: &'a Notification,
    ) -> Pin<Box<dyn Future<Output = Result<(), String>> + Send + 'a>>;
}

/// Sends a notification. An error says which recipients did not get it, and why.
pub async fn send(
    news: &Notification,
    notify: &Notify,
    workspace: &Path,
    messenger: Option<&dyn Messenger>,
) -> Result<(), String> {
    instant::begin();
    let body = serde_json::to_string(news).map_err(|error| error.to_string())?;
    let mut problems = Vec::new();
    if let Some((program, args)) = notify.command.split_first() {
        let command = PlainCommand::new(program).args(args).cwd(workspace).input(body.clone());
        problems.extend(run(command, notify).await.err());
    }
    if let Some(url) = &notify.webhook {
        // The URL may be a secret, so it is not passed as an argument that others can read.
        let quoted = |text: &str| text.replace('\\', "\\\\").replace('"', "\\\"").replace(['\n', '\r'], " ");
        let config = format!(
            "url = \"{}\"\nrequest = \"POST\"\nheader = \"Content-Type: application/json\"\ndata-raw = \"{}\"\n",
            quoted(url),
            quoted(&body)
        );
        let command = PlainCommand::new("curl").args(["--silent", "--show-error", "--fail", "--config", "-"]);
        problems.extend(run(command.cwd(workspace).input(config), notify).await.err());
    }
    if notify.chat.is_some() {
        problems.extend(match messenger {
            Some(messenger) => messenger.post(news).await.err(),
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
