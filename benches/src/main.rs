//! Measures decoding and folding through a real pipe, compared with lower bounds and plain serde, and prints a table.
//!
//! `weir-bench table` starts, for each workload and method, a writer and a reader: two processes with a pipe between
//! them. The reader reports its own CPU time, peak memory and allocations. Times are compared only within one run,
//! because machines differ and are noisy.

mod acp;
mod allocations;
mod bridge;
mod host;
mod live;
mod loops;
mod measure;
mod methods;
mod report;
mod typed;
mod workload;

use anyhow::{Context as _, bail};

fn main() -> anyhow::Result<std::process::ExitCode> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let Some(("simulated-claude", rest)) =
        arguments.split_first().map(|(first, rest)| (first.as_str(), rest))
    {
        return Ok(weir_simulator::play(rest));
    }
    run(&arguments)?;
    Ok(std::process::ExitCode::SUCCESS)
}

fn run(arguments: &[String]) -> anyhow::Result<()> {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["table"] => all(workload::Size::Full),
        ["table", "--quick"] => all(workload::Size::Quick),
        ["streams"] => report::table(workload::Size::Full),
        ["live"] => live::table(workload::Size::Full),
        ["live", "--quick"] => live::table(workload::Size::Quick),
        ["bridge"] => bridge::table(workload::Size::Full),
        ["bridge", "--quick"] => bridge::table(workload::Size::Quick),
        ["host"] => host::table(workload::Size::Full),
        ["host", "--quick"] => host::table(workload::Size::Quick),
        ["acp"] => acp::table(workload::Size::Full),
        ["acp", "--quick"] => acp::table(workload::Size::Quick),
        ["host", "delays"] => host::delays(),
        ["host", "cost"] => host::cost(),
        ["host", "play", kind, count] => host::play(&format!("{kind} {count} 0")),
        ["live", part @ ..] => live::part(part),
        ["loop"] => loops::table(workload::Size::Full),
        ["loop", "--quick"] => loops::table(workload::Size::Quick),
        ["loop", "measure", count] => loops::measure(count.parse()?),
        ["cli"] => live::play(),
        ["write", name, size] => workload::write(name.parse()?, size.parse()?),
        ["read", method, name] => {
            let measured = measure::measure(method.parse()?, name.parse()?)?;
            report::print_line(&serde_json::to_string(&measured).context("cannot write the measurement")?)
        }
        _ => bail!(
            "usage: weir-bench table [--quick] | streams | live [--quick] | bridge [--quick] | host [--quick|delays|cost|play KIND COUNT] | loop [--quick] | acp [--quick]"
        ),
    }
}

fn all(size: workload::Size) -> anyhow::Result<()> {
    report::table(size)?;
    live::table(size)?;
    host::table(size)?;
    acp::table(size)?;
    loops::table(size)?;
    bridge::table(size)
}
