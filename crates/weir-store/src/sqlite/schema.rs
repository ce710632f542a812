//! The tables, and the migrations from older formats.

use rusqlite::{Connection, TransactionBehavior};

/// Marks a file as ours: "Weir" in ASCII.
pub(super) const APPLICATION_ID: i64 = 0x5765_6972;

/// The steps from an empty file to the newest format. A released step is never edited.
const MIGRATIONS: &[&str] = &[FIRST, CHECKPOINTS, UNINDEXED_AND_LABELS, BEHIND, RUNS, TEXTS, GENERATIONS];

/// The newest format known here.
pub(super) const VERSION: i64 = MIGRATIONS.len() as i64;

/// How many bits of an event's row id are its number; the rest identify the session. This way one tree holds all
/// logs, each contiguous and in order, without an extra index.
pub(super) const SEQ_BITS: u32 = 36;

const FIRST: &str = "
CREATE TABLE meta (name TEXT PRIMARY KEY, value ANY NOT NULL) STRICT, WITHOUT ROWID;
INSERT INTO meta VALUES ('epoch', lower(hex(randomblob(8)))), ('revision', 0);

-- AUTOINCREMENT: a number is never used again, so what is left of a deleted log belongs to no other session.
CREATE TABLE conversation (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    key TEXT,
    title TEXT,
    cwd TEXT,
    model TEXT,
    status TEXT NOT NULL,
    parent TEXT,
    parent_seq INTEGER,
    cost_usd REAL,
    archived INTEGER NOT NULL,
    settings TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    newest INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    revision INTEGER NOT NULL UNIQUE
) STRICT;
CREATE UNIQUE INDEX conversation_key ON conversation (key) WHERE key IS NOT NULL AND archived = 0;

CREATE TABLE cli_session (
    conversation INTEGER NOT NULL,
    place INTEGER NOT NULL,
    session TEXT NOT NULL,
    PRIMARY KEY (conversation, place)
) STRICT, WITHOUT ROWID;
CREATE INDEX cli_session_session ON cli_session (session);

-- place: the conversation's number and the event's.
CREATE TABLE event (
    place INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,
    kind TEXT NOT NULL,
    client_id TEXT,
    payload BLOB NOT NULL
) STRICT;

CREATE TABLE client (
    conversation INTEGER NOT NULL,
    client_id TEXT NOT NULL,
    seq INTEGER NOT NULL,
    PRIMARY KEY (conversation, client_id)
) STRICT, WITHOUT ROWID;

-- rowid: the event's place.
CREATE VIRTUAL TABLE search USING fts5 (text, tokenize = 'unicode61 remove_diacritics 2', prefix = '2 3');

-- Conversations that are deleted while parts of their logs are still there.
CREATE TABLE trash (number INTEGER PRIMARY KEY) STRICT;
";

/// `data` comes last, so that scanning the other columns does not read it.
const CHECKPOINTS: &str = "
CREATE TABLE checkpoint (
    conversation INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    version TEXT NOT NULL,
    mark INTEGER NOT NULL,
    data BLOB NOT NULL,
    PRIMARY KEY (conversation, seq)
) STRICT;
";

const UNINDEXED_AND_LABELS: &str = "
-- Texts that are not in `search` yet, by the place of their event.
CREATE TABLE unindexed (place INTEGER PRIMARY KEY, text TEXT NOT NULL) STRICT;

CREATE TABLE label (
    conversation INTEGER NOT NULL,
    label TEXT NOT NULL,
    place INTEGER NOT NULL,
    PRIMARY KEY (conversation, label, place)
) STRICT, WITHOUT ROWID;
-- So many events of a log are from before there were labels.
ALTER TABLE conversation ADD COLUMN unlabelled INTEGER NOT NULL DEFAULT 0;
UPDATE conversation SET unlabelled = newest;
";

const BEHIND: &str = "
-- Conversations with events that their rows do not count yet, in the order in which their logs last grew. What is counted
-- are newest, bytes, updated_at and revision: `newest` is the last event that was counted.
CREATE TABLE behind (turn INTEGER PRIMARY KEY, number INTEGER NOT NULL UNIQUE) STRICT;
";

const RUNS: &str = "
-- Who wrote which part of a log: the events from `first` to before the next row were written by the opening of the file
-- that is named by `mark`. Events before the first row are from before there were rows.
CREATE TABLE run (
    conversation INTEGER NOT NULL,
    first INTEGER NOT NULL,
    mark INTEGER NOT NULL,
    PRIMARY KEY (conversation, first)
) STRICT, WITHOUT ROWID;
-- What is deleted leaves the index at once, and not only with the next large merge.
INSERT INTO search (search, rank) VALUES ('secure-delete', 1);
";

/// The index had a copy of each text, and a text was stored once more until it was indexed.
const TEXTS: &str = "
-- The texts that can be searched, by the place of their event. The index refers to this table for them.
CREATE TABLE text (place INTEGER PRIMARY KEY, text TEXT NOT NULL) STRICT;
INSERT INTO text SELECT rowid, text FROM search;
INSERT OR IGNORE INTO text SELECT place, text FROM unindexed;
DROP TABLE unindexed;
DROP TABLE search;
-- Sessions with texts that are not in the index yet: those from this place on. After this migration, all of them.
CREATE TABLE unindexed (conversation INTEGER PRIMARY KEY, first INTEGER NOT NULL) STRICT;
INSERT INTO unindexed SELECT place >> 36, min(place) FROM text GROUP BY place >> 36;
CREATE VIRTUAL TABLE search USING fts5 (text, content = 'text', content_rowid = 'place',
    tokenize = 'unicode61 remove_diacritics 2', prefix = '3');
INSERT INTO search (search, rank) VALUES ('secure-delete', 1);
";

const GENERATIONS: &str = "
-- The highest generation that has written: a writer with a lower one was replaced. Zero on a single machine.
ALTER TABLE conversation ADD COLUMN generation INTEGER NOT NULL DEFAULT 0;
-- The generation of the newest lease.
INSERT INTO meta VALUES ('lease', 0);
-- Files that belong to a session.
CREATE TABLE blob (
    conversation INTEGER NOT NULL,
    name TEXT NOT NULL,
    data BLOB NOT NULL,
    PRIMARY KEY (conversation, name)
) STRICT;
";

/// Migrates the file to the newest format. Two processes may do this at the same time.
pub(super) fn migrate(connection: &mut Connection) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let version: i64 = transaction.pragma_query_value(None, "user_version", |row| row.get(0))?;
    let done = usize::try_from(version).unwrap_or(usize::MAX);
    for step in MIGRATIONS.iter().skip(done) {
        transaction.execute_batch(step)?;
    }
    if done < MIGRATIONS.len() {
        transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
        transaction.pragma_update(None, "user_version", VERSION)?;
    }
    transaction.commit()
}
