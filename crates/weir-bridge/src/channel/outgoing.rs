//! What goes out to a channel, and how that can fail.

use serde::{Deserialize, Serialize};

use super::{MessageRef, Place};
use crate::markup::{Markup, Rendered};

/// What a channel can do. Channels differ only here and in how they talk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capabilities {
    /// How text is written.
    pub markup: Markup,
    /// Longest message, in the units of the markup.
    pub longest: usize,
    /// Messages can be edited.
    pub edits: bool,
    /// Messages can be deleted.
    pub deletes: bool,
    /// It can show that we write.
    pub typing: bool,
    /// Messages can have buttons.
    pub buttons: bool,
    /// Messages can have reactions.
    pub reactions: bool,
    /// Long answers can be sent as files.
    pub files: bool,
    /// Largest picture that can be sent, in bytes; none where there are no pictures.
    pub largest_picture: Option<u64>,
    /// A post with the same key as an earlier one is the same message, also after a restart.
    pub posts_once: bool,
    /// Shortest time between two edits in a chat, in milliseconds.
    pub edit_interval_ms: i64,
}

/// Something to be done in a chat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Operation {
    /// Writes a message.
    Post {
        /// Where.
        place: Place,
        /// What.
        content: Content,
        /// The message that it replies to.
        reply_to: Option<MessageRef>,
        /// Names the post, so that a channel can recognise it when it comes again.
        key: String,
    },
    /// Changes a message.
    Edit {
        /// Where.
        place: Place,
        /// Which.
        message: MessageRef,
        /// What it says from now on.
        content: Content,
    },
    /// Takes a message away.
    Delete {
        /// Where.
        place: Place,
        /// Which.
        message: MessageRef,
    },
    /// Shows that we write. It ends by itself, or with the next message.
    Typing {
        /// Where.
        place: Place,
    },
    /// Puts a reaction on a message.
    React {
        /// Where.
        place: Place,
        /// Which message.
        message: MessageRef,
        /// Which reaction.
        reaction: String,
    },
    /// Sends a file or a picture.
    Upload {
        /// Where.
        place: Place,
        /// The file.
        file: OutgoingFile,
        /// Names the upload.
        key: String,
    },
}

impl Operation {
    /// Where it is to be done.
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

/// A file or a picture that is sent.
#[derive(Clone, PartialEq, Eq)]
pub struct OutgoingFile {
    /// Its name, without a folder.
    pub name: String,
    /// What it is, such as `image/png`.
    pub media_type: String,
    /// Its bytes.
    pub data: Vec<u8>,
}

impl OutgoingFile {
    /// A text. It is sent as plain text, which browsers show and do not run.
    pub fn text(name: impl Into<String>, text: String) -> Self {
        Self {
            name: name.into(),
            media_type: "text/plain; charset=utf-8".to_owned(),
            data: text.into_bytes(),
        }
    }

    /// Whether people can look at it in a chat.
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
    /// What can be chosen, where the channel has buttons.
    pub buttons: Vec<Button>,
}

/// A button.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Button {
    /// What it says.
    pub label: String,
    /// What it carries; at most 64 bytes.
    pub data: String,
}

/// Why an operation was not done.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OperationError {
    /// Too much at once.
    #[error("the channel asks to wait {retry_after_ms} ms")]
    RateLimited {
        /// How long to wait.
        retry_after_ms: i64,
    },
    /// The network or the channel has a problem that will pass. It is not known whether it was done.
    #[error("{0}")]
    Passing(String),
    /// The message to be changed is not there, or cannot be changed any more.
    #[error("{0}")]
    Gone(String),
    /// It will never work: the chat is closed to us, or the content is not accepted.
    #[error("{0}")]
    Refused(String),
}
