//! Steps of a session: what happened, and what that changed. They are collected in the order of the fold.

use weir_store::NewEvent;
use weir_transcript::{Change, HostEvent};

use crate::item::Item;

/// One step: a line, an event on our side, or another item.
#[derive(Debug)]
pub(crate) struct Step {
    pub(crate) at: i64,
    /// What happened. A transient line is left out where no one wants it: its changes say enough.
    pub(crate) item: Option<Item>,
    /// Whether it goes into the log.
    pub(crate) is_logged: bool,
    /// Whether it is written also when the disk is full; see [`Item::is_essential`].
    is_essential: bool,
    /// How many changes it made.
    pub(crate) changes: usize,
    pub(crate) size: usize,
}

/// Steps that go to the store together.
#[derive(Debug, Default)]
pub(crate) struct Steps {
    steps: Vec<Step>,
    /// Their changes, one after another.
    changes: Vec<Change<'static>>,
    /// The logged ones, as events for the store.
    events: Vec<NewEvent>,
    size: usize,
    /// How much the batch before held: space for about as much is made with the first step.
    expected: Expected,
}

/// How many steps, changes and events a batch is expected to have.
#[derive(Debug, Clone, Copy, Default)]
struct Expected {
    steps: usize,
    changes: usize,
    events: usize,
}

impl Steps {
    pub(crate) fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// How much memory they take, about.
    pub(crate) fn size(&self) -> usize {
        self.size
    }

    /// Takes the events for the store.
    pub(crate) fn take_events(&mut self) -> Vec<NewEvent> {
        std::mem::take(&mut self.events)
    }

    /// Whether all that is logged of them is written also when the disk is full.
    pub(crate) fn is_essential(&self) -> bool {
        self.steps.iter().all(|step| step.is_essential || !step.is_logged)
    }

    pub(crate) fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// Takes the steps and their changes, which follow one another.
    pub(crate) fn take(&mut self) -> (std::vec::IntoIter<Step>, std::vec::IntoIter<Change<'static>>) {
        (std::mem::take(&mut self.steps).into_iter(), std::mem::take(&mut self.changes).into_iter())
    }

    /// How many changes the steps have made.
    pub(crate) fn changes(&self) -> usize {
        self.changes.len()
    }

    /// The batch after these steps, which is expected to be about as large. It has no space before its first step, so
    /// that a session at rest holds nothing.
    pub(crate) fn next_after(other: &Self) -> Self {
        let expected =
            Expected { steps: other.steps.len(), changes: other.changes.len(), events: other.events.len() };
        Self { expected, ..Self::default() }
    }

    /// Begins the next step.
    pub(crate) fn begin(&mut self, at: i64) {
        if self.steps.is_empty() {
            let Expected { steps, changes, events } = self.expected;
            self.steps.reserve(steps);
            self.changes.reserve(changes);
            self.events.reserve(events);
        }
        self.steps.push(Step { at, item: None, is_logged: false, is_essential: false, changes: 0, size: 0 });
    }

    /// Adds a change to the last step.
    pub(crate) fn change(&mut self, change: &Change<'_>) {
        if let Some(step) = self.steps.last_mut() {
            step.changes += 1;
            self.changes.push(change.clone().into_owned());
        }
    }

    /// Whether the last step has changed nothing.
    pub(crate) fn is_without_changes(&self) -> bool {
        self.steps.last().is_none_or(|step| step.changes == 0)
    }

    /// Says what the last step is. `item` is what viewers are told of it, apart from its changes.
    pub(crate) fn set(&mut self, item: Option<Item>, size: usize, event: Option<NewEvent>) {
        self.size += size;
        if let Some(step) = self.steps.last_mut() {
            step.is_essential = item.as_ref().is_some_and(Item::is_essential);
            step.item = item;
            step.size = size;
            step.is_logged = event.is_some();
            let at = step.at;
            self.events.extend(event.map(|event| NewEvent { at, ..event }));
        }
    }

    /// Says that the last step is this item.
    pub(crate) fn set_item(&mut self, item: Item) {
        let (size, event) = (item.size(), item.to_event(0, None));
        self.set(Some(item), size, event);
    }

    /// Puts an event into the log before the last step. It changes nothing: its changes were made by earlier steps.
    /// As what it comes before, which ends something, it is written also when the disk is full.
    pub(crate) fn insert_before_last(&mut self, event: &HostEvent) {
        self.insert(event, true);
    }

    /// Puts a piece of what is being streamed into the log.
    pub(crate) fn keep(&mut self, event: &HostEvent) {
        self.insert(event, false);
    }

    fn insert(&mut self, event: &HostEvent, is_essential: bool) {
        let Some(last) = self.steps.last() else { return };
        let Some(logged) = Item::Host(event.clone()).to_event(last.at, None) else { return };
        let step = Step {
            at: last.at,
            item: None,
            is_logged: true,
            is_essential,
            changes: 0,
            size: logged.payload.len(),
        };
        let place = self.events.len() - usize::from(last.is_logged);
        self.size += step.size;
        self.events.insert(place, logged);
        self.steps.insert(self.steps.len() - 1, step);
    }
}

#[cfg(test)]
mod tests {
    use weir_transcript::{EntryId, Status};

    use super::*;

    fn status(status: Status) -> Change<'static> {
        Change::Status { status }
    }

    #[test]
    fn changes_belong_to_their_steps() {
        let mut steps = Steps::default();
        steps.begin(1);
        steps.set_item(Item::Host(HostEvent::Interrupted));
        steps.change(&status(Status::Running));
        steps.begin(2);
        steps.change(&status(Status::Idle));
        steps.change(&status(Status::Ended));
        let (taken, mut changes) = steps.take();
        let seen: Vec<_> =
            taken.map(|step| (step.at, changes.by_ref().take(step.changes).collect::<Vec<_>>())).collect();
        let expected =
            [(1, vec![status(Status::Running)]), (2, vec![status(Status::Idle), status(Status::Ended)])];
        assert_eq!(seen, expected);
    }

    #[test]
    fn what_was_streamed_is_logged_before_what_ended_it() {
        let streamed = HostEvent::TextStreamed { entry: EntryId(1), text: "so far".to_owned() };
        // A line is known before its changes, an event on our side after them.
        for is_known in [true, false] {
            let mut steps = Steps::default();
            steps.begin(1);
            steps.set_item(Item::Host(HostEvent::Interrupted));
            steps.begin(2);
            if is_known {
                steps.set_item(Item::Host(HostEvent::RecordingEnded));
            }
            steps.change(&status(Status::Ended));
            steps.insert_before_last(&streamed);
            if !is_known {
                steps.set_item(Item::Host(HostEvent::RecordingEnded));
            }
            let logged: Vec<_> = steps.steps().iter().map(|step| (step.is_logged, step.changes)).collect();
            assert_eq!(logged, [(true, 0), (true, 0), (true, 1)]);
            assert!(steps.is_essential(), "the end is written also when the disk is full");
            let events = steps.take_events();
            let read: Vec<_> =
                events.into_iter().map(|event| Item::read(&event.kind, event.payload)).collect();
            let expected = [HostEvent::Interrupted, streamed.clone(), HostEvent::RecordingEnded];
            assert_eq!(read, expected.map(|event| Some(Item::Host(event))));
        }
    }
}
