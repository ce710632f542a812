//! The short form of `make soak`.
#![cfg(target_os = "linux")]

use std::time::Duration;

use weir_soak::{Settings, soak};

/// Default duration. `SOAK_SECONDS` makes it longer.
const SHORT: &str = "12";

#[test]
fn a_disk_that_fills_and_empties_loses_nothing_acknowledged() {
    for seed in 1..4 {
        let folder = tempfile::tempdir().unwrap();
        let played = weir_soak::disk::play(env!("CARGO_BIN_EXE_weir-soak").as_ref(), folder.path(), seed);
        played.unwrap_or_else(|why| panic!("seed {seed}: {why}"));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn random_conversations_and_faults_leave_nothing_behind_and_lose_nothing() {
    let program = env!("CARGO_BIN_EXE_weir-soak").into();
    let mut settings = Settings::from_environment(program).unwrap();
    let seconds = std::env::var("SOAK_SECONDS").unwrap_or_else(|_| SHORT.to_owned());
    settings.time = Duration::from_secs(seconds.parse().unwrap());
    match soak(&settings, |line| println!("{line}")).await {
        Ok(tally) => assert!(tally.answered > 20, "{tally}"),
        Err(failure) => panic!("{failure}the whole run: SOAK_SEED={} make soak", settings.seed),
    }
}
