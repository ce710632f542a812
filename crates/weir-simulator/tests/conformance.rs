//! Every scenario on every real CLI and on the simulated one: the transcripts must be equal, except for the table. In
//! a short run older versions play only scenarios in which versions differ.

use std::io::Write as _;
use std::path::Path;

use weir_testkit::is_long_run;
use weir_testkit::real::RealCli;
use weir_testkit::scenario::{self, DIFFERENCES, Difference, Report, Rule, Scenario, Verdict, all, conform};

/// How many scenarios run at once. Each has its own folders, API and process.
const JOBS: usize = 3;

#[test]
fn the_simulated_cli_behaves_like_the_real_ones() {
    let clis = RealCli::required().unwrap_or_else(|error| panic!("{error}"));
    if clis.is_empty() {
        return;
    }
    let scenarios = all();
    let newest = clis.iter().map(|cli| cli.version).max();
    let is_wanted = |scenario: &Scenario, cli: &RealCli| {
        is_long_run() || Some(cli.version) == newest || scenario::differs_by_version(scenario.name)
    };
    let simulated = Path::new(env!("CARGO_BIN_EXE_simulated-claude"));
    let reports = conform(simulated, &clis, &scenarios, is_wanted, JOBS, |_| {});
    let bad: Vec<String> = reports.iter().filter(|report| !report.is_good()).map(describe).collect();
    assert!(
        bad.is_empty(),
        "{} of {} differ (`-` real, `+` simulated, `!` not shown):\n{}",
        bad.len(),
        reports.len(),
        bad.join("\n")
    );

    // A rule that is not needed hides the next real difference.
    let needed = |rule: &Difference| {
        reports.iter().any(|report| match &report.verdict {
            Verdict::Compared(comparison) => comparison.known.iter().any(|known| **known == *rule),
            Verdict::Failed(_) => false,
        })
    };
    let tested =
        |rule: &Difference| reports.iter().any(|report| rule.applies(report.scenario, report.version));
    let idle: Vec<_> = DIFFERENCES
        .iter()
        .filter(|rule| {
            !rule.chance
                && !matches!(rule.rule, Rule::Skip | Rule::MoreRequests)
                && tested(rule)
                && !needed(rule)
        })
        .collect();
    assert!(idle.is_empty(), "no longer needed, remove it from the table: {idle:#?}");
    let took: f32 = reports.iter().map(|report| report.elapsed.as_secs_f32()).sum();
    let _shown_also_when_it_passes = writeln!(
        std::io::stderr(),
        "conformance: {} scenarios agree ({took:.0} s of real CLIs)",
        reports.len()
    );
}

fn describe(report: &Report) -> String {
    let why = match &report.verdict {
        Verdict::Failed(why) => why.clone(),
        Verdict::Compared(comparison) => comparison.unexplained.join("\n"),
    };
    format!("{} on {}:\n{why}\n", report.scenario, report.cli)
}
