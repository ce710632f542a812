//! Conversations: the facts that are listed, beside the log.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::StoreError;

/// Names a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ConversationId(String);

impl ConversationId {
    /// A new id, unlike all others.
    pub fn random() -> Self {
        Self(uuid::Uuid::new_v4().to_string())
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for ConversationId {
    type Error = StoreError;

    /// Takes what can stand in a URL and in a file name as it is.
    fn try_from(text: String) -> Result<Self, StoreError> {
        let fits = (1..=64).contains(&text.len())
            && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
        if fits {
            return Ok(Self(text));
        }
        let shown: String = text.chars().take(64).collect();
        Err(StoreError::Invalid(format!(
            "{shown:?} is no conversation id: use 1 to 64 letters, digits, '-' and '_', such as a UUID"
        )))
    }
}

impl FromStr for ConversationId {
    type Err = StoreError;

    fn from_str(text: &str) -> Result<Self, StoreError> {
        Self::try_from(text.to_owned())
    }
}

impl From<ConversationId> for String {
    fn from(id: ConversationId) -> Self {
        id.0
    }
}

impl fmt::Display for ConversationId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// The facts about a conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Conversation {
    /// Names it.
    pub id: ConversationId,
    /// The caller's own name for it, which no other live conversation has.
    pub key: Option<String>,
    /// What people call it.
    pub title: Option<String>,
    /// Where it works.
    pub cwd: Option<String>,
    /// The model.
    pub model: Option<String>,
    /// What it is doing, in the caller's words.
    pub status: String,
    /// The CLI's names for it, the current one last.
    pub cli_sessions: Vec<String>,
    /// The conversation that it was forked from.
    pub parent: Option<Parent>,
    /// What it has cost; none where that is not known.
    pub cost_usd: Option<f64>,
    /// Whether it was put away.
    pub archived: bool,
    /// Whatever else the caller keeps with it.
    pub settings: Value,
    /// When it was created, in milliseconds since 1970.
    pub created_at: i64,
    /// When something happened last.
    pub updated_at: i64,
    /// The number of the newest event; zero where there is none.
    pub newest: u64,
    /// The size of all events.
    pub bytes: u64,
    /// Grows with the changes of all conversations, so it orders them by their last change. Events that follow one another
    /// may have one together, as long as nobody asks.
    pub revision: u64,
}

/// Where a conversation was forked off.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parent {
    /// The other conversation. It may have been deleted since.
    pub conversation: ConversationId,
    /// Its newest event at that time.
    pub seq: u64,
}

/// A conversation to create.
#[derive(Debug, Clone, PartialEq)]
pub struct NewConversation {
    /// Names it.
    pub id: ConversationId,
    /// The time, in milliseconds since 1970.
    pub at: i64,
    /// Where it was forked off.
    pub parent: Option<Parent>,
    /// What is known of it.
    pub facts: ConversationUpdate,
}

impl NewConversation {
    /// A conversation of which nothing is known yet.
    pub fn new(id: ConversationId, at: i64) -> Self {
        Self { id, at, parent: None, facts: ConversationUpdate::default() }
    }

    pub(crate) fn into_conversation(self) -> Result<Conversation, StoreError> {
        let mut conversation = Conversation {
            id: self.id,
            key: None,
            title: None,
            cwd: None,
            model: None,
            status: String::new(),
            cli_sessions: Vec::new(),
            parent: self.parent,
            cost_usd: None,
            archived: false,
            settings: Value::Null,
            created_at: self.at,
            updated_at: self.at,
            newest: 0,
            bytes: 0,
            revision: 0,
        };
        self.facts.apply(&mut conversation)?;
        Ok(conversation)
    }
}

/// Facts that have changed. What is none stays as it is.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ConversationUpdate {
    /// The time, in milliseconds since 1970.
    pub at: Option<i64>,
    /// Another key, or none from now on.
    pub key: Option<Option<String>>,
    /// Another title, or none from now on.
    pub title: Option<Option<String>>,
    /// Where it works.
    pub cwd: Option<String>,
    /// The model.
    pub model: Option<String>,
    /// What it is doing.
    pub status: Option<String>,
    /// The CLI's name for it from now on. Earlier ones are kept.
    pub cli_session: Option<String>,
    /// What it has cost.
    pub cost_usd: Option<f64>,
    /// Put it away or take it back.
    pub archived: Option<bool>,
    /// What the caller keeps with it, as a whole.
    pub settings: Option<Value>,
}

impl ConversationUpdate {
    /// Whether it changes nothing.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Changes the facts. Whether the key is free is the store's to check.
    pub(crate) fn apply(self, conversation: &mut Conversation) -> Result<(), StoreError> {
        if self.cost_usd.is_some_and(|cost| !cost.is_finite()) {
            return Err(StoreError::Invalid("a cost must be a finite number".to_owned()));
        }
        if let Some(at) = self.at {
            conversation.updated_at = conversation.updated_at.max(at);
        }
        replace(&mut conversation.key, self.key);
        replace(&mut conversation.title, self.title);
        replace(&mut conversation.cwd, self.cwd.map(Some));
        replace(&mut conversation.model, self.model.map(Some));
        replace(&mut conversation.status, self.status);
        replace(&mut conversation.cost_usd, self.cost_usd.map(Some));
        replace(&mut conversation.archived, self.archived);
        replace(&mut conversation.settings, self.settings);
        if let Some(session) = self.cli_session {
            conversation.cli_sessions.retain(|earlier| *earlier != session);
            conversation.cli_sessions.push(session);
        }
        Ok(())
    }
}

fn replace<T>(place: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *place = value;
    }
}

#[cfg(test)]
mod tests {
    use super::{ConversationId, ConversationUpdate, NewConversation};

    #[test]
    fn ids_are_safe_in_urls_and_file_names() {
        for text in ["a", "6f1c", "A_b-3", &"x".repeat(64)] {
            assert_eq!(text.parse::<ConversationId>().unwrap().as_str(), text);
        }
        for text in ["", "..", "a/b", "a b", "é", &"x".repeat(65)] {
            assert!(text.parse::<ConversationId>().is_err(), "{text}");
        }
        assert!(serde_json::from_str::<ConversationId>("\"../x\"").is_err());
        assert_ne!(ConversationId::random(), ConversationId::random());
    }

    #[test]
    fn the_current_session_is_the_last_one() {
        let new = NewConversation::new("c".parse().unwrap(), 5);
        let mut conversation = new.into_conversation().unwrap();
        for session in ["one", "two", "one"] {
            let update = ConversationUpdate { cli_session: Some(session.to_owned()), ..Default::default() };
            update.apply(&mut conversation).unwrap();
        }
        assert_eq!(conversation.cli_sessions, ["two", "one"]);
    }

    #[test]
    fn a_cost_is_a_number() {
        let mut new = NewConversation::new("c".parse().unwrap(), 5);
        new.facts.cost_usd = Some(f64::NAN);
        assert!(new.into_conversation().is_err());
    }
}
