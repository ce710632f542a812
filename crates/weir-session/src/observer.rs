//! Sees everything that happens in a session, in order, at once.

use weir_transcript::{Change, HostEvent, View};
use weir_wire::Line;

/// Sees everything that happens in a session.
///
/// It is called by the session itself between two reads, so it must be quick and must not block: whoever needs
/// time takes a copy. What it sees is borrowed, so what nobody needs is never copied.
pub trait Observer: Send + 'static {
    /// What the CLI has written, byte for byte, in pieces of any size. Comes before its lines.
    fn bytes(&mut self, bytes: &[u8]) {
        let _ = bytes;
    }

    /// A line of the CLI, before anything was made of it.
    fn line(&mut self, line: &Line<'_>) {
        let _ = line;
    }

    /// Something that we did.
    fn host(&mut self, event: &HostEvent) {
        let _ = event;
    }

    /// The view has changed.
    fn change(&mut self, view: &View, change: &Change<'_>) {
        let _ = (view, change);
    }

    /// Everything that had come was handled.
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
