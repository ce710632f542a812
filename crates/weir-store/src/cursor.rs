//! The place in a log that a reader has come to, as it travels in `Last-Event-ID`.

use std::fmt;
use std::str::FromStr;

use crate::error::StoreError;

/// A place in the log of a conversation: `<epoch>:<seq>`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cursor {
    /// The store that the number belongs to. A new file is a new epoch.
    pub epoch: String,
    /// The newest event that was seen; zero for none.
    pub seq: u64,
}

/// How a reader goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resume {
    /// It has seen nothing: from the beginning, or with a snapshot.
    Fresh,
    /// After this event, without loss or repetition.
    After(u64),
    /// What it has seen belongs to another log: it must start over.
    Gap,
}

impl Cursor {
    /// How a reader with this cursor goes on. No cursor is not the same as a cursor at zero.
    pub fn resume(cursor: Option<&Self>, epoch: &str, newest: u64) -> Resume {
        match cursor {
            None => Resume::Fresh,
            Some(cursor) if cursor.epoch == epoch && cursor.seq <= newest => Resume::After(cursor.seq),
            Some(_) => Resume::Gap,
        }
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}", self.epoch, self.seq)
    }
}

impl FromStr for Cursor {
    type Err = StoreError;

    fn from_str(text: &str) -> Result<Self, StoreError> {
        let parts = text.rsplit_once(':').filter(|(epoch, seq)| {
            !epoch.is_empty() && !seq.is_empty() && seq.bytes().all(|byte| byte.is_ascii_digit())
        });
        parts
            .and_then(|(epoch, seq)| Some(Self { epoch: epoch.to_owned(), seq: seq.parse().ok()? }))
            .ok_or_else(|| StoreError::Invalid("a place in a log is written <epoch>:<seq>".to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::{Cursor, Resume};

    #[test]
    fn is_read_as_it_is_written() {
        let cursor: Cursor = "9f0c:12".parse().unwrap();
        assert_eq!(cursor, Cursor { epoch: "9f0c".to_owned(), seq: 12 });
        assert_eq!(cursor.to_string(), "9f0c:12");
        for text in ["", "12", ":12", "a:", "a:-1", "a:+1", "a:1x", "a:99999999999999999999"] {
            assert!(text.parse::<Cursor>().is_err(), "{text}");
        }
    }

    #[test]
    fn tells_how_to_go_on() {
        let at = |epoch: &str, seq| Some(Cursor { epoch: epoch.to_owned(), seq });
        assert_eq!(Cursor::resume(None, "a", 5), Resume::Fresh);
        assert_eq!(Cursor::resume(at("a", 0).as_ref(), "a", 5), Resume::After(0));
        assert_eq!(Cursor::resume(at("a", 5).as_ref(), "a", 5), Resume::After(5));
        assert_eq!(Cursor::resume(at("a", 6).as_ref(), "a", 5), Resume::Gap);
        assert_eq!(Cursor::resume(at("b", 5).as_ref(), "a", 5), Resume::Gap);
    }
}
