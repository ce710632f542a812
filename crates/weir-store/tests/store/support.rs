//! Stores to test with, and a way to await without a runtime.

use std::future::Future;
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;

use weir_store::{
    Append, Durability, EventPage, MemoryStore, NewEvent, NewStoredSession, ReadQuery, SessionId,
    SqliteOptions, SqliteStore, Store,
};

pub(crate) use weir_testkit::DEADLINE;
pub(crate) use weir_testkit::blocking::until;

/// Runs the check on each kind of store.
pub(crate) fn on_each(check: impl Fn(&dyn Store)) {
    check(&MemoryStore::new());
    let folder = tempfile::tempdir().unwrap();
    check(&open(folder.path()));
}

pub(crate) fn open(folder: &Path) -> SqliteStore {
    SqliteStore::open(folder.join("weir.db"), &SqliteOptions::default()).unwrap()
}

/// For tests that write a lot and do not kill anything.
pub(crate) fn open_unsynced(folder: &Path) -> SqliteStore {
    let options = SqliteOptions { durability: Durability::Process, ..SqliteOptions::default() };
    SqliteStore::open(folder.join("weir.db"), &options).unwrap()
}

pub(crate) fn id(text: &str) -> SessionId {
    text.parse().unwrap()
}

pub(crate) fn create(store: &dyn Store, name: &str) -> SessionId {
    store.create(NewStoredSession::new(id(name), 1)).wait().unwrap();
    id(name)
}

pub(crate) fn event(payload: &str) -> NewEvent {
    NewEvent::new(2, "line", payload.as_bytes().to_vec())
}

pub(crate) fn searchable(text: &str) -> NewEvent {
    NewEvent { search_text: Some(text.to_owned()), ..event(text) }
}

pub(crate) fn append(store: &dyn Store, session: &SessionId, payloads: &[&str]) -> u64 {
    let events = payloads.iter().map(|payload| event(payload)).collect();
    store.append(Append::new(session.clone(), events)).wait().unwrap().newest
}

pub(crate) fn payloads(page: &EventPage) -> Vec<String> {
    page.events.iter().map(|event| String::from_utf8(event.payload.clone()).unwrap()).collect()
}

/// The whole log, page by page. Also checks that its numbers have no gaps.
pub(crate) fn whole_log(store: &dyn Store, session: &SessionId) -> Vec<Vec<u8>> {
    let mut log = Vec::new();
    loop {
        let page = store.read(ReadQuery::after(session.clone(), log.len() as u64)).wait().unwrap();
        for event in page.events {
            assert_eq!(event.seq, log.len() as u64 + 1);
            log.push(event.payload);
        }
        if !page.more {
            assert_eq!(page.newest, log.len() as u64);
            return log;
        }
    }
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// A minimal executor.
pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => std::thread::park(),
        }
    }
}

/// The step back from each format to the one before, newest first.
const STEPS_BACK: [(i64, &str); 6] = [
    (
        6,
        "DROP TABLE blob; DELETE FROM meta WHERE name = 'lease'; ALTER TABLE conversation DROP COLUMN generation;",
    ),
    (
        5,
        "CREATE TEMP TABLE copy AS SELECT place, text, place >> 36 IN (SELECT conversation FROM unindexed WHERE first <= place) AS waits FROM text; \
         DROP TABLE search; DROP TABLE unindexed; DROP TABLE text; \
         CREATE VIRTUAL TABLE search USING fts5 (text, tokenize = 'unicode61 remove_diacritics 2', prefix = '2 3'); \
         CREATE TABLE unindexed (place INTEGER PRIMARY KEY, text TEXT NOT NULL) STRICT; \
         INSERT INTO search (rowid, text) SELECT place, text FROM copy WHERE NOT waits; \
         INSERT INTO unindexed SELECT place, text FROM copy WHERE waits;",
    ),
    (4, "DROP TABLE run;"),
    (3, "DROP TABLE behind;"),
    (2, "DROP TABLE label; ALTER TABLE conversation DROP COLUMN unlabelled; DROP TABLE unindexed;"),
    (1, "DROP TABLE checkpoint;"),
];

/// Turns the file of a closed store into one of an older format.
pub(crate) fn turn_into_format(folder: &Path, format: i64) {
    let file = rusqlite::Connection::open(folder.join("weir.db")).unwrap();
    for (older, step) in STEPS_BACK.iter().filter(|(older, _)| *older >= format) {
        file.execute_batch(&format!("{step} PRAGMA user_version = {older};")).unwrap();
    }
}
