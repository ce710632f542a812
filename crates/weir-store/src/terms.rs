//! Turns what a person types into a query that SQLite cannot misread, and hit markers into ranges of a text.

use crate::query::Snippet;

/// Marks the start of a match. Never occurs in indexed text.
pub(crate) const MARK_START: char = '\u{2}';
/// Marks the end of a match.
pub(crate) const MARK_END: char = '\u{3}';

/// What to search for: each phrase is one word, or several that must follow each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Terms {
    pub(crate) phrases: Vec<String>,
    /// Whether the last word may be the beginning of a word.
    pub(crate) open_end: bool,
}

impl Terms {
    /// Parses what a person typed. Only white space and double quotes have a meaning.
    pub(crate) fn parse(text: &str) -> Self {
        let mut phrases = Vec::new();
        let mut open_end = false;
        for (place, part) in text.split('"').enumerate() {
            let quoted = place % 2 == 1;
            if quoted {
                push(&mut phrases, part);
            } else {
                part.split_whitespace().for_each(|word| push(&mut phrases, word));
            }
            if !part.trim().is_empty() {
                open_end = !quoted && is_beginning(part);
            }
        }
        Self { phrases, open_end }
    }

    /// The FTS5 expression: every phrase quoted, with no quotes inside, so nothing in it is an operator.
    pub(crate) fn expression(&self) -> Option<String> {
        let phrases: Vec<_> = self.phrases.iter().map(|phrase| format!("\"{phrase}\"")).collect();
        (!phrases.is_empty()).then(|| {
            let all = phrases.join(" ");
            if self.open_end { all + " *" } else { all }
        })
    }
}

/// Whether a text ends in something that may be the beginning of a word. A single ASCII letter does not count: half
/// of all words begin with it.
fn is_beginning(text: &str) -> bool {
    text.rsplit(|c: char| !c.is_alphanumeric()).next().is_some_and(|word| word.len() >= 2)
}

/// Splitting a phrase into words is left to the index, so that query and text are divided alike.
fn push(phrases: &mut Vec<String>, text: &str) {
    if text.contains(char::is_alphanumeric) {
        phrases.push(text.replace(char::is_control, " "));
    }
}

/// The words in a text, roughly as the index divides it.
pub(crate) fn words(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect()
}

/// Removes the markers from a text and records where they were.
pub(crate) fn unmark(marked: &str) -> Snippet {
    let mut snippet = Snippet::default();
    let mut start = None;
    for c in marked.chars() {
        match c {
            MARK_START => start = Some(snippet.text.len()),
            MARK_END => {
                if let Some(start) = start.take() {
                    snippet.marks.push(start..snippet.text.len());
                }
            }
            _ => snippet.text.push(c),
        }
    }
    snippet
}

#[cfg(test)]
mod tests {
    use super::{Terms, unmark};

    fn expression(text: &str) -> Option<String> {
        Terms::parse(text).expression()
    }

    #[test]
    fn words_are_quoted_and_the_last_may_be_a_prefix() {
        assert_eq!(expression("fix Parser").as_deref(), Some(r#""fix" "Parser" *"#));
        assert_eq!(expression("fix parser ").as_deref(), Some(r#""fix" "parser""#));
        assert_eq!(expression("fix p").as_deref(), Some(r#""fix" "p""#));
        assert_eq!(expression("語").as_deref(), Some(r#""語" *"#));
        assert_eq!(expression("foo_bar::baz").as_deref(), Some(r#""foo_bar::baz" *"#));
    }

    #[test]
    fn quoted_text_stays_a_phrase() {
        assert_eq!(expression(r#""to be" or"#).as_deref(), Some(r#""to be" "or" *"#));
        assert_eq!(expression(r#"x "to be""#).as_deref(), Some(r#""x" "to be""#));
        assert_eq!(expression(r#"x "to be"#).as_deref(), Some(r#""x" "to be""#));
    }

    #[test]
    fn operators_are_words_or_ignored() {
        assert_eq!(expression("a AND NOT b*").as_deref(), Some(r#""a" "AND" "NOT" "b*""#));
        assert_eq!(expression("text:x NEAR(y)").as_deref(), Some(r#""text:x" "NEAR(y)""#));
        for nothing in ["", "  ", "\"", "\"\"", "*", "^ - + ( ) :", "''"] {
            assert_eq!(expression(nothing), None, "{nothing}");
        }
    }

    #[test]
    fn marks_become_ranges() {
        let snippet = unmark("a \u{2}bé\u{3} c \u{2}d\u{3}");
        assert_eq!(snippet.text, "a bé c d");
        assert_eq!(snippet.marks, [2..5, 8..9]);
        assert_eq!(unmark("\u{3}x\u{2}").text, "x");
    }
}
