//! Runs everything and prints the table.

use std::io::Write as _;
use std::process::{Command, Stdio};

use anyhow::{Context as _, ensure};

use crate::measure::Measured;
use crate::methods::Method;
use crate::workload::{Size, Workload};

pub(crate) fn print_line(text: &str) -> anyhow::Result<()> {
    writeln!(std::io::stdout(), "{text}").context("standard output is closed")
}

/// Runs every method on every workload, several times alternating, and prints the best of each.
pub(crate) fn table(size: Size) -> anyhow::Result<()> {
    let rounds = if size == Size::Full { 7 } else { 1 };
    for workload in Workload::TABLES {
        let mut best: Vec<(Method, Measured)> = Vec::new();
        for _ in 0..rounds {
            for method in Method::ALL {
                let measured = run(workload, method, size)?;
                match best.iter_mut().find(|(known, _)| *known == method) {
                    Some((_, known)) if known.cpu_seconds <= measured.cpu_seconds => {}
                    Some((_, known)) => *known = measured,
                    None => best.push((method, measured)),
                }
            }
        }
        print_workload(workload, size, &best)?;
    }
    print_linearity(size, rounds)
}

/// The same bytes in five lines and in one: a ratio of one is linear, of five quadratic.
fn print_linearity(size: Size, rounds: usize) -> anyhow::Result<()> {
    let mut best = [f64::INFINITY; 2];
    for _ in 0..rounds {
        for (best, workload) in best.iter_mut().zip([Workload::Long, Workload::Longest]) {
            *best = best.min(run(workload, Method::Fold, size)?.cpu_seconds);
        }
    }
    let [five, one] = best;
    print_line(&format!("one line takes {:.2} × the CPU time of the same bytes in five lines", one / five))
}

/// The cost of reading a stream with this method.
pub(crate) fn run_read(method: &str, workload: Workload, size: Size) -> anyhow::Result<Measured> {
    run(workload, method.parse()?, size)
}

/// A part of the measurements of live sessions, in a separate process.
#[expect(clippy::disallowed_methods, reason = "the benchmark measures itself, in separate processes")]
pub(crate) fn run_part<T: serde::de::DeserializeOwned>(words: &[&str]) -> anyhow::Result<T> {
    let program = std::env::current_exe().context("this program has no path")?;
    let output = Command::new(program).arg("live").args(words).stderr(Stdio::inherit()).output()?;
    ensure!(output.status.success(), "{} failed", words.join(" "));
    serde_json::from_slice(&output.stdout).context("cannot read the report")
}

#[expect(clippy::disallowed_methods, reason = "the benchmark measures itself, in separate processes")]
fn run(workload: Workload, method: Method, size: Size) -> anyhow::Result<Measured> {
    let program = std::env::current_exe().context("this program has no path")?;
    let mut writer = Command::new(&program)
        .args(["write", workload.name(), size.name()])
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot start the writer")?;
    let pipe = writer.stdout.take().context("the writer has no output")?;
    let reader = Command::new(&program)
        .args(["read", method.name(), workload.name()])
        .stdin(pipe)
        .output()
        .context("cannot start the reader")?;
    let wrote = writer.wait()?;
    ensure!(wrote.success() && reader.status.success(), "{} failed on {}", method.name(), workload.name());
    serde_json::from_slice(&reader.stdout).context("cannot read the reader's report")
}

fn print_workload(workload: Workload, size: Size, best: &[(Method, Measured)]) -> anyhow::Result<()> {
    let of = |wanted: Method| best.iter().find(|(method, _)| *method == wanted).map(|(_, measured)| measured);
    let lines = of(Method::Split).map_or(0, |measured| measured.lines);
    let bytes = of(Method::Split).map_or(0, |measured| measured.bytes);
    let typed = of(Method::Typed).map_or(f64::NAN, |measured| measured.cpu_seconds);
    print_line(&format!(
        "\n{} ({}): {lines} lines, {:.1} MB",
        workload.name(),
        size.name(),
        bytes as f64 / 1e6
    ))?;
    print_line(
        "| method | CPU µs/line | MB per CPU-second | × serde-typed | peak RSS MB | allocations/line |",
    )?;
    print_line("|---|---:|---:|---:|---:|---:|")?;
    for (method, measured) in best {
        print_line(&format!(
            "| {} | {:.3} | {:.0} | {:.2} | {:.1} | {:.2} |",
            method.name(),
            measured.cpu_seconds * 1e6 / lines as f64,
            measured.bytes as f64 / 1e6 / measured.cpu_seconds,
            measured.cpu_seconds / typed,
            measured.peak_rss_kb as f64 / 1e3,
            measured.allocations as f64 / lines as f64,
        ))?;
    }
    let longest = workload.longest_line(size);
    if longest > 0 {
        let peak = of(Method::Fold).map_or(0.0, |measured| measured.peak_rss_kb as f64 * 1024.0);
        print_line(&format!("peak RSS of weir-fold is {:.2} × the longest line", peak / longest as f64))?;
    }
    Ok(())
}
