//! What a repository's own configuration makes git run. Pure.
//!
//! The CLI runs `git status` and similar commands without asking, older versions even at startup, and git runs
//! programs named in the configuration.

use crate::finding::{Finding, FindingKind};
use crate::git_config::{Entry, entries};
use crate::settings::finding;

/// Whether git runs the value of this setting, or loads configuration or programs from it.
fn is_program(entry: &Entry) -> bool {
    let (section, name) = (entry.section.as_str(), entry.name.as_str());
    let is_known = match section {
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
        "diff" => matches!(name, "external" | "textconv"),
        "include" | "includeif" => name == "path",
        "merge" => name == "driver",
        "remote" => matches!(name, "uploadpack" | "receivepack" | "vcs") || entry.value.contains("::"),
        "url" => entry.subsection.contains("::"),
        "lfs" => matches!(name, "path" | "clean" | "smudge" | "standalonetransferagent"),
        "protocol" => name == "allow",
        "pager" | "hook" => true,
        _ => false,
    };
    // Names that git and related tools use for commands, in any section.
    let ends = ["cmd", "command", "editor", "filter", "helper", "hook", "pager", "program", "prog", "tunnel"];
    is_known
        || ends.iter().any(|end| name.ends_with(end)) && section != "branch"
        || entry.value.starts_with('!')
}

/// Whether Weir prevents git from running this through environment variables.
fn is_switched_off(entry: &Entry) -> bool {
    entry.section == "core" && matches!(entry.name.as_str(), "fsmonitor" | "hookspath")
}

/// The programs that a configuration file makes git run.
pub(crate) fn configuration(file: &str, text: &[u8]) -> Vec<Finding> {
    let (entries, is_whole) = entries(text);
    let mut found = Vec::new();
    for entry in entries.iter().filter(|entry| is_program(entry)) {
        let is_false = matches!(entry.value.to_ascii_lowercase().as_str(), "false" | "no" | "0" | "off" | "");
        if is_false && entry.name != "path" {
            continue;
        }
        let kind = if is_switched_off(entry) { FindingKind::GitHook } else { FindingKind::Git };
        let Entry { section, name, value, .. } = entry;
        found.push(finding(kind, file, &format!("{section}.{name}: {value}")));
    }
    if !is_whole {
        found.push(finding(FindingKind::Git, file, "not a valid configuration"));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn programs(text: &[u8]) -> Vec<String> {
        configuration("c", text).into_iter().map(|found| found.what).collect()
    }

    #[test]
    fn programs_are_found_in_any_notation() {
        let text = "[core]\n\tbare = false\n\tFsMonitor = ./evil\n[filter \"x\"] clean=./evil\n[diff.y]\ntextconv = e\n\
                    [include]\n path = ../evil\n[remote \"origin\"]\n url = x\n[core]\nfsmonitor = false\n";
        assert_eq!(
            programs(text.as_bytes()),
            ["core.fsmonitor: ./evil", "filter.clean: ./evil", "diff.textconv: e", "include.path: ../evil"]
        );
    }

    #[test]
    fn nothing_hides_a_program() {
        for text in [
            &b"\xef\xbb\xbf[core]\nsshcommand = evil\n"[..],
            b"[user]\nname = \xff\n[core]\nsshcommand = evil\n",
            b"[core]\n a = b \\\n[x]\n sshcommand = evil\n",
            b"[filter \"a]b\"] clean = evil\n",
            b"[filter \"a\\\"]\"] clean = evil\n",
            b"[core] ; [x]\n sshcommand = evil\n",
            b"[core]\n a = \"b ; c\\\n[x]\"\n sshcommand = evil\n",
            b"[core]\r\n\tsshCommand = evil\r\n",
            b"[gpg \"ssh\"]\ndefaultKeyCommand = evil\n",
            b"[remote \"o\"]\nuploadpack = evil\n",
            b"[remote \"o\"]\nurl = ext::evil\n",
            b"[alias]\nst = !evil\n",
            b"[core]\nsshcommand = evil\n[broken",
        ] {
            let found = configuration("c", text);
            let is_told =
                found.iter().any(|found| found.kind == FindingKind::Git && found.what.contains("evil"));
            assert!(is_told, "{}: {found:?}", String::from_utf8_lossy(text));
        }
    }

    #[test]
    fn common_settings_are_harmless() {
        let text = b"[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n\
            [remote \"origin\"]\n\turl = git@example.org:a/b.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n\
            [branch \"main\"]\n\tremote = origin\n\tmerge = refs/heads/main\n[user]\n\tname = Ann # of \"the\" mill\n\
            [lfs]\n\trepositoryformatversion = 0\n[submodule \"x\"]\n\tactive = true\n\turl = ../x\n[gc]\n\tauto = 0\n";
        assert_eq!(programs(text), Vec::<String>::new());
    }
}
