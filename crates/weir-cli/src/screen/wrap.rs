//! Breaks lines between words while text streams. Pure.
//!
//! A word is held back until it is complete, because only then is it clear whether it fits. If no more text arrives for
//! now, its beginning is shown, and erased later if the rest does not fit. Escape sequences take no room. Verbatim text,
//! such as code, is not wrapped.

use unicode_width::UnicodeWidthChar as _;

/// Below this width lines are not broken: there would be one word per line.
const MIN_WIDTH: usize = 20;

/// Breaks lines between words.
#[derive(Debug, Default)]
pub(crate) struct Wrap {
    /// Available columns; `None` if lines are not broken.
    width: Option<usize>,
    /// Columns used on this line.
    column: usize,
    /// Spaces that were not printed yet; they are dropped if the line breaks there.
    spaces: usize,
    /// The incomplete word, with its escape sequences.
    word: String,
    /// The columns of that word.
    word_width: usize,
    /// How much of the word is already on the screen, in bytes and in columns.
    shown: Option<(usize, usize)>,
    /// Whether an escape sequence is incomplete.
    in_escape: bool,
    /// The indentation of the rest of a broken line, and its columns.
    indent: (String, usize),
}

impl Wrap {
    /// Breaks lines at this width from now on.
    pub(crate) fn set_width(&mut self, width: Option<usize>) {
        self.width = width.filter(|width| *width >= MIN_WIDTH);
    }

    /// Sets the indentation of the rest of this line if it is broken.
    pub(crate) fn set_indent(&mut self, indent: &str) {
        let width = indent.chars().filter_map(char::width).sum();
        // Deep in a list there must still be room for text.
        let fits = self.width.is_some_and(|all| width + MIN_WIDTH / 2 <= all);
        self.indent = if fits { (indent.to_owned(), width) } else { (String::new(), 0) };
    }

    /// Takes more text.
    pub(crate) fn push(&mut self, text: &str, out: &mut String) {
        if self.width.is_none() {
            return out.push_str(text);
        }
        for letter in text.chars() {
            match letter {
                _ if self.in_escape => {
                    self.word.push(letter);
                    self.in_escape = !letter.is_ascii_alphabetic();
                }
                '\x1b' => {
                    self.word.push(letter);
                    self.in_escape = true;
                }
                '\n' => {
                    self.flush(out);
                    self.end_line(out);
                }
                ' ' => {
                    self.flush(out);
                    self.spaces += 1;
                }
                _ => {
                    self.word.push(letter);
                    self.word_width += letter.width().unwrap_or(0);
                }
            }
        }
    }

    /// Takes text that is not wrapped.
    pub(crate) fn verbatim(&mut self, text: &str, out: &mut String) {
        self.flush(out);
        out.push_str(text);
        if text.ends_with('\n') {
            self.column = 0;
        }
    }

    /// Prints the held word, on the next line if it does not fit.
    pub(crate) fn flush(&mut self, out: &mut String) {
        self.place(out);
        self.column += std::mem::take(&mut self.word_width);
        if let Some(width) = self.width {
            // The terminal has broken a word that is longer than a line.
            self.column %= width;
        }
        self.word.clear();
        self.shown = None;
    }

    /// Ends the text; the next one begins on its own line.
    pub(crate) fn finish(&mut self, out: &mut String) {
        self.flush(out);
        *self = Self { width: self.width, ..Self::default() };
    }

    /// Shows the beginning of an incomplete word.
    pub(crate) fn show(&mut self, out: &mut String) {
        if !self.in_escape && self.word_width > 0 {
            self.place(out);
        }
    }

    /// Notes that something else was printed and the cursor is at the beginning of a line.
    pub(crate) fn line_was_begun(&mut self) {
        self.column = 0;
        if self.shown.take().is_some() {
            self.word.clear();
            self.word_width = 0;
        }
    }

    fn place(&mut self, out: &mut String) {
        let Some(width) = self.width else { return };
        if self.word.is_empty() {
            return;
        }
        // A terminal breaks a line when its last column is used, so that column stays free.
        let fits = self.column + self.spaces + self.word_width < width;
        let breaks = !fits && self.column > self.indent.1 && self.word_width > 0;
        match (self.shown, breaks) {
            (Some((bytes, _)), false) => out.push_str(self.word.get(bytes..).unwrap_or_default()),
            (shown, true) => {
                if let Some((_, columns)) = shown.filter(|(_, columns)| *columns > 0) {
                    out.push_str(&format!("\x1b[{columns}D\x1b[K"));
                }
                out.push('\n');
                out.push_str(&self.indent.0);
                self.column = self.indent.1;
                out.push_str(&self.word);
            }
            (None, false) => {
                out.extend(std::iter::repeat_n(' ', self.spaces));
                self.column += self.spaces;
                out.push_str(&self.word);
            }
        }
        self.spaces = 0;
        self.shown = Some((self.word.len(), self.word_width));
    }

    fn end_line(&mut self, out: &mut String) {
        out.extend(std::iter::repeat_n(' ', std::mem::take(&mut self.spaces)));
        out.push('\n');
        self.column = 0;
        self.indent = (String::new(), 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrapped(text: &str, indent: &str) -> String {
        let (mut whole, mut letters) = (String::new(), String::new());
        for (out, pieces) in [
            (&mut whole, vec![text.to_owned()]),
            (&mut letters, text.chars().map(String::from).collect::<Vec<_>>()),
        ] {
            let mut wrap = Wrap::default();
            wrap.set_width(Some(20));
            wrap.set_indent(indent);
            for piece in pieces {
                wrap.push(&piece, out);
            }
            wrap.flush(out);
        }
        assert_eq!(whole, letters);
        whole
    }

    #[test]
    fn lines_break_between_words() {
        assert_eq!(wrapped("one two three four five six", ""), "one two three four\nfive six");
        assert_eq!(wrapped("- one two three four five", "  "), "- one two three\n  four five");
        assert_eq!(wrapped("one two\nthree  four", ""), "one two\nthree  four");
    }

    #[test]
    fn long_words_are_not_broken() {
        let long = "x".repeat(50);
        assert_eq!(wrapped(&long, ""), long);
        assert_eq!(wrapped(&format!("a {long} b"), ""), format!("a\n{long} b"));
    }

    #[test]
    fn escapes_take_no_room_and_wide_letters_take_two_columns() {
        let bold = "\x1b[1m12\x1b[0m two three four!";
        assert_eq!(wrapped(bold, ""), bold);
        assert_eq!(wrapped("日本語日本語 日本語日本語", ""), "日本語日本語\n日本語日本語");
    }

    #[test]
    fn a_shown_word_is_erased_if_its_end_does_not_fit() {
        let (mut wrap, mut out) = (Wrap::default(), String::new());
        wrap.set_width(Some(20));
        wrap.push("one two three be", &mut out);
        wrap.show(&mut out);
        assert_eq!(out, "one two three be");
        wrap.push("st five", &mut out);
        wrap.show(&mut out);
        assert_eq!(out, "one two three best\nfive", "the rest fits");
        out.clear();
        wrap.push(" and six so", &mut out);
        wrap.show(&mut out);
        assert_eq!(out, " and six so");
        out.clear();
        wrap.push("mewhat-less", &mut out);
        wrap.flush(&mut out);
        assert_eq!(out, "\x1b[2D\x1b[K\nsomewhat-less");
    }

    #[test]
    fn without_a_width_nothing_is_held() {
        let (mut wrap, mut out) = (Wrap::default(), String::new());
        wrap.push("half a wor", &mut out);
        assert_eq!(out, "half a wor");
    }

    #[test]
    fn verbatim_text_is_not_wrapped() {
        let (mut wrap, mut out) = (Wrap::default(), String::new());
        wrap.set_width(Some(20));
        let code = "let x = a_function(of, many, arguments);\n";
        wrap.verbatim(code, &mut out);
        wrap.push("and text", &mut out);
        wrap.flush(&mut out);
        assert_eq!(out, format!("{code}and text"));
    }
}
