//! Sees everything that happens in a session, in order and immediately.

use weir_transcript::{Change, HostEvent, View};
use weir_wire::Line;

/// Sees everything that happens in a session.
///
/// The session itself calls it between two reads, so it must be quick and must not block; slow work should use
/// a copy. Arguments are borrowed, so nothing is copied unless needed.
pub trait Observer: Send + 'static {
    /// Output of the CLI, byte for byte, in pieces of any size. Called before its lines.
    fn bytes(&mut self, bytes: &[u8]) {
        let _ = bytes;
    }

    /// A line of the CLI, before it is processed.
    fn line(&mut self, line: &Line<'_>) {
        let _ = line;
    }

    /// An event on our side.
    fn host(&mut self, event: &HostEvent) {
        let _ = event;
    }

    /// The view has changed.
    fn change(&mut self, view: &View, change: &Change<'_>) {
        let _ = (view, change);
    }

    /// Everything received so far was handled.
    fn pause(&mut self) {}
}

impl<A: Observer, B: Observer> Observer for (A, B) {
    fn bytes(&mut self, bytes: &[u8]) {
        self.0.bytes(bytes);
        self.1.bytes(bytes);
    }

    fn line(&mut self, line: &Line<'_>) {
        self.0.line(line);
        self.1.line(line);
    }

    fn host(&mut self, event: &HostEvent) {
        self.0.host(event);
        self.1.host(event);
    }

    fn change(&mut self, view: &View, change: &Change<'_>) {
        self.0.change(view, change);
        self.1.change(view, change);
    }

    fn pause(&mut self) {
        self.0.pause();
        self.1.pause();
    }
}
