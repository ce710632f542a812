//! Incoming messages and other events of a channel.

use serde::{Deserialize, Serialize};

use super::{ChatId, MessageRef, Place, Sender};

/// Something that happened in a chat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Incoming {
    /// Key of the delivery. Deliveries with the same key are the same delivery, however often they come.
    pub key: String,
    /// Where it happened.
    pub place: Place,
    /// Who sent it.
    pub sender: Sender,
    /// Whether only the sender and the bot are in the chat.
    pub direct: bool,
    /// Whether it is addressed to the bot: a mention, or a reply to one of its messages. Always true in a direct chat.
    pub addressed: bool,
    /// Position in the chat, by the channel's order. Later messages have higher numbers.
    pub order: i64,
    /// The message itself, for replies to it.
    pub message: Option<MessageRef>,
    /// What happened.
    pub body: IncomingBody,
}

/// What happened in a chat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IncomingBody {
    /// A message.
    Text(IncomingText),
    /// The sender edited an earlier message.
    Edited {
        /// The message.
        message: MessageRef,
        /// Its new text.
        text: String,
    },
    /// The chat replaces another one, as the channel itself reports.
    Moved {
        /// The id of the chat before.
        from: ChatId,
    },
    /// A button of one of our messages was pressed.
    Button {
        /// The message.
        to: MessageRef,
        /// Data of the button.
        data: String,
    },
    /// A reaction to one of our messages.
    Reaction {
        /// The message.
        to: MessageRef,
        /// The reaction.
        key: String,
    },
}

/// A message.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct IncomingText {
    /// Text of the message.
    pub text: String,
    /// Attached files that are stored already.
    pub attachments: Vec<Attachment>,
    /// Attached files that the channel still holds. They are fetched if the sender may talk to the agent.
    pub files: Vec<RemoteFile>,
    /// The album that it belongs to, if the channel says so. An album becomes one prompt.
    pub album: Option<String>,
    /// The message that it replies to.
    pub reply_to: Option<MessageRef>,
}

impl IncomingText {
    /// A message with this text.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }
}

/// A file that came with a message and that the channel still holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RemoteFile {
    /// Name given by the sender. Never use it as a path to write to.
    pub name: String,
    /// Media type, such as `image/png`, as claimed by the sender.
    pub media_type: String,
    /// Size in bytes, if known, as claimed by the sender.
    pub size: Option<u64>,
    /// Whatever the channel needs to fetch it.
    pub reference: String,
}

/// A picture or file. Its bytes are stored separately under the key `blob`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attachment {
    /// Name given by the sender. Never use it as a path to write to.
    pub name: String,
    /// Media type, such as `image/png`.
    pub media_type: String,
    /// Size in bytes.
    pub size: u64,
    /// Key of the stored bytes.
    pub blob: String,
}

impl Attachment {
    /// Whether the model can see it as a picture.
    pub fn is_picture(&self) -> bool {
        is_picture(&self.media_type)
    }
}

/// Whether models and chats support this type of picture.
pub(crate) fn is_picture(media_type: &str) -> bool {
    matches!(media_type, "image/png" | "image/jpeg" | "image/gif" | "image/webp")
}
