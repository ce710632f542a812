//! A file that is removed while in use: nothing is accepted that could never be found again.

use std::fs;

use weir_store::{Append, Log, Lookup, Space, Store, StoreError};

use crate::support::{append, create, event, id, open_unsynced};

#[test]
fn writes_to_a_file_that_is_gone_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let store = open_unsynced(&data);
    let one = create(&store, "one");
    append(&store, &one, &["a"]);
    assert_eq!(store.space(), Space::Enough);
    let kept = folder.path().join("kept");
    fs::rename(&data, &kept).unwrap();
    for essential in [false, true] {
        let write = Append { essential, ..Append::new(one.clone(), vec![event("b")]) };
        let refused = store.append(write).wait();
        assert!(matches!(refused, Err(StoreError::Unusable { .. })), "{refused:?}");
    }
    assert!(matches!(store.delete(one.clone()).wait(), Err(StoreError::Unusable { .. })));
    let Space::Unusable { advice } = store.space() else { panic!("{:?}", store.space()) };
    assert!(advice.contains("removed or replaced"), "{advice}");
    // A new file with the same name is a different file.
    fs::create_dir(&data).unwrap();
    fs::write(data.join("weir.db"), "").unwrap();
    assert!(matches!(store.space(), Space::Unusable { .. }));
    // When it is back, everything works as before.
    fs::remove_dir_all(&data).unwrap();
    fs::rename(&kept, &data).unwrap();
    assert_eq!(store.space(), Space::Enough);
    assert_eq!(append(&store, &one, &["b"]), 2);
    let found = store.find(Lookup::Id(id("one"))).wait().unwrap().unwrap();
    assert_eq!(found.newest, 2);
}
