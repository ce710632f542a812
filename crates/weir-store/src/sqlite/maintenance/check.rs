//! Whether a file is sound: SQLite's own checks, and the invariants of logs.

use std::path::Path;

use rusqlite::Connection;
use serde::Serialize;

use super::{counts, existing, length};
use crate::error::StoreError;
use crate::sqlite::schema;

/// At most this many problems of one kind are reported.
const MAX_PROBLEMS: i64 = 20;

/// The result of checking a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct FileReport {
    /// The format of the file.
    pub format: i64,
    /// The format that this version writes. A file with an older one is upgraded when it is opened.
    pub newest_format: i64,
    /// Number of sessions.
    pub sessions: u64,
    /// Number of events in all sessions.
    pub events: u64,
    /// Size of the file in bytes.
    pub bytes: u64,
    /// What is wrong; empty for a sound file.
    pub problems: Vec<String>,
}

/// Checks a whole file, which takes long for a large one. Other processes may use it meanwhile; their writes stay in
/// the write-ahead log until the check has ended.
///
/// # Errors
/// If the file cannot be read at all, or is not a log.
pub fn check_file(path: &Path) -> Result<FileReport, StoreError> {
    let (database, connection) = existing(path)?;
    let report = || -> rusqlite::Result<FileReport> {
        connection.pragma_update(None, "query_only", true)?;
        // One snapshot for all checks.
        let connection = connection.unchecked_transaction()?;
        let format: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
        let mut problems = texts(&connection, &format!("PRAGMA integrity_check({MAX_PROBLEMS})"))?;
        problems.retain(|text| text != "ok");
        if problems.is_empty() && format == schema::VERSION {
            problems = broken_rules(&connection)?;
        }
        let (sessions, events) = counts(&connection)?;
        let newest_format = schema::VERSION;
        Ok(FileReport { format, newest_format, sessions, events, bytes: length(path), problems })
    };
    report().map_err(|source| database.error(source))
}

fn texts(connection: &Connection, sql: &str) -> rusqlite::Result<Vec<String>> {
    let mut statement = connection.prepare(sql)?;
    let rows = statement.query_map([], |row| row.get(0))?;
    rows.collect()
}

/// The invariants of logs, each as a query that describes every violation.
const RULES: &[&str] = &[
    "SELECT 'the log of ' || id || ' has ' || count(event.place) || ' events, and the newest has number ' \
       || coalesce(max(event.place) & ((1 << 36) - 1), 0) FROM conversation \
     LEFT JOIN event ON event.place BETWEEN number << 36 AND (number << 36) | ((1 << 36) - 1) GROUP BY number \
     HAVING count(event.place) <> coalesce(max(event.place) & ((1 << 36) - 1), 0)",
    "SELECT 'the facts about ' || id || ' say that it has ' || newest || ' events and ' || bytes || ' bytes, and it has ' \
       || count(event.place) || ' and ' || coalesce(sum(length(payload)), 0) FROM conversation \
     LEFT JOIN event ON event.place BETWEEN number << 36 AND (number << 36) | ((1 << 36) - 1) \
     WHERE number NOT IN (SELECT number FROM behind) GROUP BY number \
     HAVING newest <> count(event.place) OR bytes <> coalesce(sum(length(payload)), 0)",
    "SELECT 'event ' || (place & ((1 << 36) - 1)) || ' belongs to no session (' || (place >> 36) || ')' FROM event \
     WHERE place >> 36 NOT IN (SELECT number FROM conversation UNION ALL SELECT number FROM trash)",
    "SELECT 'the client id ' || quote(client.client_id) || ' of session ' || conversation || ' leads to event ' \
       || seq || ', which has a different one' FROM client \
     LEFT JOIN event ON event.place = (conversation << 36) | seq \
     WHERE conversation IN (SELECT number FROM conversation) AND event.client_id IS NOT client.client_id",
    "SELECT 'the label ' || quote(label) || ' leads to a missing event' FROM label \
     WHERE conversation IN (SELECT number FROM conversation) AND place NOT IN (SELECT place FROM event)",
    "SELECT 'a text in the index belongs to a missing event (' || id || ')' FROM search_docsize \
     WHERE id NOT IN (SELECT place FROM event) AND id >> 36 IN (SELECT number FROM conversation)",
    "SELECT 'a text belongs to a missing event (' || place || ')' FROM text \
     WHERE place NOT IN (SELECT place FROM event) AND place >> 36 IN (SELECT number FROM conversation)",
    "SELECT 'a text is neither in the index nor waiting for it (' || place || ')' FROM text \
     WHERE place NOT IN (SELECT id FROM search_docsize) AND place >> 36 NOT IN \
       (SELECT conversation FROM unindexed WHERE first <= place)",
    "SELECT 'an entry of the index has no text (' || id || ')' FROM search_docsize \
     WHERE id NOT IN (SELECT place FROM text)",
    "SELECT 'a text is in the index and waits for it (' || id || ')' FROM search_docsize \
     JOIN unindexed ON conversation = id >> 36 WHERE id >= first",
    "SELECT 'a checkpoint of ' || id || ' is at event ' || seq || ', which is missing' FROM checkpoint \
     JOIN conversation ON conversation.number = checkpoint.conversation \
     WHERE NOT EXISTS (SELECT 1 FROM event WHERE place = (conversation.number << 36) | seq)",
    "SELECT 'a writer of ' || id || ' began at event ' || first || ', which is missing' FROM run \
     JOIN conversation ON conversation.number = run.conversation \
     WHERE NOT EXISTS (SELECT 1 FROM event WHERE place = (conversation.number << 36) | first)",
    "SELECT 'the file ' || quote(name) || ' belongs to no session (' || conversation || ')' FROM blob \
     WHERE conversation NOT IN (SELECT number FROM conversation UNION ALL SELECT number FROM trash)",
    "SELECT 'the log has no epoch' WHERE NOT EXISTS (SELECT 1 FROM meta WHERE name = 'epoch')",
];

fn broken_rules(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let mut problems = Vec::new();
    for rule in RULES {
        problems.extend(texts(connection, &format!("{rule} LIMIT {MAX_PROBLEMS}"))?);
    }
    Ok(problems)
}

#[cfg(test)]
mod tests {
    use super::RULES;
    use crate::sqlite::schema::SEQ_BITS;

    #[test]
    fn the_rules_use_the_bits_of_a_place() {
        let shifts = RULES.join(" ");
        let count = |text: &str| shifts.matches(text).count();
        assert_eq!(
            count("<< ") + count(">> "),
            count(&format!("<< {SEQ_BITS}")) + count(&format!(">> {SEQ_BITS}"))
        );
    }
}
