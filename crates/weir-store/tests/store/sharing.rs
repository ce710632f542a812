//! Two stores on one file, as in two processes.

use std::time::Duration;

use weir_store::{Append, Log, SqliteOptions, SqliteStore, TailState};

use crate::support::{DEADLINE, append, create, event, open, whole_log};

#[test]
fn two_writers_never_assign_the_same_number() {
    let folder = tempfile::tempdir().unwrap();
    let (here, there) = (open(folder.path()), open(folder.path()));
    assert_eq!(here.epoch(), there.epoch());
    let one = create(&here, "one");
    std::thread::scope(|scope| {
        for store in [&here, &there] {
            let one = one.clone();
            scope.spawn(move || {
                for _ in 0..50 {
                    append(store, &one, &["x"]);
                }
            });
        }
    });
    assert_eq!(whole_log(&here, &one).len(), 100);
    assert_eq!(whole_log(&there, &one).len(), 100);
}

#[test]
fn a_subscriber_sees_what_another_process_writes() {
    let folder = tempfile::tempdir().unwrap();
    let quick = SqliteOptions { poll_interval: Duration::from_millis(5), ..SqliteOptions::default() };
    let here = SqliteStore::open(folder.path().join("weir.db"), &quick).unwrap();
    let there = open(folder.path());
    let one = create(&there, "one");
    let tail = here.subscribe(one.clone()).wait().unwrap();
    let all = here.subscribe_all().wait().unwrap();
    let TailState::Newest(revision) = all.state() else { panic!("closed") };
    append(&there, &one, &["a"]);
    assert_eq!(tail.wait(0, DEADLINE), Some(TailState::Newest(1)));
    assert!(all.wait(revision, DEADLINE).is_some());
    there.delete(one).wait().unwrap();
    assert_eq!(tail.wait(1, DEADLINE), Some(TailState::Deleted));
}

#[test]
fn many_threads_share_one_sync() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let one = create(&store, "one");
    let replies: Vec<_> =
        (0..1_000).map(|_| store.append(Append::new(one.clone(), vec![event("x")]))).collect();
    for (number, reply) in replies.into_iter().enumerate() {
        assert_eq!(reply.wait().unwrap().newest, number as u64 + 1);
    }
}

#[test]
fn writes_beyond_the_queue_limit_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let options = SqliteOptions { queue_limit: 1 << 20, ..SqliteOptions::default() };
    let store = SqliteStore::open(folder.path().join("weir.db"), &options).unwrap();
    let one = create(&store, "one");
    let large = "x".repeat(900 << 10);
    let replies: Vec<_> =
        (0..200).map(|_| store.append(Append::new(one.clone(), vec![event(&large)]))).collect();
    let stored = replies.into_iter().map(weir_store::Reply::wait);
    let stored = stored.filter(Result::is_ok).count();
    assert!(stored > 0);
    assert_eq!(whole_log(&store, &one).len(), stored);
    assert_eq!(append(&store, &one, &["after"]), stored as u64 + 1);
}
