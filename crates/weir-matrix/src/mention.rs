//! Detects mentions of the bot in a message and removes them.

use matrix_sdk::ruma::UserId;

/// The names of the bot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Names<'a> {
    pub(crate) id: &'a UserId,
    pub(crate) display_name: Option<&'a str>,
}

/// The text without the bot's name at the beginning, and whether the bot is named anywhere.
pub(crate) fn without_mention(text: &str, names: &Names<'_>) -> (String, bool) {
    let id = names.id.as_str();
    let localpart = format!("@{}", names.id.localpart());
    // The longest first, because a name may start with another one.
    let display = names.display_name.filter(|name| !name.trim().is_empty());
    let with_at = display.map(|name| format!("@{name}"));
    let begins = [Some(id), with_at.as_deref(), display, Some(localpart.as_str())];
    let trimmed = text.trim_start();
    for name in begins.into_iter().flatten() {
        let Some(rest) = strip_name(trimmed, name) else { continue };
        return (rest.trim_start_matches([':', ',', ' ', '\n']).to_owned(), true);
    }
    (text.to_owned(), text.contains(id))
}

/// The text after a name, or `None` if the text does not start with that name.
fn strip_name<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let mut rest = text.chars();
    for wanted in name.chars() {
        let found = rest.next()?;
        if !found.to_lowercase().eq(wanted.to_lowercase()) {
            return None;
        }
    }
    let rest = rest.as_str();
    rest.chars().next().is_none_or(|next| !next.is_alphanumeric() && !"_-.@".contains(next)).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::{Names, without_mention};
    use matrix_sdk::ruma::user_id;

    #[test]
    fn the_name_at_the_beginning_is_removed() {
        let names = Names { id: user_id!("@weir:example.org"), display_name: Some("Weir Bot") };
        let read = |text: &str| without_mention(text, &names);
        for text in [
            "@weir:example.org: do it",
            "Weir Bot, do it",
            "weir bot do it",
            "@Weir Bot: do it",
            "@weir do it",
        ] {
            assert_eq!(read(text), ("do it".to_owned(), true), "{text}");
        }
        for text in ["weir bottle", "@weirdo hello", "do it", "the Weir Bot"] {
            assert_eq!(read(text), (text.to_owned(), false), "{text}");
        }
        assert_eq!(read("ask @weir:example.org"), ("ask @weir:example.org".to_owned(), true));
        assert_eq!(read("Weir Bot"), (String::new(), true));
    }
}
