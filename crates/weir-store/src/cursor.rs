//! The position in a log that a viewer has reached, in the form sent as `Last-Event-ID`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error::StoreError;

/// Identifies the writer of part of a log: a random number drawn each time a store is opened.
///
/// An event's number does not identify it. A power loss or a restored backup can cut off the end of a log, and other
/// events then get the same numbers. Those are written after the store was opened again, so they have a different
/// check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Check(u32);

impl Check {
    /// A new check, for a store that is being opened.
    pub fn random() -> Self {
        // The first 32 bits of a random UUID are all random.
        Self(uuid::Uuid::new_v4().as_fields().0)
    }

    /// The check that was stored as this number.
    pub fn from_stored(value: i64) -> Option<Self> {
        u32::try_from(value).ok().map(Self)
    }

    /// The number to store.
    pub fn to_stored(self) -> i64 {
        i64::from(self.0)
    }
}

impl fmt::Display for Check {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:08x}", self.0)
    }
}

/// A position in a session's log: `<epoch>.<check>:<seq>`, or `<epoch>:<seq>` without a check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cursor {
    /// The store that the number belongs to. A new file has a new epoch.
    pub epoch: String,
    /// The newest event seen; zero for none.
    pub seq: u64,
    /// The writer of that event. If it is `None`, only the number is compared: cursors and events from older versions
    /// have no check.
    pub check: Option<Check>,
}

/// How a viewer continues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resume {
    /// It has seen nothing: start from the beginning, or with a snapshot.
    Fresh,
    /// Continue after this event, without loss or repetition.
    After(u64),
    /// What it has seen is not in this log: it must start over.
    Gap,
}

impl Cursor {
    /// A position in a log.
    pub fn new(epoch: impl Into<String>, seq: u64, check: Option<Check>) -> Self {
        Self { epoch: epoch.into(), seq, check }
    }

    /// How a viewer with this cursor continues in a log with this epoch and length. `check` is the log's check at the
    /// cursor's position: [`crate::Log::check_at`]. No cursor is different from a cursor at zero.
    pub fn resume(cursor: Option<&Self>, epoch: &str, newest: u64, check: Option<Check>) -> Resume {
        let Some(cursor) = cursor else { return Resume::Fresh };
        let is_same_event = cursor.seq == 0 || cursor.check.is_none() || cursor.check == check;
        if cursor.epoch == epoch && cursor.seq <= newest && is_same_event {
            Resume::After(cursor.seq)
        } else {
            Resume::Gap
        }
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.epoch)?;
        if let Some(check) = self.check {
            write!(formatter, ".{check}")?;
        }
        write!(formatter, ":{}", self.seq)
    }
}

impl FromStr for Cursor {
    type Err = StoreError;

    fn from_str(text: &str) -> Result<Self, StoreError> {
        parse(text).ok_or_else(|| {
            StoreError::Invalid("a cursor must have the form <epoch>.<check>:<seq>".to_owned())
        })
    }
}

fn parse(text: &str) -> Option<Cursor> {
    let (place, seq) = text.rsplit_once(':')?;
    if seq.is_empty() || !seq.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let (epoch, check) = match place.rsplit_once('.') {
        Some((epoch, check)) => (epoch, Some(parse_check(check)?)),
        None => (place, None),
    };
    (!epoch.is_empty()).then_some(())?;
    Some(Cursor { epoch: epoch.to_owned(), seq: seq.parse().ok()?, check })
}

fn parse_check(text: &str) -> Option<Check> {
    let is_plain = text.len() == 8 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    if is_plain { u32::from_str_radix(text, 16).ok().map(Check) } else { None }
}

#[cfg(test)]
mod tests {
    use super::{Check, Cursor, Resume};

    #[test]
    fn parses_what_it_formats() {
        for (text, check) in [("9f0c:12", None), ("9f0c.00c0ffee:12", Some(Check(0x00c0_ffee)))] {
            let cursor: Cursor = text.parse().unwrap();
            assert_eq!(cursor, Cursor::new("9f0c", 12, check));
            assert_eq!(cursor.to_string(), text);
        }
        for text in ["", "12", ":12", "a:", "a:-1", "a:+1", "a:1x", "a:99999999999999999999"] {
            assert!(text.parse::<Cursor>().is_err(), "{text}");
        }
        for text in ["a.:1", ".00c0ffee:1", "a.00C0FFEE:1", "a.+0c0ffee:1", "a.c0ffee:1", "a.00c0ffee0:1"] {
            assert!(text.parse::<Cursor>().is_err(), "{text}");
        }
    }

    #[test]
    fn tells_how_to_continue() {
        let at = |epoch: &str, seq| Some(Cursor::new(epoch, seq, None));
        assert_eq!(Cursor::resume(None, "a", 5, None), Resume::Fresh);
        assert_eq!(Cursor::resume(at("a", 0).as_ref(), "a", 5, None), Resume::After(0));
        assert_eq!(Cursor::resume(at("a", 5).as_ref(), "a", 5, None), Resume::After(5));
        assert_eq!(Cursor::resume(at("a", 6).as_ref(), "a", 5, None), Resume::Gap);
        assert_eq!(Cursor::resume(at("b", 5).as_ref(), "a", 5, None), Resume::Gap);
    }

    #[test]
    fn the_same_number_from_another_writer_is_another_event() {
        let (ours, other) = (Check(1), Check(2));
        let at = |seq, check| Some(Cursor::new("a", seq, check));
        assert_eq!(Cursor::resume(at(5, Some(ours)).as_ref(), "a", 9, Some(ours)), Resume::After(5));
        assert_eq!(Cursor::resume(at(5, Some(ours)).as_ref(), "a", 9, Some(other)), Resume::Gap);
        assert_eq!(Cursor::resume(at(5, Some(ours)).as_ref(), "a", 9, None), Resume::Gap);
        // From an older version: compared by number only.
        assert_eq!(Cursor::resume(at(5, None).as_ref(), "a", 9, Some(ours)), Resume::After(5));
        // Before the first event nothing can differ.
        assert_eq!(Cursor::resume(at(0, Some(ours)).as_ref(), "a", 9, None), Resume::After(0));
    }
}
