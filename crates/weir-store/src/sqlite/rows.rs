//! Converts between rows and values.

use rusqlite::{Connection, OptionalExtension, Params, Row, params};
use serde_json::Value;

use super::schema::SEQ_BITS;
use crate::event::Event;
use crate::session::{Parent, SessionId, StoredSession};

/// The columns that [`session`] reads from the table `conversation`. The end of the log is looked up in the log.
pub(super) const COLUMNS: &str = "number, id, key, title, cwd, model, status, parent, parent_seq, cost_usd, \
     archived, settings, created_at, updated_at, bytes, revision, \
     (SELECT json_group_array(session ORDER BY place) FROM cli_session WHERE conversation = number) AS cli_sessions, \
     (SELECT place FROM event WHERE place BETWEEN number << 36 AND (number << 36) | ((1 << 36) - 1) \
       ORDER BY place DESC LIMIT 1) AS newest";

/// A session and the number by which other tables refer to it.
pub(super) fn session(row: &Row<'_>) -> rusqlite::Result<(i64, StoredSession)> {
    let parent: Option<String> = row.get("parent")?;
    let parent_seq: Option<i64> = row.get("parent_seq")?;
    let parent = match parent.zip(parent_seq) {
        Some((parent, seq)) => Some(Parent { session: id(parent)?, seq: unsigned(seq) }),
        None => None,
    };
    let facts = StoredSession {
        id: id(row.get("id")?)?,
        key: row.get("key")?,
        title: row.get("title")?,
        cwd: row.get("cwd")?,
        model: row.get("model")?,
        status: row.get("status")?,
        cli_sessions: json(&row.get::<_, String>("cli_sessions")?)?,
        parent,
        cost_usd: row.get("cost_usd")?,
        archived: row.get("archived")?,
        settings: json::<Value>(&row.get::<_, String>("settings")?)?,
        created_at: row.get("created_at")?,
        updated_at: row.get("updated_at")?,
        newest: row.get::<_, Option<i64>>("newest")?.map_or(0, seq_of),
        bytes: unsigned(row.get("bytes")?),
        revision: unsigned(row.get("revision")?),
    };
    Ok((row.get("number")?, facts))
}

/// The session that matches the condition.
pub(super) fn find_session(
    connection: &Connection,
    condition: &str,
    params: impl Params,
) -> rusqlite::Result<Option<(i64, StoredSession)>> {
    let sql = format!("SELECT {COLUMNS} FROM conversation WHERE {condition}");
    connection.prepare_cached(&sql)?.query_row(params, session).optional()
}

/// An event, from the columns place, at, kind, client_id and payload. Its writer is stored elsewhere.
pub(super) fn event(row: &Row<'_>) -> rusqlite::Result<Event> {
    Ok(Event {
        seq: seq_of(row.get(0)?),
        at: row.get(1)?,
        kind: row.get(2)?,
        client_id: row.get(3)?,
        payload: row.get(4)?,
        check: None,
    })
}

/// The number of the event with this client id.
pub(super) fn seq_of_client(
    connection: &Connection,
    number: i64,
    client_id: &str,
) -> rusqlite::Result<Option<u64>> {
    connection
        .prepare_cached("SELECT seq FROM client WHERE conversation = ?1 AND client_id = ?2")?
        .query_row(params![number, client_id], |row| row.get(0).map(unsigned))
        .optional()
}

/// The row id of an event. Numbers beyond the highest possible one map to it.
pub(super) fn place(number: i64, seq: u64) -> i64 {
    let last = (1 << SEQ_BITS) - 1;
    (number << SEQ_BITS) | signed(seq).min(last)
}

pub(super) fn seq_of(place: i64) -> u64 {
    unsigned(place & ((1 << SEQ_BITS) - 1))
}

pub(super) fn id(text: String) -> rusqlite::Result<SessionId> {
    SessionId::try_from(text).map_err(conversion)
}

fn json<T: serde::de::DeserializeOwned>(text: &str) -> rusqlite::Result<T> {
    serde_json::from_str(text).map_err(conversion)
}

fn conversion(error: impl std::error::Error + Send + Sync + 'static) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(0, rusqlite::types::Type::Text, Box::new(error))
}

pub(super) fn unsigned(value: i64) -> u64 {
    u64::try_from(value).unwrap_or(0)
}

pub(super) fn signed(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::{COLUMNS, SEQ_BITS, place, seq_of};

    #[test]
    fn the_columns_use_the_bits_of_a_place() {
        assert!(COLUMNS.contains(&format!("number << {SEQ_BITS} AND")));
        assert!(COLUMNS.contains(&format!("(1 << {SEQ_BITS}) - 1")));
    }

    #[test]
    fn places_of_different_sessions_do_not_overlap() {
        assert_eq!(seq_of(place(3, 17)), 17);
        assert!(place(3, u64::MAX) < place(4, 0));
        assert!(place((1 << 27) - 1, u64::MAX) > 0);
    }
}
