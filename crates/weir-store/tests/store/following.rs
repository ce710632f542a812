//! Subscribe, read, follow: without loss and without repetition.

use weir_store::{Append, ListOrder, ListQuery, ReadQuery, Store, StoreError, TailState};

use crate::support::{DEADLINE, append, block_on, create, event, id, on_each, open_unsynced};

/// Reads everything up to `last`, as a viewer does.
fn follow(store: &dyn Store, name: &str, last: u64) -> Vec<u64> {
    let tail = store.subscribe(id(name)).wait().unwrap();
    let mut seen = Vec::new();
    let mut at = 0;
    while at < last {
        let page = store.read(ReadQuery { max_events: 7, ..ReadQuery::after(id(name), at) }).wait().unwrap();
        seen.extend(page.events.iter().map(|event| event.seq));
        at = seen.last().copied().unwrap_or(0);
        if !page.more && at < last {
            tail.wait(at, DEADLINE).expect("the log grows");
        }
    }
    seen
}

#[test]
fn readers_that_start_at_any_time_see_each_event_once() {
    let folder = tempfile::tempdir().unwrap();
    let store = open_unsynced(folder.path());
    let one = create(&store, "one");
    std::thread::scope(|scope| {
        let readers: Vec<_> = (0..8)
            .map(|reader| {
                let store = &store;
                scope.spawn(move || {
                    let tail = store.subscribe(id("one")).wait().unwrap();
                    if reader > 0 {
                        tail.wait(reader * 20, DEADLINE).expect("the log grows");
                    }
                    follow(store, "one", 300)
                })
            })
            .collect();
        for number in 0..300 {
            append(&store, &one, &[&number.to_string()]);
        }
        for reader in readers {
            assert!(reader.join().unwrap().into_iter().eq(1..=300));
        }
    });
}

#[test]
fn a_tail_knows_the_end_from_the_start() {
    on_each(|store| {
        let one = create(store, "one");
        append(store, &one, &["a", "b"]);
        let tail = store.subscribe(one.clone()).wait().unwrap();
        assert_eq!(tail.state(), TailState::Newest(2));
        assert_eq!(block_on(tail.changed(1)), TailState::Newest(2));
        append(store, &one, &["c"]);
        assert_eq!(tail.state(), TailState::Newest(3));
        assert!(matches!(store.subscribe(id("none")).wait(), Err(StoreError::NotFound(_))));
    });
}

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
