//! Everything that happened in a session, in order.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tokio::sync::Notify;
use weir_session::Observer;
use weir_testkit::real::{Happening, Received};
use weir_testkit::scenario::Condition;
use weir_transcript::{Fold, FoldOptions, HostEvent, View};
use weir_wire::{Decoder, Line};

/// Longer than any step takes: an old CLI on a busy machine needs ten seconds to start.
pub(crate) const DEADLINE: Duration = Duration::from_secs(90);
/// How often to look for a file that can only be polled.
const POLL: Duration = Duration::from_millis(20);

/// Everything that happened in a session, in order.
#[derive(Clone, Default)]
pub(crate) struct Recorder {
    events: Arc<Mutex<Events>>,
    changed: Arc<Notify>,
}

#[derive(Default)]
struct Events {
    happenings: Vec<Happening>,
    lines: Vec<Received>,
    exits: usize,
}

impl Observer for Recorder {
    fn line(&mut self, line: &Line<'_>) {
        let mut events = self.lock();
        events.happenings.push(Happening::Line(line.raw.to_vec()));
        events.lines.push(Received::new(line.raw.to_vec()));
    }

    fn host(&mut self, event: &HostEvent) {
        // Irrelevant for the transcript of a live session, which gets the last part when the process ends.
        if matches!(event, HostEvent::Stderr { .. }) {
            return;
        }
        let mut events = self.lock();
        events.exits += usize::from(matches!(event, HostEvent::ProcessExited { .. }));
        events.happenings.push(Happening::Host(event.clone()));
    }

    fn pause(&mut self) {
        self.changed.notify_waiters();
    }
}

impl Recorder {
    fn lock(&self) -> MutexGuard<'_, Events> {
        self.events.lock().unwrap()
    }

    pub(crate) fn happenings(&self) -> Vec<Happening> {
        self.lock().happenings.clone()
    }

    /// The view as folded from the recording alone.
    pub(crate) fn replayed(&self, options: FoldOptions) -> View {
        let (mut fold, mut decoder) = (Fold::new(options), Decoder::new());
        for happening in &self.lock().happenings {
            match happening {
                Happening::Line(bytes) => drop(fold.line_changes(&decoder.decode(bytes))),
                Happening::Host(event) => drop(fold.host_changes(event)),
            }
        }
        fold.into_view()
    }

    /// Waits until a condition holds, or returns what happened instead.
    pub(crate) async fn wait(&self, condition: &Condition, directory: &Path) -> Result<(), String> {
        let holds = || match condition {
            Condition::Exit => self.lock().exits > 0,
            _ => condition.holds(&self.lock().lines, directory),
        };
        let waiting = async {
            loop {
                let changed = self.changed.notified();
                if holds() {
                    return;
                }
                let _news_or_time_to_look = tokio::time::timeout(POLL, changed).await;
            }
        };
        tokio::time::timeout(DEADLINE, waiting).await.map_err(|_| {
            let events = self.lock();
            let last = events.lines.iter().rev().take(8).rev();
            let last = last.map(|line| String::from_utf8_lossy(&line.bytes).chars().take(300).collect());
            format!(
                "timed out waiting for {condition:?}; the last lines:\n{}",
                last.collect::<Vec<String>>().join("\n")
            )
        })
    }
}
