//! Parses commands that people type in a chat.
//!
//! This list is complete. The CLI's own commands do not work in a chat: other commands are refused as unknown, or
//! sent to the agent as plain text.

use super::records::Role;

/// A command: its name, usage, description, and the role that it needs.
struct Known {
    name: &'static str,
    usage: &'static str,
    does: &'static str,
    role: Role,
}

const fn known(name: &'static str, usage: &'static str, does: &'static str, role: Role) -> Known {
    Known { name, usage, does, role }
}

/// The commands that work in a chat, in the order of `/help`.
const COMMANDS: [Known; 8] = [
    known("new", "/new", "starts a new session", Role::User),
    known(
        "stop",
        "/stop",
        "stops the running turn and drops waiting messages, `/stop N` stops a background task",
        Role::User,
    ),
    known("status", "/status", "shows the state of this session", Role::User),
    known("model", "/model NAME", "changes the model (`/model` alone: back to the default)", Role::User),
    known("cost", "/cost", "shows what this session has cost", Role::User),
    known("resume", "/resume", "lists earlier sessions, `/resume N` returns to one", Role::User),
    known("cd", "/cd FOLDER", "starts a session in another folder (administrators)", Role::Admin),
    known("help", "/help", "shows this list", Role::User),
];
/// Commands that `/help` does not list: they are for people who are not paired yet.
const UNLISTED: [&str; 2] = ["pair", "start"];

/// A command with its argument.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Typed {
    pub(super) name: String,
    pub(super) argument: String,
}

/// Parses a command.
pub(super) fn command(text: &str) -> Option<Typed> {
    let text = text.trim();
    let rest = text.strip_prefix(['/', '!'])?;
    let (word, argument) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let name = without_bot(word).to_ascii_lowercase();
    let is_known = COMMANDS.iter().any(|known| known.name == name) || UNLISTED.contains(&name.as_str());
    is_known.then(|| Typed { name, argument: argument.trim().to_owned() })
}

/// The name of an unknown command. A path such as `/usr/bin/env` is not a command.
pub(super) fn unknown_command(text: &str) -> Option<&str> {
    let word = text.trim().strip_prefix('/')?.split(char::is_whitespace).next()?;
    let name = without_bot(word);
    (is_name(name) && command(text).is_none()).then_some(name)
}

/// Removes the first slash of `//name`, which sends a text that starts like a command.
pub(super) fn without_escape(text: &str) -> &str {
    let rest = text.trim_start().strip_prefix('/').filter(|rest| rest.starts_with('/'));
    let word = rest.and_then(|rest| rest.strip_prefix('/')?.split(char::is_whitespace).next());
    rest.filter(|_| word.is_some_and(is_name)).unwrap_or(text)
}

/// Removes the bot's name, which Telegram adds in groups.
fn without_bot(word: &str) -> &str {
    word.split('@').next().unwrap_or(word)
}

/// Whether this could be the name of a command.
fn is_name(word: &str) -> bool {
    let mut characters = word.chars();
    let begins = characters.next().is_some_and(char::is_alphabetic);
    begins && characters.all(|character| character.is_alphanumeric() || "_-:.".contains(character))
}

/// The code in `/pair CODE` or in Telegram's `/start CODE`.
pub(super) fn pairing_code(text: &str) -> Option<String> {
    let typed = command(text).filter(|typed| UNLISTED.contains(&typed.name.as_str()))?;
    let code: String = typed.argument.chars().filter(char::is_ascii_alphanumeric).collect();
    (!code.is_empty()).then(|| code.to_ascii_uppercase())
}

/// The commands that a person may use.
pub(super) fn help(role: Option<Role>) -> String {
    let allowed = COMMANDS.iter().filter(|known| role >= Some(known.role));
    let lines: Vec<String> = allowed.map(|known| format!("`{}` {}", known.usage, known.does)).collect();
    format!("{}\n\nEach also works with `!` instead of `/`.", lines.join("\n"))
}

/// The reply to an unknown command.
pub(super) fn no_such_command(name: &str, role: Option<Role>) -> String {
    let name: String = name.chars().take(40).collect();
    format!(
        "There is no command `/{name}` here, so nothing was done. Start with `//` to send it as text. Available commands:\n\n{}",
        help(role)
    )
}

/// Whether this can be the name of a model. Anything else must not reach a command line.
pub(super) fn is_model(name: &str) -> bool {
    let is_fine = |character: char| character.is_ascii_alphanumeric() || "._:/@[]-".contains(character);
    name.len() <= 100
        && name.starts_with(|first: char| first.is_ascii_alphanumeric())
        && name.chars().all(is_fine)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_have_a_slash_or_a_bang() {
        let typed = |name: &str, argument: &str| Some(Typed { name: name.into(), argument: argument.into() });
        assert_eq!(command(" /model@weir_bot  opus "), typed("model", "opus"));
        assert_eq!(command("!STOP"), typed("stop", ""));
        assert_eq!(command("/compact"), None);
        assert_eq!(command("new"), None);
    }

    #[test]
    fn unknown_commands_are_told_apart_from_text() {
        for (text, name) in [
            ("/config permissionMode=acceptEdits", Some("config")),
            (" /compact\nand more", Some("compact")),
            ("/mcp__server__prompt", Some("mcp__server__prompt")),
            ("/plugin:run@weir_bot x", Some("plugin:run")),
            ("/\u{fc}ber", Some("\u{fc}ber")),
            ("/usr/bin/foo fails", None),
            ("/etc/passwd", None),
            ("/ 2", None),
            ("/", None),
            ("//config", None),
            ("/* a comment */", None),
            ("/-x", None),
            ("!config", None),
            ("and/or", None),
            ("/new", None),
        ] {
            assert_eq!(unknown_command(text), name, "{text}");
        }
    }

    #[test]
    fn two_slashes_send_text() {
        assert_eq!(without_escape("//config x"), "/config x");
        assert_eq!(without_escape("// a comment"), "// a comment");
        assert_eq!(without_escape("//server/share"), "//server/share");
        assert_eq!(without_escape("hello"), "hello");
    }

    #[test]
    fn codes_are_read_however_they_are_typed() {
        assert_eq!(pairing_code("/pair abcd-efgh"), Some("ABCDEFGH".into()));
        assert_eq!(pairing_code("/start"), None);
        assert_eq!(pairing_code("hello"), None);
    }

    #[test]
    fn a_model_is_a_word_and_not_a_flag() {
        for name in ["opus", "claude-sonnet-4-5", "us.anthropic.claude:1", "opus[1m]"] {
            assert!(is_model(name), "{name}");
        }
        for name in ["--dangerously-skip-permissions", "-p", "", "a b", "a\nb", "$(x)", "\u{fc}"] {
            assert!(!is_model(name), "{name}");
        }
    }

    #[test]
    fn help_lists_only_allowed_commands() {
        assert!(!help(Some(Role::User)).contains("/cd") && help(Some(Role::Admin)).contains("/cd"));
    }
}
