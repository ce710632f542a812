//! Prevents the CLI from acting on the contents of a text.
//!
//! The CLI interprets user messages: `@path` makes it read a file and send it to the model, and a text that
//! begins with `/` runs a command. Since 2.1.248 the member `client_composed` switches both off. Older versions
//! ignore that member, so for them the text itself is escaped.

use std::borrow::Cow;

/// What the CLI may do with the text of a message, apart from giving it to the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum TextHandling {
    /// Nothing, whatever the version: the line carries the mark for newer versions, and `@` and a leading `/` are
    /// escaped with a backslash for older ones.
    #[default]
    Escaped,
    /// Nothing, on a version that is known to honour the mark: the text reaches the model as it is.
    Marked,
    /// Everything, as if a person had typed the text at the CLI's own prompt: `@path` reads files and `/name`
    /// runs commands. Only for a text whose author may do everything that the CLI may do.
    Interpreted,
}

impl TextHandling {
    /// Whether the line says that a program composed the text.
    pub(super) fn is_marked(self) -> bool {
        self != Self::Interpreted
    }

    /// The text as it is written to the CLI.
    pub(super) fn apply(self, text: &str) -> Cow<'_, str> {
        match self {
            Self::Escaped => escape(text),
            Self::Marked | Self::Interpreted => Cow::Borrowed(text),
        }
    }
}

/// A slash command with its arguments, as the text of a message that is sent with
/// [`TextHandling::Interpreted`]. The arguments cannot refer to files: an `@` is written as its full-width form
/// (U+FF20), as the CLI itself does with text that must not refer to files. A backslash would not survive,
/// because newer versions split arguments like a shell before they put them into the command's text. `None` if
/// the name could be anything but the name of a command.
pub fn slash_command(name: &str, arguments: &str) -> Option<String> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b':');
    if name.is_empty() || !name.bytes().all(is_plain) {
        return None;
    }
    let arguments = arguments.trim().replace('@', "\u{ff20}");
    Some(if arguments.is_empty() { format!("/{name}") } else { format!("/{name} {arguments}") })
}

fn escape(text: &str) -> Cow<'_, str> {
    let escaped = escape_mentions(text);
    // The tested versions expect the slash to be the first character. A version that trimmed the text first
    // would also find the backslash.
    match escaped.char_indices().find(|(_, character)| !is_invisible(*character)) {
        Some((slash, '/')) => {
            let (blank, rest) = escaped.split_at(slash);
            Cow::Owned(format!("{blank}\\{rest}"))
        }
        _ => escaped,
    }
}

/// Whitespace in the widest sense: whatever a version might skip before it looks for the slash.
fn is_invisible(character: char) -> bool {
    character.is_whitespace()
        || character.is_control()
        || matches!(character, '\u{ad}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202f}')
        || matches!(character, '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// Whether the CLI could take a part of this text for a reference to a file, if it interprets the text.
pub fn refers_to_file(text: &str) -> bool {
    mentions(text).next().is_some()
}

/// Where the CLI could see the start of a file name. All observed versions do so at the start of a text and after
/// whitespace. This function finds every `@` after anything but a letter, a digit or an underscore, so that addresses
/// such as `ann@example.org` stay as they are and nothing depends on what a version counts as whitespace.
fn mentions(text: &str) -> impl Iterator<Item = usize> {
    let is_mention = |at: usize| {
        let before = text.get(..at).and_then(|before| before.chars().next_back());
        before.is_none_or(|before| !before.is_alphanumeric() && before != '_')
    };
    text.match_indices('@').map(|(at, _)| at).filter(move |at| is_mention(*at))
}

/// Puts a backslash before every `@` that could start a file name.
fn escape_mentions(text: &str) -> Cow<'_, str> {
    let mut escaped = String::new();
    let mut copied = 0;
    for at in mentions(text) {
        escaped.push_str(text.get(copied..at).unwrap_or_default());
        escaped.push('\\');
        copied = at;
    }
    if copied == 0 && escaped.is_empty() {
        return Cow::Borrowed(text);
    }
    escaped.push_str(text.get(copied..).unwrap_or_default());
    Cow::Owned(escaped)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_escaped_text_names_no_file() {
        for (text, written) in [
            ("@/etc/passwd", "\\@/etc/passwd"),
            ("see @../x and @\"a b\"", "see \\@../x and \\@\"a b\""),
            ("a\n@~/x", "a\n\\@~/x"),
            ("a\u{a0}@x\u{feff}@y", "a\u{a0}\\@x\u{feff}\\@y"),
            ("@@x", "\\@\\@x"),
            ("ann@example.org", "ann@example.org"),
            ("nothing to see", "nothing to see"),
        ] {
            assert_eq!(TextHandling::Escaped.apply(text), written, "{text:?}");
            assert_eq!(TextHandling::Marked.apply(text), text);
            assert_eq!(TextHandling::Interpreted.apply(text), text);
        }
    }

    #[test]
    fn an_escaped_text_runs_no_command() {
        assert_eq!(TextHandling::Escaped.apply("/clear"), "\\/clear");
        assert_eq!(TextHandling::Escaped.apply(" \n/clear"), " \n\\/clear");
        assert_eq!(TextHandling::Escaped.apply("\u{feff}\u{2060}/clear"), "\u{feff}\u{2060}\\/clear");
        assert_eq!(TextHandling::Escaped.apply("a /clear"), "a /clear");
    }

    #[test]
    fn a_command_has_a_plain_name_and_harmless_arguments() {
        assert_eq!(slash_command("compact", " keep the tests ").unwrap(), "/compact keep the tests");
        assert_eq!(slash_command("review", "@/etc/passwd").unwrap(), "/review \u{ff20}/etc/passwd");
        assert_eq!(slash_command("x", "$9@/etc/passwd").unwrap(), "/x $9\u{ff20}/etc/passwd");
        assert_eq!(slash_command("plugin:do-it", "").unwrap(), "/plugin:do-it");
        for name in ["", "a b", "../x", "x\ny", "é", "@x"] {
            assert_eq!(slash_command(name, ""), None, "{name:?}");
        }
    }

    proptest! {
        /// Checks what the versions look for, with the widest definition of whitespace.
        #[test]
        fn no_escaped_text_is_acted_upon(text in "[@/ a\\n\\t\u{a0}\u{2028}\u{feff}\u{200b}\"'~.(\\\\]{0,24}") {
            let escaped = TextHandling::Escaped.apply(&text).into_owned();
            let trimmed = escaped.trim_start_matches(is_invisible);
            prop_assert!(!trimmed.starts_with('/'), "{escaped:?}");
            let mut before = ' ';
            for character in escaped.chars() {
                prop_assert!(character != '@' || before.is_alphanumeric() || matches!(before, '_' | '\\'), "{escaped:?}");
                before = character;
            }
            prop_assert_eq!(escaped.replace('\\', ""), text.replace('\\', ""));
        }
    }
}
