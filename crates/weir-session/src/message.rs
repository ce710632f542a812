//! Messages to the model, as programs write them.

use std::path::Path;

use weir_wire::{MessageId, MessageOrigin, MessagePriority, OutgoingBlock, OutgoingContent, slash_command};

use crate::attachment::{Attachment, AttachmentError};

/// A message to the model.
///
/// Its text is inert: the CLI neither reads files named with `@` nor runs a command named with a leading `/`,
/// because the text often comes from someone other than the person who runs the program. See
/// [`Message::interpreted`] and [`Message::command`] for the exceptions.
///
/// ```
/// use weir_session::{Attachment, Message};
///
/// let message = Message::from("What is in this picture?").attach(Attachment::image_url("https://example.org/a.png"));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    /// Content of the message.
    pub content: OutgoingContent,
    /// Its id, which must be a UUID; generated if not given.
    pub id: Option<MessageId>,
    /// Whether the CLI acts on the text. See [`Message::interpreted`].
    pub is_interpreted: bool,
    /// Who wrote it, for versions that treat messages of people and of programs differently.
    pub origin: Option<MessageOrigin>,
    /// When the CLI takes it from its own queue. Without one, [`crate::Session::send`] and [`crate::Session::steer`]
    /// decide.
    pub priority: Option<MessagePriority>,
    /// Whether it only becomes part of the session. See [`Message::note`].
    pub is_note: bool,
}

impl Message {
    /// A note: it becomes part of the session without an answer, and the model sees it with the next message. Its turn
    /// ends at once, with an empty text and no cost. A version that would answer it (before 2.1.197) is not sent it: the
    /// message fails with [`crate::SessionError::NotSupported`].
    pub fn note(text: impl Into<String>) -> Self {
        Self { is_note: true, ..Self::from(text.into()) }
    }

    /// Adds a picture or a document after the text.
    #[must_use]
    pub fn attach(mut self, attachment: Attachment) -> Self {
        let mut blocks = match self.content {
            OutgoingContent::Text(text) if text.is_empty() => Vec::new(),
            OutgoingContent::Text(text) => vec![OutgoingBlock::Text(text)],
            OutgoingContent::Blocks(blocks) => blocks,
        };
        blocks.push(attachment.into_block());
        self.content = OutgoingContent::Blocks(blocks);
        self
    }

    /// Adds a picture or a PDF from a file.
    ///
    /// # Errors
    /// The file cannot be read, is too large, or is of a kind that the model does not take.
    pub fn attach_file(self, path: impl AsRef<Path>) -> Result<Self, AttachmentError> {
        Ok(self.attach(Attachment::read(path.as_ref())?))
    }

    /// Says who wrote it.
    #[must_use]
    pub fn origin(mut self, origin: MessageOrigin) -> Self {
        self.origin = Some(origin);
        self
    }

    /// Says when the CLI takes it from its own queue.
    #[must_use]
    pub fn priority(mut self, priority: MessagePriority) -> Self {
        self.priority = Some(priority);
        self
    }

    /// Lets the CLI act on the text as if it had been typed at its own prompt: `@path` reads any such file
    /// without permission, and a leading `/` runs a command, which may change the user's settings. Only for
    /// text whose author may do all of that.
    #[must_use]
    pub fn interpreted(mut self) -> Self {
        self.is_interpreted = true;
        self
    }

    /// A slash command of the CLI, such as `compact`. Its arguments are inert. `None` if the name is not valid.
    pub fn command(name: &str, arguments: &str) -> Option<Self> {
        slash_command(name, arguments).map(|text| Self::from(text).interpreted())
    }
}

impl From<&str> for Message {
    fn from(text: &str) -> Self {
        Self::from(text.to_owned())
    }
}

impl From<String> for Message {
    fn from(text: String) -> Self {
        Self::from(OutgoingContent::Text(text))
    }
}

impl From<OutgoingContent> for Message {
    fn from(content: OutgoingContent) -> Self {
        Self { content, id: None, is_interpreted: false, origin: None, priority: None, is_note: false }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attachments_come_after_the_text_in_order() {
        let message = Message::from("look")
            .attach(Attachment::image_url("https://example.org/a.png"))
            .attach(Attachment::pdf(b"%PDF".to_vec(), Some("a.pdf".into())));
        let OutgoingContent::Blocks(blocks) = message.content else { panic!("not blocks") };
        assert!(matches!(&blocks[0], OutgoingBlock::Text(text) if text == "look"));
        assert!(matches!(&blocks[1], OutgoingBlock::ImageUrl { .. }));
        assert!(matches!(&blocks[2], OutgoingBlock::Document { title: Some(title), .. } if title == "a.pdf"));
    }
}
