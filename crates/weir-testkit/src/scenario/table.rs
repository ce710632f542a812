//! The table of known differences between the simulated CLI and real ones, each with its reason.
//!
//! A rule that no scenario needs any more fails the test that runs all of them, so the table stays short.

use super::differences::{Difference, Rule, Scope, Versions};
use crate::real::Version;

/// The versions that the simulated CLI imitates exactly.
pub const IMITATED: &[Version] = &[Version::new(2, 1, 9), Version::new(2, 1, 325)];

/// The version that the simulated CLI imitates when compared with a real one. 2.1.61 is still closer to 2.1.9 than to
/// 2.1.325.
pub fn nearest(version: Version) -> Version {
    if version > V2_1_196 { Version::new(2, 1, 325) } else { V2_1_9 }
}

const FIRST: Version = Version::new(0, 0, 0);
const LAST: Version = Version::new(u32::MAX, 0, 0);
const V1: Version = Version::new(1, u32::MAX, 0);
const BEFORE_2_1: Version = Version::new(2, 0, u32::MAX);
const V2_1_9: Version = Version::new(2, 1, 9);
const V2_1_10: Version = Version::new(2, 1, 10);
const V2_1_196: Version = Version::new(2, 1, 196);
const V2_1_324: Version = Version::new(2, 1, 324);

const fn always(scenario: &'static str, rule: Rule, reason: &'static str) -> Difference {
    Difference { scope: Scope { scenario, versions: Versions::All }, rule, chance: false, reason }
}

const fn other(scenario: &'static str, rule: Rule, reason: &'static str) -> Difference {
    Difference { scope: Scope { scenario, versions: Versions::NotImitated }, rule, chance: false, reason }
}

const fn between(
    scenario: &'static str,
    (from, to): (Version, Version),
    rule: Rule,
    reason: &'static str,
) -> Difference {
    Difference {
        scope: Scope { scenario, versions: Versions::Between(from, to) },
        rule,
        chance: false,
        reason,
    }
}

/// A difference that occurs only sometimes, or only on some machines, up to a version.
const fn by_chance(scenario: &'static str, to: Version, rule: Rule, reason: &'static str) -> Difference {
    let versions = Versions::Between(FIRST, to);
    Difference { scope: Scope { scenario, versions }, rule, chance: true, reason }
}

const ENGINE: &str =
    "the wording comes from the JavaScript engine, for older versions from the installed Node";
const ESTIMATE: &str = "the CLI estimates the length of its own prompt";
const COUNTS: &str =
    "rounds, tokens, prices and the side calls to a small model are counted differently in many releases";
const WORDS: &str = "the wording of tools and errors changes in many releases";
const SIDE_CALLS: &str = "2.1.9 asks a small model about the output of commands: how often, and whether that ends before the turn, is random";
const SALVAGE: &str =
    "2.1.325 sometimes keeps what arrived before the cut, and counts the tokens of both requests";
const MODE: &str = "2.1.61 already reports a change of the permission mode, as 2.1.325 does";
const TASKS: &str = "2.1.61 already reports background tasks, but not everything that 2.1.325 does";
const FATE: &str = "reports about the fate of a message were added step by step between 2.1.9 and 2.1.325";
const CUT: &str = "whether the CLI counts the tokens of an attempt that was cut off is random";
const WRITES: &str = "1.0 says less about what a tool did to a file";

/// The table.
pub const DIFFERENCES: &[Difference] = &[
    // Every version.
    by_chance(
        "*-line",
        LAST,
        Rule::Rewrite("process 1 stderr: Error parsing *", "process 1 stderr: not JSON"),
        ENGINE,
    ),
    by_chance(
        "*-line",
        LAST,
        Rule::Rewrite("[-] notice \"ProcessEnded { code: Some(1), *", "[-] notice ended with 1"),
        ENGINE,
    ),
    always("prompt-too-long", Rule::Rewrite("turn 1 text *", "turn 1 text too long"), ESTIMATE),
    always("prompt-too-long", Rule::Rewrite("[1] text Complete *", "[1] text too long"), ESTIMATE),
    by_chance("cut-stream*", LAST, Rule::Omit("*cost *"), CUT),
    by_chance("cut-stream*", LAST, Rule::Omit("turn * tokens *"), CUT),
    by_chance("cut-stream*", LAST, Rule::Omit("  claude-* in, * out, *"), CUT),
    // Older versions.
    between(
        "terminate-signal",
        (FIRST, V2_1_324),
        Rule::Omit("processes were left behind"),
        "before 2.1.325 SIGTERM leaves a running tool alive; the simulated CLI always ends its own",
    ),
    by_chance(
        "*-parallel",
        V2_1_9,
        Rule::Omit("*output *"),
        "older versions sometimes lose the output of a quick command",
    ),
    by_chance(
        "resume-interrupted",
        V2_1_324,
        Rule::Omit("processes were left behind"),
        "before 2.1.325 the CLI may end before it has ended the tool that was interrupted",
    ),
    by_chance("cut-stream-partial", LAST, Rule::Omit("[1] text Complete \"one two three \""), SALVAGE),
    by_chance("cut-stream-partial", LAST, Rule::Omit("*cost *"), SALVAGE),
    by_chance("cut-stream-partial", LAST, Rule::Omit("turn 1 tokens *"), SALVAGE),
    by_chance("cut-stream-partial", LAST, Rule::Omit("  claude-sonnet-* in, * out, *"), SALVAGE),
    by_chance("max-turns", V2_1_9, Rule::Omit("*cost *"), SIDE_CALLS),
    by_chance("max-turns", V2_1_9, Rule::Omit("  claude-haiku-* in, * out, *"), SIDE_CALLS),
    by_chance("big-tool-result", V2_1_9, Rule::Omit("*cost *"), SIDE_CALLS),
    by_chance("big-tool-result", V2_1_9, Rule::Omit("  claude-haiku-* in, * out, *"), SIDE_CALLS),
    // Versions that are not imitated.
    other("*", Rule::Omit("*cost *"), COUNTS),
    other("*", Rule::Omit("*claude-* in, * out, *"), COUNTS),
    other("*", Rule::Omit("turn * tokens *"), COUNTS),
    other("*", Rule::Omit("turn * rounds *"), COUNTS),
    other("*", Rule::Omit("turn * ended by *"), "results say why a turn ended only since 2.1.197 or so"),
    other(
        "*",
        Rule::Omit("turn * stop reason *"),
        "results say why the model stopped only since 2.1.197 or so",
    ),
    other("*", Rule::Omit("turn * api error *"), "results give the HTTP status only since 2.1.325 or so"),
    other("*", Rule::Omit("*output *"), WORDS),
    other("*", Rule::Omit("*summary *"), WORDS),
    other("*", Rule::Omit("*detail *"), WORDS),
    other("*", Rule::Rewrite("[1] text Complete *ApiError {*", "[1] text of an error"), WORDS),
    other("*", Rule::Rewrite("[1] text Complete \"API Error: *", "[1] text of an error"), WORDS),
    other("*", Rule::Rewrite("turn 1 text \"API Error: *", "turn 1 text of an error"), WORDS),
    other("*", Rule::Rewrite("process 1 stderr: *", "process 1 stderr"), WORDS),
    other("*", Rule::Rewrite("request permission *", "request permission"), "suggestions grow in number"),
    other("*", Rule::Rewrite("[*] user Host *", "user"), FATE),
    other("*", Rule::Omit("[*] notice retry *"), "retries are reported only since 2.1.61 or so"),
    other("*", Rule::MoreRequests, "the number of attempts, and side calls at the start, differ"),
    other("coalesced", Rule::Skip, FATE),
    other("steered", Rule::Skip, FATE),
    other(
        "max-tokens",
        Rule::Skip,
        "whether the CLI continues by itself after a truncated reply changed several times",
    ),
    other("clear", Rule::Skip, "what /clear does without a terminal changed several times"),
    other(
        "wrong-input-shape",
        Rule::Rewrite("[-] notice \"ProcessEnded { code: Some(1), *", "[-] notice ended with 1"),
        WORDS,
    ),
    other(
        "compaction",
        Rule::Skip,
        "what /compact says, and whether one exchange is enough for it, changed several times",
    ),
    other(
        "interrupt-stream",
        Rule::Rewrite("[1] text *", "[1] text cut off"),
        "only some versions mark it as cut off",
    ),
    other("*", Rule::Rewrite("[1] text Complete \"Invalid API key*", "[1] text of an error"), WORDS),
    other(
        "cut-stream-partial",
        Rule::Omit("[1] text Aborted *"),
        "some versions keep what arrived before the cut",
    ),
    other("terminate-signal", Rule::Rewrite("[1] tool Bash *", "[1] tool Bash was running"), FATE),
    other("set-model", Rule::Omit("[-] notice \"CommandOutput*"), WORDS),
    other(
        "plan-refused",
        Rule::Rewrite("turn 1 denied *", "turn 1 denied"),
        "only some versions repeat the plan in the denial",
    ),
    other(
        "allowed-tools",
        Rule::Skip,
        "whether a rule for touch is enough inside the working directory changed several times",
    ),
    // Versions before 2.1.
    between("continue", (FIRST, V1), Rule::Omit("forked"), "1.0 gives a continued session a new id"),
    between(
        "resume-missing",
        (FIRST, BEFORE_2_1),
        Rule::Skip,
        "2.0 reports it on standard error and has no result",
    ),
    between("max-budget", (FIRST, V1), Rule::Skip, "1.0 has no --max-budget-usd"),
    between(
        "no-persistence",
        (FIRST, BEFORE_2_1),
        Rule::Skip,
        "2.0 reports it on standard error and has no result",
    ),
    between("question-*", (FIRST, V1), Rule::Skip, "1.0 has no AskUserQuestion"),
    between("plan-*", (FIRST, V1), Rule::Skip, "1.0 keeps no plan file"),
    between(
        "subagent*",
        (FIRST, V1),
        Rule::Skip,
        "1.0 writes fewer lines for sub-agents and has none in the background",
    ),
    between("background-bash", (FIRST, V1), Rule::Skip, "1.0 says less about commands in the background"),
    between("files", (FIRST, V1), Rule::Skip, WRITES),
    between("permission-always", (FIRST, V1), Rule::Skip, WRITES),
    between("set-permission-mode", (FIRST, V1), Rule::Skip, WRITES),
    between(
        "error-in-stream",
        (FIRST, BEFORE_2_1),
        Rule::Skip,
        "2.0 does not try again after an error in the stream",
    ),
    // Between the two that are imitated.
    between(
        "big-tool-result",
        (V2_1_10, V2_1_196),
        Rule::Omit("  command *"),
        "the structured form is there again",
    ),
    between("permission-always", (V2_1_10, V2_1_196), Rule::Omit("permission mode *"), MODE),
    between("plan-approved", (V2_1_10, V2_1_196), Rule::Omit("permission mode *"), MODE),
    between(
        "interrupt-before-later-turn",
        (V2_1_196, V2_1_324),
        Rule::Skip,
        "before 2.1.325 an interrupt is kept for a waiting message, even after the first turn",
    ),
    between("background-bash", (V2_1_10, V2_1_196), Rule::Skip, TASKS),
    between("subagent-background", (V2_1_10, V2_1_196), Rule::Skip, TASKS),
    between(
        "empty-line",
        (V2_1_10, V2_1_196),
        Rule::Skip,
        "2.1.61 already ignores an empty line, as 2.1.325 does",
    ),
    between(
        "unknown-input-type",
        (V2_1_10, V2_1_196),
        Rule::Skip,
        "2.1.61 already ignores it, as 2.1.325 does",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_difference_has_a_reason_and_some_version() {
        for difference in DIFFERENCES {
            assert!(difference.reason.len() > 10, "{difference:?}");
            if let Versions::Between(from, to) = difference.scope.versions {
                assert!(from <= to, "{difference:?}");
            }
        }
    }
}
