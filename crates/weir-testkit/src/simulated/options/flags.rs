//! The flags: one table for parsing and for `--help`.

/// What follows a flag.
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
    /// Its spellings. The last one is the name by which the parser knows it.
    pub(super) names: &'static [&'static str],
    pub(super) takes: Takes,
    /// Whether 2.1.9 does not know it.
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

/// Every flag that the simulated CLI takes. Those that mean nothing to it are taken and left.
pub(super) const FLAGS: &[Flag] = &[
    flag(&["--add-dir"], Many("directories"), "More folders that tools may use"),
    flag(&["--agent"], One("agent"), "Taken and left: the agent of the session"),
    flag(&["--agents"], One("json"), "Taken and left: agents of one's own"),
    flag(
        &["--allow-dangerously-skip-permissions"],
        Nothing,
        "Lets the host switch permission checks off later",
    ),
    flag(&["--allowedTools", "--allowed-tools"], Many("tools"), "Tools that need no permission"),
    flag(&["--append-system-prompt"], One("prompt"), "Text after the system prompt"),
    flag(&["--append-system-prompt-file"], One("file"), "A file with text after the system prompt"),
    flag(&["--betas"], Many("betas"), "Taken and left"),
    flag(&["-c", "--continue"], Nothing, "Go on with the newest session of this folder"),
    flag(&["--dangerously-skip-permissions"], Nothing, "Ask for no permission; refused for root"),
    flag(&["-d", "--debug"], Optional("filter"), "Taken and left"),
    newer(&["--debug-file"], One("path"), "Taken and left"),
    flag(&["--disable-slash-commands"], Nothing, "Taken and left"),
    flag(&["--disallowedTools", "--disallowed-tools"], Many("tools"), "Tools that are refused"),
    newer(&["--effort"], One("level"), "Taken and left"),
    flag(&["--fallback-model"], One("model"), "Taken and left"),
    flag(&["--fork-session"], Nothing, "With --resume or --continue: a new session id"),
    newer(&["--forward-subagent-text"], Nothing, "Write the text of sub-agents too"),
    flag(&["-h", "--help"], Nothing, "Write this and end"),
    flag(&["--ide"], Nothing, "Taken and left"),
    newer(&["--include-hook-events"], Nothing, "Write a line when a hook starts and ends"),
    flag(&["--include-partial-messages"], Nothing, "Write messages in pieces as they come"),
    flag(&["--input-format"], One("format"), "text or stream-json"),
    flag(&["--json-schema"], One("schema"), "Taken and left"),
    flag(&["--max-budget-usd"], One("amount"), "Stop when this much is spent"),
    flag(&["--max-turns"], One("turns"), "Stop after so many rounds"),
    flag(&["--mcp-config"], Many("configs"), "Named in init as servers that failed"),
    flag(&["--mcp-debug"], Nothing, "Taken and left"),
    flag(&["--model"], One("model"), "The model: a name or one of opus, sonnet, haiku"),
    newer(&["-n", "--name"], One("name"), "Taken and left"),
    flag(&["--no-session-persistence"], Nothing, "Save nothing"),
    flag(&["--output-format"], One("format"), "text, json or stream-json"),
    flag(&["--permission-mode"], One("mode"), "How permissions are decided"),
    flag(&["--permission-prompt-tool"], One("tool"), "stdio: the host answers permission requests"),
    flag(&["--plugin-dir"], Many("paths"), "Taken and left"),
    flag(&["-p", "--print"], Nothing, "Answer and end; the only mode of the simulated CLI"),
    flag(&["--replay-user-messages"], Nothing, "Write user messages back"),
    flag(&["-r", "--resume"], Optional("value"), "Go on with this session"),
    flag(&["--resume-session-at"], One("uuid"), "With --resume: the last line that counts"),
    flag(&["--session-id"], One("uuid"), "The id of the new session"),
    flag(&["--setting-sources"], One("sources"), "Taken and left"),
    flag(&["--settings"], One("file-or-json"), "Settings; only their hooks count"),
    flag(&["--strict-mcp-config"], Nothing, "Taken and left"),
    flag(&["--system-prompt"], One("prompt"), "The system prompt"),
    flag(&["--system-prompt-file"], One("file"), "A file with the system prompt"),
    flag(&["--tools"], Many("tools"), "The tools that are there at all"),
    flag(&["--verbose"], Nothing, "Needed for --output-format stream-json"),
    flag(&["-v", "--version"], Nothing, "Write the version and end"),
];

impl Flag {
    /// The name by which the parser knows it.
    pub(super) fn name(&self) -> &'static str {
        self.names.last().copied().unwrap_or_default()
    }

    /// How it is shown in help and in errors, such as `--model <model>`.
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
