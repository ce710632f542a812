//! What is checked before anything is kept.

use std::time::Duration;

use weir_jetstream::{ClusterError, JetStreamLog, JetStreamOptions, Warning};
use weir_store::{Append, Log, NewEvent, StoreError};
use weir_testkit::nats::{Nats, NatsOptions};

use crate::support::{append, create, open, options, runtime, whole_log};

#[test]
fn a_cluster_that_loses_data_is_refused_or_warned_about() {
    if Nats::is_skipped() {
        return;
    }
    let nats = Nats::start_with(&NatsOptions { synced: false, ..NatsOptions::nodes(1) }).unwrap();
    let runtime = runtime();
    let three = quick(options(&nats, 1));
    let refused = open(&runtime, with(three.clone(), |options| options.replicas = 3));
    let text = refused.map(|_| ()).unwrap_err().to_string();
    assert!(text.contains("--replicas 1"), "{text}");

    let log = open(&runtime, three.clone()).unwrap();
    assert!(
        matches!(log.warnings(), [Warning::NotSynced { server, .. }, Warning::OneReplica] if server == "node-0")
    );
    drop(log);
    let blind = open(&runtime, with(three.clone(), |options| options.monitors = Vec::new())).unwrap();
    assert!(matches!(blind.warnings(), [Warning::SyncUnknown { .. }, Warning::OneReplica]));
    for name in ["", "a.b", "a b"] {
        let refused = open(&runtime, with(three.clone(), |options| options.name = name.to_owned()));
        assert!(matches!(refused, Err(ClusterError::Invalid(_))), "{name}");
    }
    let refused = open(&runtime, with(three, |options| options.replicas = 0));
    assert!(matches!(refused, Err(ClusterError::Invalid(_))));
}

#[test]
fn servers_that_are_not_there_or_have_no_jetstream_are_named() {
    if Nats::is_skipped() {
        return;
    }
    let nats = Nats::start_with(&NatsOptions { jetstream: false, ..NatsOptions::nodes(1) }).unwrap();
    let runtime = runtime();
    let refused = open(&runtime, quick(options(&nats, 1))).map(|_| ()).unwrap_err();
    assert!(matches!(refused, ClusterError::NoJetStream { .. }), "{refused:?}");
    assert!(refused.to_string().contains("sync_interval: always"), "{refused}");
    let small = NatsOptions { config: "max_payload: 100000\n".to_owned(), ..NatsOptions::nodes(1) };
    let small = Nats::start_with(&small).unwrap();
    let refused = open(&runtime, quick(options(&small, 1))).map(|_| ()).unwrap_err();
    assert!(matches!(refused, ClusterError::SmallMessages { found: 100_000, .. }), "{refused:?}");
    let nowhere = quick(JetStreamOptions::new(["nats://127.0.0.1:1"]));
    let refused = open(&runtime, nowhere).map(|_| ()).unwrap_err();
    assert!(matches!(refused, ClusterError::NoServer { .. }), "{refused:?}");
    assert!(refused.to_string().contains("127.0.0.1:1"), "{refused}");
}

#[test]
fn two_logs_on_the_same_servers_are_one_and_two_names_are_two() {
    if Nats::is_skipped() {
        return;
    }
    let nats = Nats::start(1).unwrap();
    let runtime = runtime();
    let here = open(&runtime, options(&nats, 1)).unwrap();
    let there = open(&runtime, options(&nats, 1)).unwrap();
    let other = open(&runtime, with(options(&nats, 1), |options| options.name = "other".to_owned())).unwrap();
    assert_eq!(here.epoch(), there.epoch());
    assert_ne!(here.epoch(), other.epoch());
    let one = create(&here);
    assert!(matches!(append(&other, &one, 0, "x"), Err(StoreError::NotFound(_))));
    let tail = there.subscribe(one.clone()).wait().unwrap();
    append(&here, &one, 0, "a").unwrap();
    assert!(tail.wait(0, weir_testkit::DEADLINE).is_some());
    append(&there, &one, 0, "b").unwrap();
    append(&here, &one, 0, "c").unwrap();
    // The log remembers who wrote what, and a client id is known on both.
    let check = |log: &JetStreamLog, seq| log.check_at(one.clone(), seq).wait().unwrap();
    assert_eq!(check(&here, 1), check(&there, 3));
    assert_ne!(check(&here, 1), check(&here, 2));
    let named = || {
        let event = NewEvent { client_id: Some("m".to_owned()), ..NewEvent::new(1, "line", b"d".to_vec()) };
        Append::new(one.clone(), vec![event])
    };
    assert!(here.append(named()).wait().unwrap().placed[0].new);
    assert!(!there.append(named()).wait().unwrap().placed[0].new);
    assert_eq!(whole_log(&there, &one), ["a", "b", "c", "d"]);
    let woken = there.listen("topic".to_owned()).wait().unwrap();
    here.wake("topic".to_owned()).wait().unwrap();
    assert!(woken.wait(0, weir_testkit::DEADLINE).is_some());
}

fn with(mut options: JetStreamOptions, change: impl FnOnce(&mut JetStreamOptions)) -> JetStreamOptions {
    change(&mut options);
    options
}

fn quick(mut options: JetStreamOptions) -> JetStreamOptions {
    options.start_timeout = Duration::from_millis(500);
    options
}
