//! Messages for the model.

use base64::Engine as _;
use serde_json::{Value, json};

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
}

/// The content of a message.
#[derive(Debug, Clone, PartialEq)]
pub enum OutgoingContent {
    /// Text only.
    Text(String),
    /// Text and images, in order.
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
}

impl OutgoingMessage {
    /// A message of text only.
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            content: OutgoingContent::Text(text.into()),
            uuid: None,
            session_id: None,
            parent_tool_use_id: None,
            handling: TextHandling::default(),
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
        let mut line = json!({
            "type": "user",
            "message": {"role": "user", "content": content},
            "session_id": self.session_id.as_ref().map_or("default", CliSessionId::as_str),
            "parent_tool_use_id": self.parent_tool_use_id,
        });
        if let Some(line) = line.as_object_mut() {
            if let Some(uuid) = &self.uuid {
                line.insert("uuid".into(), json!(uuid));
            }
            if self.handling.is_marked() {
                line.insert("client_composed".into(), json!(true));
            }
        }
        line
    }
}

impl OutgoingBlock {
    fn to_value(&self, handling: TextHandling) -> Value {
        match self {
            Self::Text(text) => json!({"type": "text", "text": handling.apply(text)}),
            Self::Image { media_type, data } => {
                let data = base64::engine::general_purpose::STANDARD.encode(data);
                json!({"type": "image", "source": {"type": "base64", "media_type": media_type, "data": data}})
            }
        }
    }
}
