//! Messages for the model.

use base64::Engine as _;
use serde_json::{Map, Value, json};

use super::inert::TextHandling;
use crate::id::{CliSessionId, MessageId, ToolUseId};

/// A message for the model.
#[derive(Debug, Clone, PartialEq)]
pub struct OutgoingMessage {
    /// The content.
    pub content: OutgoingContent,
    /// Our id for it: results use it to say which messages they answer.
    pub uuid: Option<MessageId>,
    /// The session; `default` is sent if none is known yet.
    pub session_id: Option<CliSessionId>,
    /// The tool call that it belongs to; `None` for an ordinary message.
    pub parent_tool_use_id: Option<ToolUseId>,
    /// What the CLI may do with the text, apart from giving it to the model: by default nothing.
    pub handling: TextHandling,
    /// When the CLI takes it from its queue; its own choice if `None`. Versions that do not know it ignore it.
    pub priority: Option<MessagePriority>,
    /// Who wrote it. Versions that do not know it ignore it.
    pub origin: Option<MessageOrigin>,
    /// Whether it only becomes part of the session, and the model sees it with the next message. Versions before 2.1.197
    /// ignore that and answer it.
    pub is_note: bool,
}

/// When the CLI takes a message from its queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MessagePriority {
    /// At once: it interrupts what is running.
    Now,
    /// At the next point at which the running turn can take it.
    Next,
    /// After the running turn.
    Later,
}

impl MessagePriority {
    /// Its name for the CLI.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Now => "now",
            Self::Next => "next",
            Self::Later => "later",
        }
    }
}

/// Who wrote a message. Without one, the CLI trusts a message less than one that a person wrote.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MessageOrigin {
    /// A person.
    Human,
    /// A chat channel.
    Channel {
        /// The server of the channel.
        server: String,
    },
    /// Another session.
    Peer {
        /// Its address.
        from: String,
    },
}

impl MessageOrigin {
    fn to_value(&self) -> Value {
        match self {
            Self::Human => json!({"kind": "human"}),
            Self::Channel { server } => json!({"kind": "channel", "server": server}),
            Self::Peer { from } => json!({"kind": "peer", "from": from}),
        }
    }
}

/// The content of a message.
#[derive(Debug, Clone, PartialEq)]
pub enum OutgoingContent {
    /// Text only.
    Text(String),
    /// Text, images and documents, in order.
    Blocks(Vec<OutgoingBlock>),
}

/// A part of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OutgoingBlock {
    /// Text.
    Text(String),
    /// An image.
    Image {
        /// Such as `image/png`.
        media_type: String,
        /// The bytes of the file.
        data: Vec<u8>,
    },
    /// An image that the model's API fetches.
    ImageUrl {
        /// Its address.
        url: String,
    },
    /// A document, such as a PDF.
    Document {
        /// Such as `application/pdf`. A document of the type `text/plain` is sent as text.
        media_type: String,
        /// The bytes of the file.
        data: Vec<u8>,
        /// Its name, if it has one.
        title: Option<String>,
    },
    /// A PDF that the model's API fetches.
    DocumentUrl {
        /// Its address.
        url: String,
        /// Its name, if it has one.
        title: Option<String>,
    },
}

impl OutgoingMessage {
    /// A message of text only.
    pub fn text(text: impl Into<String>) -> Self {
        Self::new(OutgoingContent::Text(text.into()))
    }

    /// A message with this content.
    pub fn new(content: OutgoingContent) -> Self {
        Self {
            content,
            uuid: None,
            session_id: None,
            parent_tool_use_id: None,
            handling: TextHandling::default(),
            priority: None,
            origin: None,
            is_note: false,
        }
    }

    /// Always the full form: every version accepts it, and some programs that speak the protocol accept nothing
    /// else.
    pub(super) fn to_value(&self) -> Value {
        let content = match &self.content {
            OutgoingContent::Text(text) => json!(self.handling.apply(text)),
            OutgoingContent::Blocks(blocks) => {
                blocks.iter().map(|block| block.to_value(self.handling)).collect()
            }
        };
        let mut line = Map::new();
        line.insert("type".into(), json!("user"));
        line.insert("message".into(), json!({"role": "user", "content": content}));
        let session = self.session_id.as_ref().map_or("default", CliSessionId::as_str);
        line.insert("session_id".into(), json!(session));
        line.insert("parent_tool_use_id".into(), json!(self.parent_tool_use_id));
        let more = [
            ("uuid", self.uuid.as_ref().map(|uuid| json!(uuid))),
            ("client_composed", self.handling.is_marked().then_some(json!(true))),
            ("priority", self.priority.map(|priority| json!(priority.as_str()))),
            ("origin", self.origin.as_ref().map(MessageOrigin::to_value)),
            ("shouldQuery", self.is_note.then_some(json!(false))),
        ];
        line.extend(more.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))));
        Value::Object(line)
    }
}

impl OutgoingBlock {
    fn to_value(&self, handling: TextHandling) -> Value {
        let base64 = |data: &[u8]| base64::engine::general_purpose::STANDARD.encode(data);
        match self {
            Self::Text(text) => json!({"type": "text", "text": handling.apply(text)}),
            Self::Image { media_type, data } => json!({
                "type": "image",
                "source": {"type": "base64", "media_type": media_type, "data": base64(data)},
            }),
            Self::ImageUrl { url } => json!({"type": "image", "source": {"type": "url", "url": url}}),
            Self::Document { media_type, data, title } => {
                // The API takes a plain text as it is, and only that.
                let (form, data) = match std::str::from_utf8(data) {
                    Ok(text) if media_type == "text/plain" => ("text", text.to_owned()),
                    _ => ("base64", base64(data)),
                };
                document(&json!({"type": form, "media_type": media_type, "data": data}), title.as_deref())
            }
            Self::DocumentUrl { url, title } => {
                document(&json!({"type": "url", "url": url}), title.as_deref())
            }
        }
    }
}

fn document(source: &Value, title: Option<&str>) -> Value {
    let mut block = json!({"type": "document", "source": source});
    if let (Some(title), Some(block)) = (title, block.as_object_mut()) {
        block.insert("title".into(), json!(title));
    }
    block
}
