//! A session whose agent floods the server: other sessions are still served, and the server stops on a signal.

use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::json;

use crate::common::eventually;
use crate::support::{Served, says};

/// How many lines the agent writes: more than are read during the test.
const LINES: u64 = 300_000;

#[test]
fn a_flood_does_not_delay_others_and_signals_still_work() {
    let mut served = Served::start();
    let (flooded, other) = (served.session(), served.session());
    let steps = json!([{"misbehave": {"messages": LINES}, "text": "that was much"}]);
    served.send(&flooded, &format!("@@{steps}"));
    // By then several checkpoints are due.
    let seq = || served.info(&flooded)["newest_seq"].as_u64().unwrap();
    eventually("much is written", || (seq() > 20_000).then_some(()));
    let started = Instant::now();
    served.send(&other, &says("hello"));
    served.wait_for_status(&other, "idle");
    served.client.get(&format!("/v1/sessions/{other}/transcript")).expect(200);
    let took = started.elapsed();
    assert!(took < Duration::from_secs(20), "another session took {took:?}");
    let metrics = served.client.get("/metrics").expect(200).text();
    let running = metrics.lines().find_map(|line| line.strip_prefix("weir_checkpoints_running "));
    assert!(running.unwrap().parse::<u64>().unwrap() <= 2, "{metrics}");
    let status = format!("/proc/{}/status", served.running().pid());
    let status = std::fs::read_to_string(status).unwrap();
    let threads = status.lines().find_map(|line| line.strip_prefix("Threads:")).unwrap().trim();
    assert!(threads.parse::<u64>().unwrap() < 40, "{threads} threads");
    let asked = Instant::now();
    served.signal(Signal::TERM);
    served.finish().expect(0);
    let took = asked.elapsed();
    assert!(took < Duration::from_secs(20), "it took {took:?} to stop");
    served.place.wait_until_empty();
}
