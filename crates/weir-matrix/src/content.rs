//! The wire format of our messages.

use matrix_sdk::ruma::OwnedEventId;
use matrix_sdk::ruma::events::Mentions;
use matrix_sdk::ruma::events::relation::{Replacement, Reply, Thread};
use matrix_sdk::ruma::events::room::message::{
    Relation, RoomMessageEventContent, RoomMessageEventContentWithoutRelation,
};
use weir_bridge::markup::Rendered;

/// Maximum number of characters that clients without edits show of an edit.
const MAX_FALLBACK: usize = 200;

/// A text. Not a notice, because clients do not notify people of those, and the agent asks questions.
fn text(text: &Rendered) -> RoomMessageEventContent {
    let mut content = match &text.html {
        Some(html) => RoomMessageEventContent::text_html(&*text.plain, html),
        None => RoomMessageEventContent::text_plain(&*text.plain),
    };
    // Names in the model's text must not mention anyone.
    content.mentions = Some(Mentions::new());
    content
}

/// A new message.
pub(crate) fn message(
    rendered: &Rendered,
    thread: Option<OwnedEventId>,
    reply_to: Option<OwnedEventId>,
) -> RoomMessageEventContent {
    let mut content = text(rendered);
    content.relates_to = match (thread, reply_to) {
        (Some(root), reply_to) => {
            let last = reply_to.unwrap_or_else(|| root.clone());
            Some(Relation::Thread(Thread::plain(root, last)))
        }
        (None, Some(to)) => Some(Relation::Reply(Reply::with_event_id(to))),
        (None, None) => None,
    };
    content
}

/// An edit of a message. The fallback for clients without edits is short, because the size of an event is limited.
pub(crate) fn edit(rendered: &Rendered, of: OwnedEventId) -> RoomMessageEventContent {
    let short: String = rendered.plain.chars().take(MAX_FALLBACK).collect();
    let mut content = RoomMessageEventContent::text_plain(format!("* {short}"));
    content.mentions = Some(Mentions::new());
    let new: RoomMessageEventContentWithoutRelation = text(rendered).into();
    content.relates_to = Some(Relation::Replacement(Replacement::new(of, new)));
    content
}

#[cfg(test)]
mod tests {
    use matrix_sdk::ruma::owned_event_id;
    use serde_json::{Value, json};
    use weir_bridge::markup::Markup;

    use super::{edit, message};

    fn json_of(content: &impl serde::Serialize) -> Value {
        serde_json::to_value(content).unwrap()
    }

    #[test]
    fn a_message_has_html_and_plain_text() {
        let rendered = Markup::MatrixHtml.render("Some **bold** words");
        let content = json_of(&message(&rendered, None, None));
        assert_eq!(content["msgtype"], "m.text");
        assert_eq!(content["body"], "Some **bold** words");
        assert_eq!(content["formatted_body"], "<p>Some <strong>bold</strong> words</p>");
        assert_eq!(content.get("m.relates_to"), None);
        assert_eq!(content["m.mentions"], json!({}));
    }

    #[test]
    fn relations_are_threads_replies_and_replacements() {
        let rendered = Markup::MatrixHtml.render("x");
        let (root, to) = (owned_event_id!("$root"), owned_event_id!("$to"));
        let threaded = json_of(&message(&rendered, Some(root.clone()), Some(to.clone())));
        assert_eq!(
            threaded["m.relates_to"],
            json!({"rel_type": "m.thread", "event_id": "$root", "is_falling_back": true, "m.in_reply_to": {"event_id": "$to"}})
        );
        let reply = json_of(&message(&rendered, None, Some(to)));
        assert_eq!(reply["m.relates_to"], json!({"m.in_reply_to": {"event_id": "$to"}}));
        let changed = json_of(&edit(&rendered, root));
        assert_eq!(changed["m.relates_to"], json!({"rel_type": "m.replace", "event_id": "$root"}));
        assert_eq!(changed["m.new_content"]["formatted_body"], "<p>x</p>");
        assert_eq!(changed["body"], "* x");
    }

    #[test]
    fn the_longest_edit_fits_into_an_event() {
        // The worst case: all characters have to be escaped.
        let text = "\"\\".repeat(3_000);
        let rendered = Markup::MatrixHtml.render(&text);
        let length = rendered.plain.len() + rendered.html.as_ref().map_or(0, String::len);
        let event = serde_json::to_string(&edit(&rendered, owned_event_id!("$root"))).unwrap();
        assert!(event.len() < length * 5 / 2 + 1_000, "{} of {length}", event.len());
    }
}
