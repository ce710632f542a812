//! The suite that every log passes, on each store.

use weir_store::{MemoryStore, SqliteStore};
use weir_store_conformance::CASES;

use crate::support::{open, open_unsynced};

/// Each case on its own, so that a failure says which one it is.
fn passes(log: &dyn weir_store::Log) {
    for case in CASES {
        let outcome = (case.run)(log);
        assert!(outcome.is_ok(), "{}: {outcome:?}", case.name);
    }
}

#[test]
fn memory_passes() {
    passes(&MemoryStore::new());
}

#[test]
fn a_file_passes() {
    let folder = tempfile::tempdir().unwrap();
    passes(&open_unsynced(folder.path()));
}

/// With writes that wait for the disk, which take another way through the queue.
#[test]
fn a_synced_file_passes() {
    let folder = tempfile::tempdir().unwrap();
    let store: SqliteStore = open(folder.path());
    passes(&store);
    store.check().wait().unwrap();
}

#[test]
fn generations_outlive_the_process() {
    use weir_store::{Acquired, Append, LeaseRequest, Log, StoreError};
    let folder = tempfile::tempdir().unwrap();
    let store = open_unsynced(folder.path());
    let one = crate::support::create(&store, "one");
    let append =
        |generation| Append { generation, ..Append::new(one.clone(), vec![crate::support::event("x")]) };
    let lease = |store: &SqliteStore| {
        let request = LeaseRequest::new("poller", "a", std::time::Duration::from_secs(60));
        match store.acquire(request).wait().unwrap() {
            Acquired::Granted(lease) => lease.generation,
            Acquired::Held { .. } => panic!("the holder was another process, which has ended"),
        }
    };
    store.append(append(3)).wait().unwrap();
    store.put_blob(one.clone(), "file".to_owned(), vec![7]).wait().unwrap();
    let first = lease(&store);
    drop(store);
    let store = open_unsynced(folder.path());
    assert!(matches!(store.append(append(2)).wait(), Err(StoreError::Fenced { current: 3, .. })));
    store.append(append(3)).wait().unwrap();
    assert_eq!(store.blob(one, "file".to_owned()).wait().unwrap(), Some(vec![7]));
    assert!(lease(&store) > first);
}
