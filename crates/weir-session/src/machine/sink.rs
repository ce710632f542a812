//! What happens to a session, as the machine tells it.

use weir_transcript::{Change, HostEvent, View};

/// Sees what happens to a session, in order.
pub trait Sink {
    /// The host is about to do something. The changes that this makes follow, then [`Sink::host`].
    fn host_begins(&mut self);

    /// The view has changed.
    fn change(&mut self, view: &View, change: &Change<'_>);

    /// What a log without transient lines needs before the line or host event that made the last changes.
    fn streamed(&mut self, event: &HostEvent);

    /// The host did something. Actions that depend on it come later.
    fn host(&mut self, event: &HostEvent);
}
