//! A power loss cuts off the end of a log, which then grows again: an old cursor is recognised, whatever its number.

use std::fs;
use std::path::Path;

use proptest::prelude::*;
use weir_store::{Cursor, Log, Resume, SessionId, SqliteStore};

use crate::support::{append, create, id, open_unsynced, turn_into_format, whole_log};

/// Something a viewer has seen: its cursor, and the whole log up to there.
struct Seen {
    cursor: Cursor,
    log: Vec<Vec<u8>>,
}

/// Appends events, and returns what a viewer has seen after each.
fn grow(store: &SqliteStore, session: &SessionId, name: &str, events: usize) -> Vec<Seen> {
    let mut seen = Vec::new();
    for number in 0..events {
        let newest = append(store, session, &[&format!("{name} {number}")]);
        let check = store.check_at(session.clone(), newest).wait().unwrap();
        assert!(check.is_some());
        // As it is sent to a client.
        let text = Cursor::new(store.epoch(), newest, check).to_string();
        seen.push(Seen { cursor: text.parse().unwrap(), log: whole_log(store, session) });
    }
    seen
}

/// Copies to `to` what a power loss leaves of the files in `from`: the file, and the beginning of its write-ahead
/// log.
fn lose_power(from: &Path, to: &Path, cut: f64) {
    fs::create_dir_all(to).unwrap();
    fs::copy(from.join("weir.db"), to.join("weir.db")).unwrap();
    let log = fs::read(from.join("weir.db-wal")).unwrap();
    let kept = (log.len() as f64 * cut) as usize;
    fs::write(to.join("weir.db-wal"), &log[..kept]).unwrap();
}

/// Keeps all further writes in the write-ahead log.
fn hold_back(folder: &Path) -> rusqlite::Connection {
    let reader = rusqlite::Connection::open(folder.join("weir.db")).unwrap();
    reader.execute_batch("BEGIN").unwrap();
    reader.query_row("SELECT count(*) FROM conversation", [], |row| row.get::<_, i64>(0)).unwrap();
    reader
}

fn resume(store: &SqliteStore, session: &SessionId, cursor: &Cursor) -> Resume {
    let newest = whole_log(store, session).len() as u64;
    let check = store.check_at(session.clone(), cursor.seq).wait().unwrap();
    Cursor::resume(Some(cursor), store.epoch(), newest, check)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn an_old_cursor_is_a_gap_or_continues_the_same_log(
        losses in prop::collection::vec((1..8_usize, 0.0..1.0_f64), 1..4),
        after in 0..12_usize,
    ) {
        let folder = tempfile::tempdir().unwrap();
        let one = id("one");
        let mut here = folder.path().join("0");
        let store = open_unsynced(&here);
        create(&store, "one");
        drop(store);
        let mut all = Vec::new();
        for (round, (events, cut)) in losses.into_iter().enumerate() {
            let store = open_unsynced(&here);
            let reader = hold_back(&here);
            all.extend(grow(&store, &one, &format!("round {round}"), events));
            let next = folder.path().join((round + 1).to_string());
            lose_power(&here, &next, cut);
            drop((store, reader));
            here = next;
        }
        let store = open_unsynced(&here);
        all.extend(grow(&store, &one, "the last round", after));
        let log = whole_log(&store, &one);
        let mut continued = 0;
        for seen in &all {
            let is_there = log.starts_with(&seen.log);
            let expected = if is_there { Resume::After(seen.cursor.seq) } else { Resume::Gap };
            prop_assert_eq!(resume(&store, &one, &seen.cursor), expected, "{}", seen.cursor);
            continued += usize::from(is_there);
        }
        // What was seen last was not lost.
        prop_assert!(continued >= after);
    }
}

#[test]
fn a_reused_number_is_a_gap_even_if_the_log_is_longer() {
    let folder = tempfile::tempdir().unwrap();
    let (here, there) = (folder.path().join("here"), folder.path().join("there"));
    let store = open_unsynced(&here);
    let one = create(&store, "one");
    grow(&store, &one, "kept", 3);
    drop(store);
    let store = open_unsynced(&here);
    let reader = hold_back(&here);
    let lost = grow(&store, &one, "lost", 4).pop().unwrap();
    lose_power(&here, &there, 0.0);
    drop((store, reader));
    let store = open_unsynced(&there);
    assert_eq!(whole_log(&store, &one).len(), 3);
    assert_eq!(resume(&store, &one, &lost.cursor), Resume::Gap);
    grow(&store, &one, "other", 9);
    assert_eq!(resume(&store, &one, &lost.cursor), Resume::Gap);
    // The number alone could not tell, and a cursor from an older version has nothing else.
    let bare = Cursor { check: None, ..lost.cursor };
    assert_eq!(resume(&store, &one, &bare), Resume::After(7));
}

#[test]
fn a_log_from_an_older_version_is_continued_by_number() {
    let folder = tempfile::tempdir().unwrap();
    let store = open_unsynced(folder.path());
    let one = create(&store, "one");
    append(&store, &one, &["a", "b"]);
    drop(store);
    turn_into_format(folder.path(), 4);
    let store = open_unsynced(folder.path());
    assert_eq!(store.check_at(one.clone(), 2).wait().unwrap(), None);
    let old: Cursor = format!("{}:2", store.epoch()).parse().unwrap();
    assert_eq!(resume(&store, &one, &old), Resume::After(2));
    append(&store, &one, &["c"]);
    assert_eq!(resume(&store, &one, &old), Resume::After(2));
    assert!(store.check_at(one.clone(), 3).wait().unwrap().is_some());
    assert_eq!(store.check_at(one.clone(), 4).wait().unwrap(), None);
    assert_eq!(store.check_at(one, 0).wait().unwrap(), None);
}
