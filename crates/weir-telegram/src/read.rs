//! Updates of Telegram as what came in.

use weir_bridge::channel::{ChannelName, Incoming, IncomingBody, Place, Sender};

use crate::api::{CallbackQuery, Message, Update, User};

/// A file to be downloaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Wanted {
    pub(crate) file_id: String,
    pub(crate) name: String,
    pub(crate) media_type: String,
    pub(crate) size: i64,
}

/// What an update means; none if it means nothing to us.
pub(crate) fn read(update: &Update, channel: &ChannelName, me: &User) -> Option<(Incoming, Vec<Wanted>)> {
    if let Some(query) = &update.callback_query {
        return button(update.update_id, query, channel).map(|incoming| (incoming, Vec::new()));
    }
    let message = update.message.as_ref()?;
    let from = message.from.as_ref()?;
    let text = message.text.as_deref().or(message.caption.as_deref()).unwrap_or_default();
    let replies_to_us = message
        .reply_to_message
        .as_ref()
        .is_some_and(|other| other.from.as_ref().is_some_and(|other| other.id == me.id));
    let mention = me.username.as_ref().map(|name| format!("@{name}"));
    let (text, mentions_us) = without_mention(text, mention.as_deref());
    let direct = message.chat.r#type == "private";
    let is_command =
        text.starts_with('/') && text.split_whitespace().next().is_some_and(|word| !word.contains('@'));
    let incoming = Incoming {
        key: update.update_id.to_string(),
        place: place(message, channel),
        sender: sender(from, me),
        direct,
        addressed: direct || replies_to_us || mentions_us || is_command,
        order: message.message_id,
        message: Some(message.message_id.to_string().into()),
        body: IncomingBody::Text {
            text,
            attachments: Vec::new(),
            reply_to: message.reply_to_message.as_ref().map(|other| other.message_id.to_string().into()),
        },
    };
    Some((incoming, wanted(message)))
}

fn place(message: &Message, channel: &ChannelName) -> Place {
    let topic = message.message_thread_id.filter(|_| message.is_topic_message);
    Place {
        channel: channel.clone(),
        chat: message.chat.id.to_string().into(),
        thread: topic.map(|topic| topic.to_string().into()),
    }
}

fn sender(user: &User, me: &User) -> Sender {
    let name = if user.first_name.is_empty() { user.id.to_string() } else { user.first_name.clone() };
    Sender { id: user.id.to_string().into(), name, is_bot: user.is_bot || user.id == me.id }
}

fn button(update: i64, query: &CallbackQuery, channel: &ChannelName) -> Option<Incoming> {
    let message = query.message.as_ref()?;
    let direct = message.chat.r#type == "private";
    let name = if query.from.first_name.is_empty() {
        query.from.id.to_string()
    } else {
        query.from.first_name.clone()
    };
    Some(Incoming {
        key: update.to_string(),
        place: place(message, channel),
        sender: Sender { id: query.from.id.to_string().into(), name, is_bot: query.from.is_bot },
        direct,
        addressed: true,
        order: message.message_id,
        message: None,
        body: IncomingBody::Button { to: message.message_id.to_string().into(), data: query.data.clone()? },
    })
}

/// The text without a mention of us, and whether there was one.
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

fn wanted(message: &Message) -> Vec<Wanted> {
    let largest = message.photo.iter().max_by_key(|photo| photo.width);
    let photo = largest.map(|photo| Wanted {
        file_id: photo.file_id.clone(),
        name: "photo.jpg".to_owned(),
        media_type: "image/jpeg".to_owned(),
        size: photo.file_size.unwrap_or(0),
    });
    let document = message.document.as_ref().map(|document| Wanted {
        file_id: document.file_id.clone(),
        name: document.file_name.clone().unwrap_or_else(|| "file".to_owned()),
        media_type: document.mime_type.clone().unwrap_or_else(|| "application/octet-stream".to_owned()),
        size: document.file_size.unwrap_or(0),
    });
    photo.into_iter().chain(document).collect()
}

#[cfg(test)]
mod tests {
    use super::{read, without_mention};
    use crate::api::{Update, User};
    use weir_bridge::channel::{Incoming, IncomingBody};

    fn me() -> User {
        User { id: 1, is_bot: true, first_name: "Weir".into(), username: Some("weir_bot".into()) }
    }

    fn incoming(json: &str) -> Incoming {
        let update: Update = serde_json::from_str(json).unwrap();
        read(&update, &"telegram".into(), &me()).unwrap().0
    }

    #[test]
    fn a_mention_is_for_us_and_is_taken_away() {
        assert_eq!(without_mention("@Weir_Bot do it", Some("@weir_bot")), ("do it".into(), true));
        assert_eq!(without_mention("/new@weir_bot", Some("@weir_bot")), ("/new".into(), true));
        assert_eq!(without_mention("ask @weir_bot2", Some("@weir_bot")), ("ask @weir_bot2".into(), false));
    }

    #[test]
    fn topics_are_threads_and_chains_of_replies_are_not() {
        let chat = r#""chat":{"id":-5,"type":"supergroup"},"from":{"id":7,"first_name":"A"},"text":"x","message_thread_id":3"#;
        let topic = incoming(&format!(
            r#"{{"update_id":1,"message":{{"message_id":2,"is_topic_message":true,{chat}}}}}"#
        ));
        assert_eq!(topic.place.thread, Some("3".into()));
        assert!(!topic.addressed && !topic.direct);
        let chain = incoming(&format!(r#"{{"update_id":1,"message":{{"message_id":2,{chat}}}}}"#));
        assert_eq!(chain.place.thread, None);
    }

    #[test]
    fn a_button_carries_its_data() {
        let pressed = incoming(
            r#"{"update_id":9,"callback_query":{"id":"q","from":{"id":7,"first_name":"A"},"message":{"message_id":2,"chat":{"id":7,"type":"private"}},"data":"a1:0:1"}}"#,
        );
        assert_eq!(pressed.body, IncomingBody::Button { to: "2".into(), data: "a1:0:1".into() });
    }
}
