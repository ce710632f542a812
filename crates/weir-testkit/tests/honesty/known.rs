//! The differences that are known, each with its reason.

use crate::recording::Recording;

/// A difference between a recording and its replay.
#[derive(Debug)]
pub(crate) struct Difference {
    /// The version, or `*`.
    pub(crate) version: &'static str,
    /// The recording, or `*`.
    pub(crate) name: &'static str,
    /// What the differing lines begin with, on either side.
    pub(crate) lines: &'static str,
    /// Why it is so.
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
        reason: "the recording was cut off in the silence; the simulated CLI waits for a shorter time and says that it failed",
    },
    Difference {
        version: "2.1.9",
        name: "subagents-parallel",
        lines: "output",
        reason: "the recorded CLI lost the output of a command that ran beside sub-agents, which is chance",
    },
    Difference {
        version: "2.1.9",
        name: "big-tool-result",
        lines: "[1] unknown NotJson",
        reason: "at which byte the line is cut is chance",
    },
];

/// Says what differs and is not in the table, or is in the table and does not differ.
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
            unexplained.push(format!("not seen any more: {difference:?}"));
        }
    }
    if unexplained.is_empty() { Ok(()) } else { Err(unexplained.join("\n")) }
}
