//! Makes invisible characters visible: what a person approves must be what they read.
//!
//! The page does the same in `web/src/lib/text/reveal.ts`; a shared fixture keeps both implementations equal.

use std::borrow::Cow;
use std::fmt::Write as _;

/// If more blank lines follow each other, their number is shown instead.
const MAX_BLANK_LINES: usize = 2;
/// If more spaces follow each other, after something else, their number is shown instead.
const MAX_SPACES: usize = 24;

/// Makes everything visible that could hide something or reorder the text around it: control characters,
/// bidirectional and zero-width characters, unusual spaces. Line feeds and tabs stay.
pub fn reveal(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for (at, letter) in text.char_indices() {
        let after = text.get(at + letter.len_utf8()..).unwrap_or_default();
        if !is_hidden(letter) || belongs_to_an_emoji(text.get(..at).unwrap_or_default(), letter, after) {
            shown.push(letter);
        } else if let Some(symbol) = symbol(letter) {
            shown.push(symbol);
        } else {
            // Writing to a string cannot fail.
            let _ = write!(shown, "⟨U+{:04X}⟩", u32::from(letter));
        }
    }
    Cow::Owned(shown)
}

/// A command with everything visible, and with long gaps replaced by their length, so that nothing is pushed
/// out of sight.
pub fn reveal_command(command: &str) -> String {
    let command = command.replace("\r\n", "\n");
    let shown = reveal(&command);
    let mut out = String::with_capacity(shown.len());
    let mut blank = 0;
    for line in shown.split('\n') {
        if line.trim().is_empty() {
            blank += 1;
            continue;
        }
        write_blank_lines(&mut out, blank);
        blank = 0;
        write_line(&mut out, line);
        out.push('\n');
    }
    // The line feed at the end does not start another line.
    write_blank_lines(&mut out, blank.saturating_sub(usize::from(shown.ends_with('\n'))));
    out.truncate(out.trim_end_matches('\n').len());
    out
}

fn write_blank_lines(out: &mut String, count: usize) {
    if count > MAX_BLANK_LINES {
        let _ = writeln!(out, "⟨{count} blank lines⟩");
    } else {
        out.extend(std::iter::repeat_n('\n', count));
    }
}

fn write_line(out: &mut String, line: &str) {
    let indent = line.len() - line.trim_start_matches(' ').len();
    let mut rest = line;
    if indent <= MAX_SPACES {
        let (head, tail) = line.split_at(indent);
        out.push_str(head);
        rest = tail;
    }
    while let Some(start) = rest.find(' ') {
        let (head, gap) = rest.split_at(start);
        let tail = gap.trim_start_matches(' ');
        let count = gap.len() - tail.len();
        out.push_str(head);
        if count > MAX_SPACES {
            let _ = write!(out, "⟨{count} spaces⟩");
        } else {
            out.extend(std::iter::repeat_n(' ', count));
        }
        rest = tail;
    }
    out.push_str(rest);
}

/// Whether a character is invisible or misleading.
fn is_hidden(letter: char) -> bool {
    match letter {
        '\n' | '\t' | ' ' => false,
        _ => letter.is_control() || letter.is_whitespace() || is_format(letter) || is_blank(letter),
    }
}

/// Format characters, variation selectors, tags, private-use characters and noncharacters.
fn is_format(letter: char) -> bool {
    matches!(letter,
        '\u{ad}' | '\u{34f}' | '\u{600}'..='\u{605}' | '\u{61c}' | '\u{6dd}' | '\u{70f}' | '\u{890}'..='\u{891}'
        | '\u{8e2}' | '\u{17b4}'..='\u{17b5}' | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{e000}'..='\u{f8ff}' | '\u{fe00}'..='\u{fe0f}'
        | '\u{feff}' | '\u{fff0}'..='\u{fffb}' | '\u{fffe}'..='\u{ffff}' | '\u{110bd}' | '\u{110cd}'
        | '\u{13430}'..='\u{1343f}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{10ffff}')
}

/// Letters that look like a space.
fn is_blank(letter: char) -> bool {
    matches!(letter, '\u{115f}' | '\u{1160}' | '\u{2800}' | '\u{3164}' | '\u{ffa0}')
}

/// Joiners and selectors inside an emoji belong to it.
fn belongs_to_an_emoji(before: &str, letter: char, after: &str) -> bool {
    let is_pictorial = |letter: char| {
        matches!(letter, '\u{2190}'..='\u{21ff}' | '\u{2300}'..='\u{23ff}' | '\u{2600}'..='\u{27bf}'
            | '\u{2b00}'..='\u{2bff}' | '\u{1f000}'..='\u{1faff}')
    };
    match letter {
        '\u{fe0f}' | '\u{fe0e}' => before.chars().next_back().is_some_and(is_pictorial),
        '\u{200d}' => {
            let last = before.chars().rev().find(|letter| !matches!(letter, '\u{fe0f}'));
            last.is_some_and(is_pictorial) && after.chars().next().is_some_and(is_pictorial)
        }
        _ => false,
    }
}

/// The visible symbol for a control character.
fn symbol(letter: char) -> Option<char> {
    match u32::from(letter) {
        code @ 0..0x20 => char::from_u32(0x2400 + code),
        0x7f => Some('\u{2421}'),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invisible_characters_are_revealed() {
        assert_eq!(reveal("rm \u{202e}fdp.x\u{202c} ok"), "rm ⟨U+202E⟩fdp.x⟨U+202C⟩ ok");
        assert_eq!(reveal("a\u{200b}b\u{feff}c\u{ad}d"), "a⟨U+200B⟩b⟨U+FEFF⟩c⟨U+00AD⟩d");
        assert_eq!(reveal("\u{1b}[2J\r\u{7f}\u{85}"), "␛[2J␍␡⟨U+0085⟩");
        assert_eq!(reveal("rm\u{a0}-rf\u{3000}/\u{2800}\u{3164}"), "rm⟨U+00A0⟩-rf⟨U+3000⟩/⟨U+2800⟩⟨U+3164⟩");
        assert_eq!(reveal("x\u{e0041}\u{fe01}\u{e000}"), "x⟨U+E0041⟩⟨U+FE01⟩⟨U+E000⟩");
        assert_eq!(reveal("a\u{2028}b"), "a⟨U+2028⟩b");
    }

    #[test]
    fn the_page_shows_the_same() {
        let cases = include_str!("../../../web/tests/reveal.json");
        let cases: Vec<(String, String, Option<String>)> = serde_json::from_str(cases).unwrap();
        for (text, shown, command) in cases {
            assert_eq!(reveal(&text), shown);
            if let Some(command) = command {
                assert_eq!(reveal_command(&text), command);
            }
        }
        let hidden = ('\0'..'\u{d7ff}').filter(|letter| is_hidden(*letter)).count();
        assert_eq!(hidden, 132, "the same number as in reveal.ts");
    }

    #[test]
    fn ordinary_text_is_unchanged() {
        let text = "plain\n\ttext ✓ 日本 שלום é ❤️ 👩‍🚀 🏳️‍🌈 → ✔️";
        assert_eq!(reveal(text), text);
        assert!(matches!(reveal("plain"), Cow::Borrowed(_)));
        // A joiner outside an emoji is not a part of one.
        assert_eq!(reveal("a\u{200d}b"), "a⟨U+200D⟩b");
    }

    #[test]
    fn long_gaps_are_replaced_by_their_length() {
        let command = format!("ls{}rm -rf x\n", "\n".repeat(30));
        assert_eq!(reveal_command(&command), "ls\n⟨29 blank lines⟩\nrm -rf x");
        let wide = format!("ls{}; rm -rf x", " ".repeat(200));
        assert_eq!(reveal_command(&wide), "ls⟨200 spaces⟩; rm -rf x");
        let indented = format!("{}x", " ".repeat(200));
        assert_eq!(reveal_command(&indented), "⟨200 spaces⟩x");
        assert_eq!(reveal_command("if a\n\n    then b\r\nfi"), "if a\n\n    then b\nfi");
        assert_eq!(reveal_command("over\rwritten"), "over␍written");
        assert_eq!(reveal_command(&format!("a{}", "\n \t".repeat(9))), "a\n⟨9 blank lines⟩");
    }
}
