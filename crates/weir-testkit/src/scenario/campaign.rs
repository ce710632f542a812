//! Runs all scenarios on a real CLI and on the simulated one, a few at a time.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::compare::{Comparison, asks_for_more, compare, skipped};
use super::model::Scenario;
use super::run::{Cli, run};
use super::table::nearest;
use crate::DUMMY_KEY;
use crate::api::RecordedRequest;
use crate::real::{RealCli, Version};

/// The result of one scenario with one version.
#[derive(Debug, Clone)]
pub struct Report {
    /// The real CLI.
    pub cli: Cli,
    /// Its version.
    pub version: Version,
    /// The scenario.
    pub scenario: &'static str,
    /// Whether the two CLIs agree.
    pub verdict: Verdict,
    /// The outline of the real CLI; empty if there is none.
    pub real: Vec<String>,
    /// The outline of the simulated CLI; empty if there is none.
    pub simulated: Vec<String>,
    /// How long the real CLI took.
    pub elapsed: Duration,
}

/// Whether two CLIs agree on a scenario.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    /// They were compared.
    Compared(Comparison),
    /// One of them did not finish, for this reason.
    Failed(String),
}

impl Report {
    /// Whether the two agree, or differ as the table says.
    pub fn is_good(&self) -> bool {
        matches!(&self.verdict, Verdict::Compared(comparison) if comparison.is_equal())
    }
}

/// Runs each scenario on each real CLI, as far as wanted, and on the simulated one as the nearest version, `jobs` at
/// a time, and compares them. Each run has its own place, API and process. `done` is called for each as soon as it is
/// finished.
pub fn conform(
    simulated: &Path,
    clis: &[RealCli],
    scenarios: &[Scenario],
    is_wanted: impl Fn(&Scenario, &RealCli) -> bool,
    jobs: usize,
    done: impl Fn(&Report) + Sync,
) -> Vec<Report> {
    let work: VecDeque<(usize, &RealCli, &Scenario)> = scenarios
        .iter()
        .flat_map(|scenario| clis.iter().map(move |cli| (cli, scenario)))
        .filter(|(cli, scenario)| is_wanted(scenario, cli))
        .enumerate()
        .map(|(number, (cli, scenario))| (number, cli, scenario))
        .collect();
    let work = Mutex::new(work);
    let reports = Mutex::new(Vec::new());
    let next = || work.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
    std::thread::scope(|scope| {
        for _ in 0..jobs.max(1) {
            scope.spawn(|| {
                while let Some((number, cli, scenario)) = next() {
                    let report = one(simulated, cli, scenario);
                    done(&report);
                    reports.lock().unwrap_or_else(PoisonError::into_inner).push((number, report));
                }
            });
        }
    });
    let mut reports = reports.into_inner().unwrap_or_else(PoisonError::into_inner);
    reports.sort_by_key(|(number, _)| *number);
    reports.into_iter().map(|(_, report)| report).collect()
}

fn one(simulated: &Path, real: &RealCli, scenario: &Scenario) -> Report {
    let started = Instant::now();
    let cli = Cli::from(real.clone());
    let simulated = Cli::simulated(simulated, nearest(real.version));
    let mut report = Report {
        cli: cli.clone(),
        version: real.version,
        scenario: scenario.name,
        verdict: Verdict::Failed(String::new()),
        real: Vec::new(),
        simulated: Vec::new(),
        elapsed: Duration::ZERO,
    };
    if skipped(scenario.name, real.version).is_some() {
        report.verdict = Verdict::Compared(compare(scenario, real.version, &[], &[]));
        return report;
    }
    let outcome = run(&cli, scenario);
    report.elapsed = started.elapsed();
    match outcome {
        Ok(outcome) => {
            report.real = outcome.outline;
            if let Err(why) = check_requests(scenario, real.version, &outcome.requests) {
                report.verdict = Verdict::Failed(format!("{cli}: {why}"));
                return report;
            }
        }
        Err(error) => {
            report.verdict = Verdict::Failed(format!("{cli}: {error}"));
            return report;
        }
    }
    match run(&simulated, scenario) {
        Ok(outcome) => {
            report.simulated = outcome.outline;
            report.verdict =
                Verdict::Compared(compare(scenario, real.version, &report.real, &report.simulated));
        }
        Err(error) => report.verdict = Verdict::Failed(format!("{simulated}: {error}")),
    }
    report
}

/// Checks the requests that a real CLI sent to the API.
fn check_requests(scenario: &Scenario, version: Version, requests: &[RecordedRequest]) -> Result<(), String> {
    let messages: Vec<&RecordedRequest> = requests.iter().filter(|request| request.is_message()).collect();
    if let Some(other) = messages.iter().find(|request| request.credential.as_deref() != Some(DUMMY_KEY)) {
        return Err(format!("the API received {:?}, which is not the key of the test", other.credential));
    }
    let statuses: Vec<u16> = messages.iter().map(|request| request.status).collect();
    match scenario.statuses {
        Some(expected) if statuses != expected && !asks_for_more(scenario.name, version) => {
            Err(format!("the API answered {statuses:?} instead of {expected:?}"))
        }
        _ => Ok(()),
    }
}
