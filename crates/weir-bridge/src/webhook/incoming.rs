//! Reads the requests of the other side of a webhook.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;

use crate::channel::{ChannelName, Incoming, IncomingBody, IncomingFile, IncomingText, Place, Sender};

/// A message, an edit of one, or a pressed button.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WebhookMessage {
    id: String,
    chat: String,
    #[serde(default)]
    thread: Option<String>,
    sender: WebhookSender,
    #[serde(default)]
    text: String,
    /// Whether only the sender and the bot are in the chat.
    #[serde(default = "yes")]
    direct: bool,
    /// Whether it is addressed to the bot.
    #[serde(default)]
    addressed: bool,
    #[serde(default)]
    order: Option<i64>,
    #[serde(default)]
    message: Option<String>,
    #[serde(default)]
    reply_to: Option<String>,
    #[serde(default)]
    attachments: Vec<WebhookFile>,
    #[serde(default)]
    choice: Option<WebhookChoice>,
    /// The message that this text replaces.
    #[serde(default)]
    edits: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WebhookSender {
    id: String,
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    bot: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WebhookFile {
    name: String,
    media_type: String,
    data: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WebhookChoice {
    message: String,
    data: String,
}

fn yes() -> bool {
    true
}

/// Parses the body of a request.
pub(super) fn read(
    body: &[u8],
    channel: &ChannelName,
    now: i64,
) -> Result<(Incoming, Vec<IncomingFile>), String> {
    let message: WebhookMessage = serde_json::from_slice(body).map_err(|error| error.to_string())?;
    for (name, value) in [("id", &message.id), ("chat", &message.chat), ("sender.id", &message.sender.id)] {
        if value.is_empty() || value.len() > 256 {
            return Err(format!("{name} must have 1 to 256 bytes"));
        }
    }
    let mut files = Vec::new();
    for file in message.attachments {
        let data = STANDARD.decode(file.data.as_bytes());
        let data = data.map_err(|error| format!("the data of {} must be base64: {error}", file.name))?;
        files.push(IncomingFile { name: file.name, media_type: file.media_type, data });
    }
    let body = match (message.choice, message.edits) {
        (Some(_), Some(_)) => return Err("choice and edits exclude each other".to_owned()),
        (Some(choice), None) => IncomingBody::Button { to: choice.message.into(), data: choice.data },
        (None, Some(edited)) => IncomingBody::Edited { message: edited.into(), text: message.text },
        (None, None) => IncomingBody::Text(IncomingText {
            reply_to: message.reply_to.map(Into::into),
            ..IncomingText::new(message.text)
        }),
    };
    let incoming = Incoming {
        key: message.id,
        place: Place {
            channel: channel.clone(),
            chat: message.chat.into(),
            thread: message.thread.map(Into::into),
        },
        sender: Sender {
            name: message.sender.name.unwrap_or_else(|| message.sender.id.clone()),
            id: message.sender.id.into(),
            is_bot: message.sender.bot,
        },
        direct: message.direct,
        addressed: message.direct || message.addressed,
        order: message.order.unwrap_or(now),
        message: message.message.map(Into::into),
        body,
    };
    Ok((incoming, files))
}

#[cfg(test)]
mod tests {
    use super::read;
    use crate::channel::IncomingBody;

    #[test]
    fn reads_the_documented_format() {
        let body = br#"{"id":"1","chat":"c","sender":{"id":"u"},"text":"hi","attachments":[{"name":"a.txt","media_type":"text/plain","data":"aGk="}]}"#;
        let (incoming, files) = read(body, &"hook".into(), 7).unwrap();
        assert_eq!((incoming.key.as_str(), incoming.order, incoming.direct), ("1", 7, true));
        assert_eq!(files[0].data, b"hi");
        let body =
            br#"{"id":"2","chat":"c","sender":{"id":"u"},"choice":{"message":"m","data":"a1.0.1.00"}}"#;
        assert!(matches!(read(body, &"hook".into(), 7).unwrap().0.body, IncomingBody::Button { .. }));
        let body = br#"{"id":"3","chat":"c","sender":{"id":"u"},"text":"better","edits":"m"}"#;
        let edited = IncomingBody::Edited { message: "m".into(), text: "better".into() };
        assert_eq!(read(body, &"hook".into(), 7).unwrap().0.body, edited);
    }

    #[test]
    fn errors_name_the_problem() {
        let error = |body: &str| read(body.as_bytes(), &"hook".into(), 7).unwrap_err();
        assert!(error("{}").contains("missing field `id`"));
        assert!(error(r#"{"id":"","chat":"c","sender":{"id":"u"}}"#).contains("id must have 1 to 256 bytes"));
        assert!(
            error(r#"{"id":"1","chat":"c","sender":{"id":"u"},"txt":"x"}"#).contains("unknown field `txt`")
        );
    }
}
