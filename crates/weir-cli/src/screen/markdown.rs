//! Markdown with light styling, while it streams.
//!
//! Characters are printed as soon as their meaning is clear. What may be the beginning of a mark is held back: at the
//! start of a line until the kind of line is known, inside a line from an opening mark to its closing one. A mark that is
//! not closed on its line is printed unchanged. Lines are broken between words if the width is known; code is not.
//! Without colours nothing is changed.

use super::style::Style;
use super::wrap::Wrap;

/// Maximum length of a marked span, with its marks; longer text is printed unchanged.
const MAX_SPAN_LENGTH: usize = 300;

/// Styles Markdown as it arrives.
#[derive(Debug)]
pub(crate) struct Markdown {
    style: Style,
    place: Place,
    /// Characters that were not printed yet.
    held: String,
    /// The character before the held ones.
    before: char,
    /// The open code block, as its mark and length.
    fence: Option<(char, usize)>,
    wrap: Wrap,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// The kind of line is not known yet.
    Start,
    /// In text, which may be a heading.
    Inline { heading: bool },
}

/// The kind of a line, from its beginning.
#[derive(Debug, PartialEq, Eq)]
enum Kind {
    /// Not known yet.
    Open,
    Plain,
    /// The length of the mark in bytes.
    Heading(usize),
    /// The indentation.
    Bullet(usize),
    Quote(usize),
}

impl Markdown {
    pub(crate) fn new(style: Style) -> Self {
        Self {
            style,
            place: Place::Start,
            held: String::new(),
            before: '\n',
            fence: None,
            wrap: Wrap::default(),
        }
    }

    /// Takes more text and writes the part that can be printed.
    pub(crate) fn push(&mut self, text: &str, out: &mut String) {
        if !self.style.is_coloured() {
            return out.push_str(text);
        }
        let mut styled = String::new();
        for letter in text.chars() {
            styled.clear();
            let was_code = self.fence.is_some();
            match (letter, self.place) {
                ('\r', _) => {}
                ('\n', _) => {
                    self.end_line(&mut styled);
                    styled.push('\n');
                }
                (_, Place::Start) => {
                    self.held.push(letter);
                    if self.fence.is_none() {
                        self.begin_line(&mut styled);
                    }
                }
                (_, Place::Inline { heading }) => self.inline(letter, heading, &mut styled),
            }
            self.print(&styled, was_code, out);
        }
    }

    /// Ends the text.
    pub(crate) fn finish(&mut self, out: &mut String) {
        let mut styled = String::new();
        let was_code = self.fence.is_some();
        self.end_line(&mut styled);
        self.print(&styled, was_code, out);
        self.wrap.finish(out);
        self.fence = None;
    }

    /// Shows the beginning of a word, when no more text arrives for now.
    pub(crate) fn show(&mut self, out: &mut String) {
        self.wrap.show(out);
    }

    /// Notes that something else was printed and the cursor is at the beginning of a line.
    pub(crate) fn line_was_begun(&mut self) {
        self.wrap.line_was_begun();
    }

    /// Breaks lines at this width from now on.
    pub(crate) fn set_width(&mut self, width: Option<usize>) {
        self.wrap.set_width(width);
    }

    /// Prints styled text. Lines of a code block, including its fences, are not wrapped.
    fn print(&mut self, styled: &str, was_code: bool, out: &mut String) {
        if was_code || self.fence.is_some() {
            self.wrap.verbatim(styled, out);
        } else {
            self.wrap.push(styled, out);
        }
    }

    fn begin_line(&mut self, out: &mut String) {
        let kind = kind(&self.held);
        if kind == Kind::Open {
            return;
        }
        let held = std::mem::take(&mut self.held);
        let rest = match kind {
            Kind::Heading(length) => {
                out.push_str("\x1b[1;36m");
                held.get(length..)
            }
            Kind::Bullet(indent) => {
                out.push_str(held.get(..indent).unwrap_or_default());
                out.push_str(&self.style.accent("•"));
                out.push(' ');
                held.get(indent + 2..)
            }
            Kind::Quote(length) => {
                out.push_str(&self.style.faint("│ "));
                held.get(length..)
            }
            Kind::Plain | Kind::Open => Some(held.as_str()),
        };
        let spaces = held.len() - held.trim_start_matches(' ').len();
        self.wrap.set_indent(&match kind {
            Kind::Bullet(indent) => " ".repeat(indent + 2),
            Kind::Quote(_) => "│ ".to_owned(),
            _ => " ".repeat(spaces),
        });
        let heading = matches!(kind, Kind::Heading(_));
        self.place = Place::Inline { heading };
        self.before = ' ';
        for letter in rest.unwrap_or_default().chars() {
            self.inline(letter, heading, out);
        }
    }

    fn end_line(&mut self, out: &mut String) {
        match self.place {
            Place::Start => self.end_undecided_line(out),
            Place::Inline { .. } => self.release(out),
        }
        if self.place == (Place::Inline { heading: true }) {
            out.push_str("\x1b[0m");
        }
        self.place = Place::Start;
        self.before = '\n';
    }

    /// Ends a line of undecided kind: a fence, a rule, or code.
    fn end_undecided_line(&mut self, out: &mut String) {
        let held = std::mem::take(&mut self.held);
        let mark = fence_of(&held);
        match (self.fence, mark) {
            (Some((letter, length)), Some((same, longer, ""))) if letter == same && longer >= length => {
                self.fence = None;
                out.push_str(&self.style.faint(&held));
            }
            (Some(_), _) => out.push_str(&self.style.accent(&held)),
            (None, Some((letter, length, _))) => {
                self.fence = Some((letter, length));
                out.push_str(&self.style.faint(&held));
            }
            (None, None) if is_rule(&held) => out.push_str(&self.style.faint(&"─".repeat(40))),
            (None, None) => {
                for letter in held.chars() {
                    self.inline(letter, false, out);
                }
                self.release(out);
            }
        }
    }

    fn inline(&mut self, letter: char, heading: bool, out: &mut String) {
        if self.held.is_empty() {
            // Inside a word, or after a literal star, a star is literal.
            let is_loose = !self.before.is_alphanumeric() && self.before != '*';
            let opens = letter == '`' || letter == '*' && is_loose;
            if opens {
                self.held.push(letter);
            } else {
                out.push(letter);
                self.before = letter;
            }
            return;
        }
        self.held.push(letter);
        match span(&self.held) {
            Span::Open if self.held.len() < MAX_SPAN_LENGTH => {}
            Span::Open | Span::None => self.release(out),
            Span::Closed { code, mark } => {
                let held = std::mem::take(&mut self.held);
                out.push_str(code);
                out.push_str(held.get(mark..held.len() - mark).unwrap_or_default());
                out.push_str(if heading { "\x1b[0;1;36m" } else { "\x1b[0m" });
                self.before = letter;
            }
        }
    }

    /// Prints the held characters unchanged.
    fn release(&mut self, out: &mut String) {
        let held = std::mem::take(&mut self.held);
        self.before = held.chars().next_back().unwrap_or(self.before);
        out.push_str(&held);
    }
}

enum Span {
    Open,
    None,
    /// Its escape code, and the length of the mark on each side.
    Closed {
        code: &'static str,
        mark: usize,
    },
}

/// Classifies text that begins with a mark.
fn span(held: &str) -> Span {
    let letter = if held.starts_with('`') { '`' } else { '*' };
    let mark = held.chars().take_while(|other| *other == letter).count();
    let Some(inside) = held.get(mark..).filter(|inside| !inside.is_empty()) else {
        return if mark > 3 { Span::None } else { Span::Open };
    };
    let closing = inside.chars().rev().take_while(|other| *other == letter).count();
    let text = inside.get(..inside.len() - closing).unwrap_or_default();
    let is_loose = |end: Option<char>| end.is_none_or(char::is_whitespace);
    match letter {
        '`' if closing == mark => Span::Closed { code: "\x1b[36m", mark },
        '`' => Span::Open,
        // A star before a space is literal.
        _ if is_loose(inside.chars().next()) || mark > 3 => Span::None,
        _ if closing == mark && !is_loose(text.chars().next_back()) => {
            Span::Closed { code: if mark == 1 { "\x1b[3m" } else { "\x1b[1m" }, mark }
        }
        _ => Span::Open,
    }
}

/// The kind of a line, from its beginning.
fn kind(held: &str) -> Kind {
    let text = held.trim_start_matches(' ');
    let indent = held.len() - text.len();
    let Some(first) = text.chars().next() else {
        return if indent < 12 { Kind::Open } else { Kind::Plain };
    };
    let run = text.chars().take_while(|letter| *letter == first).count();
    let rest = text.get(run..).unwrap_or_default();
    match first {
        '#' if run <= 6 && rest.is_empty() => Kind::Open,
        '#' if run <= 6 && rest.starts_with(' ') => Kind::Heading(indent + run + 1),
        '>' if text.len() == 1 => Kind::Open,
        '>' => Kind::Quote(indent + 1 + usize::from(text.get(1..).is_some_and(|rest| rest.starts_with(' ')))),
        // Until the line ends, it may be a rule or the fence of a code block.
        '`' | '~' if run >= 3 || rest.is_empty() => Kind::Open,
        '-' | '*' | '_' if rest.is_empty() => Kind::Open,
        '-' | '*' | '+' if run == 1 && rest.starts_with(' ') => Kind::Bullet(indent),
        '+' if text.len() == 1 => Kind::Open,
        _ => Kind::Plain,
    }
}

/// The mark, its length and the rest of the line, if the line can begin or end a code block.
fn fence_of(line: &str) -> Option<(char, usize, &str)> {
    let text = line.trim();
    let letter = text.chars().next().filter(|letter| matches!(letter, '`' | '~'))?;
    let rest = text.trim_start_matches(letter);
    let length = text.len() - rest.len();
    (length >= 3 && !rest.contains('`')).then_some((letter, length, rest))
}

fn is_rule(line: &str) -> bool {
    let text = line.trim();
    text.len() >= 3 && ["-", "*", "_"].iter().any(|mark| text.replace(mark, "").is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The result must be the same for the whole text and for single characters.
    fn styled(text: &str) -> String {
        let whole = pieces(&[text]);
        let letters: Vec<String> = text.chars().map(String::from).collect();
        let letters: Vec<&str> = letters.iter().map(String::as_str).collect();
        assert_eq!(whole, pieces(&letters));
        whole.replace('\x1b', "^")
    }

    fn pieces(pieces: &[&str]) -> String {
        let mut markdown = Markdown::new(Style::coloured());
        let mut out = String::new();
        for piece in pieces {
            markdown.push(piece, &mut out);
        }
        markdown.finish(&mut out);
        out
    }

    #[test]
    fn bold_code_and_emphasis() {
        assert_eq!(styled("a **b c** `d` *e* f"), "a ^[1mb c^[0m ^[36md^[0m ^[3me^[0m f");
        assert_eq!(styled("``a ` b``"), "^[36ma ` b^[0m");
        assert_eq!(styled("**Note:** x"), "^[1mNote:^[0m x");
    }

    #[test]
    fn literal_marks_are_printed_unchanged() {
        for text in [
            "2 * 3 * 4",
            "2**3**4",
            "a ** b ** c",
            "*.rs and *.toml",
            "an `open tick",
            "** x",
            "***",
            "x ***",
        ] {
            if text != "***" {
                assert_eq!(styled(text), text, "{text}");
            }
        }
        let long = format!("a **{}", "b ".repeat(400));
        assert_eq!(styled(&long), long);
    }

    #[test]
    fn an_unclosed_mark_ends_with_its_line() {
        assert_eq!(styled("a **b\nc** d"), "a **b\nc** d");
    }

    #[test]
    fn headings_lists_quotes_and_rules() {
        assert_eq!(styled("## Title `x`\ny"), "^[1;36mTitle ^[36mx^[0;1;36m^[0m\ny");
        assert_eq!(styled("#hash\n####### seven"), "#hash\n####### seven");
        assert_eq!(styled("- a\n  * **b**\n1. c\n-x"), "^[36m•^[0m a\n  ^[36m•^[0m ^[1mb^[0m\n1. c\n-x");
        assert_eq!(styled("> q\n>r"), "^[2m│ ^[0mq\n^[2m│ ^[0mr");
        assert_eq!(styled("---"), format!("^[2m{}^[0m", "─".repeat(40)));
        assert_eq!(styled("--flag -- x"), "--flag -- x");
    }

    #[test]
    fn code_blocks_are_left_alone_inside() {
        assert_eq!(
            styled("```rust\n# **x** `y`\n  - z\n```\n**b**"),
            "^[2m```rust^[0m\n^[36m# **x** `y`^[0m\n^[36m  - z^[0m\n^[2m```^[0m\n^[1mb^[0m"
        );
        assert_eq!(styled("````\n```\n````\nx"), "^[2m````^[0m\n^[36m```^[0m\n^[2m````^[0m\nx");
    }

    #[test]
    fn an_open_code_block_ends_with_the_text() {
        let mut markdown = Markdown::new(Style::coloured());
        let mut out = String::new();
        markdown.push("```\ncode", &mut out);
        markdown.finish(&mut out);
        out.clear();
        markdown.push("# Title\n", &mut out);
        assert_eq!(out, "\x1b[1;36mTitle\x1b[0m\n");
    }

    #[test]
    fn without_colours_nothing_is_changed() {
        let mut markdown = Markdown::new(Style::plain());
        let mut out = String::new();
        markdown.push("# a **b**\r\n- c", &mut out);
        markdown.finish(&mut out);
        assert_eq!(out, "# a **b**\r\n- c");
    }

    #[test]
    fn lines_are_broken_between_words_and_code_is_not() {
        let mut markdown = Markdown::new(Style::coloured());
        markdown.set_width(Some(24));
        let mut out = String::new();
        let code = "let quite_long = call(of, this, and, that);";
        let text = format!(
            "A paragraph of **some bold** words.\n- a point that is full\n```\n{code}\n```\n> a quotation that is long"
        );
        markdown.push(&text, &mut out);
        markdown.finish(&mut out);
        let mut in_escape = false;
        let plain: String = out
            .chars()
            .filter(|letter| {
                let hidden = in_escape || *letter == '\x1b';
                in_escape = hidden && *letter != 'm';
                !hidden
            })
            .collect();
        let expected = [
            "A paragraph of some",
            "bold words.",
            "• a point that is full",
            "```",
            code,
            "```",
            "│ a quotation that is",
            "│ long",
        ];
        assert_eq!(plain.lines().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn text_streams_before_its_line_ends() {
        let mut markdown = Markdown::new(Style::coloured());
        let mut out = String::new();
        markdown.push("Hello wor", &mut out);
        assert_eq!(out, "Hello wor");
    }
}
