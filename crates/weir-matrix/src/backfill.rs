//! Loads missed events: after a restart, and if the homeserver leaves out part of a timeline.

use matrix_sdk::Room;
use matrix_sdk::deserialized_responses::TimelineEvent;
use matrix_sdk::room::MessagesOptions;
use matrix_sdk::ruma::uint;

/// Maximum number of missed events per room that are loaded.
const MAX_EVENTS: usize = 5_000;

/// Missed events.
#[derive(Debug, Default)]
pub(crate) struct Missed {
    /// The events, in order.
    pub(crate) events: Vec<TimelineEvent>,
    /// Whether there were more than the maximum.
    pub(crate) cut: bool,
}

/// All events in a room after this position.
pub(crate) async fn since(room: &Room, token: &str) -> Result<Missed, matrix_sdk::Error> {
    let mut missed = Missed::default();
    let mut from = token.to_owned();
    loop {
        let mut options = MessagesOptions::forward().from(from.as_str());
        options.limit = uint!(100);
        let page = room.messages(options).await?;
        missed.events.extend(page.chunk);
        match page.end.filter(|end| *end != from) {
            Some(_) if missed.events.len() >= MAX_EVENTS => {
                missed.cut = true;
                return Ok(missed);
            }
            Some(end) => from = end,
            None => return Ok(missed),
        }
    }
}

/// The events between two positions in a room.
pub(crate) async fn between(room: &Room, after: &str, before: &str) -> Result<Missed, matrix_sdk::Error> {
    let mut missed = Missed::default();
    let mut from = before.to_owned();
    loop {
        let mut options = MessagesOptions::backward().from(from.as_str());
        options.to = Some(after.to_owned());
        options.limit = uint!(100);
        let page = room.messages(options).await?;
        let was_empty = page.chunk.is_empty();
        missed.events.extend(page.chunk);
        match page.end.filter(|end| *end != from && !was_empty) {
            Some(_) if missed.events.len() >= MAX_EVENTS => {
                missed.cut = true;
                break;
            }
            Some(end) => from = end,
            None => break,
        }
    }
    missed.events.reverse();
    Ok(missed)
}
