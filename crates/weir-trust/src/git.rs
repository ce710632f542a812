//! What a repository's own configuration makes git run. Pure.
//!
//! Older versions of the CLI run `git status` when they start, and git runs programs that the configuration names.

use crate::finding::{Finding, FindingKind};
use crate::settings::finding;

/// Whether git runs the value of this setting, or takes its configuration from there. `section` and `name` are in lower
/// case.
fn is_program(section: &str, name: &str) -> bool {
    match section {
        "core" => matches!(
            name,
            "fsmonitor"
                | "hookspath"
                | "sshcommand"
                | "pager"
                | "editor"
                | "gitproxy"
                | "askpass"
                | "worktree"
        ),
        "filter" => matches!(name, "clean" | "smudge" | "process"),
        "diff" => matches!(name, "external" | "textconv" | "command"),
        "include" | "includeif" => name == "path",
        "credential" => name == "helper",
        "gpg" | "gpg.ssh" => name == "program",
        "merge" => name == "driver",
        _ => false,
    }
}

/// The programs that a configuration file makes git run.
pub(crate) fn configuration(file: &str, text: &str) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut section = String::new();
    for line in text.lines() {
        let mut line = line.trim();
        if let Some(rest) = line.strip_prefix('[') {
            let (head, after) = rest.split_once(']').unwrap_or((rest, ""));
            section = head.split(['"', '.', ' ', '\t']).next().unwrap_or_default().to_ascii_lowercase();
            line = after.trim();
        }
        let (name, value) = line.split_once('=').unwrap_or((line, "true"));
        let name = name.trim().to_ascii_lowercase();
        let is_off = name == "fsmonitor" && matches!(value.trim(), "false" | "no" | "0" | "off");
        if is_program(&section, &name) && !is_off {
            found.push(finding(FindingKind::Git, file, format!("{section}.{name}: {}", value.trim())));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_found_in_any_notation() {
        let text = "[core]\n\tbare = false\n\tFsMonitor = ./evil\n[filter \"x\"] clean=./evil\n[diff.y]\ntextconv = e\n\
                    [include]\n path = ../evil\n[remote \"origin\"]\n url = x\n[core]\nfsmonitor = false\n";
        let found: Vec<String> = configuration("c", text).into_iter().map(|found| found.what).collect();
        assert_eq!(
            found,
            ["core.fsmonitor: ./evil", "filter.clean: ./evil", "diff.textconv: e", "include.path: ../evil"]
        );
    }
}
