//! Operations in a channel, and how they can fail.

use serde::{Deserialize, Serialize};

use super::{MessageRef, Place};
use crate::markup::{Markup, Rendered};

/// What a channel can do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capabilities {
    /// Markup of its messages.
    pub markup: Markup,
    /// Maximum message length, in the units of the markup.
    pub longest: usize,
    /// Messages can be edited.
    pub edits: bool,
    /// Messages can be deleted.
    pub deletes: bool,
    /// The channel can show that the bot is typing.
    pub typing: bool,
    /// Messages can have buttons.
    pub buttons: bool,
    /// Messages can have reactions.
    pub reactions: bool,
    /// Long answers can be sent as files.
    pub files: bool,
    /// Maximum size of a picture in bytes, or `None` if the channel has no pictures.
    pub largest_picture: Option<u64>,
    /// Posting twice with the same key makes one message, even across a restart.
    pub posts_once: bool,
    /// Minimum time between two edits in a chat, in milliseconds.
    pub edit_interval_ms: i64,
}

/// An operation in a chat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Operation {
    /// Posts a message.
    Post {
        /// Where to post it.
        place: Place,
        /// Content of the message.
        content: Content,
        /// The message that it replies to.
        reply_to: Option<MessageRef>,
        /// Key by which a channel recognises a repeated post.
        key: String,
    },
    /// Edits a message.
    Edit {
        /// Where the message is.
        place: Place,
        /// The message.
        message: MessageRef,
        /// Its new content.
        content: Content,
    },
    /// Deletes a message.
    Delete {
        /// Where the message is.
        place: Place,
        /// The message.
        message: MessageRef,
    },
    /// Shows that the bot is typing, until the next message or a timeout of the channel.
    Typing {
        /// Where to show it.
        place: Place,
    },
    /// Adds a reaction to a message.
    React {
        /// Where the message is.
        place: Place,
        /// The message.
        message: MessageRef,
        /// The reaction.
        reaction: String,
    },
    /// Sends a file or a picture.
    Upload {
        /// Where to send it.
        place: Place,
        /// The file.
        file: OutgoingFile,
        /// Key by which a channel recognises a repeated upload.
        key: String,
    },
}

impl Operation {
    /// Where the operation takes place.
    pub fn place(&self) -> &Place {
        match self {
            Self::Post { place, .. }
            | Self::Edit { place, .. }
            | Self::Delete { place, .. }
            | Self::Typing { place }
            | Self::React { place, .. }
            | Self::Upload { place, .. } => place,
        }
    }
}

/// A file or picture to send.
#[derive(Clone, PartialEq, Eq)]
pub struct OutgoingFile {
    /// Its name, without a folder.
    pub name: String,
    /// Media type, such as `image/png`.
    pub media_type: String,
    /// Its bytes.
    pub data: Vec<u8>,
}

impl OutgoingFile {
    /// A text file, sent as plain text, which browsers show rather than run.
    pub fn text(name: impl Into<String>, text: String) -> Self {
        Self {
            name: name.into(),
            media_type: "text/plain; charset=utf-8".to_owned(),
            data: text.into_bytes(),
        }
    }

    /// Whether chats can show it as a picture.
    pub fn is_picture(&self) -> bool {
        super::incoming::is_picture(&self.media_type)
    }
}

impl std::fmt::Debug for OutgoingFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "OutgoingFile({}, {}, {} bytes)", self.name, self.media_type, self.data.len())
    }
}

/// The content of a message.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Content {
    /// The text.
    pub text: Rendered,
    /// Buttons, if the channel has them.
    pub buttons: Vec<Button>,
}

/// A button.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Button {
    /// Label of the button.
    pub label: String,
    /// Data sent back when it is pressed. At most 64 bytes.
    pub data: String,
}

/// Why an operation failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OperationError {
    /// Too many operations at once.
    #[error("the channel asks to wait {retry_after_ms} ms")]
    RateLimited {
        /// How long to wait, in milliseconds.
        retry_after_ms: i64,
    },
    /// A temporary problem of the network or the channel. The operation may or may not have taken effect.
    #[error("{0}")]
    Passing(String),
    /// The message no longer exists, or can no longer be edited.
    #[error("{0}")]
    Gone(String),
    /// The operation will never succeed: no access to the chat, or the content is not accepted.
    #[error("{0}")]
    Refused(String),
}
