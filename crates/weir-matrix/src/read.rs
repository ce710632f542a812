//! Converts Matrix events to incoming messages.

use matrix_sdk::ruma::events::room::MediaSource;
use matrix_sdk::ruma::events::room::message::sanitize::remove_plain_reply_fallback;
use matrix_sdk::ruma::events::room::message::{MessageType, Relation, RoomMessageEventContent};
use matrix_sdk::ruma::events::{
    AnySyncMessageLikeEvent, AnySyncTimelineEvent, OriginalSyncMessageLikeEvent, SyncMessageLikeEvent,
};
use matrix_sdk::ruma::{EventId, OwnedEventId, RoomId, UserId};
use weir_bridge::channel::{
    ChannelName, Incoming, IncomingBody, IncomingText, Place, RemoteFile, Sender, ThreadId,
};

use crate::download::reference;
use crate::mention::{Names, without_mention};

/// The context of an event.
#[derive(Debug, Clone)]
pub(crate) struct Setting<'a> {
    pub(crate) channel: &'a ChannelName,
    pub(crate) room: &'a RoomId,
    pub(crate) names: Names<'a>,
    /// Display name of the sender.
    pub(crate) sender_name: &'a str,
    /// Whether only the sender and the bot are in the room.
    pub(crate) direct: bool,
    pub(crate) order: i64,
}

/// An event that was read.
#[derive(Debug)]
pub(crate) struct Reading {
    pub(crate) incoming: Incoming,
    /// If this is one of our messages, the event is addressed to the bot.
    pub(crate) answers: Option<OwnedEventId>,
}

/// Reads an event. Returns `None` if it is not for the bot.
pub(crate) fn read(event: &AnySyncTimelineEvent, setting: &Setting<'_>) -> Option<Reading> {
    let AnySyncTimelineEvent::MessageLike(event) = event else { return None };
    if event.sender() == setting.names.id {
        return None;
    }
    match event {
        AnySyncMessageLikeEvent::RoomMessage(SyncMessageLikeEvent::Original(event)) => {
            message(event, setting)
        }
        AnySyncMessageLikeEvent::Reaction(SyncMessageLikeEvent::Original(event)) => {
            let on = &event.content.relates_to;
            let body = IncomingBody::Reaction { to: on.event_id.as_str().into(), key: on.key.clone() };
            Some(about(&event.event_id, &event.sender, setting, body))
        }
        AnySyncMessageLikeEvent::Sticker(SyncMessageLikeEvent::Original(event)) => {
            // A sticker is not a prompt. In a direct chat its sender is told.
            let body = IncomingBody::Text(IncomingText::default());
            let mut reading = about(&event.event_id, &event.sender, setting, body);
            reading.incoming.addressed = setting.direct;
            reading.incoming.message = Some(event.event_id.as_str().into());
            Some(reading)
        }
        _ => None,
    }
}

fn message(
    event: &OriginalSyncMessageLikeEvent<RoomMessageEventContent>,
    setting: &Setting<'_>,
) -> Option<Reading> {
    let content = &event.content;
    let (text, files) = body(&content.msgtype, setting.sender_name)?;
    let (thread, reply_to, answers) = match &content.relates_to {
        Some(Relation::Replacement(change)) => {
            let (text, _) = body(&change.new_content.msgtype, setting.sender_name)?;
            let (text, _) = without_mention(&text, &setting.names);
            let body = IncomingBody::Edited { message: change.event_id.as_str().into(), text };
            return Some(about(&event.event_id, &event.sender, setting, body));
        }
        Some(Relation::Reply(reply)) => {
            let to = &reply.in_reply_to.event_id;
            (None, Some(to.as_str().into()), Some(to.clone()))
        }
        Some(Relation::Thread(thread)) => {
            let to = thread.in_reply_to.as_ref().map(|reply| reply.event_id.clone());
            // The fallback for clients without threads is not a real reply.
            let reply_to = to.as_ref().filter(|_| !thread.is_falling_back).map(|to| to.as_str().into());
            (Some(ThreadId::from(thread.event_id.as_str())), reply_to, to)
        }
        _ => (None, None, None),
    };
    let (text, named) = without_mention(&text, &setting.names);
    let mentioned =
        content.mentions.as_ref().is_some_and(|mentions| mentions.user_ids.contains(setting.names.id));
    let incoming = Incoming {
        key: event.event_id.to_string(),
        place: place(setting, thread),
        sender: sender(&event.sender, setting),
        direct: setting.direct,
        addressed: setting.direct || named || mentioned,
        order: setting.order,
        message: Some(event.event_id.as_str().into()),
        body: IncomingBody::Text(IncomingText { files, reply_to, ..IncomingText::new(text) }),
    };
    Some(Reading { incoming, answers })
}

/// An event that refers to an existing message.
fn about(id: &EventId, from: &UserId, setting: &Setting<'_>, body: IncomingBody) -> Reading {
    let incoming = Incoming {
        key: id.to_string(),
        place: place(setting, None),
        sender: sender(from, setting),
        direct: setting.direct,
        addressed: true,
        order: setting.order,
        message: None,
        body,
    };
    Reading { incoming, answers: None }
}

fn place(setting: &Setting<'_>, thread: Option<ThreadId>) -> Place {
    Place { channel: setting.channel.clone(), chat: setting.room.as_str().into(), thread }
}

fn sender(id: &UserId, setting: &Setting<'_>) -> Sender {
    Sender { id: id.as_str().into(), name: setting.sender_name.to_owned(), is_bot: false }
}

/// The text and files of a message, or `None` if it is to be ignored. Notices are messages of programs.
fn body(message: &MessageType, sender_name: &str) -> Option<(String, Vec<RemoteFile>)> {
    let file = |caption: Option<&str>,
                name: &str,
                source: &MediaSource,
                media_type: Option<&String>,
                default_type: &str,
                size: Option<matrix_sdk::ruma::UInt>| {
        let file = RemoteFile {
            name: name.to_owned(),
            media_type: media_type.map_or(default_type, String::as_str).to_owned(),
            size: size.map(u64::from),
            reference: reference(source),
        };
        (caption.unwrap_or_default().to_owned(), vec![file])
    };
    Some(match message {
        MessageType::Text(text) => (remove_plain_reply_fallback(&text.body).to_owned(), Vec::new()),
        MessageType::Emote(emote) => (format!("* {sender_name} {}", emote.body), Vec::new()),
        MessageType::Location(location) => (format!("{} ({})", location.body, location.geo_uri), Vec::new()),
        MessageType::Image(image) => {
            let info = image.info.as_deref();
            let (kind, size) =
                (info.and_then(|info| info.mimetype.as_ref()), info.and_then(|info| info.size));
            file(image.caption(), image.filename(), &image.source, kind, "image/jpeg", size)
        }
        MessageType::File(document) => {
            let info = document.info.as_deref();
            let (kind, size) =
                (info.and_then(|info| info.mimetype.as_ref()), info.and_then(|info| info.size));
            file(
                document.caption(),
                document.filename(),
                &document.source,
                kind,
                "application/octet-stream",
                size,
            )
        }
        MessageType::Audio(audio) => {
            let info = audio.info.as_deref();
            let (kind, size) =
                (info.and_then(|info| info.mimetype.as_ref()), info.and_then(|info| info.size));
            file(audio.caption(), audio.filename(), &audio.source, kind, "audio/ogg", size)
        }
        MessageType::Video(video) => {
            let info = video.info.as_deref();
            let (kind, size) =
                (info.and_then(|info| info.mimetype.as_ref()), info.and_then(|info| info.size));
            file(video.caption(), video.filename(), &video.source, kind, "video/mp4", size)
        }
        MessageType::Notice(_) | MessageType::ServerNotice(_) | MessageType::VerificationRequest(_) => {
            return None;
        }
        // Nothing in it can be read, and its sender is told so.
        _ => (String::new(), Vec::new()),
    })
}

#[cfg(test)]
mod tests {
    use matrix_sdk::ruma::events::AnySyncTimelineEvent;
    use matrix_sdk::ruma::{room_id, user_id};
    use serde_json::{Value, json};
    use weir_bridge::channel::IncomingBody;

    use super::{Names, Reading, Setting, read};

    fn reading(kind: &str, content: &Value, direct: bool) -> Option<Reading> {
        let event = json!({"type": kind, "event_id": "$e", "sender": "@anna:e.org", "origin_server_ts": 1, "content": content});
        let event: AnySyncTimelineEvent = serde_json::from_value(event).unwrap();
        let setting = Setting {
            channel: &"matrix".into(),
            room: room_id!("!r:e.org"),
            names: Names { id: user_id!("@weir:e.org"), display_name: None },
            sender_name: "Anna",
            direct,
            order: 7,
        };
        read(&event, &setting)
    }

    fn text(content: &Value) -> Reading {
        reading("m.room.message", content, false).unwrap()
    }

    #[test]
    fn a_mention_addresses_the_bot() {
        let plain = text(&json!({"msgtype": "m.text", "body": "hello"}));
        assert!(!plain.incoming.addressed);
        assert_eq!((plain.incoming.key.as_str(), plain.incoming.order), ("$e", 7));
        let named =
            text(&json!({"msgtype": "m.text", "body": "hello", "m.mentions": {"user_ids": ["@weir:e.org"]}}));
        assert!(named.incoming.addressed);
        let other =
            text(&json!({"msgtype": "m.text", "body": "hello", "m.mentions": {"user_ids": ["@x:e.org"]}}));
        assert!(!other.incoming.addressed);
    }

    #[test]
    fn a_thread_is_a_place_and_its_fallback_is_not_a_reply() {
        let threaded = |falling_back: bool| {
            text(
                &json!({"msgtype": "m.text", "body": "x", "m.relates_to": {"rel_type": "m.thread", "event_id": "$root",
                "is_falling_back": falling_back, "m.in_reply_to": {"event_id": "$last"}}}),
            )
        };
        let fallback = threaded(true);
        assert_eq!(fallback.incoming.place.thread, Some("$root".into()));
        assert!(matches!(&fallback.incoming.body, IncomingBody::Text(text) if text.reply_to.is_none()));
        assert_eq!(fallback.answers.unwrap(), "$last");
        let reply = threaded(false);
        assert!(
            matches!(&reply.incoming.body, IncomingBody::Text(text) if text.reply_to == Some("$last".into()))
        );
    }

    #[test]
    fn unreadable_messages_are_empty_texts_and_notices_are_ignored() {
        let sticker = json!({"body": "a cat", "url": "mxc://e.org/1", "info": {}});
        let odd = json!({"msgtype": "org.example.hologram", "body": "boo"});
        for (kind, content) in [("m.sticker", &sticker), ("m.room.message", &odd)] {
            for direct in [true, false] {
                let incoming = reading(kind, content, direct).unwrap().incoming;
                assert!(matches!(&incoming.body, IncomingBody::Text(text) if text.text.is_empty()), "{kind}");
                assert_eq!((incoming.addressed, incoming.message), (direct, Some("$e".into())), "{kind}");
            }
        }
        assert!(reading("m.room.message", &json!({"msgtype": "m.notice", "body": "x"}), true).is_none());
    }

    #[test]
    fn quotes_in_replies_are_removed() {
        let reply = text(&json!({"msgtype": "m.text", "body": "> <@weir:e.org> May it?\n\nno",
            "m.relates_to": {"m.in_reply_to": {"event_id": "$card"}}}));
        let IncomingBody::Text(text) = &reply.incoming.body else { panic!() };
        assert_eq!((text.text.as_str(), text.reply_to.as_ref().unwrap().as_str()), ("no", "$card"));
    }

    #[test]
    fn the_caption_of_a_picture_is_its_text() {
        let image = |extra: Value| {
            let mut content = json!({"msgtype": "m.image", "body": "cat.png", "url": "mxc://e.org/1", "info": {"mimetype": "image/png", "size": 9}});
            content.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
            let reading = text(&content);
            let IncomingBody::Text(mut text) = reading.incoming.body else { panic!() };
            // Matrix does not say which pictures belong together.
            assert_eq!(text.album, None);
            let file = text.files.remove(0);
            (text.text, file.name, file.media_type, file.size)
        };
        assert_eq!(image(json!({})), (String::new(), "cat.png".into(), "image/png".into(), Some(9)));
        assert_eq!(image(json!({"body": "My cat", "filename": "cat.png"})).0, "My cat");
    }

    #[test]
    fn notices_and_own_messages_are_ignored() {
        let notice = json!({"msgtype": "m.notice", "body": "beep"});
        assert!(reading("m.room.message", &notice, true).is_none());
        let event = json!({"type": "m.room.message", "event_id": "$e", "sender": "@weir:e.org", "origin_server_ts": 1,
            "content": {"msgtype": "m.text", "body": "x"}});
        let event: AnySyncTimelineEvent = serde_json::from_value(event).unwrap();
        let setting = Setting {
            channel: &"matrix".into(),
            room: room_id!("!r:e.org"),
            names: Names { id: user_id!("@weir:e.org"), display_name: None },
            sender_name: "Weir",
            direct: true,
            order: 1,
        };
        assert!(read(&event, &setting).is_none());
    }

    #[test]
    fn an_edit_names_its_message() {
        let edit = text(
            &json!({"msgtype": "m.text", "body": "* x", "m.new_content": {"msgtype": "m.text", "body": "x"},
            "m.relates_to": {"rel_type": "m.replace", "event_id": "$1"}}),
        );
        assert_eq!(edit.incoming.body, IncomingBody::Edited { message: "$1".into(), text: "x".into() });
    }

    #[test]
    fn a_reaction_names_the_message_and_the_key() {
        let content = json!({"m.relates_to": {"rel_type": "m.annotation", "event_id": "$card", "key": "1\u{fe0f}\u{20e3}"}});
        let reading = reading("m.reaction", &content, false).unwrap();
        let IncomingBody::Reaction { to, key } = reading.incoming.body else { panic!() };
        assert_eq!((to.as_str(), key.as_str()), ("$card", "1\u{fe0f}\u{20e3}"));
    }
}
