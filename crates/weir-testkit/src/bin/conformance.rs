//! Runs the scenarios on real CLIs and on the simulated one, and prints where they differ.
//!
//! ```text
//! conformance [--only NAME]… [--jobs N] [--outlines] [VERSION…]
//! ```
//!
//! Without versions it uses `WEIR_REAL_CLI_VERSIONS`, or else the pinned ones. They have to be installed
//! (`scripts/setup-real-cli.sh VERSION…`). `--outlines` prints what the real CLI did. Exit status 0: all agree, or
//! differ as the table says; 1: some do not; 2: it could not be run.

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};

use weir_testkit::real::{RealCli, Version};
use weir_testkit::scenario::{Report, Scenario, Verdict, all, conform};

type Failure = Box<dyn std::error::Error>;

fn main() -> ExitCode {
    match conformance() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            let _closed_output = writeln!(io::stderr(), "conformance: {error}");
            ExitCode::from(2)
        }
    }
}

#[derive(Debug, Default)]
struct Settings {
    only: Vec<String>,
    jobs: Option<usize>,
    outlines: bool,
    versions: Vec<Version>,
}

fn settings() -> Result<Settings, Failure> {
    let mut settings = Settings::default();
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or_else(|| format!("{word} needs a value"));
        match word.as_str() {
            "--only" => settings.only.push(value()?),
            "--jobs" => settings.jobs = Some(value()?.parse()?),
            "--outlines" => settings.outlines = true,
            _ if word.starts_with('-') => {
                return Err(format!(
                    "unknown argument {word}: use --only NAME, --jobs N, --outlines, or versions"
                )
                .into());
            }
            _ => settings.versions.push(word.parse()?),
        }
    }
    Ok(settings)
}

fn conformance() -> Result<bool, Failure> {
    let settings = settings()?;
    let versions = if settings.versions.is_empty() { RealCli::wanted()? } else { settings.versions };
    let clis = versions.into_iter().map(RealCli::find).collect::<Result<Vec<_>, _>>()?;
    let scenarios: Vec<Scenario> = all()
        .into_iter()
        .filter(|scenario| settings.only.is_empty() || settings.only.iter().any(|name| name == scenario.name))
        .collect();
    if scenarios.is_empty() {
        return Err(format!("no scenario is named {:?}", settings.only).into());
    }
    let out = Mutex::new(io::stdout());
    let jobs = settings.jobs.unwrap_or_else(|| std::thread::available_parallelism().map_or(2, usize::from));
    let reports = conform(
        &simulated()?,
        &clis,
        &scenarios,
        |_, _| true,
        jobs,
        |report| {
            let mut out = out.lock().unwrap_or_else(PoisonError::into_inner);
            let _closed_output = print(&mut *out, report, settings.outlines);
        },
    );
    table(&mut io::stdout(), &clis, &scenarios, &reports)?;
    Ok(reports.iter().all(Report::is_good))
}

/// The simulated CLI is next to this program.
fn simulated() -> Result<PathBuf, Failure> {
    let path = std::env::current_exe()?.with_file_name("simulated-claude");
    if path.is_file() {
        Ok(path)
    } else {
        Err(format!(
            "{} is missing: run `cargo build -p weir-simulator -p weir-testkit --bins` first",
            path.display()
        )
        .into())
    }
}

fn print(out: &mut impl Write, report: &Report, outlines: bool) -> io::Result<()> {
    let mark = mark(report);
    writeln!(
        out,
        "{mark:<8} {:<14} {:<34} {:.1} s",
        report.cli.version,
        report.scenario,
        report.elapsed.as_secs_f32()
    )?;
    if outlines {
        for line in &report.real {
            writeln!(out, "    {line}")?;
        }
    }
    match &report.verdict {
        Verdict::Failed(why) => writeln!(out, "    {}", why.replace('\n', "\n    "))?,
        Verdict::Compared(comparison) => {
            for line in &comparison.unexplained {
                writeln!(out, "    {line}")?;
            }
        }
    }
    out.flush()
}

fn mark(report: &Report) -> &'static str {
    match &report.verdict {
        Verdict::Failed(_) => "FAILED",
        Verdict::Compared(comparison) if comparison.skipped.is_some() => "none",
        Verdict::Compared(comparison) if !comparison.is_equal() => "DIFFERS",
        Verdict::Compared(comparison) if comparison.known.is_empty() => "same",
        Verdict::Compared(_) => "known",
    }
}

/// The scenarios by version, then the reasons for the known differences.
fn table(
    out: &mut impl Write,
    clis: &[RealCli],
    scenarios: &[Scenario],
    reports: &[Report],
) -> io::Result<()> {
    write!(out, "\n{:<34}", "scenario")?;
    for cli in clis {
        write!(out, " {:>10}", cli.version.to_string())?;
    }
    writeln!(out)?;
    for scenario in scenarios {
        write!(out, "{:<34}", scenario.name)?;
        for report in reports.iter().filter(|report| report.scenario == scenario.name) {
            write!(out, " {:>10}", mark(report))?;
        }
        writeln!(out)?;
    }
    let mut reasons: Vec<&str> = Vec::new();
    for report in reports {
        if let Verdict::Compared(comparison) = &report.verdict {
            for difference in &comparison.known {
                if !reasons.contains(&difference.reason) {
                    reasons.push(difference.reason);
                }
            }
        }
    }
    writeln!(
        out,
        "\nsame: equal; known: equal apart from differences in the table; none: not applicable to the version"
    )?;
    for reason in reasons {
        writeln!(out, "  - {reason}")?;
    }
    Ok(())
}
