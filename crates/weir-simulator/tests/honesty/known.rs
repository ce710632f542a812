//! The known differences, each with its reason.

use crate::recording::Recording;

/// A difference between a recording and its replay.
#[derive(Debug)]
pub(crate) struct Difference {
    /// The version, or `*`.
    pub(crate) version: &'static str,
    /// The recording, or `*`.
    pub(crate) name: &'static str,
    /// The beginning of the differing lines, on either side.
    pub(crate) lines: &'static str,
    /// Why it exists.
    pub(crate) reason: &'static str,
}

/// The table.
pub(crate) const DIFFERENCES: &[Difference] = &[
    Difference {
        version: "2.1.325",
        name: "subagent-background",
        lines: "turn 2 text",
        reason: "when this was recorded, the last step of a script was played again; now a script is over",
    },
    Difference {
        version: "2.1.325",
        name: "subagent-background",
        lines: "[2] text Complete",
        reason: "when this was recorded, the last step of a script was played again; now a script is over",
    },
    Difference {
        version: "2.1.9",
        name: "coalesced",
        lines: "turn 3 text",
        reason: "when this was recorded, the last step of a script was played again; now a script is over",
    },
    Difference {
        version: "2.1.9",
        name: "coalesced",
        lines: "[3] text Complete",
        reason: "when this was recorded, the last step of a script was played again; now a script is over",
    },
    Difference {
        version: "2.1.9",
        name: "api-error-529",
        lines: "",
        reason: "the recording was cut off in the silence; the simulated CLI waits for a shorter time and reports a failure",
    },
    Difference {
        version: "2.1.9",
        name: "subagents-parallel",
        lines: "output",
        reason: "the recorded CLI lost the output of a command that ran at the same time as sub-agents, which is random",
    },
    Difference {
        version: "2.1.9",
        name: "big-tool-result",
        lines: "[1] unknown NotJson",
        reason: "the byte at which the line is cut is random",
    },
];

/// Reports what differs and is not in the table, or is in the table and does not differ.
pub(crate) fn judge(recording: &Recording, real: &[String], own: &[String]) -> Result<(), String> {
    let applies = |difference: &&Difference| {
        (difference.version == "*" || difference.version == recording.version)
            && (difference.name == "*" || difference.name == recording.name)
    };
    let table: Vec<&Difference> = DIFFERENCES.iter().filter(applies).collect();
    let known = |line: &str| table.iter().any(|difference| line.trim_start().starts_with(difference.lines));
    let diff = similar::TextDiff::from_slices(
        &real.iter().map(String::as_str).collect::<Vec<_>>(),
        &own.iter().map(String::as_str).collect::<Vec<_>>(),
    );
    let mut unexplained = Vec::new();
    let mut seen = vec![false; table.len()];
    for change in diff.iter_all_changes() {
        let mark = match change.tag() {
            similar::ChangeTag::Equal => continue,
            similar::ChangeTag::Delete => '-',
            similar::ChangeTag::Insert => '+',
        };
        let line = change.value();
        for (place, difference) in table.iter().enumerate() {
            seen[place] |= line.trim_start().starts_with(difference.lines);
        }
        if !known(line) {
            unexplained.push(format!("{mark} {line}"));
        }
    }
    for (difference, seen) in table.iter().zip(seen) {
        if !seen && difference.name != "*" {
            unexplained.push(format!("no longer occurs: {difference:?}"));
        }
    }
    if unexplained.is_empty() { Ok(()) } else { Err(unexplained.join("\n")) }
}
