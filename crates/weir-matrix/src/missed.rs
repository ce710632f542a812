//! What was said while nobody listened: after a restart, and where the homeserver leaves out the middle.

use matrix_sdk::Room;
use matrix_sdk::deserialized_responses::TimelineEvent;
use matrix_sdk::room::MessagesOptions;
use matrix_sdk::ruma::uint;

/// Most events of one room that are caught up with.
const MOST: usize = 5_000;

/// Events that were missed.
#[derive(Debug, Default)]
pub(crate) struct Missed {
    /// The events, in their order.
    pub(crate) events: Vec<TimelineEvent>,
    /// There were more than can be caught up with.
    pub(crate) cut: bool,
}

/// Everything in a room after this place.
pub(crate) async fn since(room: &Room, token: &str) -> Result<Missed, matrix_sdk::Error> {
    let mut missed = Missed::default();
    let mut from = token.to_owned();
    loop {
        let mut options = MessagesOptions::forward().from(from.as_str());
        options.limit = uint!(100);
        let page = room.messages(options).await?;
        missed.events.extend(page.chunk);
        match page.end.filter(|end| *end != from) {
            Some(_) if missed.events.len() >= MOST => {
                missed.cut = true;
                return Ok(missed);
            }
            Some(end) => from = end,
            None => return Ok(missed),
        }
    }
}

/// What lies between two places of a room.
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
            Some(_) if missed.events.len() >= MOST => {
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
