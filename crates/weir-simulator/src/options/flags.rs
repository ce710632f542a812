//! The flags: one table for parsing and for `--help`.

/// The values that follow a flag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Takes {
    Nothing,
    One(&'static str),
    Optional(&'static str),
    Many(&'static str),
}

/// A flag.
#[derive(Debug, Clone, Copy)]
pub(super) struct Flag {
    /// Its spellings. The last one is the name used by the parser.
    pub(super) names: &'static [&'static str],
    pub(super) takes: Takes,
    /// Whether 2.1.9 does not have it.
    pub(super) newer: bool,
    pub(super) about: &'static str,
}

const fn flag(names: &'static [&'static str], takes: Takes, about: &'static str) -> Flag {
    Flag { names, takes, newer: false, about }
}

const fn newer(names: &'static [&'static str], takes: Takes, about: &'static str) -> Flag {
    Flag { names, takes, newer: true, about }
}

use Takes::{Many, Nothing, One, Optional};

/// Every flag that the simulated CLI accepts. Those without a meaning here are accepted and ignored.
pub(super) const FLAGS: &[Flag] = &[
    flag(&["--add-dir"], Many("directories"), "Additional folders that tools may use"),
    flag(&["--agent"], One("agent"), "Ignored: the agent of the session"),
    flag(&["--agents"], One("json"), "Ignored: custom agents"),
    flag(
        &["--allow-dangerously-skip-permissions"],
        Nothing,
        "Lets the host switch off permission checks later",
    ),
    flag(&["--allowedTools", "--allowed-tools"], Many("tools"), "Tools that need no permission"),
    flag(&["--append-system-prompt"], One("prompt"), "Text after the system prompt"),
    flag(&["--append-system-prompt-file"], One("file"), "A file with text after the system prompt"),
    newer(&["--await-claim"], Nothing, "Wait for a session that takes this process"),
    flag(&["--betas"], Many("betas"), "Ignored"),
    flag(&["-c", "--continue"], Nothing, "Continue the newest session of this folder"),
    flag(&["--dangerously-skip-permissions"], Nothing, "Skip all permission checks; refused for root"),
    flag(&["-d", "--debug"], Optional("filter"), "Ignored"),
    newer(&["--debug-file"], One("path"), "Ignored"),
    flag(&["--disable-slash-commands"], Nothing, "Ignored"),
    flag(&["--disallowedTools", "--disallowed-tools"], Many("tools"), "Tools that are refused"),
    newer(&["--effort"], One("level"), "Ignored"),
    newer(&["--exclude-dynamic-system-prompt-sections"], Nothing, "Ignored"),
    flag(&["--fallback-model"], One("model"), "Ignored"),
    flag(&["--fork-session"], Nothing, "With --resume or --continue: a new session id"),
    newer(&["--forward-subagent-text"], Nothing, "Write the text of sub-agents, too"),
    flag(&["-h", "--help"], Nothing, "Print this and exit"),
    flag(&["--ide"], Nothing, "Ignored"),
    newer(&["--include-hook-events"], Nothing, "Write a line when a hook starts and ends"),
    flag(&["--include-partial-messages"], Nothing, "Write messages in pieces as they arrive"),
    flag(&["--input-format"], One("format"), "text or stream-json"),
    flag(&["--json-schema"], One("schema"), "Ignored"),
    flag(&["--max-budget-usd"], One("amount"), "Stop when this much has been spent"),
    flag(&["--max-turns"], One("turns"), "Stop after this many rounds"),
    flag(&["--max-thinking-tokens"], One("tokens"), "Ignored"),
    flag(&["--mcp-config"], Many("configs"), "Listed in init as failed servers"),
    flag(&["--mcp-debug"], Nothing, "Ignored"),
    flag(&["--model"], One("model"), "The model: a name or one of opus, sonnet, haiku"),
    newer(&["-n", "--name"], One("name"), "Ignored"),
    flag(&["--no-session-persistence"], Nothing, "Save nothing"),
    flag(&["--output-format"], One("format"), "text, json or stream-json"),
    flag(&["--permission-mode"], One("mode"), "How permissions are decided"),
    flag(&["--permission-prompt-tool"], One("tool"), "stdio: the host answers permission requests"),
    flag(&["--plugin-dir"], Many("paths"), "Ignored"),
    flag(&["-p", "--print"], Nothing, "Answer and exit; the only mode of the simulated CLI"),
    newer(&["--prompt-suggestions"], Optional("value"), "Ignored"),
    flag(&["--replay-user-messages"], Nothing, "Echo user messages"),
    flag(&["-r", "--resume"], Optional("value"), "Resume this session"),
    flag(&["--resume-session-at"], One("uuid"), "With --resume: the last line that counts"),
    flag(&["--session-id"], One("uuid"), "The id of the new session"),
    flag(&["--setting-sources"], One("sources"), "Ignored"),
    flag(&["--settings"], One("file-or-json"), "Settings; only their hooks are used"),
    flag(&["--strict-mcp-config"], Nothing, "Ignored"),
    flag(&["--system-prompt"], One("prompt"), "The system prompt"),
    flag(&["--system-prompt-file"], One("file"), "A file with the system prompt"),
    newer(&["--system-prompt-snapshot"], One("on-or-off"), "Ignored"),
    newer(&["--task-budget"], One("tokens"), "Ignored"),
    newer(&["--thinking"], One("mode"), "Ignored"),
    flag(&["--tools"], Many("tools"), "The available tools"),
    flag(&["--verbose"], Nothing, "Required for --output-format stream-json"),
    flag(&["-v", "--version"], Nothing, "Print the version and exit"),
];

impl Flag {
    /// The name used by the parser.
    pub(super) fn name(&self) -> &'static str {
        self.names.last().copied().unwrap_or_default()
    }

    /// Its form in help and errors, such as `--model <model>`.
    pub(super) fn shown(&self) -> String {
        let names = self.names.join(", ");
        match self.takes {
            Nothing => names,
            One(what) => format!("{names} <{what}>"),
            Optional(what) => format!("{names} [{what}]"),
            Many(what) => format!("{names} <{what}...>"),
        }
    }
}
