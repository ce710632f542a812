//! Notifications: a command or a webhook hears what a person should know.

use std::path::Path;

use serde::Serialize;
use weir_process::PlainCommand;

use crate::config::{Notify, NotifyOn};
use crate::event::LoopEvent;
use crate::state::RunEnd;

/// What is told.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct News {
    /// What it is about.
    pub kind: NotifyOn,
    /// In a line.
    pub text: String,
    /// The run.
    pub run_id: String,
    /// The event itself.
    pub event: LoopEvent,
}

impl News {
    /// What is worth telling about an event.
    pub fn of(event: &LoopEvent, run_id: &str) -> Option<Self> {
        let (kind, text) = match event {
            LoopEvent::Asked { task, id, .. } => (
                NotifyOn::Question,
                format!("Task {task} asks something; answer with `weir loop answer --question {id} …`"),
            ),
            LoopEvent::Waiting { until, reason } => {
                (NotifyOn::Limit, format!("Waiting until {}: {reason}", crate::time::rfc3339(*until)))
            }
            LoopEvent::TaskFailed { task, outcome, reason, .. } => {
                (NotifyOn::Failure, format!("Task {task}: {outcome}. {reason}"))
            }
            LoopEvent::RunEnded { end: RunEnd::Limit { limit }, .. } => {
                (NotifyOn::Limit, format!("The run has ended: {limit}"))
            }
            LoopEvent::RunEnded { end, done, failed, pending, .. } => {
                let how = match end {
                    RunEnd::Completed => "all tasks are done",
                    RunEnd::Interrupted => "somebody stopped it",
                    _ => "not all tasks are done",
                };
                (
                    NotifyOn::End,
                    format!("The run has ended, {how}: {done} done, {failed} failed, {pending} open"),
                )
            }
            _ => return None,
        };
        Some(Self { kind, text, run_id: run_id.to_owned(), event: event.clone() })
    }
}

/// Sends the news. An error says why somebody did not hear them.
pub async fn send(news: &News, notify: &Notify, workspace: &Path) -> Result<(), String> {
    // The end of a run is told to whoever wants to hear of limits or of the end.
    let is_end = matches!(news.event, LoopEvent::RunEnded { .. });
    let is_wanted = notify.on.contains(&news.kind) || (is_end && notify.on.contains(&NotifyOn::End));
    if !is_wanted {
        return Ok(());
    }
    let body = serde_json::to_string(news).map_err(|error| error.to_string())?;
    let mut problems = Vec::new();
    if let Some((program, args)) = notify.command.split_first() {
        let command = PlainCommand::new(program).args(args).cwd(workspace).input(body.clone());
        problems.extend(run(command, notify).await.err());
    }
    if let Some(url) = &notify.webhook {
        // The address may be a secret, so it is not an argument that others can read.
        let quoted = |text: &str| text.replace('\\', "\\\\").replace('"', "\\\"").replace(['\n', '\r'], " ");
        let config = format!(
            "url = \"{}\"\nrequest = \"POST\"\nheader = \"Content-Type: application/json\"\ndata-raw = \"{}\"\n",
            quoted(url),
            quoted(&body)
        );
        let command = PlainCommand::new("curl").args(["--silent", "--show-error", "--fail", "--config", "-"]);
        problems.extend(run(command.cwd(workspace).input(config), notify).await.err());
    }
    if problems.is_empty() { Ok(()) } else { Err(problems.join("; ")) }
}

async fn run(command: PlainCommand, notify: &Notify) -> Result<(), String> {
    let program = command.program.display().to_string();
    let done = command.timeout(notify.timeout.duration()).run().await;
    let done = done.map_err(|error| format!("nobody was notified: {error}"))?;
    if done.is_success() {
        return Ok(());
    }
    let how = if done.timed_out { "it took too long".to_owned() } else { done.exit.to_string() };
    Err(format!("the notification by {program} failed ({how}): {}", done.stderr.text().trim()))
}
