//! Sessions: the facts that lists show, stored next to the log.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::StoreError;

/// Identifies a session.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SessionId(String);

impl SessionId {
    /// A new random id.
    pub fn random() -> Self {
        Self(uuid::Uuid::new_v4().to_string())
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for SessionId {
    type Error = StoreError;

    /// Accepts only ids that are safe in URLs and file names without escaping.
    fn try_from(text: String) -> Result<Self, StoreError> {
        let fits = (1..=64).contains(&text.len())
            && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
        if fits {
            return Ok(Self(text));
        }
        let shown: String = text.chars().take(64).collect();
        Err(StoreError::Invalid(format!(
            "{shown:?} is not a valid session id: use 1 to 64 letters, digits, '-' and '_', such as a UUID"
        )))
    }
}

impl FromStr for SessionId {
    type Err = StoreError;

    fn from_str(text: &str) -> Result<Self, StoreError> {
        Self::try_from(text.to_owned())
    }
}

impl From<SessionId> for String {
    fn from(id: SessionId) -> Self {
        id.0
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// The facts about a session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StoredSession {
    /// The session's id.
    pub id: SessionId,
    /// The caller's own name for it; unique among live sessions.
    pub key: Option<String>,
    /// Its title, shown to people.
    pub title: Option<String>,
    /// Its working directory.
    pub cwd: Option<String>,
    /// The model.
    pub model: Option<String>,
    /// What it is doing, in the caller's terms.
    pub status: String,
    /// The CLI's ids for it, the current one last.
    pub cli_sessions: Vec<String>,
    /// The session that it was forked from.
    pub parent: Option<Parent>,
    /// What it has cost, if known.
    pub cost_usd: Option<f64>,
    /// Whether it is archived.
    pub archived: bool,
    /// Anything else the caller stores with it.
    pub settings: Value,
    /// When it was created, in milliseconds since 1970.
    pub created_at: i64,
    /// When it last changed.
    pub updated_at: i64,
    /// The number of the newest event; zero if the log is empty.
    pub newest: u64,
    /// The size of all events.
    pub bytes: u64,
    /// Grows with every change to any session, so it orders sessions by their last change. Consecutive events may
    /// share a revision as long as it has not been read.
    pub revision: u64,
}

/// Where a session was forked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parent {
    /// The original session. It may have been deleted since.
    pub session: SessionId,
    /// Its newest event at that time.
    pub seq: u64,
}

/// A session to create.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NewStoredSession {
    /// The session's id.
    pub id: SessionId,
    /// The time, in milliseconds since 1970.
    pub at: i64,
    /// Where it was forked.
    pub parent: Option<Parent>,
    /// Initial facts.
    pub facts: SessionUpdate,
}

impl NewStoredSession {
    /// A session without any facts yet.
    pub fn new(id: SessionId, at: i64) -> Self {
        Self { id, at, parent: None, facts: SessionUpdate::default() }
    }

    /// The session as it is stored: with an empty log.
    ///
    /// # Errors
    /// If a fact is invalid.
    pub fn into_stored(self) -> Result<StoredSession, StoreError> {
        let mut session = StoredSession {
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
        self.facts.apply(&mut session)?;
        Ok(session)
    }
}

/// Changes to a session's facts. A field that is `None` stays unchanged.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct SessionUpdate {
    /// The time, in milliseconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<i64>,
    /// A new key, or `Some(None)` to remove it.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub key: Option<Option<String>>,
    /// A new title, or `Some(None)` to remove it.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub title: Option<Option<String>>,
    /// The working directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// The model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// What it is doing, in the caller's terms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// The CLI's id for it from now on. Earlier ones are kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cli_session: Option<String>,
    /// What it has cost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// Whether it is archived.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub archived: Option<bool>,
    /// Replaces everything the caller stores with it.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub settings: Option<Value>,
}

impl SessionUpdate {
    /// Whether it changes nothing.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Changes the facts. The store checks separately that the key is free.
    pub(crate) fn apply(self, stored: &mut StoredSession) -> Result<(), StoreError> {
        if self.cost_usd.is_some_and(|cost| !cost.is_finite()) {
            return Err(StoreError::Invalid("a cost must be a finite number".to_owned()));
        }
        if let Some(at) = self.at {
            stored.updated_at = stored.updated_at.max(at);
        }
        replace(&mut stored.key, self.key);
        replace(&mut stored.title, self.title);
        replace(&mut stored.cwd, self.cwd.map(Some));
        replace(&mut stored.model, self.model.map(Some));
        replace(&mut stored.status, self.status);
        replace(&mut stored.cost_usd, self.cost_usd.map(Some));
        replace(&mut stored.archived, self.archived);
        replace(&mut stored.settings, self.settings);
        if let Some(session) = self.cli_session {
            stored.cli_sessions.retain(|earlier| *earlier != session);
            stored.cli_sessions.push(session);
        }
        Ok(())
    }
}

/// A member that is there was given, even if it is null.
fn present<'de, T: Deserialize<'de>, D: serde::Deserializer<'de>>(value: D) -> Result<Option<T>, D::Error> {
    T::deserialize(value).map(Some)
}

fn replace<T>(place: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *place = value;
    }
}

#[cfg(test)]
mod tests {
    use super::{NewStoredSession, SessionId, SessionUpdate};

    #[test]
    fn ids_are_safe_in_urls_and_file_names() {
        for text in ["a", "6f1c", "A_b-3", &"x".repeat(64)] {
            assert_eq!(text.parse::<SessionId>().unwrap().as_str(), text);
        }
        for text in ["", "..", "a/b", "a b", "é", &"x".repeat(65)] {
            assert!(text.parse::<SessionId>().is_err(), "{text}");
        }
        assert!(serde_json::from_str::<SessionId>("\"../x\"").is_err());
        assert_ne!(SessionId::random(), SessionId::random());
    }

    #[test]
    fn the_current_cli_session_is_the_last_one() {
        let new = NewStoredSession::new("c".parse().unwrap(), 5);
        let mut stored = new.into_stored().unwrap();
        for session in ["one", "two", "one"] {
            let update = SessionUpdate { cli_session: Some(session.to_owned()), ..Default::default() };
            update.apply(&mut stored).unwrap();
        }
        assert_eq!(stored.cli_sessions, ["two", "one"]);
    }

    #[test]
    fn an_update_says_the_same_as_json() {
        let some = SessionUpdate {
            at: Some(1),
            key: Some(None),
            title: Some(Some("a".to_owned())),
            settings: Some(serde_json::Value::Null),
            archived: Some(false),
            ..Default::default()
        };
        for (update, json) in [
            (some, r#"{"at":1,"key":null,"title":"a","archived":false,"settings":null}"#),
            (SessionUpdate::default(), "{}"),
        ] {
            assert_eq!(serde_json::to_string(&update).unwrap(), json);
            assert_eq!(serde_json::from_str::<SessionUpdate>(json).unwrap(), update);
        }
    }

    #[test]
    fn a_cost_must_be_finite() {
        let mut new = NewStoredSession::new("c".parse().unwrap(), 5);
        new.facts.cost_usd = Some(f64::NAN);
        assert!(new.into_stored().is_err());
    }
}
