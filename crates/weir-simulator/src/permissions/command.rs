//! Shell commands: which ones only read, which ones change files, and what the user is asked about the others.

use std::path::Path;

use super::{Decision, Facts, Question, add_rules, is_inside, resolve};
use crate::json::{Json, without_surrogates};
use crate::profile::Profile;
use crate::{array, object};

/// Commands that change nothing, whatever their arguments.
const READING: &[&str] = &[
    "basename", "cal", "cat", "cd", "comm", "cut", "date", "diff", "dirname", "du", "echo", "expr", "false",
    "file", "grep", "head", "id", "ls", "nl", "od", "pwd", "readlink", "realpath", "rev", "sleep", "stat",
    "strings", "tail", "test", "tr", "true", "uname", "uniq", "uptime", "wc", "which", "whoami",
];

/// Commands that change nothing, but are unknown to the older version.
const NEWER_READING: &[&str] = &["seq"];

/// Git commands that change nothing.
const GIT_READING: &[&str] = &["blame", "diff", "log", "ls-files", "rev-parse", "shortlog", "show", "status"];

/// Commands on files, allowed when edits are accepted.
const EDITING: &[&str] = &["cp", "mkdir", "mv", "rm", "rmdir", "sed", "touch"];

/// Redirections that write no file.
const HARMLESS: &[&str] =
    &["2>&1", ">&2", "1>&2", "2>/dev/null", ">/dev/null", "> /dev/null", "2> /dev/null", "</dev/null"];

/// What a command would change.
enum Change {
    /// A file, by this command.
    File { by: String, path: String },
    /// A file, by a redirection.
    Redirection { path: String },
}

/// Decides about a command that no rule covers.
pub(super) fn decide(command: &str, facts: Facts<'_>) -> Decision {
    let old = facts.profile.is_old();
    if !old && without_surrogates(command) != command {
        return Decision::Ask(Question {
            suggestions: Some(array![]),
            reason: Some("Contains lone surrogate"),
            reason_type: Some("other"),
            unanswered: "This command requires approval".to_owned(),
            ..Question::default()
        });
    }
    let commands = parts(command);
    if only_reads(command, facts.profile) {
        return match outside(&commands, facts) {
            Some(path) => blocked_reading(&commands, path, facts),
            None => Decision::Allow(Some("subcommandResults")),
        };
    }
    let unknown: Vec<&String> =
        commands.iter().filter(|part| !reads(part, facts.profile) && !edits_files(part)).collect();
    match change(command, facts.cwd) {
        Some(change) if unknown.is_empty() && !expands(command) => {
            ask_about_change(command, &commands, &change, facts)
        }
        _ => ask_about_command(&commands, facts),
    }
}

fn blocked_reading(commands: &[String], path: String, facts: Facts<'_>) -> Decision {
    let verb = commands.first().and_then(|part| part.split_whitespace().next()).unwrap_or_default();
    let cwd = facts.cwd.display();
    let unanswered = format!(
        "{verb} in '{path}' was blocked. For security, Claude Code may only list files in the allowed working directories for this session: '{cwd}'."
    );
    Decision::Ask(Question {
        suggestions: Some(array![]),
        blocked_path: Some(path),
        unanswered,
        ..Question::default()
    })
}

/// Asks about a command that changes a file, unless edits are accepted.
fn ask_about_change(command: &str, commands: &[String], change: &Change, facts: Facts<'_>) -> Decision {
    let (Change::File { path, .. } | Change::Redirection { path }) = change;
    let inside = is_inside(Path::new(path), facts);
    if facts.mode == "acceptEdits" && inside {
        return Decision::Allow(Some("mode"));
    }
    let folder = Path::new(path).parent().unwrap_or(facts.cwd).display().to_string();
    let mut suggestions = Vec::new();
    if !facts.profile.is_old() {
        let rule = match change {
            Change::File { .. } => command.to_owned(),
            Change::Redirection { .. } => format!("{} *", first_words(commands.first())),
        };
        suggestions.extend(add_rules("Bash", vec![rule]).items().to_vec());
    }
    suggestions.push(
        object! { "type" => "addDirectories", "directories" => array![folder], "destination" => "session" },
    );
    if matches!(change, Change::File { .. }) {
        suggestions
            .push(object! { "type" => "setMode", "mode" => "acceptEdits", "destination" => "session" });
    }
    Decision::Ask(Question {
        suggestions: Some(Json::Array(suggestions)),
        blocked_path: Some(path.clone()),
        reason_type: (facts.mode == "plan" && !facts.profile.is_old()).then_some("mode"),
        unanswered: change_text(change, inside, facts),
        ..Question::default()
    })
}

/// What the model is told if the user cannot be asked about a change.
fn change_text(change: &Change, inside: bool, facts: Facts<'_>) -> String {
    let cwd = facts.cwd.display();
    let (what, may) = match change {
        Change::File { by, path } => {
            let may = if matches!(by.as_str(), "rm" | "rmdir") {
                "remove files from"
            } else {
                "create or modify files in"
            };
            (format!("{by} in '{path}'"), may)
        }
        Change::Redirection { path } => (format!("Output redirection to '{path}'"), "write to files in"),
    };
    match (facts.profile.is_old(), inside) {
        (true, _) => format!(
            "{what} was blocked. For security, Claude Code may only {may} the allowed working directories for this session: '{cwd}'."
        ),
        (false, true) => format!(
            "{what} needs approval. The path is inside the working directories for this session ('{cwd}'), and Claude Code asks before a shell command creates, changes or removes files there."
        ),
        (false, false) => format!(
            "{what} needs approval. The path is outside the working directories for this session ('{cwd}'). Allowing runs the command as written."
        ),
    }
}

/// Asks about an unknown command.
fn ask_about_command(commands: &[String], facts: Facts<'_>) -> Decision {
    let old = facts.profile.is_old();
    let asked: Vec<&String> = commands.iter().filter(|part| !reads(part, facts.profile)).collect();
    let rules =
        asked.iter().map(|part| if old { (*part).clone() } else { format!("{} *", first_words(Some(part))) });
    let single = commands.len() <= 1;
    let unanswered = if single || old {
        "This command requires approval".to_owned()
    } else {
        let parts: Vec<&str> = asked.iter().map(|part| part.as_str()).collect();
        format!(
            "This Bash command contains multiple operations. The following parts require approval: {}",
            parts.join(", ")
        )
    };
    let reason_type = match (old, facts.mode, single) {
        (true, ..) => None,
        (_, "plan", _) => Some("mode"),
        (.., true) => Some("other"),
        (.., false) => Some("subcommandResults"),
    };
    Decision::Ask(Question {
        suggestions: Some(add_rules("Bash", rules.collect())),
        reason: single.then_some("This command requires approval"),
        reason_type,
        unanswered,
        ..Question::default()
    })
}

fn first_words(part: Option<&String>) -> String {
    part.map(|part| part.split_whitespace().take(2).collect::<Vec<_>>().join(" ")).unwrap_or_default()
}

/// Whether a command changes nothing.
pub(crate) fn only_reads(command: &str, profile: &Profile) -> bool {
    let commands = parts(command);
    redirection(command).is_none()
        && !expands(command)
        && !commands.is_empty()
        && commands.iter().all(|part| reads(part, profile))
}

/// How often the older version asks a small model about a command: once for each part, and once for all parts
/// together, unless it knows the command.
pub(crate) fn unknown_parts(command: &str, profile: &Profile) -> usize {
    let commands = parts(command);
    if commands.iter().all(|part| reads(part, profile) || edits_files(part)) {
        return 0;
    }
    if commands.len() > 1 { commands.len() + 1 } else { 1 }
}

/// Whether a command changes files by nature, which the older version never allows by a prefix.
pub(super) fn changes_files(command: &str) -> bool {
    parts(command).iter().any(|part| edits_files(part))
}

fn reads(part: &str, profile: &Profile) -> bool {
    let mut words = part.split_whitespace();
    match (words.next(), words.next()) {
        (Some("git"), Some(what)) => GIT_READING.contains(&what),
        (Some(word), _) => READING.contains(&word) || !profile.is_old() && NEWER_READING.contains(&word),
        _ => false,
    }
}

fn edits_files(part: &str) -> bool {
    part.split_whitespace().next().is_some_and(|word| EDITING.contains(&word))
}

/// The first file that a command would change.
fn change(command: &str, cwd: &Path) -> Option<Change> {
    let edited = parts(command).into_iter().find(|part| edits_files(part)).and_then(|part| {
        let mut words = part.split_whitespace();
        let by = words.next()?.to_owned();
        let path = words.find(|word| !word.starts_with('-'))?;
        Some(Change::File { by, path: resolve(cwd, path).display().to_string() })
    });
    edited.or_else(|| {
        let path = redirection(command)?;
        Some(Change::Redirection { path: resolve(cwd, &path).display().to_string() })
    })
}

/// The first absolute path in the words that is not in an allowed folder. Arguments of `echo` are not paths.
fn outside(commands: &[String], facts: Facts<'_>) -> Option<String> {
    let named = commands.iter().filter(|part| !part.starts_with("echo "));
    let mut words = named.flat_map(|part| part.split_whitespace().skip(1));
    let path = words.find(|word| {
        word.starts_with('/') && *word != "/dev/null" && !is_inside(&resolve(facts.cwd, word), facts)
    });
    path.map(str::to_owned)
}

/// The commands in a line, split at `;`, `&`, `|` and line breaks outside quotes, without redirections that write no
/// file.
pub(super) fn parts(command: &str) -> Vec<String> {
    let command = without_harmless(command);
    let (mut parts, mut part, mut quote) = (Vec::new(), String::new(), None);
    for letter in command.chars() {
        match (quote, letter) {
            (None, '\'' | '"') => quote = Some(letter),
            (Some(open), _) if open == letter => quote = None,
            (None, ';' | '&' | '|' | '\n') => {
                parts.push(std::mem::take(&mut part));
                continue;
            }
            _ => {}
        }
        part.push(letter);
    }
    parts.push(part);
    parts.iter().map(|part| part.trim().to_owned()).filter(|part| !part.is_empty()).collect()
}

fn without_harmless(command: &str) -> String {
    HARMLESS.iter().fold(command.to_owned(), |command, redirection| command.replace(redirection, ""))
}

/// The file that a redirection writes or reads.
fn redirection(command: &str) -> Option<String> {
    let command = without_harmless(command);
    let mut quote = None;
    for (place, letter) in command.char_indices() {
        match (quote, letter) {
            (None, '\'' | '"') => quote = Some(letter),
            (Some(open), _) if open == letter => quote = None,
            (None, '>' | '<') => {
                let rest = command.get(place..).unwrap_or_default().trim_start_matches(['>', '<', '&', ' ']);
                return Some(rest.split_whitespace().next().unwrap_or_default().to_owned());
            }
            _ => {}
        }
    }
    None
}

/// Whether a command runs another one inside.
fn expands(command: &str) -> bool {
    let (mut quote, mut before) = (None, ' ');
    for letter in command.chars() {
        match (quote, letter) {
            (None, '\'' | '"') => quote = Some(letter),
            (Some(open), _) if open == letter => quote = None,
            (None | Some('"'), '`') => return true,
            (None | Some('"'), '(') if before == '$' => return true,
            _ => {}
        }
        before = letter;
    }
    false
}
