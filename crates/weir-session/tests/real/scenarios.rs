//! The scenarios, played by a session on a real CLI and on the simulated one: the transcripts must be equal,
//! except for the table of known differences.

use std::collections::VecDeque;
use std::io::Write as _;
use std::sync::{Arc, Mutex};

use weir_testkit::real::RealCli;
use weir_testkit::scenario::{Cli, Scenario, all, compare, differs_by_version, nearest};
use weir_testkit::simulated_claude;

use crate::player::{cannot_play, play};

/// How many scenarios run at once. Each has its own folders, API and process.
const JOBS: usize = 4;
/// Set to the name of a scenario to play only that one.
const ONLY: &str = "WEIR_ONLY_SCENARIO";

/// Set to play every scenario on every version, as `make conformance` does.
const ALL: &str = "WEIR_ALL_SCENARIOS";

/// Skipped in a short run: these are about the API, a tool or the transcript, and already covered by the
/// scenarios without a session.
const LONG: &[&str] = &[
    "api-error-401",
    "api-error-429",
    "api-error-529",
    "api-error-529-then-ok",
    "big-tool-result",
    "continue-nothing",
    "cut-stream",
    "cut-stream-partial",
    "disallowed-tools",
    "error-in-stream",
    "lone-surrogate",
    "max-tokens",
    "no-answer",
    "plan-approved",
    "prompt-too-long",
    "rich-text",
    "search",
    "stalled-stream",
    "subagents-nested",
    "task-list",
    "thinking",
    "todos",
    "wrong-calls",
];

/// Whether a scenario is played on a version.
fn is_wanted(scenario: &Scenario, is_newest: bool) -> bool {
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| value == "1");
    if cannot_play(scenario).is_some() {
        return false;
    }
    if let Ok(only) = std::env::var(ONLY) {
        return scenario.name == only;
    }
    let in_short = if is_newest { !LONG.contains(&scenario.name) } else { differs_by_version(scenario.name) };
    in_short || is_set(ALL)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_sees_the_same_on_the_simulated_cli_as_on_real_ones() {
    let clis = crate::real_clis();
    let Some(newest) = clis.iter().map(|cli| cli.version).max() else { return };
    let mut work = VecDeque::new();
    for cli in &clis {
        let wanted = all().into_iter().filter(|scenario| is_wanted(scenario, cli.version == newest));
        work.extend(wanted.map(|scenario| (cli.clone(), scenario)));
    }
    let count = work.len();
    assert!(count > 30 || std::env::var_os(ONLY).is_some(), "{count} scenarios are too few");
    let work = Arc::new(Mutex::new(work));
    let bad = Arc::new(Mutex::new(Vec::new()));
    let workers = (0..JOBS).map(|_| {
        let (work, bad) = (Arc::clone(&work), Arc::clone(&bad));
        tokio::spawn(async move {
            loop {
                let next = work.lock().unwrap().pop_front();
                let Some((cli, scenario)) = next else { return };
                if let Err(why) = agree(&cli, &scenario).await {
                    bad.lock().unwrap().push(format!("{} on {}:\n{why}\n", scenario.name, cli.version));
                }
            }
        })
    });
    for worker in workers.collect::<Vec<_>>() {
        worker.await.unwrap();
    }
    let bad = bad.lock().unwrap();
    assert!(bad.is_empty(), "{} of {count} differ (`-` real, `+` simulated):\n{}", bad.len(), bad.join("\n"));
    let _shown_also_when_it_passes =
        writeln!(std::io::stderr(), "sessions: {count} scenarios agree on {} real CLIs", clis.len());
}

/// Compares what a session sees on both.
async fn agree(real: &RealCli, scenario: &Scenario) -> Result<(), String> {
    if compare(scenario, real.version, &[], &[]).skipped.is_some() {
        return Ok(());
    }
    let simulated = Cli::simulated(simulated_claude(env!("CARGO_PKG_NAME")), nearest(real.version));
    let real = Cli::from(real.clone());
    let on = |cli: &Cli| {
        let cli = cli.to_string();
        move |why: String| format!("{cli}: {why}")
    };
    let seen = play(&real, scenario).await.map_err(on(&real))?;
    let imitated = play(&simulated, scenario).await.map_err(on(&simulated))?;
    let comparison = compare(scenario, real.version, &seen, &imitated);
    if comparison.is_equal() { Ok(()) } else { Err(comparison.unexplained.join("\n")) }
}

#[test]
fn the_short_run_skips_only_existing_scenarios() {
    let scenarios = all();
    let different = scenarios.iter().filter(|scenario| differs_by_version(scenario.name)).count();
    assert_eq!(different, 11, "one of them has been renamed");
    for name in LONG {
        assert!(scenarios.iter().any(|scenario| scenario.name == *name), "no scenario {name}");
    }
}
