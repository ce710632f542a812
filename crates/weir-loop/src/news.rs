//! News: what a person should know although nobody watches. Pure.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::config::{Notify, NotifyOn};
use crate::event::LoopEvent;
use crate::state::RunEnd;

/// What is told. It stays in the state of the run until it was, so it may be told twice: by the same id.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct News {
    /// Names it.
    pub id: String,
    /// What it is about.
    pub kind: NotifyOn,
    /// In a line.
    pub text: String,
    /// The run.
    pub run_id: String,
    /// The event itself.
    pub event: Value,
}

impl News {
    /// What is worth telling about an event, and what it is about.
    fn words(event: &LoopEvent) -> Option<(NotifyOn, String)> {
        Some(match event {
            LoopEvent::Asked { task, id, asked } => (
                NotifyOn::Question,
                format!("Task {task} {}; answer with `weir loop answer --question {id} …`", asked.words()),
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
        })
    }

    /// What is worth telling about an event to those who want to hear of it.
    pub fn of(event: &LoopEvent, run_id: &str, notify: &Notify, id: impl FnOnce() -> String) -> Option<Self> {
        let (kind, text) = Self::words(event)?;
        // The end of a run is told to whoever wants to hear of limits or of the end.
        let is_end = matches!(event, LoopEvent::RunEnded { .. });
        let is_wanted = notify.on.contains(&kind) || (is_end && notify.on.contains(&NotifyOn::End));
        if !is_wanted || !notify.has_anybody() {
            return None;
        }
        let event = serde_json::to_value(event).unwrap_or_default();
        Some(Self { id: id(), kind, text, run_id: run_id.to_owned(), event })
    }
}
