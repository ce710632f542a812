//! A store in memory with a budget: what it drops, and what stays right without it.

use weir_store::{
    Append, Checkpoint, CheckpointQuery, EventRange, Log, MemoryStore, NewEvent, ReadQuery, Store,
};

use crate::support::{create, event, id, payloads};

const BUDGET: usize = 64 << 10;
/// Size of each event's payload.
const SIZE: usize = 1 << 10;

fn checkpoint(seq: u64) -> Checkpoint {
    Checkpoint { seq, version: "1".to_owned(), mark: seq, data: vec![b'x'; 100] }
}

/// A store with this many events, and a checkpoint after each hundred.
fn filled(events: u64) -> MemoryStore {
    let store = MemoryStore::with_budget(BUDGET);
    let one = create(&store, "one");
    for number in 1..=events {
        let mut payload = number.to_string().into_bytes();
        payload.resize(SIZE, b' ');
        let client_id = (number % 10 == 0).then(|| format!("client-{number}"));
        let new = NewEvent { client_id, ..NewEvent::new(2, "line", payload) };
        assert_eq!(store.append(Append::new(one.clone(), vec![new])).wait().unwrap().newest, number);
        if number % 100 == 0 {
            store.save_checkpoint(one.clone(), checkpoint(number)).wait().unwrap();
        }
    }
    store
}

fn numbers(store: &MemoryStore, range: EventRange) -> Vec<u64> {
    let query =
        ReadQuery { range, max_events: usize::MAX, max_bytes: usize::MAX, ..ReadQuery::after(id("one"), 0) };
    store.read(query).wait().unwrap().events.iter().map(|event| event.seq).collect()
}

#[test]
fn its_size_does_not_grow_with_the_session() {
    let used = |events| filled(events).usage().wait().unwrap().used as usize;
    assert!(used(200) <= BUDGET);
    assert!(used(5000) <= BUDGET);
    // What no checkpoint covers is kept, whatever its size.
    assert!(used(5099) > 99 * SIZE);
}

#[test]
fn without_a_checkpoint_nothing_is_dropped() {
    let store = filled(99);
    assert_eq!(numbers(&store, EventRange::After(0)), (1..=99).collect::<Vec<_>>());
    assert_eq!(store.check_at(id("one"), 1).wait().unwrap().map(|_| ()), Some(()));
}

#[test]
fn reads_begin_with_what_is_left() {
    let store = filled(1000);
    let left = numbers(&store, EventRange::After(0));
    let first = left[0];
    assert!(first > 900 && left == (first..=1000).collect::<Vec<_>>(), "{left:?}");
    assert_eq!(numbers(&store, EventRange::After(998)), [999, 1000]);
    assert_eq!(numbers(&store, EventRange::Before(first)), Vec::<u64>::new());
    assert!(store.event(id("one"), first - 1).wait().unwrap().is_none());
    assert!(store.event(id("one"), first).wait().unwrap().is_some());

    // A reader can continue after the newest event that was dropped, and not before it.
    let is_valid = |seq| store.check_at(id("one"), seq).wait().unwrap().is_some();
    assert!(!is_valid(1) && !is_valid(first - 2));
    assert!(is_valid(first - 1) && is_valid(first) && is_valid(1000));
    assert!(!is_valid(1001));

    // The numbers continue.
    assert_eq!(crate::support::append(&store, &id("one"), &["next"]), 1001);
    let page = store.read(ReadQuery::after(id("one"), 1000)).wait().unwrap();
    assert_eq!((payloads(&page), page.newest), (vec!["next".to_owned()], 1001));
}

#[test]
fn a_reader_finds_a_checkpoint_for_what_is_gone() {
    let store = filled(1000);
    let first = numbers(&store, EventRange::After(0))[0];
    let newest = CheckpointQuery::newest(id("one"), "1");
    let find = |query: CheckpointQuery| store.checkpoint(query).wait().unwrap().map(|found| found.seq);
    assert_eq!(find(newest.clone()), Some(1000));
    assert!(first <= 1001, "no event is missing between a checkpoint and the log");
    // Nothing earlier is left to begin with.
    assert_eq!(find(CheckpointQuery { seq_at_most: 10, ..newest.clone() }), Some(1000));
    assert_eq!(find(CheckpointQuery { mark_at_most: 10, ..newest.clone() }), Some(1000));
    assert_eq!(find(CheckpointQuery { version: "2".to_owned(), ..newest.clone() }), None);
    // One that is too late to be of use is not kept.
    store.save_checkpoint(id("one"), checkpoint(500)).wait().unwrap();
    assert_eq!(find(CheckpointQuery { seq_at_most: 500, ..newest }), Some(1000));
}

#[test]
fn a_repeated_event_is_recognised_after_it_was_dropped() {
    let store = filled(1000);
    assert_eq!(store.by_client(id("one"), "client-10".to_owned()).wait().unwrap(), Some(10));
    let again = NewEvent { client_id: Some("client-10".to_owned()), ..event("again") };
    let appended = store.append(Append::new(id("one"), vec![again])).wait().unwrap();
    assert_eq!((appended.placed[0].seq, appended.placed[0].new, appended.newest), (10, false, 1000));
}

#[test]
fn one_session_takes_nothing_from_another() {
    let store = filled(1000);
    let two = create(&store, "two");
    crate::support::append(&store, &two, &["stays"]);
    store.delete(id("one")).wait().unwrap();
    assert!(store.usage().wait().unwrap().used < 1 << 10);
    assert_eq!(crate::support::whole_log(&store, &two), [b"stays"]);
}
