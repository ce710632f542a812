//! What each write does inside a transaction. Apart from counting that is due anyway, each checks before it changes
//! anything, so a refusal leaves the transaction intact for the other writes that share it.

use rusqlite::{CachedStatement, Connection, OptionalExtension, params};

use super::heads::{self, Grown, Head, KnownHeads, Stamp};
use super::index;
use super::read;
use super::rows::{find_session, place, seq_of_client, signed, unsigned};
use super::task::{Done, Notice};
use crate::checkpoint::Checkpoint;
use crate::cursor::Check;
use crate::error::StoreError;
use crate::event::{Append, Appended, NewEvent, Placed};
use crate::lease::check_name;
use crate::session::{NewStoredSession, SessionId, SessionUpdate, StoredSession};
use crate::tail::TailState;

/// Either the request is refused, or the database failed and the transaction with it.
#[derive(Debug)]
pub(super) enum Failure {
    Refused(StoreError),
    Database(rusqlite::Error),
}

impl From<rusqlite::Error> for Failure {
    fn from(error: rusqlite::Error) -> Self {
        Self::Database(error)
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::Refused(error)
    }
}

pub(super) fn create(connection: &Connection, new: &NewStoredSession) -> Done<StoredSession> {
    let mut facts = new.clone().into_stored()?;
    heads::settle(connection)?;
    if find_session(connection, "id = ?1", [facts.id.as_str()])?.is_some() {
        return Err(StoreError::IdInUse(facts.id).into());
    }
    check_key(connection, &facts)?;
    facts.revision = next_revision(connection)?;
    connection
        .prepare_cached(
            "INSERT INTO conversation (id, parent, parent_seq, created_at, status, archived, settings, \
             updated_at, newest, bytes, revision) VALUES (?1, ?2, ?3, ?4, '', 0, 'null', 0, 0, 0, ?5)",
        )?
        .execute(params![
            facts.id.as_str(),
            facts.parent.as_ref().map(|parent| parent.session.as_str()),
            facts.parent.as_ref().map(|parent| signed(parent.seq)),
            facts.created_at,
            signed(facts.revision),
        ])?;
    write_facts(connection, connection.last_insert_rowid(), &facts, !facts.cli_sessions.is_empty())?;
    let notice = Notice {
        session: facts.id.clone(),
        end: TailState::Newest(0),
        revision: Some(facts.revision),
        grown: None,
    };
    Ok((facts, Some(notice)))
}

pub(super) fn update(connection: &Connection, id: &SessionId, update: &SessionUpdate) -> Done<StoredSession> {
    heads::settle(connection)?;
    let (number, mut facts) = existing(connection, id)?;
    if update.is_empty() {
        return Ok((facts, None));
    }
    update.clone().apply(&mut facts)?;
    check_key(connection, &facts)?;
    facts.revision = next_revision(connection)?;
    write_facts(connection, number, &facts, update.cli_session.is_some())?;
    let end = TailState::Newest(facts.newest);
    let notice = Notice { session: id.clone(), end, revision: Some(facts.revision), grown: None };
    Ok((facts, Some(notice)))
}

pub(super) fn delete(connection: &Connection, id: &SessionId) -> Done<bool> {
    heads::settle(connection)?;
    let Some((number, _)) = find_session(connection, "id = ?1", [id.as_str()])? else {
        return Ok((false, None));
    };
    let revision = next_revision(connection)?;
    connection.prepare_cached("DELETE FROM conversation WHERE number = ?1")?.execute([number])?;
    connection.prepare_cached("DELETE FROM cli_session WHERE conversation = ?1")?.execute([number])?;
    connection.prepare_cached("INSERT INTO trash VALUES (?1)")?.execute([number])?;
    // In case no remaining session has this revision.
    connection
        .prepare_cached("UPDATE meta SET value = ?1 WHERE name = 'revision'")?
        .execute([signed(revision)])?;
    let end = TailState::Deleted;
    Ok((true, Some(Notice { session: id.clone(), end, revision: Some(revision), grown: None })))
}

pub(super) fn append(
    connection: &Connection,
    append: &Append,
    check: Check,
    known: &KnownHeads,
) -> Done<Appended> {
    append.check()?;
    let id = &append.session;
    let stamp = Stamp::now(connection)?;
    let head = match known.get(id, stamp) {
        Some(head) => Some(head),
        None => heads::head(connection, id.as_str())?,
    };
    let Some(head) = head else {
        return Err(StoreError::NotFound(id.clone()).into());
    };
    let (number, before) = (head.number, head.newest);
    let (generation, current) = (append.generation, head.generation);
    if generation < current {
        return Err(StoreError::Fenced { session: id.clone(), generation, current }.into());
    }
    let facts = updated_facts(connection, append)?;

    let mut newest = before;
    let mut placed = Vec::with_capacity(append.events.len());
    // Looked up once: finding a prepared statement costs as much as a small insert.
    let mut insert = Insert::new(connection)?;
    for event in &append.events {
        if let Some(seq) = stored_before(connection, number, event)? {
            placed.push(Placed { seq, new: false });
            continue;
        }
        if let Some(expected) = append.expected_newest.filter(|seq| *seq != before) {
            return Err(StoreError::Moved { expected, newest: before }.into());
        }
        newest += 1;
        insert.event(connection, number, newest, event)?;
        placed.push(Placed { seq: newest, new: true });
    }
    if generation > current {
        connection
            .prepare_cached("UPDATE conversation SET generation = ?2 WHERE number = ?1")?
            .execute(params![number, signed(generation)])?;
    }
    if let Some(first) = insert.first_text.filter(|_| !head.has_unindexed) {
        index::fall_behind(connection, number, first)?;
    }
    if newest > before && head.mark != Some(check.to_stored()) {
        connection.prepare_cached("INSERT INTO run VALUES (?1, ?2, ?3)")?.execute(params![
            number,
            signed(before + 1),
            check.to_stored()
        ])?;
    }
    let appended = Appended { placed, newest, check };
    let has_facts = facts.is_some();
    let revision = match facts {
        Some((mut facts, new_session)) => {
            heads::fall_behind(connection, number)?;
            heads::settle(connection)?;
            facts.revision = read::revision(connection)?;
            write_facts(connection, number, &facts, new_session)?;
            Some(facts.revision)
        }
        None if newest == before => return Ok((appended, None)),
        // Viewers were already told of its revision.
        None if head.is_last_behind => None,
        None => Some(heads::fall_behind(connection, number)?),
    };
    let grown = (!has_facts).then(|| Grown {
        before: stamp,
        after: stamp.later(connection),
        head: Head {
            number,
            newest,
            is_last_behind: true,
            mark: Some(check.to_stored()),
            has_unindexed: head.has_unindexed || insert.first_text.is_some(),
            generation,
        },
    });
    Ok((appended, Some(Notice { session: id.clone(), end: TailState::Newest(newest), revision, grown })))
}

pub(super) fn save_checkpoint(connection: &Connection, id: &SessionId, checkpoint: &Checkpoint) -> Done<()> {
    let number: Option<i64> = connection
        .prepare_cached("SELECT number FROM conversation WHERE id = ?1")?
        .query_row([id.as_str()], |row| row.get(0))
        .optional()?;
    let Some(number) = number else { return Err(StoreError::NotFound(id.clone()).into()) };
    connection
        .prepare_cached("DELETE FROM checkpoint WHERE conversation = ?1 AND version <> ?2")?
        .execute(params![number, checkpoint.version])?;
    connection
        .prepare_cached(
            "INSERT OR REPLACE INTO checkpoint (conversation, seq, version, mark, data) \
             VALUES (?1, ?2, ?3, ?4, ?5)",
        )?
        .execute(params![
            number,
            signed(checkpoint.seq),
            checkpoint.version,
            signed(checkpoint.mark),
            checkpoint.data
        ])?;
    Ok(((), None))
}

/// The generation of the next lease: higher than every earlier one of this file.
pub(super) fn next_lease(connection: &Connection) -> Done<u64> {
    connection.prepare_cached("UPDATE meta SET value = value + 1 WHERE name = 'lease'")?.execute([])?;
    let generation = connection
        .prepare_cached("SELECT value FROM meta WHERE name = 'lease'")?
        .query_row([], |row| row.get(0).map(unsigned))?;
    Ok((generation, None))
}

pub(super) fn put_blob(connection: &Connection, id: &SessionId, name: &str, data: &[u8]) -> Done<()> {
    check_name("blob", name)?;
    let Some(head) = heads::head(connection, id.as_str())? else {
        return Err(StoreError::NotFound(id.clone()).into());
    };
    connection
        .prepare_cached("INSERT OR REPLACE INTO blob (conversation, name, data) VALUES (?1, ?2, ?3)")?
        .execute(params![head.number, name, data])?;
    Ok(((), None))
}

/// The facts after the append, if it changes any, and whether the CLI session is new.
fn updated_facts(connection: &Connection, append: &Append) -> Result<Option<(StoredSession, bool)>, Failure> {
    if append.update.is_empty() {
        return Ok(None);
    }
    let (_, mut facts) = existing(connection, &append.session)?;
    append.update.clone().apply(&mut facts)?;
    check_key(connection, &facts)?;
    Ok(Some((facts, append.update.cli_session.is_some())))
}

fn stored_before(connection: &Connection, number: i64, event: &NewEvent) -> rusqlite::Result<Option<u64>> {
    let Some(client_id) = &event.client_id else { return Ok(None) };
    seq_of_client(connection, number, client_id)
}

/// The statements that most events need.
struct Insert<'c> {
    event: CachedStatement<'c>,
    text: CachedStatement<'c>,
    /// The place of the first text.
    first_text: Option<i64>,
}

impl<'c> Insert<'c> {
    fn new(connection: &'c Connection) -> rusqlite::Result<Self> {
        Ok(Self {
            event: connection.prepare_cached(
                "INSERT INTO event (place, at, kind, client_id, payload) VALUES (?1, ?2, ?3, ?4, ?5)",
            )?,
            text: connection.prepare_cached("INSERT INTO text (place, text) VALUES (?1, ?2)")?,
            first_text: None,
        })
    }

    fn event(
        &mut self,
        connection: &Connection,
        number: i64,
        seq: u64,
        event: &NewEvent,
    ) -> rusqlite::Result<()> {
        let place = place(number, seq);
        self.event.execute(params![place, event.at, event.kind, event.client_id, event.payload])?;
        if let Some(client_id) = &event.client_id {
            connection.prepare_cached("INSERT INTO client VALUES (?1, ?2, ?3)")?.execute(params![
                number,
                client_id,
                signed(seq)
            ])?;
        }
        for label in &event.labels {
            connection
                .prepare_cached("INSERT OR IGNORE INTO label VALUES (?1, ?2, ?3)")?
                .execute(params![number, label, place])?;
        }
        if let Some(text) = event.indexed_text() {
            self.text.execute(params![place, text])?;
            self.first_text.get_or_insert(place);
        }
        Ok(())
    }
}

fn existing(connection: &Connection, id: &SessionId) -> Result<(i64, StoredSession), Failure> {
    let found = find_session(connection, "id = ?1", [id.as_str()])?;
    found.ok_or_else(|| StoreError::NotFound(id.clone()).into())
}

fn check_key(connection: &Connection, facts: &StoredSession) -> Result<(), Failure> {
    let Some(key) = facts.key.as_ref().filter(|_| !facts.archived) else { return Ok(()) };
    let owner = find_session(connection, "key = ?1 AND archived = 0", [key])?;
    match owner {
        Some((_, owner)) if owner.id != facts.id => {
            Err(StoreError::KeyInUse { key: key.clone(), owner: owner.id }.into())
        }
        _ => Ok(()),
    }
}

/// Every change gets a new revision, so the highest one belongs to the last change or deletion.
fn next_revision(connection: &Connection) -> rusqlite::Result<u64> {
    Ok(read::revision(connection)? + 1)
}

/// Writes everything that can change, except the size of the log.
fn write_facts(
    connection: &Connection,
    number: i64,
    facts: &StoredSession,
    new_session: bool,
) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "UPDATE conversation SET key = ?2, title = ?3, cwd = ?4, model = ?5, status = ?6, cost_usd = ?7, \
             archived = ?8, settings = ?9, updated_at = max(updated_at, ?10), revision = ?11 WHERE number = ?1",
        )?
        .execute(params![
            number,
            facts.key,
            facts.title,
            facts.cwd,
            facts.model,
            facts.status,
            facts.cost_usd,
            facts.archived,
            facts.settings.to_string(),
            facts.updated_at,
            signed(facts.revision),
        ])?;
    if !new_session {
        return Ok(());
    }
    connection.prepare_cached("DELETE FROM cli_session WHERE conversation = ?1")?.execute([number])?;
    let mut insert = connection.prepare_cached("INSERT INTO cli_session VALUES (?1, ?2, ?3)")?;
    for (place, session) in facts.cli_sessions.iter().enumerate() {
        insert.execute(params![number, signed(place as u64), session])?;
    }
    Ok(())
}

/// A deleted session of which parts are still there.
pub(super) fn trash(connection: &Connection) -> rusqlite::Result<Option<i64>> {
    connection.prepare_cached("SELECT number FROM trash LIMIT 1")?.query_row([], |row| row.get(0)).optional()
}

/// Deletes part of a log that is no longer visible.
pub(super) fn purge(connection: &Connection, number: i64, max_events: usize) -> rusqlite::Result<()> {
    let range = params![place(number, 0), place(number, u64::MAX), signed(max_events as u64)];
    let events = connection
        .prepare_cached(
            "DELETE FROM event WHERE place IN (SELECT place FROM event WHERE place BETWEEN ?1 AND ?2 LIMIT ?3)",
        )?
        .execute(range)?;
    let texts = index::remove(connection, number, max_events)?;
    if events == 0 && texts == 0 {
        connection.prepare_cached("DELETE FROM unindexed WHERE conversation = ?1")?.execute([number])?;
        connection.prepare_cached("DELETE FROM client WHERE conversation = ?1")?.execute([number])?;
        connection.prepare_cached("DELETE FROM label WHERE conversation = ?1")?.execute([number])?;
        connection.prepare_cached("DELETE FROM run WHERE conversation = ?1")?.execute([number])?;
        connection.prepare_cached("DELETE FROM checkpoint WHERE conversation = ?1")?.execute([number])?;
        connection.prepare_cached("DELETE FROM blob WHERE conversation = ?1")?.execute([number])?;
        connection.prepare_cached("DELETE FROM trash WHERE number = ?1")?.execute([number])?;
    }
    Ok(())
}
