//! What comes in from a channel.

use serde::{Deserialize, Serialize};

use super::{ChatId, MessageRef, Place, Sender};

/// Something that happened in a chat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Incoming {
    /// Names the delivery. The same name again is the same delivery, however often it comes.
    pub key: String,
    /// Where.
    pub place: Place,
    /// Who.
    pub sender: Sender,
    /// The chat has nobody else in it.
    pub direct: bool,
    /// It is meant for us: a mention, or a reply to one of our messages. Always true in a direct chat.
    pub addressed: bool,
    /// The channel's order of messages in a chat: a number that grows.
    pub order: i64,
    /// The message itself, for replies to it.
    pub message: Option<MessageRef>,
    /// What.
    pub body: IncomingBody,
}

/// What happened in a chat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IncomingBody {
    /// A message.
    Text(IncomingText),
    /// Somebody changed a message that they had sent.
    Edited {
        /// The message.
        message: MessageRef,
        /// What it says now.
        text: String,
    },
    /// The chat goes on from another one, as the channel itself vouches for.
    Moved {
        /// The chat that it was before.
        from: ChatId,
    },
    /// A button below one of our messages.
    Button {
        /// The message.
        to: MessageRef,
        /// What the button carries.
        data: String,
    },
    /// A reaction to one of our messages.
    Reaction {
        /// The message.
        to: MessageRef,
        /// Which.
        key: String,
    },
}

/// A message.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct IncomingText {
    /// What it says.
    pub text: String,
    /// What is attached to it and kept already.
    pub attachments: Vec<Attachment>,
    /// What is attached to it and still with the channel. It is fetched if its sender may talk to the agent.
    pub files: Vec<RemoteFile>,
    /// The album that it is a part of, where the channel says so. All of an album is one prompt.
    pub album: Option<String>,
    /// The message that it replies to.
    pub reply_to: Option<MessageRef>,
}

impl IncomingText {
    /// A message that says this.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }
}

/// A file that came with a message and is still with the channel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RemoteFile {
    /// The file's name, as its sender calls it. Never a path to write to.
    pub name: String,
    /// What it is, such as `image/png`, by its sender's word.
    pub media_type: String,
    /// How many bytes it has, where that is known, by its sender's word.
    pub size: Option<u64>,
    /// What the channel needs to fetch it.
    pub reference: String,
}

/// A picture or a file, whose bytes are kept apart, under `blob`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attachment {
    /// The file's name, as its sender calls it. Never a path to write to.
    pub name: String,
    /// What it is, such as `image/png`.
    pub media_type: String,
    /// How many bytes.
    pub size: u64,
    /// Where the bytes are kept.
    pub blob: String,
}

impl Attachment {
    /// Whether the model can look at it as a picture.
    pub fn is_picture(&self) -> bool {
        is_picture(&self.media_type)
    }
}

/// The kinds of pictures that models and chats know.
pub(crate) fn is_picture(media_type: &str) -> bool {
    matches!(media_type, "image/png" | "image/jpeg" | "image/gif" | "image/webp")
}
