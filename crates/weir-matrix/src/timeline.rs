//! Which events of a room are new to us, and which of them can be believed.

use matrix_sdk::deserialized_responses::{TimelineEvent, TimelineEventKind};
use matrix_sdk::ruma::UserId;
use serde::Deserialize;

/// The little that has to be known of an event before it is read.
#[derive(Debug, Default, Deserialize)]
struct Outline {
    #[serde(default, rename = "type")]
    kind: String,
    #[serde(default)]
    state_key: Option<String>,
    #[serde(default)]
    content: Membership,
    #[serde(default)]
    unsigned: Unsigned,
}

#[derive(Debug, Default, Deserialize)]
struct Unsigned {
    #[serde(default)]
    prev_content: Membership,
}

#[derive(Debug, Default, Deserialize)]
struct Membership {
    #[serde(default)]
    membership: Option<String>,
}

impl Outline {
    fn of(event: &TimelineEvent) -> Self {
        serde_json::from_str(event.raw().json().get()).unwrap_or_default()
    }

    /// Whether somebody's membership became this.
    fn is_membership(&self, of: &UserId, now: &str) -> bool {
        self.kind == "m.room.member"
            && self.state_key.as_deref() == Some(of.as_str())
            && self.content.membership.as_deref() == Some(now)
            && self.unsigned.prev_content.membership.as_deref() != Some(now)
    }
}

/// Where in a timeline the events begin that may be for us. What was said before we were invited is not.
pub(crate) fn begins_at(events: &[TimelineEvent], me: &UserId) -> usize {
    let outlines: Vec<Outline> = events.iter().map(Outline::of).collect();
    let Some(joined) = outlines.iter().rposition(|event| event.is_membership(me, "join")) else { return 0 };
    let invited = outlines.iter().take(joined).rposition(|event| event.is_membership(me, "invite"));
    invited.unwrap_or(joined) + 1
}

/// Tells which events can be believed in a room that may be encrypted.
///
/// In an encrypted room only what was encrypted is known to come from its sender: a homeserver could make up the rest.
/// Reactions are never encrypted on Matrix, so they are believed.
#[derive(Debug)]
pub(crate) struct Belief {
    encrypted: bool,
}

impl Belief {
    /// For a room with these events that is encrypted now, or is not.
    pub(crate) fn new(room_is_encrypted: bool, events: &[TimelineEvent]) -> Self {
        // Then it was not at the beginning of these events.
        let begins_here = events.iter().any(|event| Outline::of(event).kind == "m.room.encryption");
        Self { encrypted: room_is_encrypted && !begins_here }
    }

    /// Whether the next event can be believed.
    pub(crate) fn takes(&mut self, event: &TimelineEvent) -> bool {
        let TimelineEventKind::PlainText { .. } = event.kind else { return true };
        let outline = Outline::of(event);
        if outline.kind == "m.room.encryption" {
            self.encrypted = true;
        }
        !(self.encrypted && outline.kind == "m.room.message")
    }
}

#[cfg(test)]
mod tests {
    use matrix_sdk::deserialized_responses::TimelineEvent;
    use matrix_sdk::ruma::serde::Raw;
    use matrix_sdk::ruma::user_id;
    use serde_json::{Value, json};

    use super::{Belief, begins_at};

    fn event(value: &Value) -> TimelineEvent {
        TimelineEvent::from_plaintext(Raw::from_json_string(value.to_string()).unwrap())
    }

    fn member(now: &str, before: &str) -> TimelineEvent {
        event(&json!({"type": "m.room.member", "state_key": "@weir:e.org", "content": {"membership": now},
            "unsigned": {"prev_content": {"membership": before}}}))
    }

    fn message() -> TimelineEvent {
        event(&json!({"type": "m.room.message", "content": {"msgtype": "m.text", "body": "x"}}))
    }

    #[test]
    fn what_was_said_before_the_invitation_is_old() {
        let me = user_id!("@weir:e.org");
        assert_eq!(begins_at(&[message(), message()], me), 0);
        let invited = [message(), member("invite", "leave"), message(), member("join", "invite"), message()];
        assert_eq!(begins_at(&invited, me), 2);
        assert_eq!(begins_at(&[message(), member("join", "leave"), message()], me), 2);
        // Another name is no other membership.
        assert_eq!(begins_at(&[message(), member("join", "join"), message()], me), 0);
        let twice = [
            member("invite", "leave"),
            member("join", "invite"),
            message(),
            member("leave", "join"),
            member("invite", "leave"),
            member("join", "invite"),
        ];
        assert_eq!(begins_at(&twice, me), 5);
    }

    #[test]
    fn nothing_plain_is_believed_in_an_encrypted_room() {
        let reaction = event(&json!({"type": "m.reaction", "content": {}}));
        let mut belief = Belief::new(true, &[message()]);
        assert!(!belief.takes(&message()));
        assert!(belief.takes(&reaction));
        assert!(Belief::new(false, &[]).takes(&message()));
        let encryption = event(&json!({"type": "m.room.encryption", "state_key": "", "content": {}}));
        let events = [message(), encryption, message()];
        let mut belief = Belief::new(true, &events);
        let believed: Vec<bool> = events.iter().map(|event| belief.takes(event)).collect();
        assert_eq!(believed, [true, true, false]);
    }
}
