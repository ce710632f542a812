//! Requests updates, and parses them one by one.
//!
//! Telegram keeps adding fields and kinds, and none of them may stop the polling or hide a message with readable
//! text. So updates are received as JSON, everything that is not used here is removed, and the library parses the
//! rest.

use serde::Serialize;
use serde_json::{Map, Value};
use teloxide_core::requests::{JsonRequest, Payload};
use teloxide_core::types::{Update, UpdateKind};
use teloxide_core::{Bot, RequestError};

const MESSAGE: [&str; 17] = [
    "message_id",
    "message_thread_id",
    "is_topic_message",
    "from",
    "date",
    "chat",
    "text",
    "caption",
    "photo",
    "document",
    "audio",
    "video",
    "voice",
    "video_note",
    "migrate_from_chat_id",
    "reply_to_message",
    "media_group_id",
];
/// Content of people's messages that cannot be read here. Other messages without text are service messages: a person
/// joined, a message was pinned.
const UNREADABLE: [&str; 11] = [
    "sticker",
    "location",
    "venue",
    "contact",
    "poll",
    "dice",
    "game",
    "story",
    "paid_media",
    "checklist",
    "invoice",
];
const QUERY: [&str; 5] = ["id", "from", "message", "chat_instance", "data"];
const CHAT: [&str; 3] = ["id", "type", "title"];
const USER: [&str; 4] = ["id", "is_bot", "first_name", "username"];
/// The kinds of updates that are used here.
const KINDS: [&str; 3] = ["message", "edited_message", "callback_query"];

/// The library's own request would return parsed updates, without those that it could not parse.
#[derive(Debug, Serialize)]
struct GetRawUpdates {
    offset: i64,
    timeout: u64,
    allowed_updates: [&'static str; 3],
}

impl Payload for GetRawUpdates {
    type Output = Vec<Value>;

    const NAME: &'static str = "getUpdates";
}

/// Waits up to `timeout` seconds for updates, starting with number `offset`.
pub(crate) async fn request(bot: &Bot, offset: i64, timeout: u64) -> Result<Vec<Value>, RequestError> {
    JsonRequest::new(bot.clone(), GetRawUpdates { offset, timeout, allowed_updates: KINDS }).await
}

/// The number of an update.
pub(crate) fn number(update: &Value) -> Option<i64> {
    update.get("update_id")?.as_i64()
}

/// Parses an update. Returns `None` if it is invalid, or of a kind that is not used here.
pub(crate) fn parse(update: &Value) -> Option<Update> {
    let update = update.as_object()?;
    let mut simple = Map::new();
    simple.insert("update_id".to_owned(), update.get("update_id")?.clone());
    for (name, value) in update {
        match name.as_str() {
            "message" | "edited_message" => {
                simple.insert(name.clone(), message(value));
            }
            "callback_query" => {
                simple.insert(name.clone(), only(value, &QUERY));
            }
            _ => {}
        }
    }
    // From a string, because the library borrows from it.
    let update: Update = serde_json::from_str(&Value::Object(simple).to_string()).ok()?;
    (!matches!(update.kind, UpdateKind::Error(_))).then_some(update)
}

/// A message reduced to the fields that are used here. A person's message that cannot be read becomes a text, which is
/// its caption or empty, so that its sender can be told.
fn message(value: &Value) -> Value {
    let mut simple = only(value, &MESSAGE);
    let is_unreadable = UNREADABLE.iter().any(|name| value.get(name).is_some());
    if let Some(simple) = simple.as_object_mut().filter(|_| is_unreadable) {
        let caption = simple.remove("caption").unwrap_or_else(|| "".into());
        simple.entry("text").or_insert(caption);
    }
    simple
}

/// An object reduced to these fields, recursively.
fn only(value: &Value, names: &[&str]) -> Value {
    let Some(object) = value.as_object() else { return value.clone() };
    let known = object.iter().filter(|(name, _)| names.contains(&name.as_str()));
    let simple = known.map(|(name, value)| {
        let value = match name.as_str() {
            "chat" => only(value, &CHAT),
            "from" => only(value, &USER),
            "message" | "reply_to_message" => only(value, &MESSAGE),
            _ => value.clone(),
        };
        (name.clone(), value)
    });
    Value::Object(simple.collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use teloxide_core::types::UpdateKind;

    use super::{number, parse};

    #[test]
    fn text_is_read_whatever_else_is_in_the_message() {
        let odd = json!({"update_id": 7, "mood": "fine", "message": {
            "message_id": 2, "date": 0, "text": "hello", "entities": {"kind": "hologram"}, "paid": [1],
            "chat": {"id": 5, "type": "private", "first_name": ["A"]},
            "from": {"id": 5, "is_bot": false, "first_name": "A", "language_code": 7},
        }});
        let UpdateKind::Message(message) = parse(&odd).unwrap().kind else { panic!() };
        assert_eq!(message.text(), Some("hello"));
    }

    #[test]
    fn unreadable_messages_are_empty_texts() {
        let about = |what: &str, value: serde_json::Value| {
            let update = json!({"update_id": 7, "message": {
                "message_id": 2, "date": 0, "chat": {"id": 5, "type": "private", "first_name": "A"},
                "from": {"id": 5, "is_bot": false, "first_name": "A"}, what: value,
            }});
            let UpdateKind::Message(message) = parse(&update).unwrap().kind else { panic!() };
            message.text().map(str::to_owned)
        };
        assert_eq!(about("sticker", json!({"file_id": "s"})).as_deref(), Some(""));
        assert_eq!(about("location", json!({"latitude": 1.0, "longitude": 2.0})).as_deref(), Some(""));
        assert_eq!(about("new_chat_members", json!([])), None, "a service message");
    }

    #[test]
    fn invalid_updates_have_a_number_too() {
        for update in [
            json!({"update_id": 7, "telepathy": {}}),
            json!({"update_id": 7, "message": {"text": "no chat"}}),
            json!({"update_id": 7, "message": 7}),
        ] {
            assert!(parse(&update).is_none(), "{update}");
            assert_eq!(number(&update), Some(7));
        }
        assert_eq!(number(&json!("update")), None);
    }
}
