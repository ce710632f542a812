//! The records that survive a restart, as plain data.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::channel::{Attachment, ChannelName, ChatId, MessageRef, Place, RemoteFile, Sender, UserId};
use crate::engine::Ask;

/// A change of a record. All changes of one step are stored together or not at all.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// The kind of record.
    pub kind: Kind,
    /// Its key, unique among records of this kind.
    pub key: String,
    /// The new value, or `None` to delete the record.
    pub value: Option<Value>,
}

/// A stored record.
#[derive(Debug, Clone, PartialEq)]
pub struct Kept {
    /// The kind of record.
    pub kind: Kind,
    /// Its key, unique among records of this kind.
    pub key: String,
    /// The record.
    pub value: Value,
}

/// The kinds of records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A message without an outcome.
    Inbox,
    /// A message with its outcome.
    Done,
    /// A reply that has not been sent completely.
    Reply,
    /// The final text of such a reply.
    Text,
    /// A message of such a reply.
    Part,
    /// A message of the bridge itself that has not been posted yet, or waits for an answer.
    Card,
    /// A scope with its conversations.
    Scope,
    /// A person.
    Person,
    /// A chat that replaced another one.
    Moved,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Self; 9] = [
        Self::Inbox,
        Self::Done,
        Self::Reply,
        Self::Text,
        Self::Part,
        Self::Card,
        Self::Scope,
        Self::Person,
        Self::Moved,
    ];

    /// The name under which it is stored.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Inbox => "inbox",
            Self::Done => "done",
            Self::Reply => "reply",
            Self::Text => "text",
            Self::Part => "part",
            Self::Card => "card",
            Self::Scope => "scope",
            Self::Person => "person",
            Self::Moved => "moved",
        }
    }
}

/// The unique number of an incoming message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct InboxId(pub u64);

impl InboxId {
    pub(super) fn key(self) -> String {
        format!("{:016}", self.0)
    }
}

/// A message without an outcome.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct InboxRecord {
    pub(super) id: InboxId,
    pub(super) delivery: String,
    pub(super) place: Place,
    pub(super) sender: Sender,
    pub(super) direct: bool,
    pub(super) order: i64,
    pub(super) message: Option<MessageRef>,
    pub(super) text: String,
    pub(super) attachments: Vec<Attachment>,
    pub(super) scope: String,
    /// The conversation that it was sent to, if it was.
    pub(super) sent_to: Option<String>,
    /// The sender was told that an edit came too late.
    #[serde(default)]
    pub(super) told_of_edit: bool,
    /// Its files, until all of them are fetched or given up.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) files: Vec<FileState>,
    /// The album that it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) album: Option<String>,
    /// When its files are given up. After a restart they are fetched again.
    #[serde(skip)]
    pub(super) fetch_until: i64,
    /// It could not be added to the running turn at once, because of its files or its album.
    #[serde(skip)]
    pub(super) held: bool,
}

/// A file of a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum FileState {
    /// It has not been fetched yet.
    Wanted(RemoteFile),
    /// It is stored.
    There(Attachment),
    /// It could not be fetched. Holds the text that says so.
    Missing(String),
}

/// The outcome of a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "outcome")]
pub enum Outcome {
    /// It was answered.
    Answered,
    /// It was answered together with another one.
    Merged {
        /// The other message.
        into: InboxId,
    },
    /// It was not sent to the engine, and its sender was told why.
    Refused {
        /// The reason.
        reason: String,
    },
    /// The engine could not answer it, and its sender was told why.
    Failed {
        /// The reason.
        reason: String,
    },
    /// It was not for the bot, or its sender is unknown.
    Ignored,
}

/// A message with its outcome.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct DoneRecord {
    pub(super) channel: ChannelName,
    pub(super) delivery: String,
    pub(super) at: i64,
    #[serde(flatten)]
    pub(super) outcome: Outcome,
}

/// A reply that has not been sent completely.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct ReplyRecord {
    pub(super) id: u64,
    pub(super) scope: String,
    /// The messages that it answers. The client id of the prompt comes from the first one.
    pub(super) messages: Vec<InboxId>,
    pub(super) conversation: String,
    pub(super) place: Place,
    pub(super) reply_to: Option<MessageRef>,
    /// Each part is stored as its own record, so that the cost of storing one does not grow with their number.
    #[serde(default, skip_serializing)]
    pub(super) parts: Vec<PartRecord>,
    pub(super) settled: Option<Settled>,
    /// Pictures of the turn that were handled, by content.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) pictures: Vec<String>,
    /// The model's text when it was last shown. If the process is killed, the engine loses text that people have
    /// already read.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(super) said: String,
}

/// The final state of a reply.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Settled {
    /// Stored separately as a [`TextRecord`], because this record is stored again after each message.
    #[serde(default, skip_serializing)]
    pub(super) markdown: String,
    pub(super) outcome: Outcome,
    /// The whole text, if it is sent as a file. Stored separately like `markdown`.
    #[serde(default, skip_serializing)]
    pub(super) file: Option<String>,
    pub(super) file_sent: bool,
}

impl Settled {
    /// The record for the texts.
    pub(super) fn text_record(&self) -> TextRecord {
        TextRecord { markdown: self.markdown.clone(), file: self.file.clone() }
    }
}

/// The final text of a reply.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct TextRecord {
    pub(super) markdown: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) file: Option<String>,
}

/// A message of a reply.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(super) struct PartRecord {
    pub(super) message: Option<MessageRef>,
    /// How often it was posted again because the message could no longer be edited.
    pub(super) attempt: u32,
    /// It cannot be edited, so it is posted once, when the reply is complete.
    pub(super) only_once: bool,
}

/// A message of the bridge itself: a notice or a question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct CardRecord {
    pub(super) id: u64,
    pub(super) place: Place,
    pub(super) reply_to: Option<MessageRef>,
    pub(super) markdown: String,
    pub(super) message: Option<MessageRef>,
    pub(super) ask: Option<AskRecord>,
    /// A picture to send instead of text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) file: Option<Attachment>,
    /// A text to send as a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) document: Option<String>,
}

impl CardRecord {
    /// An empty card.
    pub(super) fn new(id: u64, place: Place) -> Self {
        Self {
            id,
            place,
            reply_to: None,
            markdown: String::new(),
            message: None,
            ask: None,
            file: None,
            document: None,
        }
    }
}

/// The question of a card.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct AskRecord {
    pub(super) scope: String,
    pub(super) conversation: String,
    pub(super) ask: Ask,
    pub(super) deadline: i64,
    /// The answers so far.
    pub(super) answers: Vec<(String, Vec<String>)>,
}

/// A scope with its conversations.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(super) struct ScopeRecord {
    pub(super) conversations: Vec<ConversationRecord>,
    /// Number of the current conversation.
    pub(super) current: u64,
    /// The model, if it is not the configured one.
    pub(super) model: Option<String>,
    /// The folder, if it is not the configured one.
    pub(super) workspace: Option<String>,
    /// The last turn that was shown, so that it is not shown twice.
    pub(super) last_turn: Option<(String, InboxId)>,
}

/// A conversation of a scope.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct ConversationRecord {
    pub(super) number: u64,
    pub(super) title: String,
    pub(super) at: i64,
    pub(super) workspace: Option<String>,
}

/// What a person may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Talk to the agent.
    User,
    /// Also choose folders, and answer requests that only administrators may answer.
    Admin,
}

/// A person.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct PersonRecord {
    pub(super) channel: ChannelName,
    pub(super) id: UserId,
    pub(super) name: String,
    pub(super) role: Option<Role>,
    /// Has been told how to pair.
    pub(super) hinted: bool,
    /// Wrong codes so far.
    pub(super) wrong_codes: u32,
}

/// A chat that replaced another one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct MovedRecord {
    pub(super) channel: ChannelName,
    /// The current id of the chat.
    pub(super) to: ChatId,
    /// The original id, which its scopes are named after.
    pub(super) from: ChatId,
    /// Later moves have higher numbers.
    pub(super) number: u64,
}

/// The key of a message of a reply.
pub(super) fn part_key(reply: u64, index: usize) -> String {
    format!("{reply}/{index}")
}

/// Parses the key of a message of a reply: the id of the reply and the index of the message.
pub(super) fn read_part_key(key: &str) -> Option<(u64, usize)> {
    let (reply, index) = key.split_once('/')?;
    Some((reply.parse().ok()?, index.parse().ok()?))
}

/// The key of a person.
pub(crate) fn person_key(channel: &ChannelName, person: &UserId) -> String {
    format!("{channel}/{person}")
}

/// Parses a record. Returns `None` if it does not fit, for example because it is from a newer version.
pub(super) fn read<T: DeserializeOwned>(kept: &Kept) -> Option<T> {
    serde_json::from_value(kept.value.clone()).ok()
}

/// A change that stores a record.
pub(super) fn put(kind: Kind, key: String, record: &impl Serialize) -> Change {
    // Cannot fail: the records are plain data with string keys.
    Change { kind, key, value: Some(serde_json::to_value(record).unwrap_or(Value::Null)) }
}

/// A change that deletes a record.
pub(super) fn remove(kind: Kind, key: String) -> Change {
    Change { kind, key, value: None }
}
