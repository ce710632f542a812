//! What is kept between starts, as plain data.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::channel::{Attachment, ChannelName, ChatId, MessageRef, Place, RemoteFile, Sender, UserId};
use crate::engine::Ask;

/// A change of what is kept. All changes of one step are kept together or not at all.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// The kind of record.
    pub kind: Kind,
    /// Its name among those of its kind.
    pub key: String,
    /// The record; none takes it away.
    pub value: Option<Value>,
}

/// A record as it was kept.
#[derive(Debug, Clone, PartialEq)]
pub struct Kept {
    /// The kind of record.
    pub kind: Kind,
    /// Its name among those of its kind.
    pub key: String,
    /// The record.
    pub value: Value,
}

/// The kinds of records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A message that has no outcome yet.
    Inbox,
    /// A message with its outcome.
    Done,
    /// A reply that is not all there yet.
    Reply,
    /// What such a reply says in the end.
    Text,
    /// A message of such a reply.
    Part,
    /// A message of our own that is not there yet, or that waits for an answer.
    Card,
    /// A scope with its conversations.
    Scope,
    /// Somebody we know something about.
    Person,
    /// A chat that goes on from another one.
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

    /// The kind in a word.
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

/// The number of a message that came in. It never belongs to another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct InboxId(pub u64);

impl InboxId {
    pub(super) fn key(self) -> String {
        format!("{:016}", self.0)
    }
}

/// A message that has no outcome yet.
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
    /// The conversation that it was given to, once it was.
    pub(super) sent_to: Option<String>,
    /// Its sender knows that a change of it came too late.
    #[serde(default)]
    pub(super) told_of_edit: bool,
    /// Its files, until all of them are there or given up.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) files: Vec<FileState>,
    /// The album that it is a part of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) album: Option<String>,
    /// When its files are given up. After a restart they are fetched again.
    #[serde(skip)]
    pub(super) fetch_until: i64,
    /// It could not be given to the turn that runs, because of its files or its album.
    #[serde(skip)]
    pub(super) held: bool,
}

/// A file of a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum FileState {
    /// It is with the channel.
    Wanted(RemoteFile),
    /// It is kept.
    There(Attachment),
    /// It cannot be had, and this says so.
    Missing(String),
}

/// What became of a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "outcome")]
pub enum Outcome {
    /// It has its answer.
    Answered,
    /// It was answered together with another one.
    Merged {
        /// The other one.
        into: InboxId,
    },
    /// It was not given to the engine, and its sender knows why.
    Refused {
        /// Why.
        reason: String,
    },
    /// The engine could not answer it, and its sender knows why.
    Failed {
        /// Why.
        reason: String,
    },
    /// It was not for us, or of somebody we do not know.
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

/// A reply that is not all there yet.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct ReplyRecord {
    pub(super) id: u64,
    pub(super) scope: String,
    /// The messages that it answers, the first of which gave the prompt its name.
    pub(super) messages: Vec<InboxId>,
    pub(super) conversation: String,
    pub(super) place: Place,
    pub(super) reply_to: Option<MessageRef>,
    /// Each is kept by itself, so that what is kept for a message does not grow with how many there are.
    #[serde(default, skip_serializing)]
    pub(super) parts: Vec<PartRecord>,
    pub(super) settled: Option<Settled>,
    /// Pictures of the turn that were seen to, by what is in them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) pictures: Vec<String>,
    /// What the model had said when it was last shown: the engine forgets words that a kill cuts off, and people have read
    /// them.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(super) said: String,
}

/// What a reply says in the end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Settled {
    /// Kept apart, as a [`TextRecord`], because this record is kept after each message.
    #[serde(default, skip_serializing)]
    pub(super) markdown: String,
    pub(super) outcome: Outcome,
    /// The rest, which is sent as a file. Kept apart like the text.
    #[serde(default, skip_serializing)]
    pub(super) file: Option<String>,
    pub(super) file_sent: bool,
}

impl Settled {
    /// The texts, as they are kept.
    pub(super) fn text_record(&self) -> TextRecord {
        TextRecord { markdown: self.markdown.clone(), file: self.file.clone() }
    }
}

/// What a reply says in the end.
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
    /// How often it was begun anew, because the message could not be changed any more.
    pub(super) attempt: u32,
    /// It cannot be edited, so it is written once, when all is known.
    pub(super) only_once: bool,
}

/// A message of our own: something to know, or something to answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct CardRecord {
    pub(super) id: u64,
    pub(super) place: Place,
    pub(super) reply_to: Option<MessageRef>,
    pub(super) markdown: String,
    pub(super) message: Option<MessageRef>,
    pub(super) ask: Option<AskRecord>,
    /// It is a picture, and says nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) file: Option<Attachment>,
    /// It is a text that is sent as a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) document: Option<String>,
}

impl CardRecord {
    /// A card that says nothing yet.
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

/// What a card asks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct AskRecord {
    pub(super) scope: String,
    pub(super) conversation: String,
    pub(super) ask: Ask,
    pub(super) deadline: i64,
    /// The answers to the questions so far.
    pub(super) answers: Vec<(String, Vec<String>)>,
}

/// A scope with its conversations.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(super) struct ScopeRecord {
    pub(super) conversations: Vec<ConversationRecord>,
    /// Which of them is talked to.
    pub(super) current: u64,
    /// Another model than the configured one.
    pub(super) model: Option<String>,
    /// Another folder than the configured one.
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

/// What somebody may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Talk to the agent.
    User,
    /// Also choose folders, and answer where only administrators may.
    Admin,
}

/// Somebody we know something about.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct PersonRecord {
    pub(super) channel: ChannelName,
    pub(super) id: UserId,
    pub(super) name: String,
    pub(super) role: Option<Role>,
    /// Has been told how to be let in.
    pub(super) hinted: bool,
    /// Wrong codes so far.
    pub(super) wrong_codes: u32,
}

/// A chat that goes on from another one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct MovedRecord {
    pub(super) channel: ChannelName,
    /// The chat as it is called now.
    pub(super) to: ChatId,
    /// What it was called at the beginning, which its scopes are named after.
    pub(super) from: ChatId,
    /// Later moves have higher numbers.
    pub(super) number: u64,
}

/// The key under which a message of a reply is kept.
pub(super) fn part_key(reply: u64, index: usize) -> String {
    format!("{reply}/{index}")
}

/// The reply and the number of a message of it, by the key under which it is kept.
pub(super) fn read_part_key(key: &str) -> Option<(u64, usize)> {
    let (reply, index) = key.split_once('/')?;
    Some((reply.parse().ok()?, index.parse().ok()?))
}

/// The key under which a person is kept.
pub(crate) fn person_key(channel: &ChannelName, person: &UserId) -> String {
    format!("{channel}/{person}")
}

/// A record as its type, or none if it is from a newer version.
pub(super) fn read<T: DeserializeOwned>(kept: &Kept) -> Option<T> {
    serde_json::from_value(kept.value.clone()).ok()
}

/// A change that keeps a record.
pub(super) fn put(kind: Kind, key: String, record: &impl Serialize) -> Change {
    // The records are plain data with text keys: they can always be written.
    Change { kind, key, value: Some(serde_json::to_value(record).unwrap_or(Value::Null)) }
}

/// A change that takes a record away.
pub(super) fn remove(kind: Kind, key: String) -> Change {
    Change { kind, key, value: None }
}
