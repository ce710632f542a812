//! Messages whose keys have not come yet.
//!
//! A key travels apart from the messages that it opens, and may come later. While a message waits for its key, the
//! place from which the bridge would go on after a restart stays before it.

use matrix_sdk::ruma::OwnedRoomId;
use matrix_sdk::ruma::events::AnySyncTimelineEvent;
use matrix_sdk::ruma::serde::Raw;

/// Most messages that wait.
const MOST: usize = 200;
/// How long a message waits for its key, in milliseconds.
const PATIENCE: i64 = 10 * 60 * 1_000;

/// A message that cannot be read yet.
#[derive(Debug, Clone)]
pub(crate) struct HeldEvent {
    pub(crate) room: OwnedRoomId,
    pub(crate) event: Raw<AnySyncTimelineEvent>,
    pub(crate) order: i64,
    /// When it came, in milliseconds since 1970.
    pub(crate) at: i64,
}

/// The messages that wait.
#[derive(Debug, Default)]
pub(crate) struct Held {
    events: Vec<HeldEvent>,
}

impl Held {
    /// Lets a message wait.
    pub(crate) fn push(&mut self, event: HeldEvent) {
        self.events.push(event);
    }

    /// Whether nothing waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// What is to be tried again. Whatever still cannot be read comes back with [`push`](Self::push).
    pub(crate) fn take(&mut self) -> Vec<HeldEvent> {
        std::mem::take(&mut self.events)
    }

    /// Takes out what has waited too long, or is too much.
    pub(crate) fn give_up(&mut self, now: i64) -> Vec<HeldEvent> {
        let surplus = self.events.len().saturating_sub(MOST);
        let mut given_up: Vec<HeldEvent> = self.events.drain(..surplus).collect();
        given_up.extend(self.events.extract_if(.., |event| now - event.at >= PATIENCE));
        given_up
    }
}

#[cfg(test)]
mod tests {
    use matrix_sdk::ruma::owned_room_id;
    use matrix_sdk::ruma::serde::Raw;

    use super::{Held, HeldEvent, MOST, PATIENCE};

    fn event(at: i64) -> HeldEvent {
        let event = Raw::from_json_string("{}".to_owned()).unwrap();
        HeldEvent { room: owned_room_id!("!r:e.org"), event, order: at, at }
    }

    #[test]
    fn nothing_waits_for_ever_and_not_too_much() {
        let mut held = Held::default();
        held.push(event(0));
        held.push(event(PATIENCE));
        assert!(held.give_up(PATIENCE - 1).is_empty());
        assert_eq!(held.give_up(PATIENCE).len(), 1);
        assert_eq!(held.take().len(), 1);
        assert!(held.is_empty());
        for at in 0..=i64::try_from(MOST).unwrap() {
            held.push(event(at));
        }
        assert_eq!(held.give_up(0).iter().map(|event| event.at).collect::<Vec<_>>(), [0]);
    }
}
