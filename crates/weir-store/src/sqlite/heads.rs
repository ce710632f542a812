//! Brings the facts about sessions up to date with their logs.
//!
//! An append that changes no facts writes only the events: updating the size of the log, the time of its last event
//! and its position in the list would touch two more pages per append and take as long again. Instead, it records in
//! the table `behind` that the session has to be counted, in the order in which the logs last grew, and writes
//! nothing if the growing log is already the last one there. Counting happens in a quiet moment, at the latest when
//! the facts are read or something else changes.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rusqlite::{Connection, OptionalExtension, params};

use super::queue::transaction;
use super::rows::{place, seq_of, signed, unsigned};
use super::schema::SEQ_BITS;
use super::task::Done;
use crate::session::SessionId;

/// The end of a log, as needed for an append.
#[derive(Debug, Clone, Copy)]
pub(super) struct Head {
    /// The number by which other tables refer to the session.
    pub(super) number: i64,
    pub(super) newest: u64,
    /// Its facts have to be counted, and no other log has grown since that was recorded.
    pub(super) is_last_behind: bool,
    /// Who wrote the newest event.
    pub(super) mark: Option<i64>,
    /// It has texts that are not in the search index, and that is recorded.
    pub(super) has_unindexed: bool,
    /// The highest generation that has written.
    pub(super) generation: u64,
}

/// A state of the file: it changes with every write, of this connection or of another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    /// Changes when another connection writes.
    version: i64,
    /// How many rows this connection has changed, also in transactions that were rolled back.
    changes: u64,
}

impl Stamp {
    /// The current state, inside a transaction that writes.
    pub(super) fn now(connection: &Connection) -> rusqlite::Result<Self> {
        let mut version = connection.prepare_cached("PRAGMA data_version")?;
        Ok(Self { version: version.query_row([], |row| row.get(0))?, changes: connection.total_changes() })
    }

    /// The state after further writes of this connection in the same transaction.
    pub(super) fn later(self, connection: &Connection) -> Self {
        Self { changes: connection.total_changes(), ..self }
    }
}

/// A log that has grown.
#[derive(Debug)]
pub(super) struct Grown {
    pub(super) before: Stamp,
    pub(super) after: Stamp,
    pub(super) head: Head,
}

/// The heads of logs that have grown, valid as long as nothing else is written: looking one up in the file takes as long
/// as writing an event.
#[derive(Debug, Default)]
pub(super) struct KnownHeads(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    /// The state of the file that the heads belong to.
    stamp: Option<Stamp>,
    heads: HashMap<SessionId, Head>,
}

/// More sessions than this do not grow at the same time.
const MAX_KNOWN: usize = 1024;

impl KnownHeads {
    fn lock(&self) -> MutexGuard<'_, Known> {
        // At worst something is missing.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The end of a log, if it is known for this state of the file.
    pub(super) fn get(&self, id: &SessionId, now: Stamp) -> Option<Head> {
        let known = self.lock();
        known.heads.get(id).filter(|_| known.stamp == Some(now)).copied()
    }

    /// A log has grown, and that is committed.
    pub(super) fn note(&self, id: SessionId, grown: &Grown) {
        let mut known = self.lock();
        if known.stamp != Some(grown.before) || known.heads.len() >= MAX_KNOWN {
            known.heads.clear();
        }
        known.stamp = Some(grown.after);
        for head in known.heads.values_mut() {
            head.is_last_behind = false;
        }
        known.heads.insert(id, grown.head);
    }
}

pub(super) fn head(connection: &Connection, id: &str) -> rusqlite::Result<Option<Head>> {
    connection
        .prepare_cached(
            "SELECT number, (SELECT place FROM event WHERE place BETWEEN number << ?2 AND (number << ?2) | ((1 << ?2) - 1) \
               ORDER BY place DESC LIMIT 1), \
             number = (SELECT number FROM behind ORDER BY turn DESC LIMIT 1), \
             (SELECT mark FROM run WHERE conversation = number ORDER BY first DESC LIMIT 1), \
             EXISTS (SELECT 1 FROM unindexed WHERE conversation = number), generation \
             FROM conversation WHERE id = ?1",
        )?
        .query_row(params![id, SEQ_BITS], |row| {
            Ok(Head {
                number: row.get(0)?,
                newest: row.get::<_, Option<i64>>(1)?.map_or(0, seq_of),
                is_last_behind: row.get::<_, Option<bool>>(2)?.unwrap_or(false),
                mark: row.get(3)?,
                has_unindexed: row.get(4)?,
                generation: unsigned(row.get(5)?),
            })
        })
        .optional()
}

/// Whether the facts about any session have to be counted.
pub(super) fn is_behind(connection: &Connection) -> rusqlite::Result<bool> {
    connection.prepare_cached("SELECT EXISTS (SELECT 1 FROM behind)")?.query_row([], |row| row.get(0))
}

/// Records that a log has grown. Returns the revision that the session will have.
pub(super) fn fall_behind(connection: &Connection, number: i64) -> rusqlite::Result<u64> {
    connection.prepare_cached("INSERT OR REPLACE INTO behind (number) VALUES (?1)")?.execute([number])?;
    super::read::revision(connection)
}

/// Counts, in its own transaction.
pub(super) fn step(connection: &Connection) -> rusqlite::Result<()> {
    if is_behind(connection)? { transaction(connection, settle) } else { Ok(()) }
}

/// Counts, as a write.
pub(super) fn catch_up(connection: &Connection) -> Done<()> {
    settle(connection)?;
    Ok(((), None))
}

/// Counts everything that is due, in the order in which the logs last grew. After this, the stored facts and
/// revisions are current.
pub(super) fn settle(connection: &Connection) -> rusqlite::Result<()> {
    if !is_behind(connection)? {
        return Ok(());
    }
    let mut statement = connection
        .prepare_cached("SELECT number, newest FROM behind JOIN conversation USING (number) ORDER BY turn")?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let behind = rows.collect::<rusqlite::Result<Vec<(i64, i64)>>>()?;
    let mut revision = super::read::written_revision(connection)?;
    for (number, counted) in behind {
        revision += 1;
        count(connection, number, unsigned(counted), revision)?;
    }
    connection.prepare_cached("DELETE FROM behind")?.execute([])?;
    Ok(())
}

/// Counts what was appended after this event.
fn count(connection: &Connection, number: i64, counted: u64, revision: u64) -> rusqlite::Result<()> {
    // SQLite knows the length of a payload without reading it.
    connection
        .prepare_cached(
            "UPDATE conversation SET newest = max(conversation.newest, added.newest), \
             bytes = conversation.bytes + added.bytes, \
             updated_at = max(updated_at, coalesce(added.at, updated_at)), revision = ?4 \
             FROM (SELECT coalesce(max(place), 0) & ((1 << ?5) - 1) AS newest, \
               coalesce(sum(length(payload)), 0) AS bytes, max(at) AS at \
               FROM event WHERE place BETWEEN ?2 AND ?3) AS added \
             WHERE number = ?1",
        )?
        .execute(params![
            number,
            place(number, counted.saturating_add(1)),
            place(number, u64::MAX),
            signed(revision),
            SEQ_BITS,
        ])?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cursor::Check;
    use crate::event::{Append, NewEvent};
    use crate::session::NewStoredSession;
    use crate::sqlite::open::{Database, SqliteOptions};
    use crate::sqlite::write;

    fn append(connection: &Connection, id: &str, at: i64, payload: &str) {
        let events = vec![NewEvent::new(at, "line", payload.as_bytes().to_vec())];
        let append = Append::new(id.parse().unwrap(), events);
        write::append(connection, &append, Check::random(), &KnownHeads::default()).unwrap();
    }

    fn facts(connection: &Connection) -> Vec<(String, i64, i64, i64)> {
        let mut statement = connection
            .prepare("SELECT id, newest, bytes, updated_at FROM conversation ORDER BY revision")
            .unwrap();
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)));
        rows.unwrap().collect::<rusqlite::Result<_>>().unwrap()
    }

    #[test]
    fn an_append_writes_no_facts_and_they_are_counted_later() {
        let folder = tempfile::tempdir().unwrap();
        let database = Database { path: folder.path().join("weir.db") };
        let connection = database.open_writer(&SqliteOptions::default()).unwrap();
        for id in ["one", "two"] {
            write::create(&connection, &NewStoredSession::new(id.parse().unwrap(), 5)).unwrap();
        }
        let before = facts(&connection);
        append(&connection, "two", 9, "123");
        append(&connection, "one", 8, "12");
        append(&connection, "two", 7, "1");
        append(&connection, "one", 6, "1234");
        append(&connection, "one", 6, "1234");
        assert_eq!(facts(&connection), before);
        assert!(is_behind(&connection).unwrap());
        let promised = crate::sqlite::read::revision(&connection).unwrap();
        settle(&connection).unwrap();
        let counted = [("two".to_owned(), 2, 4, 9), ("one".to_owned(), 3, 10, 8)];
        assert_eq!(facts(&connection), counted);
        assert!(!is_behind(&connection).unwrap());
        assert_eq!(crate::sqlite::read::revision(&connection).unwrap(), promised);
        // Nothing is counted twice.
        append(&connection, "two", 10, "12345");
        settle(&connection).unwrap();
        settle(&connection).unwrap();
        assert_eq!(facts(&connection), [("one".to_owned(), 3, 10, 8), ("two".to_owned(), 3, 9, 10)]);
    }

    #[test]
    fn heads_are_known_until_something_else_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let database = Database { path: folder.path().join("weir.db") };
        let connection = database.open_writer(&SqliteOptions::default()).unwrap();
        for id in ["one", "two"] {
            write::create(&connection, &NewStoredSession::new(id.parse().unwrap(), 5)).unwrap();
        }
        let (known, check) = (KnownHeads::default(), Check::random());
        let append = |connection: &Connection, id: &str| {
            let event = NewEvent::new(1, "line", b"1".to_vec());
            let append = Append::new(id.parse().unwrap(), vec![event]);
            write::append(connection, &append, check, &known).unwrap()
        };
        let grow = |id: &str| {
            let (appended, notice) =
                transaction(&connection, |connection| Ok(append(connection, id))).unwrap();
            known.note(id.parse().unwrap(), &notice.unwrap().grown.unwrap());
            appended.newest
        };
        let head = |id: &str| {
            let now = transaction(&connection, Stamp::now).unwrap();
            known.get(&id.parse().unwrap(), now).map(|head| (head.newest, head.is_last_behind))
        };
        assert_eq!((grow("one"), head("one")), (1, Some((1, true))));
        assert_eq!((grow("two"), head("two"), head("one")), (1, Some((1, true)), Some((1, false))));
        assert_eq!((grow("one"), head("one"), head("two")), (2, Some((2, true)), Some((1, false))));

        let undone = transaction(&connection, |connection| {
            append(connection, "one");
            Err::<(), _>(rusqlite::Error::QueryReturnedNoRows)
        });
        assert!(undone.is_err());
        assert_eq!((head("one"), grow("one"), head("one")), (None, 3, Some((3, true))));

        let other = database.open_writer(&SqliteOptions::default()).unwrap();
        transaction(&other, |other| Ok(append(other, "one"))).unwrap();
        assert_eq!((head("one"), grow("one")), (None, 5));
        transaction(&connection, settle).unwrap();
        assert_eq!((head("one"), grow("one"), head("one")), (None, 6, Some((6, true))));
    }

    #[test]
    fn a_log_that_grows_alone_is_recorded_once() {
        let folder = tempfile::tempdir().unwrap();
        let database = Database { path: folder.path().join("weir.db") };
        let connection = database.open_writer(&SqliteOptions::default()).unwrap();
        write::create(&connection, &NewStoredSession::new("one".parse().unwrap(), 5)).unwrap();
        append(&connection, "one", 1, "1");
        let noted = |connection: &Connection| -> i64 {
            connection.query_row("SELECT max(turn) FROM behind", [], |row| row.get(0)).unwrap()
        };
        let first = noted(&connection);
        append(&connection, "one", 2, "1");
        append(&connection, "one", 3, "1");
        assert_eq!(noted(&connection), first);
        assert_eq!(head(&connection, "one").unwrap().unwrap().newest, 3);
    }
}
