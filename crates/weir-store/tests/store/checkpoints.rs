//! Checkpoints: stored next to a log, selected by event and mark, and expendable.

use weir_store::{Append, Checkpoint, CheckpointQuery, NewEvent, ReadQuery, Store, StoreError};

use crate::support::{
    append, create, event, id, on_each, open_unsynced, payloads, turn_into_format, whole_log,
};

fn checkpoint(seq: u64, version: &str, mark: u64) -> Checkpoint {
    Checkpoint { seq, version: version.to_owned(), mark, data: format!("{version} at {seq}").into_bytes() }
}

#[test]
fn the_newest_match_is_found() {
    on_each(|store| {
        let one = create(store, "one");
        let revision = |store: &dyn Store| {
            store.find(weir_store::Lookup::Id(id("one"))).wait().unwrap().unwrap().revision
        };
        let before = revision(store);
        let find = |query: CheckpointQuery| store.checkpoint(query).wait().unwrap().map(|found| found.seq);
        let newest = CheckpointQuery::newest(one.clone(), "1");
        assert_eq!(find(newest.clone()), None);
        for (seq, mark) in [(10, 1), (30, 25), (20, 8)] {
            store.save_checkpoint(one.clone(), checkpoint(seq, "1", mark)).wait().unwrap();
        }
        assert_eq!(find(newest.clone()), Some(30));
        assert_eq!(find(CheckpointQuery { seq_at_most: 29, ..newest.clone() }), Some(20));
        assert_eq!(find(CheckpointQuery { mark_at_most: 24, ..newest.clone() }), Some(20));
        assert_eq!(find(CheckpointQuery { mark_at_most: 0, ..newest.clone() }), None);
        assert_eq!(find(CheckpointQuery::newest(one.clone(), "2")), None);
        assert_eq!(find(CheckpointQuery::newest(id("none"), "1")), None);
        assert_eq!(revision(store), before, "subscribers are not notified");

        // The same event again, and another version, which replaces all others.
        let again = Checkpoint { data: b"again".to_vec(), ..checkpoint(30, "1", 25) };
        store.save_checkpoint(one.clone(), again.clone()).wait().unwrap();
        assert_eq!(store.checkpoint(newest.clone()).wait().unwrap(), Some(again));
        store.save_checkpoint(one.clone(), checkpoint(5, "2", 1)).wait().unwrap();
        assert_eq!(find(newest), None);
        assert_eq!(find(CheckpointQuery::newest(one, "2")), Some(5));
        let nowhere = store.save_checkpoint(id("none"), checkpoint(5, "2", 1)).wait();
        assert!(matches!(nowhere, Err(StoreError::NotFound(_))));
    });
}

#[test]
fn they_are_deleted_with_their_session() {
    on_each(|store| {
        let one = create(store, "one");
        store.save_checkpoint(one.clone(), checkpoint(5, "1", 1)).wait().unwrap();
        store.delete(one.clone()).wait().unwrap();
        create(store, "one");
        assert_eq!(store.checkpoint(CheckpointQuery::newest(one, "1")).wait().unwrap(), None);
    });
}

#[test]
fn a_file_from_before_checkpoints_gets_them() {
    let folder = tempfile::tempdir().unwrap();
    let store = open_unsynced(folder.path());
    let one = create(&store, "one");
    append(&store, &one, &["stays"]);
    drop(store);
    turn_into_format(folder.path(), 1);
    let store = open_unsynced(folder.path());
    assert_eq!(whole_log(&store, &one), [b"stays"]);
    store.save_checkpoint(one.clone(), checkpoint(1, "1", 1)).wait().unwrap();
    assert!(store.checkpoint(CheckpointQuery::newest(one.clone(), "1")).wait().unwrap().is_some());
    // The labels of its events are unknown; those of later events are not.
    let named = NewEvent { labels: vec!["name".to_owned()], ..event("named") };
    store.append(Append::new(one.clone(), vec![event("other"), named])).wait().unwrap();
    let query = ReadQuery { label: Some("name".to_owned()), ..ReadQuery::after(one, 0) };
    assert_eq!(payloads(&store.read(query).wait().unwrap()), ["stays", "named"]);
}
