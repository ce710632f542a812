//! Decides which events of a room are new to the bot, and which of them can be trusted.

use matrix_sdk::deserialized_responses::{TimelineEvent, TimelineEventKind};
use matrix_sdk::ruma::UserId;
use serde::Deserialize;

/// The parts of an event that are needed before it is read.
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

    /// Whether the event changes the membership of a user to this.
    fn is_membership(&self, of: &UserId, now: &str) -> bool {
        self.kind == "m.room.member"
            && self.state_key.as_deref() == Some(of.as_str())
            && self.content.membership.as_deref() == Some(now)
            && self.unsigned.prev_content.membership.as_deref() != Some(now)
    }
}

/// The index of the first event that may be for the bot: the first one after its invitation.
pub(crate) fn first_relevant(events: &[TimelineEvent], me: &UserId) -> usize {
    let outlines: Vec<Outline> = events.iter().map(Outline::of).collect();
    let Some(joined) = outlines.iter().rposition(|event| event.is_membership(me, "join")) else { return 0 };
    let invited = outlines.iter().take(joined).rposition(|event| event.is_membership(me, "invite"));
    invited.unwrap_or(joined) + 1
}

/// Decides which events can be trusted in a room that may be encrypted.
///
/// In an encrypted room only encrypted messages are known to come from their sender: a homeserver could forge others.
/// Reactions are never encrypted on Matrix, so they are trusted.
#[derive(Debug)]
pub(crate) struct TrustFilter {
    encrypted: bool,
}

impl TrustFilter {
    /// A filter for these events of a room. `room_is_encrypted` says whether the room is encrypted now.
    pub(crate) fn new(room_is_encrypted: bool, events: &[TimelineEvent]) -> Self {
        // If encryption was enabled in these events, the room was not encrypted at their beginning.
        let begins_here = events.iter().any(|event| Outline::of(event).kind == "m.room.encryption");
        Self { encrypted: room_is_encrypted && !begins_here }
    }

    /// Whether the next event can be trusted.
    pub(crate) fn accepts(&mut self, event: &TimelineEvent) -> bool {
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

    use super::{TrustFilter, first_relevant};

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
    fn events_before_the_invitation_are_left_out() {
        let me = user_id!("@weir:e.org");
        assert_eq!(first_relevant(&[message(), message()], me), 0);
        let invited = [message(), member("invite", "leave"), message(), member("join", "invite"), message()];
        assert_eq!(first_relevant(&invited, me), 2);
        assert_eq!(first_relevant(&[message(), member("join", "leave"), message()], me), 2);
        // A change of the display name does not change the membership.
        assert_eq!(first_relevant(&[message(), member("join", "join"), message()], me), 0);
        let twice = [
            member("invite", "leave"),
            member("join", "invite"),
            message(),
            member("leave", "join"),
            member("invite", "leave"),
            member("join", "invite"),
        ];
        assert_eq!(first_relevant(&twice, me), 5);
    }

    #[test]
    fn plain_messages_are_not_trusted_in_an_encrypted_room() {
        let reaction = event(&json!({"type": "m.reaction", "content": {}}));
        let mut trust = TrustFilter::new(true, &[message()]);
        assert!(!trust.accepts(&message()));
        assert!(trust.accepts(&reaction));
        assert!(TrustFilter::new(false, &[]).accepts(&message()));
        let encryption = event(&json!({"type": "m.room.encryption", "state_key": "", "content": {}}));
        let events = [message(), encryption, message()];
        let mut trust = TrustFilter::new(true, &events);
        let trusted: Vec<bool> = events.iter().map(|event| trust.accepts(event)).collect();
        assert_eq!(trusted, [true, true, false]);
    }
}
