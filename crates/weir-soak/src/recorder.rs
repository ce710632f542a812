//! Records everything a session saw and did, in order.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use weir_session::Observer;
use weir_transcript::{Fold, FoldOptions, HostEvent, View};
use weir_wire::{Decoder, Line};

/// A line or an event.
enum Happening {
    Line(Vec<u8>),
    Host(HostEvent),
}

/// Everything a session saw and did, in order.
#[derive(Clone, Default)]
pub(crate) struct Recorder(Arc<Mutex<Vec<Happening>>>);

impl Observer for Recorder {
    fn line(&mut self, line: &Line<'_>) {
        self.lock().push(Happening::Line(line.raw.to_vec()));
    }

    fn host(&mut self, event: &HostEvent) {
        // A live session receives the rest of it when the process ends.
        if !matches!(event, HostEvent::Stderr { .. }) {
            self.lock().push(Happening::Host(event.clone()));
        }
    }
}

impl Recorder {
    fn lock(&self) -> MutexGuard<'_, Vec<Happening>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The lines that were seen.
    pub(crate) fn lines(&self) -> Vec<Vec<u8>> {
        let happenings = self.lock();
        let lines = happenings.iter().filter_map(|happening| match happening {
            Happening::Line(bytes) => Some(bytes.clone()),
            Happening::Host(_) => None,
        });
        lines.collect()
    }

    /// The view that results from the recording alone.
    pub(crate) fn replayed(&self, options: FoldOptions) -> View {
        let (mut fold, mut decoder) = (Fold::new(options), Decoder::new());
        for happening in self.lock().iter() {
            match happening {
                Happening::Line(bytes) => drop(fold.line_changes(&decoder.decode(bytes))),
                Happening::Host(event) => drop(fold.host_changes(event)),
            }
        }
        fold.into_view()
    }
}
