//! Makes text of models and tools safe for a terminal.
//!
//! Text from an agent must not move the cursor, change the title, or make one command look like another.

use std::borrow::Cow;

use weir_base::text;

/// The text without characters that control a terminal. Line feeds and tabs stay; a carriage return before a
/// line feed is dropped; others are replaced by visible symbols.
pub(crate) fn clean(text: &str) -> Cow<'_, str> {
    if !text.chars().any(|letter| !matches!(letter, '\n' | '\t') && is_control(letter)) {
        return Cow::Borrowed(text);
    }
    let mut cleaned = String::with_capacity(text.len());
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\n' | '\t' => cleaned.push(letter),
            '\r' if letters.peek() == Some(&'\n') => {}
            _ if is_control(letter) => cleaned.push(symbol(letter)),
            _ => cleaned.push(letter),
        }
    }
    Cow::Owned(cleaned)
}

/// The first line of the text, cleaned and cut to a maximum length.
pub(crate) fn one_line(text: &str, max_length: usize) -> String {
    let line = text.trim_start().lines().next().unwrap_or_default();
    text::fit(&clean(line).replace('\t', " "), max_length).into_owned()
}

/// Whether it is a control character, or changes the direction of the surrounding text.
fn is_control(letter: char) -> bool {
    letter.is_control() || matches!(letter, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn symbol(letter: char) -> char {
    let code = u32::from(letter);
    let symbol = match code {
        0..0x20 => char::from_u32(0x2400 + code),
        0x7f => Some('\u{2421}'),
        _ => None,
    };
    symbol.unwrap_or(char::REPLACEMENT_CHARACTER)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_become_visible() {
        assert_eq!(clean("\u{1b}[2J\u{7}rm\r\nx\ty\u{7f}"), "␛[2J␇rm\nx\ty␡");
        assert_eq!(clean("a\u{202e}b\u{9b}31m"), "a\u{fffd}b\u{fffd}31m");
        assert_eq!(clean("over\rwritten"), "over␍written");
        assert!(matches!(clean("plain\n\ttext ✓ 日本"), Cow::Borrowed(_)));
    }

    #[test]
    fn one_line_is_one_line() {
        assert_eq!(one_line("\n first\nsecond", 10), "first");
        assert_eq!(one_line("0123456789", 10), "0123456789");
        assert_eq!(one_line("0123456789x", 10), "012345678…");
        assert_eq!(one_line("", 10), "");
    }
}
