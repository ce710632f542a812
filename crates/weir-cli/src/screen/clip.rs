//! Measures and clips coloured lines of a terminal.

use unicode_width::UnicodeWidthChar as _;

/// The number of columns of a line. Colours take none.
pub(crate) fn columns(line: &str) -> usize {
    let mut in_escape = false;
    line.chars().map(|letter| take(letter, &mut in_escape)).sum()
}

/// Clips a line to this many columns. Colours are reset at its end.
pub(crate) fn clip(line: &str, width: usize) -> String {
    if columns(line) <= width {
        return line.to_owned();
    }
    let (mut used, mut in_escape) = (0, false);
    let mut cut = String::with_capacity(line.len());
    for letter in line.chars() {
        let more = take(letter, &mut in_escape);
        // One column is reserved for the ellipsis.
        if used + more >= width {
            break;
        }
        used += more;
        cut.push(letter);
    }
    let end = if line.contains('\x1b') { "\x1b[0m" } else { "" };
    cut + if width > 0 { "…" } else { "" } + end
}

/// The columns of a character; those of an escape sequence take none.
fn take(letter: char, in_escape: &mut bool) -> usize {
    if *in_escape {
        *in_escape = !letter.is_ascii_alphabetic();
        return 0;
    }
    *in_escape = letter == '\x1b';
    letter.width().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_take_no_room_and_wide_letters_take_two() {
        assert_eq!((columns("\x1b[32mab\x1b[0m"), columns("漢字"), columns("")), (2, 4, 0));
        assert_eq!(clip("\x1b[32mabc\x1b[0m", 3), "\x1b[32mabc\x1b[0m");
        assert_eq!(clip("\x1b[32mabcd\x1b[0m", 3), "\x1b[32mab…\x1b[0m");
        assert_eq!((clip("漢字漢字", 5), clip("abc", 0)), ("漢字…".into(), String::new()));
    }
}
