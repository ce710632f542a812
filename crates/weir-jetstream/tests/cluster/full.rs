//! Servers without space.

use std::time::Duration;

use weir_store::{Append, Log, NewEvent, StoreError};
use weir_testkit::nats::{Nats, NatsOptions};

use crate::support::{append, create, open, options, runtime, whole_log};

#[test]
fn a_full_store_refuses_and_loses_nothing() {
    if Nats::is_skipped() {
        return;
    }
    let folder = weir_testkit::memory_folder().unwrap();
    let start = |max_file| {
        let folder = Some(folder.path().to_owned());
        Nats::start_with(&NatsOptions { max_file, folder, ..NatsOptions::nodes(1) }).unwrap()
    };
    let runtime = runtime();
    let opened = |nats: &Nats| {
        let mut options = options(nats, 1);
        options.write_timeout = Duration::from_secs(5);
        open(&runtime, options).unwrap()
    };
    let nats = start(12 << 20);
    let log = opened(&nats);
    let (one, two) = (create(&log), create(&log));
    append(&log, &one, 0, "kept").unwrap();
    let large = || {
        let event = NewEvent::new(1, "line", vec![b'x'; 300 << 10]);
        log.append(Append::new(two.clone(), vec![event])).wait()
    };
    let mut stored = 0;
    let refused = loop {
        match large() {
            Ok(appended) => stored = appended.newest,
            Err(error) => break error,
        }
        assert!(stored < 1_000, "it never gets full");
    };
    let is_clear = |error: &StoreError| matches!(error, StoreError::Unavailable { detail } if detail.contains("resources"));
    assert!(is_clear(&refused), "{refused:?}");
    assert!(stored > 10);
    // Nothing is said to be done that is not, a deletion either: it has to be stored, too.
    let refused = log.delete(two.clone()).wait().unwrap_err();
    assert!(is_clear(&refused), "{refused:?}");
    assert_eq!(whole_log(&log, &two).len() as u64, stored, "what was refused is not there, the rest is");
    assert_eq!(whole_log(&log, &one), ["kept"]);
    drop(log);
    drop(nats);
    // With more space everything is there and can be written, without a repair.
    let nats = start(64 << 20);
    let log = opened(&nats);
    assert_eq!(whole_log(&log, &two).len() as u64, stored);
    append(&log, &one, 0, "again").unwrap();
    assert!(log.delete(two).wait().unwrap());
    assert_eq!(whole_log(&log, &one), ["kept", "again"]);
}
