//! Messages whose keys have not arrived yet.
//!
//! Keys are sent separately from the messages that they decrypt, and may arrive later. While a message waits for its
//! key, the position from which the bridge resumes after a restart stays before it.

use matrix_sdk::ruma::OwnedRoomId;
use matrix_sdk::ruma::events::AnySyncTimelineEvent;
use matrix_sdk::ruma::serde::Raw;

/// Maximum number of waiting messages.
const MAX_HELD: usize = 200;
/// How long a message waits for its key, in milliseconds.
const KEY_TIMEOUT: i64 = 10 * 60 * 1_000;

/// A message that cannot be read yet.
#[derive(Debug, Clone)]
pub(crate) struct HeldEvent {
    pub(crate) room: OwnedRoomId,
    pub(crate) event: Raw<AnySyncTimelineEvent>,
    pub(crate) order: i64,
    /// When it arrived, in milliseconds since 1970.
    pub(crate) at: i64,
}

/// The waiting messages.
#[derive(Debug, Default)]
pub(crate) struct Held {
    events: Vec<HeldEvent>,
}

impl Held {
    /// Adds a message.
    pub(crate) fn push(&mut self, event: HeldEvent) {
        self.events.push(event);
    }

    /// Whether no message is waiting.
    pub(crate) fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// Takes all messages, to try them again. Those that still cannot be read are put back with [`push`](Self::push).
    pub(crate) fn take(&mut self) -> Vec<HeldEvent> {
        std::mem::take(&mut self.events)
    }

    /// Removes messages that have waited too long or exceed the maximum, and returns them.
    pub(crate) fn give_up(&mut self, now: i64) -> Vec<HeldEvent> {
        let surplus = self.events.len().saturating_sub(MAX_HELD);
        let mut given_up: Vec<HeldEvent> = self.events.drain(..surplus).collect();
        given_up.extend(self.events.extract_if(.., |event| now - event.at >= KEY_TIMEOUT));
        given_up
    }
}

#[cfg(test)]
mod tests {
    use matrix_sdk::ruma::owned_room_id;
    use matrix_sdk::ruma::serde::Raw;

    use super::{Held, HeldEvent, KEY_TIMEOUT, MAX_HELD};

    fn event(at: i64) -> HeldEvent {
        let event = Raw::from_json_string("{}".to_owned()).unwrap();
        HeldEvent { room: owned_room_id!("!r:e.org"), event, order: at, at }
    }

    #[test]
    fn time_and_number_are_limited() {
        let mut held = Held::default();
        held.push(event(0));
        held.push(event(KEY_TIMEOUT));
        assert!(held.give_up(KEY_TIMEOUT - 1).is_empty());
        assert_eq!(held.give_up(KEY_TIMEOUT).len(), 1);
        assert_eq!(held.take().len(), 1);
        assert!(held.is_empty());
        for at in 0..=i64::try_from(MAX_HELD).unwrap() {
            held.push(event(at));
        }
        assert_eq!(held.give_up(0).iter().map(|event| event.at).collect::<Vec<_>>(), [0]);
    }
}
