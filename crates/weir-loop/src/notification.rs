//! Notifications: what a person should know even if no one follows the run. Pure.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use weir_base::time::Utc;

use crate::config::{Notify, NotifyOn};
use crate::event::LoopEvent;
use crate::state::{OpenQuestion, RunEnd};

/// A notification. It stays in the state of the run until it was sent, so it may be sent twice, with the same id.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Notification {
    /// Id of the notification.
    pub id: String,
    /// What it is about.
    pub kind: NotifyOn,
    /// One line.
    pub text: String,
    /// The run.
    pub run_id: String,
    /// The event that caused it.
    pub event: Value,
    /// The question that it is about, for a chat in the same process. It is not saved: after a restart the session asks
    /// again, in another notification.
    #[serde(skip)]
    pub question: Option<Box<OpenQuestion>>,
}

impl Notification {
    /// The kind and text of the notification for an event, if it needs one.
    fn words(event: &LoopEvent) -> Option<(NotifyOn, String)> {
        Some(match event {
            LoopEvent::Asked(OpenQuestion { task, id, asked, .. }) => (
                NotifyOn::Question,
                format!("Task {task} {}; answer with `weir loop answer --question {id} …`", asked.words()),
            ),
            LoopEvent::Waiting { until, reason } => {
                (NotifyOn::Limit, format!("Waiting until {}: {reason}", Utc::from_ms(*until).rfc3339()))
            }
            LoopEvent::TaskFailed { task, outcome, reason, .. } => {
                (NotifyOn::Failure, format!("Task {task}: {outcome}. {reason}"))
            }
            LoopEvent::TaskDone { task, commit, checked, .. } => {
                let how = if *checked { "done" } else { "done, not checked" };
                (
                    NotifyOn::Done,
                    format!("Task {task} is {how}, commit {}", commit.get(..10).unwrap_or(commit)),
                )
            }
            LoopEvent::RunEnded { end: RunEnd::Limit { limit }, .. } => {
                (NotifyOn::Limit, format!("The run has ended: {limit}"))
            }
            LoopEvent::RunEnded { end, done, failed, pending, unchecked, .. } => {
                let how = match end {
                    RunEnd::Completed => "all tasks are done",
                    RunEnd::Interrupted => "it was interrupted",
                    _ => "not all tasks are done",
                };
                (
                    NotifyOn::End,
                    format!(
                        "The run has ended, {how}: {done} done{}, {failed} failed, {pending} open",
                        crate::report::unchecked_words(*unchecked)
                    ),
                )
            }
            _ => return None,
        })
    }

    /// The notification for an event, if it needs one and the configuration asks for it.
    pub fn of(event: &LoopEvent, run_id: &str, notify: &Notify, id: impl FnOnce() -> String) -> Option<Self> {
        let (kind, text) = Self::words(event)?;
        // A run that ends at a limit counts both as a limit and as an end.
        let is_end = matches!(event, LoopEvent::RunEnded { .. });
        let is_wanted = notify.on.contains(&kind) || (is_end && notify.on.contains(&NotifyOn::End));
        if !is_wanted || !notify.has_recipient() {
            return None;
        }
        let question = match event {
            LoopEvent::Asked(question) => Some(Box::new(question.clone())),
            _ => None,
        };
        let event = serde_json::to_value(event).unwrap_or_default();
        Some(Self { id: id(), kind, text, run_id: run_id.to_owned(), event, question })
    }
}
