//! Sanitises text: removes control characters, shortens, escapes and fences.

use std::borrow::Cow;

use weir_base::text;

/// Removes terminal sequences and control characters. If a line was overwritten with carriage returns, the last
/// version is kept.
pub(crate) fn plain(text: &str) -> Cow<'_, str> {
    let is_odd = |c: char| (c.is_control() && !matches!(c, '\n' | '\t')) || is_direction(c);
    if !text.contains(is_odd) {
        return Cow::Borrowed(text);
    }
    let mut clean = String::with_capacity(text.len());
    let mut line_start = 0;
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '\u{1b}' => skip_sequence(&mut rest),
            '\r' if rest.peek().is_some_and(|next| *next != '\n') => clean.truncate(line_start),
            '\n' => {
                clean.push('\n');
                line_start = clean.len();
            }
            c if is_odd(c) => {}
            c => clean.push(c),
        }
    }
    Cow::Owned(clean)
}

/// Characters that change the direction of what follows and so can make code look like other code.
fn is_direction(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn skip_sequence(rest: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    match rest.next() {
        Some('[') => while rest.next().is_some_and(|c| !matches!(c, '@'..='~')) {},
        Some(']' | 'P' | '_' | '^') => {
            // It ends with a bell, or with an escape and a backslash.
            while let Some(c) = rest.next() {
                if c == '\u{7}' || (c == '\u{1b}' && rest.next_if_eq(&'\\').is_some()) {
                    break;
                }
            }
        }
        _ => {}
    }
}

/// The text on one line.
pub(super) fn one_line(text: &str) -> String {
    text::one_line(&plain(text))
}

/// The text on one line, cut after `max` characters.
pub(super) fn short(text: &str, max: usize) -> String {
    text::shorten(&one_line(text), max).into_owned()
}

/// A code fence that nothing in the text can close.
pub(super) fn fence(text: &str) -> String {
    let mut longest = 0;
    let mut run = 0;
    for c in text.chars() {
        run = if c == '`' { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    "`".repeat((longest + 1).max(3))
}

#[cfg(test)]
mod tests {
    use weir_base::html::escape;

    use super::{fence, one_line, plain, short};

    #[test]
    fn terminal_sequences_are_removed() {
        assert_eq!(plain("a\u{1b}[1;31mred\u{1b}[0m b"), "ared b");
        assert_eq!(plain("\u{1b}]0;title\u{7}x\u{1b}]8;;http://a\u{1b}\\link"), "xlink");
        assert_eq!(plain("10%\r50%\r100%\r\ndone\u{8}\u{0}"), "100%\ndone");
        assert_eq!(plain("tab\tand\nline"), "tab\tand\nline");
        assert_eq!(plain("a\u{202e}b"), "ab");
        assert_eq!(plain("cut \u{1b}["), "cut ");
    }

    #[test]
    fn one_line_stays_one_line() {
        assert_eq!(one_line(" a\n b\t c "), "a b c");
        assert_eq!(short("äöü", 2), "äö…");
        assert_eq!(short("äö", 2), "äö");
    }

    #[test]
    fn markup_is_escaped() {
        assert_eq!(escape("<a href='x'>&\""), "&lt;a href='x'&gt;&amp;&quot;");
    }

    #[test]
    fn no_text_closes_its_fence() {
        assert_eq!(fence("plain"), "```");
        assert_eq!(fence("a ``` b ````` c"), "``````");
    }
}
