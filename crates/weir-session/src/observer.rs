//! Sees everything that happens in a session, in order and immediately.

use std::task::{Context, Poll};

use weir_transcript::{Change, HostEvent, View};
use weir_wire::Line;

/// A line or an event on our side, before it is known in full.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    /// When it happened, in milliseconds since 1970. The view uses this for what has no time of its own.
    pub at: i64,
    /// Whether a log can leave it out; see [`weir_transcript::Fold::is_transient`].
    pub is_transient: bool,
}

/// Sees everything that happens in a session.
///
/// The session itself calls it between two reads, so it must be quick and must not block; slow work should use
/// a copy. Arguments are borrowed, so nothing is copied unless needed.
pub trait Observer: Send + 'static {
    /// Output of the CLI, byte for byte, in pieces of any size. Called before its lines.
    fn bytes(&mut self, bytes: &[u8]) {
        let _ = bytes;
    }

    /// Something is about to happen, and all calls until the next step belong to it: [`Observer::line`] and then its
    /// changes, or the changes of an event and then [`Observer::host`].
    fn step(&mut self, step: Step) {
        let _ = step;
    }

    /// A line of the CLI, before it is processed.
    fn line(&mut self, line: &Line<'_>) {
        let _ = line;
    }

    /// An event on our side, after the changes that it made. The standard error is told without a step.
    fn host(&mut self, event: &HostEvent) {
        let _ = event;
    }

    /// The view has changed.
    fn change(&mut self, view: &View, change: &Change<'_>) {
        let _ = (view, change);
    }

    /// What a log without transient lines needs before the current step. Called after its changes.
    fn streamed(&mut self, event: &HostEvent) {
        let _ = event;
    }

    /// Everything received so far was handled.
    fn pause(&mut self) {}

    /// Whether it can keep up. While it is not ready, no more output is read, and a CLI that writes a lot has to
    /// wait.
    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let _ = context;
        Poll::Ready(())
    }
}

impl<A: Observer, B: Observer> Observer for (A, B) {
    fn bytes(&mut self, bytes: &[u8]) {
        self.0.bytes(bytes);
        self.1.bytes(bytes);
    }

    fn step(&mut self, step: Step) {
        self.0.step(step);
        self.1.step(step);
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

    fn streamed(&mut self, event: &HostEvent) {
        self.0.streamed(event);
        self.1.streamed(event);
    }

    fn pause(&mut self) {
        self.0.pause();
        self.1.pause();
    }

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<()> {
        // Both are asked, so that both know whom to wake.
        let ready = (self.0.poll_ready(context), self.1.poll_ready(context));
        if ready == (Poll::Ready(()), Poll::Ready(())) { Poll::Ready(()) } else { Poll::Pending }
    }
}
