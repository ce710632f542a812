//! Checks the flags that Weir passes against what a real CLI documents and accepts.

use std::collections::BTreeSet;
use std::time::Duration;

use super::{Driver, DriverError, Exit, Launch, RealCli, Version};
use crate::Place;

/// Generous: an old CLI on a busy machine needs ten seconds to start.
const DEADLINE: Duration = Duration::from_secs(60);

/// A flag of the CLI.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flag {
    /// Its long name.
    pub name: &'static str,
    /// A valid value; `None` if it takes none.
    pub value: Option<&'static str>,
    /// The oldest version known to have it.
    pub since: Version,
    /// Why `--help` does not show it although it works, and up to which version.
    pub hidden: Option<(Version, &'static str)>,
}

const V1_0_124: Version = Version::new(1, 0, 124);
const V2_0_72: Version = Version::new(2, 0, 72);
const V2_1_61: Version = Version::new(2, 1, 61);
const V2_1_197: Version = Version::new(2, 1, 197);
const V2_1_325: Version = Version::new(2, 1, 325);
const STILL: Version = Version::new(u32::MAX, 0, 0);

const fn flag(name: &'static str, value: Option<&'static str>, since: Version) -> Flag {
    Flag { name, value, since, hidden: None }
}

const fn hidden(name: &'static str, value: &'static str, until: Version, reason: &'static str) -> Flag {
    Flag { name, value: Some(value), since: V1_0_124, hidden: Some((until, reason)) }
}

/// The flags that Weir passes, and others used by the scenarios.
pub const FLAGS: &[Flag] = &[
    flag("--print", None, V1_0_124),
    flag("--verbose", None, V1_0_124),
    flag("--input-format", Some("stream-json"), V1_0_124),
    flag("--output-format", Some("stream-json"), V1_0_124),
    flag("--include-partial-messages", None, V1_0_124),
    hidden("--permission-prompt-tool", "stdio", STILL, "made for programs; the SDK passes it"),
    flag("--model", Some("sonnet"), V1_0_124),
    flag("--fallback-model", Some("haiku"), V1_0_124),
    flag("--effort", Some("low"), V2_1_61),
    Flag { since: V2_1_61, ..hidden("--thinking", "disabled", STILL, "in no help; the SDK passes it") },
    Flag {
        since: V2_0_72,
        ..hidden("--max-thinking-tokens", "2000", STILL, "in no help; the SDK passes it")
    },
    Flag { since: V2_1_197, ..hidden("--task-budget", "20000", STILL, "in no help; the SDK passes it") },
    flag("--betas", Some("context-1m-2025-08-07"), V2_0_72),
    flag("--prompt-suggestions", Some("true"), V2_1_197),
    hidden(
        "--system-prompt",
        "Be brief.",
        Version::new(2, 0, 71),
        "shown since 2.0.72 at the latest; worked before",
    ),
    hidden("--system-prompt-file", "/dev/null", STILL, "in no help; the SDK passes it"),
    flag("--append-system-prompt", Some("Be brief."), V1_0_124),
    Flag {
        since: V2_0_72,
        ..hidden("--append-system-prompt-file", "/dev/null", STILL, "in no help; the SDK passes it")
    },
    flag("--setting-sources", Some("user"), V2_0_72),
    flag("--tools", Some("Read"), V2_0_72),
    flag("--strict-mcp-config", None, V1_0_124),
    flag("--allowedTools", Some("Read"), V1_0_124),
    flag("--disallowedTools", Some("WebFetch"), V1_0_124),
    flag("--permission-mode", Some("acceptEdits"), V1_0_124),
    flag("--add-dir", Some("/"), V1_0_124),
    hidden("--max-turns", "3", STILL, "documented on the web, left out of the help"),
    flag("--max-budget-usd", Some("1"), V2_0_72),
    flag("--resume", Some("ID"), V1_0_124),
    flag("--continue", None, V1_0_124),
    flag("--fork-session", None, V1_0_124),
    flag("--session-id", Some("ID"), V1_0_124),
    flag("--no-session-persistence", None, V2_0_72),
    // 2.0.72 shows it and ignores it.
    flag("--agent", Some("general-purpose"), V2_0_72),
    flag("--plugin-dir", Some("/"), V2_0_72),
    flag("--mcp-config", Some("{}"), V1_0_124),
    flag("--settings", Some("{}"), V1_0_124),
    flag("--debug-file", Some("/dev/null"), V2_1_61),
    flag("--include-hook-events", None, V2_1_197),
    flag("--exclude-dynamic-system-prompt-sections", None, V2_1_197),
    flag("--system-prompt-snapshot", Some("on"), V2_1_325),
];

/// Checks flags against a real CLI: visible flags are in its `--help`, hidden ones are not but work, and flags newer
/// than the CLI do not exist. Returns the problems, one sentence each.
///
/// # Errors
/// If the CLI cannot be run.
pub fn check_flags(cli: &RealCli, names: &[&str]) -> Result<Vec<String>, DriverError> {
    let help = run(cli, &["--help".to_owned()])?;
    let shown = shown_flags(&help.1);
    let mut wrong = Vec::new();
    if !shown.contains("--print") {
        wrong.push(format!("{}: --help shows no flags", cli.version));
    }
    let mut to_try = Vec::new();
    for name in names {
        let Some(flag) = FLAGS.iter().find(|flag| flag.name == *name) else {
            wrong.push(format!("{name} is not in the table of weir_testkit::real::FLAGS: add it"));
            continue;
        };
        let is_hidden = flag.hidden.is_some_and(|(until, _)| cli.version <= until);
        let problem = match (cli.version >= flag.since, is_hidden, shown.contains(*name)) {
            (true, true, false) => {
                to_try.extend(std::iter::once(flag.name).chain(flag.value).map(str::to_owned));
                continue;
            }
            (true, false, true) | (false, _, false) => continue,
            (true, true, true) => "--help shows it now: say so in the table",
            (true, false, false) => "--help does not show it",
            (false, _, true) => "--help shows it already: say so in the table",
        };
        wrong.push(format!("{} {name}: {problem}", cli.version));
    }
    let base = ["--print", "--verbose", "--input-format", "stream-json", "--output-format", "stream-json"];
    let arguments: Vec<String> = base.into_iter().map(str::to_owned).chain(to_try).collect();
    let (exit, _) = run(cli, &arguments)?;
    if exit.code != Some(0) {
        wrong.push(format!("{}: refuses {}: {}", cli.version, arguments.join(" "), exit.stderr.trim()));
    }
    Ok(wrong)
}

/// Runs the CLI to completion without input, in its own place and without an API.
fn run(cli: &RealCli, arguments: &[String]) -> Result<(Exit, String), DriverError> {
    let failed = |source| DriverError::Start { program: cli.program.clone(), source };
    let place = Place::new().map_err(failed)?;
    let launch = Launch {
        program: cli.program.clone(),
        arguments: arguments.to_vec(),
        environment: place.environment("http://127.0.0.1:9"),
        directory: place.directory(),
    };
    let driver = Driver::start(&launch, Box::new(|_| None))?;
    driver.close_input();
    let exit = driver.wait_for_exit(DEADLINE)?;
    let lines = driver.lines();
    let text = lines.iter().map(|line| String::from_utf8_lossy(&line.bytes).into_owned() + "\n").collect();
    Ok((exit, text))
}

/// The flags that a help text defines. A definition begins after two spaces; a description is indented further.
fn shown_flags(help: &str) -> BTreeSet<&str> {
    let definitions =
        help.lines().filter_map(|line| line.strip_prefix("  ")).filter(|line| line.starts_with('-'));
    let words = definitions
        .flat_map(|line| line.split([' ', ',']).take_while(|word| word.is_empty() || word.starts_with('-')));
    words.filter(|word| word.starts_with("--")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_read_from_definitions_only() {
        let help = "Options:\n  -r, --resume [value]   Resume (see --continue)\n  \
                    --allowedTools, --allowed-tools <tools...>\n      text about --other\n";
        let shown = shown_flags(help);
        assert_eq!(shown.into_iter().collect::<Vec<_>>(), ["--allowed-tools", "--allowedTools", "--resume"]);
    }

    #[test]
    fn each_flag_is_in_the_table_once() {
        let names: BTreeSet<_> = FLAGS.iter().map(|flag| flag.name).collect();
        assert_eq!(names.len(), FLAGS.len());
    }
}
