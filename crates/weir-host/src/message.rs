//! Messages to the agent: as they are sent, as they are stored, and their outcome.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use weir_session::{Attachment, Message};
use weir_transcript::{ApiError, Failure, HostEvent, MessageState, Turn};
use weir_wire::{MessageId, OutgoingBlock, OutgoingContent};

use crate::attachments::AttachedFile;

/// The kinds of pictures that the model's API takes.
pub(crate) const PICTURES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/// A message to send.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NewMessage {
    /// The sender's own id for it: a second message with the same id is the first one. Generated if none is given.
    pub client_id: Option<String>,
    /// The text.
    pub text: String,
    /// Pictures.
    pub images: Vec<Image>,
    /// Documents.
    pub documents: Vec<Document>,
    /// Web addresses of pictures and PDFs, which the model's API fetches: a PDF if the path ends with `.pdf`, otherwise a
    /// picture.
    pub links: Vec<String>,
    /// How it is handled while a turn runs.
    pub mode: MessageMode,
    /// Files in the session's folder whose content goes with the text, relative to the folder.
    pub files: Vec<String>,
    /// A slash command of the CLI instead of a text and pictures. The caller decides who may use which command: a text
    /// never runs one, whatever it begins with.
    pub command: Option<SlashCommand>,
}

/// A slash command of the CLI.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct SlashCommand {
    /// Its name without the slash, such as `compact`.
    #[cfg_attr(feature = "schema", schema(min_length = 1, max_length = 100, pattern = "^[A-Za-z0-9_:-]+$"))]
    pub name: String,
    /// Its arguments. They are inert: nothing in them makes the CLI read a file.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub arguments: String,
}

/// Maximum number of web addresses in a message, and of bytes in one.
const MAX_LINKS: usize = 20;
const MAX_LINK_BYTES: usize = 2048;

impl NewMessage {
    /// Why what is attached cannot be sent, if that is so.
    pub(crate) fn attachment_problem(&self) -> Option<String> {
        if self.images.iter().any(|image| !PICTURES.contains(&image.media_type.as_str())) {
            return Some("a picture must be a PNG, JPEG, GIF or WebP".to_owned());
        }
        if self.images.iter().any(|image| image.data.is_empty()) {
            return Some("a picture must not be empty".to_owned());
        }
        if self.documents.iter().any(|document| !document.is_valid()) {
            return Some("a document must be a PDF, or a text in UTF-8 with the type text/plain".to_owned());
        }
        let is_long = |title: &String| title.chars().count() > Document::MAX_TITLE;
        if self.documents.iter().filter_map(|document| document.title.as_ref()).any(is_long) {
            return Some(format!(
                "the title of a document may have at most {} characters",
                Document::MAX_TITLE
            ));
        }
        if self.links.len() > MAX_LINKS || self.links.iter().any(|link| link.len() > MAX_LINK_BYTES) {
            return Some(format!(
                "a message may have at most {MAX_LINKS} links, of {MAX_LINK_BYTES} bytes each"
            ));
        }
        self.links.iter().find_map(|link| Some(Attachment::at(link).err()?.to_string()))
    }

    /// Whether anything goes with the text.
    pub(crate) fn has_attachments(&self) -> bool {
        !self.images.is_empty()
            || !self.documents.is_empty()
            || !self.links.is_empty()
            || !self.files.is_empty()
    }

    /// A queued message with only a text.
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// Sets the sender's own id.
    #[must_use]
    pub fn client_id(mut self, id: impl Into<String>) -> Self {
        self.client_id = Some(id.into());
        self
    }
}

/// A picture. In JSON its bytes are base64.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Image {
    /// Such as `image/png`.
    pub media_type: String,
    /// The bytes of the file.
    #[serde(serialize_with = "to_base64", deserialize_with = "from_base64")]
    #[cfg_attr(feature = "schema", schema(value_type = String, content_encoding = "base64"))]
    pub data: Vec<u8>,
}

/// A document. In JSON its bytes are base64.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Document {
    /// `application/pdf`, or `text/plain` for a text in UTF-8.
    pub media_type: String,
    /// The bytes of the file.
    #[serde(serialize_with = "to_base64", deserialize_with = "from_base64")]
    #[cfg_attr(feature = "schema", schema(value_type = String, content_encoding = "base64"))]
    pub data: Vec<u8>,
    /// Its name, which the model is told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(max_length = 200))]
    pub title: Option<String>,
}

impl Document {
    /// Maximum length of a title, in characters.
    const MAX_TITLE: usize = 200;

    /// Whether the bytes are what the media type says, in a form that the model's API takes.
    fn is_valid(&self) -> bool {
        match self.media_type.as_str() {
            "application/pdf" => self.data.starts_with(b"%PDF-"),
            "text/plain" => !self.data.is_empty() && std::str::from_utf8(&self.data).is_ok(),
            _ => false,
        }
    }
}

fn to_base64<S: Serializer>(data: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&STANDARD.encode(data))
}

fn from_base64<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
    let text = String::deserialize(deserializer)?;
    STANDARD
        .decode(text.as_bytes())
        .map_err(|error| serde::de::Error::custom(format!("not valid base64: {error}")))
}

/// What becomes of a message while a turn runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub enum MessageMode {
    /// It waits for the end of the turn and gets one of its own.
    #[default]
    Queue,
    /// It is given to the running turn, where the CLI can take it.
    Steer,
    /// It becomes part of the session without an answer, and the model sees it with the next message. It fails if the
    /// CLI would answer it (before 2.1.197).
    Note,
}

/// A message that was accepted: it is in the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Accepted {
    /// Names the message.
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub message_id: MessageId,
    /// What has become of it.
    pub state: MessageState,
    /// Whether it was accepted before, under the same client id.
    pub duplicate: bool,
    /// Whether what was accepted before says something else. Then this message is not in the log.
    #[serde(skip)]
    pub differs: bool,
}

/// A message of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct MessageInfo {
    /// Names the message.
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub message_id: MessageId,
    /// The sender's own name for it.
    pub client_id: Option<String>,
    /// What it says.
    pub text: String,
    /// How many pictures are with it.
    pub images: u32,
    /// How many documents and web addresses are with it.
    #[serde(default)]
    pub documents: u32,
    /// What has become of it.
    pub state: MessageState,
    /// Why it has no answer, where it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Whether it waits for [`crate::Host::resume`], because the host was restarted.
    pub held: bool,
    /// What becomes of it while a turn runs.
    pub mode: MessageMode,
    /// Who sent it.
    pub by: String,
    /// When, in milliseconds since 1970.
    pub at: i64,
}

/// How a message came to its end.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Finished {
    /// The message.
    pub message_id: MessageId,
    /// What has become of it.
    pub state: MessageState,
    /// The answer: the result's text, or what was said where there is none.
    pub text: String,
    /// What the main agent said in the turn, without what the CLI said in its place.
    pub said: String,
    /// The API error that the turn ended with, where the CLI tells of one.
    pub api_error: Option<ApiError>,
    /// When the account's limit is lifted, in seconds since 1970, where the turn was rejected for it.
    pub rate_limit_resets_at: Option<u64>,
    /// The turn that answered it, with its result and its cost.
    pub turn: Option<Turn>,
    /// What the session has cost so far, if that is known.
    pub total_cost_usd: Option<f64>,
    /// Why the message failed.
    pub error: Option<Failure>,
}

impl Finished {
    /// What the turn cost, if that is known.
    pub fn cost_usd(&self) -> Option<f64> {
        self.turn.as_ref().and_then(|turn| turn.cost_usd)
    }

    /// Whether the CLI's result was empty, so that the answer is what was said in the turn.
    pub fn is_degraded(&self) -> bool {
        self.turn.as_ref().and_then(|turn| turn.result.as_ref()).is_some_and(|result| result.degraded)
    }
}

/// How a message came to its end, in short.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct MessageOutcome {
    /// The message.
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub message_id: MessageId,
    /// What has become of it.
    pub state: MessageState,
    /// The answer; empty where there is none.
    pub text: String,
    /// Whether the CLI's result was empty, so that the answer is what was said in the turn.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub degraded: bool,
    /// What the turn cost; null where that is not known.
    pub cost_usd: Option<f64>,
    /// Why the message failed.
    pub error: Option<String>,
}

impl MessageOutcome {
    pub(crate) fn of(finished: &Finished) -> Self {
        Self {
            message_id: finished.message_id.clone(),
            state: finished.state,
            text: finished.text.clone(),
            degraded: finished.is_degraded(),
            cost_usd: finished.cost_usd(),
            error: finished.error.as_ref().map(|error| error.message.clone()),
        }
    }
}

/// A message as the log has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StoredMessage {
    pub(crate) message_id: MessageId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) client_id: Option<String>,
    pub(crate) by: String,
    /// The account that pays for it, if its sender has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) account: Option<String>,
    #[serde(default)]
    pub(crate) mode: MessageMode,
    /// Whether it is sent before the queued messages.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) goes_first: bool,
    pub(crate) text: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) images: Vec<Image>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) documents: Vec<Document>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) links: Vec<String>,
    /// Files that go with it, as they were when it was accepted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) files: Vec<AttachedFile>,
    /// The command that it runs; the text shows it as a person would type it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) command: Option<SlashCommand>,
}

impl StoredMessage {
    /// The message as the session takes it. A text is inert; only a command makes the CLI do anything by itself.
    pub(crate) fn to_send(&self) -> Message {
        let command = self.command.as_ref();
        let message = command.and_then(|command| Message::command(&command.name, &command.arguments));
        let message = message.unwrap_or_else(|| Message::from(self.content()));
        let is_note = self.mode == MessageMode::Note;
        Message { id: Some(self.message_id.clone()), is_note, ..message }
    }

    fn content(&self) -> OutgoingContent {
        if !self.has_attachments() {
            return OutgoingContent::Text(self.text.clone());
        }
        let text = Some(self.text.clone()).filter(|text| !text.is_empty());
        let texts = text.into_iter().chain(self.files.iter().map(AttachedFile::block));
        let images = self.images.iter().map(|image| OutgoingBlock::Image {
            media_type: image.media_type.clone(),
            data: image.data.clone(),
        });
        let documents = self.documents.iter().map(|document| OutgoingBlock::Document {
            media_type: document.media_type.clone(),
            data: document.data.clone(),
            title: document.title.clone(),
        });
        // They were checked when the message was accepted.
        let links = self.links.iter().filter_map(|link| Some(Attachment::at(link).ok()?.into_block()));
        let blocks = texts.map(OutgoingBlock::Text).chain(documents).chain(images).chain(links);
        OutgoingContent::Blocks(blocks.collect())
    }

    /// Whether anything goes with the text.
    pub(crate) fn has_attachments(&self) -> bool {
        !self.images.is_empty()
            || !self.documents.is_empty()
            || !self.links.is_empty()
            || !self.files.is_empty()
    }

    /// How many documents and web addresses are with it.
    pub(crate) fn document_count(&self) -> u32 {
        u32::try_from(self.documents.len() + self.links.len()).unwrap_or(u32::MAX)
    }

    pub(crate) fn size(&self) -> usize {
        let images = self.images.iter().map(|image| image.data.len()).sum::<usize>();
        let documents = self.documents.iter().map(|document| document.data.len()).sum::<usize>();
        let links = self.links.iter().map(String::len).sum::<usize>();
        let files = self.files.iter().map(|file| file.text.len()).sum::<usize>();
        self.text.len() + images + documents + links + files
    }
}

/// A message as the fold knows it.
pub(crate) fn queued(message: &StoredMessage) -> HostEvent {
    HostEvent::MessageQueued {
        message: message.message_id.clone(),
        text: message.text.clone(),
        images: u32::try_from(message.images.len()).unwrap_or(u32::MAX),
        documents: message.document_count(),
    }
}
