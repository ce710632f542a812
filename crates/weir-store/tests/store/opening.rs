//! Files that are refused, and left unchanged.

use std::fs;

use rusqlite::Connection;
use weir_store::{Append, Log, SqliteOptions, SqliteStore, StoreError};

use crate::support::{append, create, event, open, whole_log};

fn try_open(path: &std::path::Path) -> Result<SqliteStore, StoreError> {
    SqliteStore::open(path, &SqliteOptions::default())
}

#[test]
fn a_log_survives_reopening() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let epoch = store.epoch().to_owned();
    let one = create(&store, "one");
    append(&store, &one, &["a", "b"]);
    drop(store.append(Append::new(one.clone(), vec![event("c")])));
    drop(store);
    let store = open(folder.path());
    assert_eq!(store.epoch(), epoch);
    assert_eq!(whole_log(&store, &one), [b"a", b"b", b"c"]);
    assert_ne!(open(&folder.path().join("other")).epoch(), epoch);
    store.check().wait().unwrap();
}

#[test]
fn no_side_files_are_left_when_the_file_is_closed() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    create(&store, "one");
    drop(store);
    let names: Vec<_> =
        fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["weir.db"]);
}

#[cfg(unix)]
#[test]
fn only_the_owner_can_read_it() {
    use std::os::unix::fs::PermissionsExt;

    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("new/data");
    let store = open(&data);
    create(&store, "one");
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&data), 0o700);
    for name in ["weir.db", "weir.db-wal", "weir.db-shm"] {
        assert_eq!(mode(&data.join(name)), 0o600, "{name}");
    }
}

#[test]
fn a_file_from_a_newer_version_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    drop(open(folder.path()));
    let path = folder.path().join("weir.db");
    Connection::open(&path).unwrap().pragma_update(None, "user_version", 99).unwrap();
    let error = try_open(&path).unwrap_err();
    assert!(matches!(error, StoreError::Newer { found: 99, .. }), "{error}");
    assert!(error.to_string().contains("newer Weir"));
}

#[test]
fn another_programs_database_is_refused_and_untouched() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("weir.db");
    Connection::open(&path).unwrap().execute_batch("CREATE TABLE t (x); INSERT INTO t VALUES (1)").unwrap();
    let before = fs::read(&path).unwrap();
    assert!(matches!(try_open(&path), Err(StoreError::Foreign { .. })));
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[test]
fn a_file_that_is_not_a_database_is_refused_and_untouched() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("weir.db");
    let text = "a diary\n".repeat(1_000);
    fs::write(&path, &text).unwrap();
    let error = try_open(&path).unwrap_err();
    assert!(matches!(error, StoreError::Foreign { .. }), "{error}");
    assert_eq!(fs::read_to_string(&path).unwrap(), text);
}

#[test]
fn an_empty_file_is_a_new_log() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("weir.db");
    fs::write(&path, "").unwrap();
    create(&try_open(&path).unwrap(), "one");
}

#[test]
fn a_damaged_file_is_refused_with_advice_and_untouched() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let one = create(&store, "one");
    append(&store, &one, &[&"x".repeat(100_000)]);
    drop(store);
    let path = folder.path().join("weir.db");
    let mut bytes = fs::read(&path).unwrap();
    bytes[100..4096].fill(0xa5);
    fs::write(&path, &bytes).unwrap();
    let error = try_open(&path).unwrap_err();
    assert!(matches!(error, StoreError::Damaged { .. }), "{error}");
    assert!(error.to_string().contains(".recover"), "{error}");
    assert_eq!(fs::read(&path).unwrap(), bytes);
}

#[test]
fn damage_deeper_in_the_file_is_reported_when_it_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let one = create(&store, "one");
    for _ in 0..200 {
        append(&store, &one, &[&"x".repeat(1_000)]);
    }
    drop(store);
    let path = folder.path().join("weir.db");
    let mut bytes = fs::read(&path).unwrap();
    let half = bytes.len() / 2;
    bytes[half..].fill(0xa5);
    fs::write(&path, &bytes).unwrap();
    let damaged = |error: &StoreError| matches!(error, StoreError::Damaged { .. });
    match try_open(&path) {
        Err(error) => assert!(damaged(&error), "{error}"),
        Ok(store) => assert!(damaged(&store.check().wait().unwrap_err())),
    }
}

#[test]
fn a_folder_that_cannot_be_created_is_named() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("file"), "").unwrap();
    let error = try_open(&folder.path().join("file/weir.db")).unwrap_err();
    assert!(matches!(error, StoreError::Io { .. }), "{error}");
    assert!(error.to_string().contains("file/weir.db"), "{error}");
}
