//! No space: an error, nothing stored in part, and writes succeed again when there is space.

use std::path::Path;

use weir_store::{Append, Log, SqliteOptions, SqliteStore, Store, StoreError};

use crate::support::{create, event, open, until, whole_log};

/// Appends until it fails, and returns how many were stored.
fn fill(store: &dyn Store, name: &str) -> (u64, StoreError) {
    let text = "x".repeat(20_000);
    let mut stored = 0;
    loop {
        match store.append(Append::new(name.parse().unwrap(), vec![event("a"), event(&text)])).wait() {
            Ok(appended) => stored = appended.newest,
            Err(error) => return (stored, error),
        }
        assert!(stored < 100_000, "it never gets full");
    }
}

#[test]
fn a_full_store_refuses_and_recovers_after_a_deletion() {
    let folder = tempfile::tempdir().unwrap();
    let options = SqliteOptions { size_limit: Some(1 << 20), ..SqliteOptions::default() };
    let store = SqliteStore::open(folder.path().join("weir.db"), &options).unwrap();
    let (one, two) = (create(&store, "one"), create(&store, "two"));
    let (stored, error) = fill(&store, "one");
    assert!(matches!(error, StoreError::Full(_)), "{error}");
    assert!(stored > 20);
    assert_eq!(whole_log(&store, &one).len() as u64, stored);

    // A small one still fits, in the same batch as a large one that does not.
    let large = store.append(Append::new(two.clone(), vec![event(&"x".repeat(400_000))]));
    let small = store.append(Append::new(two.clone(), vec![event("small")]));
    assert!(large.wait().is_err());
    assert_eq!(small.wait().unwrap().newest, 1);

    store.delete(one).wait().unwrap();
    // Space is freed in the background.
    let append = || store.append(Append::new(two.clone(), vec![event(&"x".repeat(400_000))])).wait();
    until("space comes back", || append().is_ok());
    assert_eq!(whole_log(&store, &two).len(), 2);
    store.check().wait().unwrap();
}

#[cfg(unix)]
const FOLDER: &str = "WEIR_STORE_FULL_FOLDER";

/// Not a test by itself: without a folder it does nothing.
#[cfg(unix)]
#[test]
fn child() {
    use rustix::process::{Resource, getrlimit, setrlimit};

    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let store = open(Path::new(&folder));
    let one = create(&store, "one");
    let (stored, error) = fill(&store, "one");
    assert!(matches!(error, StoreError::Unusable { .. } | StoreError::Full(_)), "{error}");
    assert_eq!(whole_log(&store, &one).len() as u64, stored);

    let mut limit = getrlimit(Resource::Fsize);
    limit.current = limit.maximum;
    setrlimit(Resource::Fsize, limit).unwrap();
    let more = store.append(Append::new(one.clone(), vec![event(&"y".repeat(100_000))])).wait().unwrap();
    assert_eq!(more.newest, stored + 1);
    assert_eq!(whole_log(&store, &one).len() as u64, stored + 1);
    store.check().wait().unwrap();
}

/// The operating system refuses to write: a file size limit, which is inherited, with its signal ignored.
#[cfg(unix)]
#[test]
fn a_write_that_the_system_refuses_is_not_acknowledged() {
    let folder = tempfile::tempdir().unwrap();
    #[expect(clippy::disallowed_methods, reason = "the test waits for a child of its own")]
    let output = std::process::Command::new("/bin/sh")
        .args([
            "-c",
            "trap '' XFSZ; ulimit -S -f 2000; exec \"$0\" --exact full_disk::child --test-threads=1",
        ])
        .arg(std::env::current_exe().unwrap())
        .env(FOLDER, folder.path())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    let store = open(folder.path());
    store.check().wait().unwrap();
    assert!(whole_log(&store, &"one".parse().unwrap()).len() > 10);
}
