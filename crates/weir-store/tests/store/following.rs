//! Following as a task, and to the end of the store.

use weir_store::{Append, ListOrder, ListQuery, Log, TailState};

use crate::support::{append, block_on, create, event, on_each, open_unsynced};

#[test]
fn a_task_is_woken() {
    on_each(|store| {
        let one = create(store, "one");
        let tail = store.subscribe(one.clone()).wait().unwrap();
        std::thread::scope(|scope| {
            let woken = scope.spawn(|| block_on(tail.changed(0)));
            drop(store.append(Append::new(one.clone(), vec![event("a")])));
            assert_eq!(woken.join().unwrap(), TailState::Newest(1));
        });
    });
}

#[test]
fn subscribers_learn_that_a_log_was_deleted_or_closed() {
    on_each(|store| {
        let one = create(store, "one");
        let tail = store.subscribe(one.clone()).wait().unwrap();
        assert!(store.delete(one.clone()).wait().unwrap());
        assert_eq!(block_on(tail.changed(100)), TailState::Deleted);
        assert!(!store.delete(one).wait().unwrap());
    });
    let folder = tempfile::tempdir().unwrap();
    let store = open_unsynced(folder.path());
    let one = create(&store, "one");
    let tail = store.subscribe(one).wait().unwrap();
    drop(store);
    assert_eq!(block_on(tail.changed(0)), TailState::Closed);
}

#[test]
fn all_sessions_can_be_followed() {
    on_each(|store| {
        let one = create(store, "one");
        let tail = store.subscribe_all().wait().unwrap();
        let TailState::Newest(seen) = tail.state() else { panic!("closed") };
        append(store, &one, &["a"]);
        create(store, "two");
        assert_ne!(block_on(tail.changed(seen)), TailState::Closed);
        let query = ListQuery { order: ListOrder::ChangedAfter(seen), ..Default::default() };
        let changed = store.list(query).wait().unwrap().sessions;
        assert!(changed.iter().map(|facts| facts.id.as_str()).eq(["one", "two"]));
    });
}
