//! Converts Telegram updates to incoming messages.

use teloxide_core::types::{
    CallbackQuery, Chat, FileMeta, Message, MessageKind, ThreadId, Update, UpdateKind, User,
};
use weir_bridge::channel::{ChannelName, Incoming, IncomingBody, IncomingText, Place, RemoteFile, Sender};

/// Reads an update. Returns `None` if it is not for the bot.
pub(crate) fn read(update: &Update, channel: &ChannelName, me: &User) -> Option<Incoming> {
    let key = update.id.0.to_string();
    match &update.kind {
        UpdateKind::Message(message) => read_message(key, message, channel, me),
        UpdateKind::EditedMessage(message) => edited(key, message, channel, me),
        UpdateKind::CallbackQuery(query) => button(key, query, channel),
        _ => None,
    }
}

fn read_message(key: String, message: &Message, channel: &ChannelName, me: &User) -> Option<Incoming> {
    let from = message.from.as_ref()?;
    // Of Telegram's service messages, such as a person joining, only migrations matter.
    let is_of_a_person = matches!(message.kind, MessageKind::Common(_));
    if !is_of_a_person && message.migrate_from_chat_id().is_none() {
        return None;
    }
    let text = message.text().or_else(|| message.caption()).unwrap_or_default();
    let replied = message.reply_to_message();
    let replies_to_us =
        replied.is_some_and(|other| other.from.as_ref().is_some_and(|other| other.id == me.id));
    let (text, mentions_us) = without_mention(text, me.mention().as_deref());
    let direct = message.chat.is_private();
    let first = text.split_whitespace().next().filter(|word| word.starts_with('/'));
    // In groups a command may name the bot that it is for. Our own name has been removed already.
    if !direct && first.is_some_and(names_another_bot) {
        return None;
    }
    let is_command = first.is_some();
    let body = match message.migrate_from_chat_id() {
        Some(from) => IncomingBody::Moved { from: from.0.to_string().into() },
        None => IncomingBody::Text(IncomingText {
            text,
            attachments: Vec::new(),
            files: files(message),
            album: message.media_group_id().map(|album| album.0.clone()),
            reply_to: replied.map(|other| other.id.0.to_string().into()),
        }),
    };
    Some(Incoming {
        key,
        place: place(&message.chat, topic(message), channel),
        sender: sender(from, me),
        direct,
        addressed: direct || replies_to_us || mentions_us || is_command,
        order: i64::from(message.id.0),
        message: Some(message.id.0.to_string().into()),
        body,
    })
}

/// Whether a command such as `/new@some_bot` is for another bot. A path such as `/home/a@b` is not a command.
fn names_another_bot(word: &str) -> bool {
    let is_name = |name: &str| {
        !name.is_empty()
            && name.chars().all(|character| character.is_ascii_alphanumeric() || character == '_')
    };
    let parts = word.strip_prefix('/').and_then(|word| word.split_once('@'));
    parts.is_some_and(|(command, bot)| is_name(command) && is_name(bot))
}

fn edited(key: String, message: &Message, channel: &ChannelName, me: &User) -> Option<Incoming> {
    let from = message.from.as_ref()?;
    let text = message.text().or_else(|| message.caption())?;
    let (text, _) = without_mention(text, me.mention().as_deref());
    Some(Incoming {
        key,
        place: place(&message.chat, topic(message), channel),
        sender: sender(from, me),
        direct: message.chat.is_private(),
        addressed: true,
        order: i64::from(message.id.0),
        message: None,
        body: IncomingBody::Edited { message: message.id.0.to_string().into(), text },
    })
}

fn button(key: String, query: &CallbackQuery, channel: &ChannelName) -> Option<Incoming> {
    let message = query.message.as_ref()?;
    let topic = message.regular_message().and_then(topic);
    Some(Incoming {
        key,
        place: place(message.chat(), topic, channel),
        sender: Sender {
            id: query.from.id.0.to_string().into(),
            name: name(&query.from),
            is_bot: query.from.is_bot,
        },
        direct: message.chat().is_private(),
        addressed: true,
        order: i64::from(message.id().0),
        message: None,
        body: IncomingBody::Button { to: message.id().0.to_string().into(), data: query.data.clone()? },
    })
}

/// The topic of a message. A chain of replies is not a topic.
fn topic(message: &Message) -> Option<ThreadId> {
    message.thread_id.filter(|_| message.is_topic_message)
}

fn place(chat: &Chat, topic: Option<ThreadId>, channel: &ChannelName) -> Place {
    Place {
        channel: channel.clone(),
        chat: chat.id.0.to_string().into(),
        thread: topic.map(|ThreadId(topic)| topic.0.to_string().into()),
    }
}

fn name(user: &User) -> String {
    if user.first_name.is_empty() { user.id.to_string() } else { user.first_name.clone() }
}

fn sender(user: &User, me: &User) -> Sender {
    Sender { id: user.id.0.to_string().into(), name: name(user), is_bot: user.is_bot || user.id == me.id }
}

/// The text without a mention of the bot, and whether there was one.
fn without_mention(text: &str, mention: Option<&str>) -> (String, bool) {
    let Some(mention) = mention.filter(|mention| !mention.is_empty()) else {
        return (text.to_owned(), false);
    };
    let lower = text.to_ascii_lowercase();
    let is_end = |rest: &str| {
        !rest.starts_with(|character: char| character.is_ascii_alphanumeric() || character == '_')
    };
    let found = lower
        .match_indices(&mention.to_ascii_lowercase())
        .find(|(at, found)| lower.get(at + found.len()..).is_none_or(is_end));
    let Some((at, found)) = found else { return (text.to_owned(), false) };
    let (before, after) =
        (text.get(..at).unwrap_or_default(), text.get(at + found.len()..).unwrap_or_default());
    let joined = if before.is_empty() { after.trim_start().to_owned() } else { format!("{before}{after}") };
    (joined.trim().to_owned(), true)
}

fn files(message: &Message) -> Vec<RemoteFile> {
    let photo = message.photo().and_then(|sizes| sizes.iter().max_by_key(|photo| photo.width));
    let photo = photo.map(|photo| remote(&photo.file, None, "photo.jpg", Some("image/jpeg".to_owned())));
    let document = message.document().map(|document| {
        let media_type = document.mime_type.as_ref().map(ToString::to_string);
        remote(&document.file, document.file_name.as_ref(), "file", media_type)
    });
    let audio = message.audio().map(|audio| {
        let media_type = audio.mime_type.as_ref().map(ToString::to_string);
        remote(&audio.file, audio.file_name.as_ref(), "audio", media_type)
    });
    let video = message.video().map(|video| {
        let media_type = video.mime_type.as_ref().map(ToString::to_string);
        remote(&video.file, video.file_name.as_ref(), "video.mp4", media_type)
    });
    let voice = message.voice().map(|voice| {
        let media_type = voice.mime_type.as_ref().map(ToString::to_string);
        remote(&voice.file, None, "voice.ogg", media_type)
    });
    let round = message
        .video_note()
        .map(|video| remote(&video.file, None, "video-message.mp4", Some("video/mp4".to_owned())));
    [photo, document, audio, video, voice, round].into_iter().flatten().collect()
}

fn remote(
    file: &FileMeta,
    name: Option<&String>,
    default_name: &str,
    media_type: Option<String>,
) -> RemoteFile {
    RemoteFile {
        reference: file.id.0.clone(),
        name: name.map_or(default_name, String::as_str).to_owned(),
        media_type: media_type.unwrap_or_else(|| "application/octet-stream".to_owned()),
        // The library uses this number if Telegram does not send the size.
        size: Some(file.size).filter(|size| *size != u32::MAX).map(u64::from),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use teloxide_core::types::{Update, User};
    use weir_bridge::channel::{Incoming, IncomingBody};

    use super::{read, without_mention};

    fn me() -> User {
        let me = json!({"id": 1, "is_bot": true, "first_name": "Weir", "username": "weir_bot"});
        serde_json::from_value(me).unwrap()
    }

    fn incoming(kind: &str, body: &Value) -> Incoming {
        // From a string, as the library reads it.
        let update = json!({"update_id": 9, kind: body}).to_string();
        let update: Update = serde_json::from_str(&update).unwrap();
        read(&update, &"telegram".into(), &me()).unwrap()
    }

    fn message(more: &Value) -> Value {
        let mut message = json!({"message_id": 2, "date": 0, "chat": {"id": -5, "type": "supergroup", "title": "G"},
            "from": {"id": 7, "is_bot": false, "first_name": "A"}});
        message.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        message
    }

    #[test]
    fn a_mention_addresses_the_bot_and_is_removed() {
        assert_eq!(without_mention("@Weir_Bot do it", Some("@weir_bot")), ("do it".into(), true));
        assert_eq!(without_mention("/new@weir_bot", Some("@weir_bot")), ("/new".into(), true));
        assert_eq!(without_mention("ask @weir_bot2", Some("@weir_bot")), ("ask @weir_bot2".into(), false));
    }

    #[test]
    fn a_command_for_another_bot_is_ignored() {
        let read_group = |text: &str| {
            let update = json!({"update_id": 9, "message": message(&json!({"text": text}))}).to_string();
            read(&serde_json::from_str(&update).unwrap(), &"telegram".into(), &me())
        };
        assert!(read_group("/stop@other_bot").is_none());
        assert!(read_group("/stop@weir_bot").is_some_and(|incoming| incoming.addressed));
        assert!(read_group("/stop").is_some_and(|incoming| incoming.addressed));
        assert!(read_group("/home/a@b is full").is_some());
    }

    #[test]
    fn a_picture_of_an_album_names_the_album() {
        let photo = json!({"media_group_id": "77", "caption": "look",
            "photo": [{"file_id": "f", "file_unique_id": "u", "width": 1, "height": 1, "file_size": 9}]});
        let IncomingBody::Text(text) = incoming("message", &message(&photo)).body else { panic!() };
        assert_eq!((text.album.as_deref(), text.text.as_str()), (Some("77"), "look"));
        assert_eq!((text.files[0].reference.as_str(), text.files[0].size), ("f", Some(9)));
        assert_eq!(text.files[0].media_type, "image/jpeg");
    }

    #[test]
    fn topics_are_threads_and_chains_of_replies_are_not() {
        let topic = json!({"text": "x", "message_thread_id": 3, "is_topic_message": true});
        let topic = incoming("message", &message(&topic));
        assert_eq!(topic.place.thread, Some("3".into()));
        assert!(!topic.addressed && !topic.direct);
        let chain = incoming("message", &message(&json!({"text": "x", "message_thread_id": 3})));
        assert_eq!(chain.place.thread, None);
    }

    #[test]
    fn a_button_carries_its_data() {
        let pressed = json!({"id": "q", "from": {"id": 7, "is_bot": false, "first_name": "A"}, "chat_instance": "i",
            "message": {"message_id": 2, "date": 1, "chat": {"id": 7, "type": "private", "first_name": "A"}},
            "data": "a1:0:1"});
        let pressed = incoming("callback_query", &pressed);
        assert_eq!(pressed.body, IncomingBody::Button { to: "2".into(), data: "a1:0:1".into() });
        assert!(pressed.direct);
    }

    #[test]
    fn an_edit_names_its_message() {
        let changed =
            incoming("edited_message", &message(&json!({"text": "@weir_bot better", "edit_date": 1})));
        assert_eq!(changed.body, IncomingBody::Edited { message: "2".into(), text: "better".into() });
    }

    #[test]
    fn a_group_that_became_a_supergroup_is_the_same_chat() {
        let moved = incoming("message", &message(&json!({"migrate_from_chat_id": -4})));
        assert_eq!(moved.body, IncomingBody::Moved { from: "-4".into() });
        assert_eq!(moved.place.chat, "-5".into());
    }
}
