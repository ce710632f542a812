//! Deleted data is gone, and its space is freed.

use weir_store::{Append, Log, Lookup, NewStoredSession, ReadQuery, SearchQuery, Store, StoreError};

use crate::support::{append, create, id, on_each, open_unsynced, searchable, until, whole_log};

#[test]
fn nothing_is_left() {
    on_each(|store| {
        let one = create(store, "one");
        let other = create(store, "other");
        append(store, &other, &["stays"]);
        let named = weir_store::NewEvent { client_id: Some("m".to_owned()), ..searchable("needle") };
        store.append(Append::new(one.clone(), vec![named.clone()])).wait().unwrap();
        assert!(store.delete(one.clone()).wait().unwrap());

        assert_eq!(store.find(Lookup::Id(one.clone())).wait().unwrap(), None);
        assert!(store.search(SearchQuery::new("needle")).wait().unwrap().is_empty());
        assert!(matches!(store.read(ReadQuery::newest(one.clone())).wait(), Err(StoreError::NotFound(_))));
        // The same id again is a new session.
        store.create(NewStoredSession::new(one.clone(), 9)).wait().unwrap();
        assert!(whole_log(store, &one).is_empty());
        let placed = store.append(Append::new(one, vec![named])).wait().unwrap().placed;
        assert!(placed[0].new && placed[0].seq == 1);
        assert_eq!(whole_log(store, &other), [b"stays"]);
    });
}

#[test]
fn leftovers_from_before_the_store_closed_are_removed_later() {
    let folder = tempfile::tempdir().unwrap();
    let rows = |table: &str| -> i64 {
        let file = rusqlite::Connection::open(folder.path().join("weir.db")).unwrap();
        file.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0)).unwrap()
    };
    let store = open_unsynced(folder.path());
    let one = create(&store, "one");
    let events = (0..5_000).map(|number| searchable(&number.to_string())).collect();
    store.append(Append::new(one.clone(), events)).wait().unwrap();
    drop(store.delete(one));
    drop(store);
    // The store closed right after the write; one that is opened later finishes the work.
    assert_eq!(rows("conversation"), 0);
    let store = open_unsynced(folder.path());
    until("the rest is removed", || {
        store.find(Lookup::Id(id("x"))).wait().unwrap();
        rows("trash") == 0
    });
    assert_eq!((rows("event"), rows("client")), (0, 0));
    assert_eq!((rows("text"), rows("unindexed"), rows("search_docsize")), (0, 0, 0));
    store.check().wait().unwrap();
}
