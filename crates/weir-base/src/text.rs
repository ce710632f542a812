//! Short forms of texts: one line, a beginning, an end.

use std::borrow::Cow;

/// The text on one line, with single spaces.
pub fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    line
}

/// The first `max` characters, followed by `…` if there are more.
pub fn shorten(text: &str, max: usize) -> Cow<'_, str> {
    match text.char_indices().nth(max) {
        Some((end, _)) => Cow::Owned(format!("{}…", text.get(..end).unwrap_or_default())),
        None => Cow::Borrowed(text),
    }
}

/// At most `max` characters, of which the last is `…` if there were more.
pub fn fit(text: &str, max: usize) -> Cow<'_, str> {
    if text.chars().nth(max).is_none() {
        return Cow::Borrowed(text);
    }
    let cut: String = text.chars().take(max.saturating_sub(1)).collect();
    Cow::Owned(format!("{}…", cut.trim_end()))
}

/// The beginning of a text: at most this many bytes.
pub fn head(text: &str, max_bytes: usize) -> &str {
    text.get(..text.floor_char_boundary(max_bytes)).unwrap_or(text)
}

/// The end of a text: at most this many bytes.
pub fn tail(text: &str, max_bytes: usize) -> &str {
    text.get(text.ceil_char_boundary(text.len().saturating_sub(max_bytes))..).unwrap_or(text)
}

/// `1 file`, `2 files`.
pub fn plural(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_between_characters() {
        assert_eq!(one_line(" a\n\tb  c "), "a b c");
        assert_eq!((&*shorten("äöü", 2), &*shorten("äöü", 3)), ("äö…", "äöü"));
        assert_eq!((&*fit("äöü", 2), &*fit("äöü", 3), &*fit("äöü", 0)), ("ä…", "äöü", "…"));
        assert_eq!((head("äöü", 3), head("ab", 9)), ("ä", "ab"));
        assert_eq!((tail("äöü", 3), tail("ab", 9)), ("ü", "ab"));
        assert_eq!((plural(1, "file"), plural(0, "file")), ("1 file".to_owned(), "0 files".to_owned()));
    }
}
