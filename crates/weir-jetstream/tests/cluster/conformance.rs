//! The suite that every log passes.

use weir_jetstream::Warning;
use weir_store_conformance::CASES;
use weir_testkit::nats::Nats;

use crate::support::{open, options, runtime};

fn passes(nodes: usize) {
    if Nats::is_skipped() {
        return;
    }
    let nats = Nats::start(nodes).unwrap();
    let runtime = runtime();
    let log = open(&runtime, options(&nats, nodes)).unwrap();
    let expected = if nodes == 1 { vec![Warning::OneReplica] } else { Vec::new() };
    assert_eq!(log.warnings(), expected);
    for case in CASES {
        let started = std::time::Instant::now();
        let outcome = (case.run)(&log);
        assert!(outcome.is_ok(), "{}: {outcome:?}", case.name);
        println!("{:>6} ms  {}", started.elapsed().as_millis(), case.name);
    }
}

#[test]
fn one_server_passes() {
    passes(1);
}

#[test]
fn three_servers_pass() {
    passes(3);
}
