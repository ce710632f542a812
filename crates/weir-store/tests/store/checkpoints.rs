//! Checkpoints: stored next to a log, selected by event and mark, and expendable.

use weir_store::{Append, Checkpoint, CheckpointQuery, Log, NewEvent, ReadQuery};

use crate::support::{
    append, create, event, id, on_each, open_unsynced, payloads, turn_into_format, whole_log,
};

fn checkpoint(seq: u64, version: &str, mark: u64) -> Checkpoint {
    Checkpoint { seq, version: version.to_owned(), mark, data: format!("{version} at {seq}").into_bytes() }
}

#[test]
fn saving_one_changes_nothing_about_the_session() {
    on_each(|store| {
        let one = create(store, "one");
        let revision = || store.find(weir_store::Lookup::Id(id("one"))).wait().unwrap().unwrap().revision;
        let before = revision();
        store.save_checkpoint(one.clone(), checkpoint(10, "1", 1)).wait().unwrap();
        assert_eq!(revision(), before, "subscribers are not notified");
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
