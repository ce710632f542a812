//! Renders Markdown as plain text: emphasis is dropped, structure and code stay readable.

use pulldown_cmark::{CodeBlockKind, Event, Tag, TagEnd};

use super::html::parser;

/// Renders Markdown as plain text.
pub(super) fn render(markdown: &str) -> String {
    let mut writer = Writer::default();
    for event in parser(markdown) {
        writer.event(event);
    }
    writer.out.trim_end().to_owned()
}

#[derive(Default)]
struct Writer {
    out: String,
    lists: Vec<Option<u64>>,
    link: Option<String>,
    in_code: bool,
    cell: usize,
}

impl Writer {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) | Event::Html(text) | Event::InlineHtml(text) => self.out.push_str(&text),
            Event::Code(code) => {
                self.out.push('`');
                self.out.push_str(&code);
                self.out.push('`');
            }
            Event::SoftBreak | Event::HardBreak => self.break_line(),
            Event::Rule => {
                self.gap();
                self.out.push_str("---");
            }
            Event::TaskListMarker(done) => self.out.push_str(if done { "[x] " } else { "[ ] " }),
            _ => {}
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph if self.out.ends_with("- ") || self.out.ends_with(". ") => {}
            Tag::Paragraph | Tag::Heading { .. } | Tag::Table(_) | Tag::HtmlBlock | Tag::BlockQuote(_) => {
                self.gap();
            }
            Tag::CodeBlock(kind) => {
                self.gap();
                self.in_code = true;
                self.out.push_str("```");
                if let CodeBlockKind::Fenced(language) = kind {
                    self.out.push_str(&language);
                }
                self.out.push('\n');
            }
            Tag::List(first) => {
                if self.lists.is_empty() {
                    self.gap();
                }
                self.lists.push(first);
            }
            Tag::Item => self.item(),
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                self.link = Some(dest_url.into_string());
            }
            Tag::TableHead | Tag::TableRow => self.cell = 0,
            Tag::TableCell => {
                if self.cell > 0 {
                    self.out.push_str(" | ");
                }
                self.cell += 1;
            }
            _ => {}
        }
    }

    fn item(&mut self) {
        if !self.out.is_empty() && !self.out.ends_with('\n') {
            self.out.push('\n');
        }
        self.out.push_str(&"  ".repeat(self.lists.len().saturating_sub(1)));
        match self.lists.last_mut() {
            Some(Some(number)) => {
                self.out.push_str(&format!("{number}. "));
                *number += 1;
            }
            _ => self.out.push_str("- "),
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::CodeBlock => {
                self.in_code = false;
                if !self.out.ends_with('\n') {
                    self.out.push('\n');
                }
                self.out.push_str("```");
            }
            TagEnd::List(_) => {
                self.lists.pop();
            }
            TagEnd::Link | TagEnd::Image => {
                if let Some(address) = self.link.take()
                    && !self.out.ends_with(address.as_str())
                    && !address.is_empty()
                {
                    self.out.push_str(&format!(" ({address})"));
                }
            }
            TagEnd::TableHead | TagEnd::TableRow => self.out.push('\n'),
            _ => {}
        }
    }

    /// Adds an empty line before the next block, unless it is the first.
    fn gap(&mut self) {
        let kept = self.out.trim_end_matches('\n').len();
        self.out.truncate(kept);
        if !self.out.is_empty() {
            self.out.push_str("\n\n");
        }
    }

    fn break_line(&mut self) {
        self.out.push('\n');
        self.out.push_str(&"  ".repeat(self.lists.len()));
    }
}

#[cfg(test)]
mod tests {
    use super::render;

    #[test]
    fn keeps_structure_and_code() {
        let text = "# Title\n\nSome **bold** and `code`, [a page](https://example.org).\n\n- one\n- two\n  - three\n\n1. first\n2. second\n\n```rust\nfn main() {}\n```\n";
        assert_eq!(
            render(text),
            "Title\n\nSome bold and `code`, a page (https://example.org).\n\n- one\n- two\n  - three\n\n1. first\n2. second\n\n```rust\nfn main() {}\n```"
        );
    }

    #[test]
    fn leaves_html_as_text() {
        assert_eq!(render("a <b>c</b>"), "a <b>c</b>");
    }
}
