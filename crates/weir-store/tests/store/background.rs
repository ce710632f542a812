//! Background work: done automatically, soon, and without being noticed.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use weir_store::{Append, Durability, Log, SearchQuery, SqliteOptions, SqliteStore, Store};

use crate::support::{create, event, open, open_unsynced, searchable, until, whole_log};

fn unindexed(folder: &Path) -> i64 {
    let file = rusqlite::Connection::open(folder.join("weir.db")).unwrap();
    file.query_row("SELECT count(*) FROM unindexed", [], |row| row.get(0)).unwrap()
}

fn length(folder: &Path, name: &str) -> u64 {
    std::fs::metadata(folder.join(name)).map_or(0, |file| file.len())
}

#[test]
fn a_search_finds_what_was_acknowledged_a_moment_ago() {
    let folder = tempfile::tempdir().unwrap();
    let store = open_unsynced(folder.path());
    let one = create(&store, "one");
    for number in 0..300 {
        let event = searchable(&format!("word{number}"));
        store.append(Append::new(one.clone(), vec![event])).wait().unwrap();
        if number % 7 == 0 {
            let hits = store.search(SearchQuery::new(format!("\"word{number}\""))).wait().unwrap();
            assert_eq!(hits.len(), 1, "{number}");
        }
    }
}

#[test]
fn texts_get_into_the_index_without_a_search() {
    for open in [open, open_unsynced] {
        let folder = tempfile::tempdir().unwrap();
        let store = open(folder.path());
        let one = create(&store, "one");
        for number in 0..100 {
            store.append(Append::new(one.clone(), vec![searchable(&number.to_string())])).wait().unwrap();
        }
        until("the index is filled", || unindexed(folder.path()) == 0);
        assert_eq!(store.search(SearchQuery::new("\"57\"")).wait().unwrap().len(), 1);
        store.check().wait().unwrap();
    }
}

#[test]
fn texts_left_by_an_earlier_process_are_found() {
    let folder = tempfile::tempdir().unwrap();
    let store = open_unsynced(folder.path());
    let one = create(&store, "one");
    store.append(Append::new(one, vec![searchable("indexed")])).wait().unwrap();
    until("the index is filled", || unindexed(folder.path()) == 0);
    drop(store);
    // The state after a kill right after the append.
    let file = rusqlite::Connection::open(folder.path().join("weir.db")).unwrap();
    let moved = "INSERT INTO unindexed SELECT place >> 36, place FROM text; \
                 INSERT INTO search (search) VALUES ('delete-all');";
    file.execute_batch(moved).unwrap();
    drop(file);
    let store = open_unsynced(folder.path());
    assert_eq!(store.search(SearchQuery::new("indexed")).wait().unwrap().len(), 1);
}

#[test]
fn writes_are_moved_into_the_file_while_it_is_open() {
    for open in [open, open_unsynced] {
        let folder = tempfile::tempdir().unwrap();
        let store = open(folder.path());
        let one = create(&store, "one");
        let text = "x".repeat(30_000);
        for _ in 0..20 {
            store.append(Append::new(one.clone(), vec![event(&text)])).wait().unwrap();
        }
        until("the log is moved into the file", || length(folder.path(), "weir.db") > 600_000);
        assert_eq!(whole_log(&store, &one).len(), 20);
    }
}

#[test]
fn the_write_ahead_log_is_bounded_under_constant_writes_and_reads() {
    let folder = tempfile::tempdir().unwrap();
    let store = open_unsynced(folder.path());
    let one = create(&store, "one");
    let text = "x".repeat(60_000);
    let (mut longest, is_over) = (0, AtomicBool::new(false));
    std::thread::scope(|scope| {
        for place in 0..3 {
            let (store, one, is_over) = (&store, &one, &is_over);
            scope.spawn(move || {
                let mut seen = place;
                while !is_over.load(Ordering::SeqCst) {
                    let page = store.read(weir_store::ReadQuery::after(one.clone(), seen)).wait().unwrap();
                    seen = page.events.last().map_or(place, |event| event.seq);
                }
            });
        }
        for _ in 0..3_000 {
            store.append(Append::new(one.clone(), vec![event(&text)])).wait().unwrap();
            longest = longest.max(length(folder.path(), "weir.db-wal"));
        }
        is_over.store(true, Ordering::SeqCst);
    });
    assert!(longest < 96 << 20, "{longest} bytes");
    assert_eq!(store.read(weir_store::ReadQuery::newest(one)).wait().unwrap().newest, 3_000);
}

/// On a full disk its contents have to fit into the file with what the reserve gives up.
#[test]
fn the_write_ahead_log_is_smaller_than_the_reserve() {
    const RESERVE: u64 = 4 << 20;
    let folder = tempfile::tempdir().unwrap();
    let options =
        SqliteOptions { durability: Durability::Process, reserve: RESERVE, ..SqliteOptions::default() };
    let store = SqliteStore::open(folder.path().join("weir.db"), &options).unwrap();
    let one = create(&store, "one");
    let text = "words ".repeat(3_000);
    let mut longest = 0;
    for _ in 0..2_000 {
        store.append(Append::new(one.clone(), vec![searchable(&text)])).wait().unwrap();
        longest = longest.max(length(folder.path(), "weir.db-wal"));
    }
    assert!(longest < RESERVE, "{longest} bytes");
}
