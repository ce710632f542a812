//! Renders Markdown as the HTML that a chat supports.
//!
//! Telegram supports a few inline tags and none for structure, so lists, headings and tables are drawn with characters
//! there. Matrix supports the usual tags.

use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use super::table::Table;

/// The supported HTML.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    /// Inline tags only.
    Telegram,
    /// Structure as well.
    Matrix,
}

/// A Markdown parser with the extensions that models use.
pub(super) fn parser(markdown: &str) -> Parser<'_> {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    Parser::new_ext(markdown, options)
}

/// Renders Markdown as HTML.
pub(super) fn render(markdown: &str, dialect: Dialect) -> String {
    let mut writer = Writer::new(dialect);
    for event in parser(markdown) {
        writer.event(event);
    }
    writer.out.trim_end().to_owned()
}

/// Escapes a text and appends it. A zero byte is not allowed in a message.
pub(super) fn escape(text: &str, out: &mut String) {
    text.split('\0').for_each(|part| out.push_str(&weir_base::html::escape(part)));
}

/// Whether a link is safe to click.
fn is_safe(address: &str) -> bool {
    ["https://", "http://", "mailto:", "tg://", "matrix:"]
        .iter()
        .any(|scheme| address.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme)))
}

struct Writer {
    dialect: Dialect,
    out: String,
    lists: Vec<Option<u64>>,
    /// For each open link, whether it has a tag.
    links: Vec<bool>,
    quotes: usize,
    table: Option<Table>,
}

impl Writer {
    fn new(dialect: Dialect) -> Self {
        Self { dialect, out: String::new(), lists: Vec::new(), links: Vec::new(), quotes: 0, table: None }
    }

    fn telegram(&self) -> bool {
        self.dialect == Dialect::Telegram
    }

    fn event(&mut self, event: Event<'_>) {
        if let Some(table) = &mut self.table
            && self.dialect == Dialect::Telegram
        {
            match event {
                Event::Text(text) | Event::Code(text) | Event::Html(text) | Event::InlineHtml(text) => {
                    table.text(&text);
                }
                Event::SoftBreak | Event::HardBreak => table.text(" "),
                Event::End(TagEnd::TableCell) => table.end_cell(),
                Event::End(TagEnd::TableHead | TagEnd::TableRow) => table.end_row(),
                Event::End(TagEnd::Table) => self.end_telegram_table(),
                _ => {}
            }
            return;
        }
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) | Event::Html(text) | Event::InlineHtml(text) => escape(&text, &mut self.out),
            Event::Code(code) => {
                self.out.push_str("<code>");
                escape(&code, &mut self.out);
                self.out.push_str("</code>");
            }
            Event::SoftBreak => self.out.push('\n'),
            Event::HardBreak => self.out.push_str(if self.telegram() { "\n" } else { "<br>\n" }),
            Event::Rule => {
                self.gap();
                self.out.push_str(if self.telegram() { "\u{2014}\u{2014}\u{2014}" } else { "<hr>" });
            }
            Event::TaskListMarker(done) => self.out.push_str(if done { "[x] " } else { "[ ] " }),
            _ => {}
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph => self.start_paragraph(),
            Tag::Heading { level, .. } => {
                self.gap();
                self.out.push_str(if self.telegram() { "<b>" } else { heading(level).0 });
            }
            Tag::BlockQuote(_) => {
                self.gap();
                self.quotes += 1;
                // Telegram has no nested quotes.
                if !self.telegram() || self.quotes == 1 {
                    self.out.push_str("<blockquote>");
                }
            }
            Tag::CodeBlock(kind) => self.start_code(&kind),
            Tag::List(first) => self.start_list(first),
            Tag::Item => self.start_item(),
            Tag::Emphasis => self.out.push_str(if self.telegram() { "<i>" } else { "<em>" }),
            Tag::Strong => self.out.push_str(if self.telegram() { "<b>" } else { "<strong>" }),
            Tag::Strikethrough => self.out.push_str(if self.telegram() { "<s>" } else { "<del>" }),
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => self.start_link(&dest_url),
            Tag::HtmlBlock => self.gap(),
            Tag::Table(_) => {
                self.gap();
                self.table = Some(Table::default());
                self.tag_for_matrix("<table>");
            }
            Tag::TableHead => self.tag_for_matrix("<thead><tr>"),
            Tag::TableRow => self.tag_for_matrix("<tr>"),
            Tag::TableCell => self.tag_for_matrix("<td>"),
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph if !self.telegram() => self.out.push_str("</p>"),
            TagEnd::Heading(level) => {
                self.out.push_str(if self.telegram() { "</b>" } else { heading(level).1 });
            }
            TagEnd::BlockQuote(_) => {
                self.quotes = self.quotes.saturating_sub(1);
                if !self.telegram() || self.quotes == 0 {
                    self.out.push_str("</blockquote>");
                }
            }
            TagEnd::CodeBlock => {
                if self.out.ends_with('\n') {
                    self.out.pop();
                }
                self.out.push_str("</code></pre>");
            }
            TagEnd::List(ordered) => {
                self.lists.pop();
                self.tag_for_matrix(if ordered { "</ol>" } else { "</ul>" });
            }
            TagEnd::Item => self.tag_for_matrix("</li>"),
            TagEnd::Emphasis => self.out.push_str(if self.telegram() { "</i>" } else { "</em>" }),
            TagEnd::Strong => self.out.push_str(if self.telegram() { "</b>" } else { "</strong>" }),
            TagEnd::Strikethrough => self.out.push_str(if self.telegram() { "</s>" } else { "</del>" }),
            TagEnd::Link | TagEnd::Image if self.links.pop() == Some(true) => self.out.push_str("</a>"),
            TagEnd::Table => {
                self.table = None;
                self.tag_for_matrix("</table>");
            }
            TagEnd::TableHead => self.tag_for_matrix("</tr></thead>"),
            TagEnd::TableRow => self.tag_for_matrix("</tr>"),
            TagEnd::TableCell => self.tag_for_matrix("</td>"),
            _ => {}
        }
    }

    fn start_paragraph(&mut self) {
        if self.telegram() {
            let after_bullet = self.out.ends_with("\u{2022} ") || self.out.ends_with(". ");
            let begins_quote = self.out.ends_with("<blockquote>");
            if !(begins_quote || after_bullet && !self.lists.is_empty()) {
                self.gap();
            }
        } else {
            self.out.push_str("<p>");
        }
    }

    fn start_code(&mut self, kind: &CodeBlockKind<'_>) {
        self.gap();
        let language = match kind {
            CodeBlockKind::Fenced(info) => info.split_whitespace().next().unwrap_or_default(),
            CodeBlockKind::Indented => "",
        };
        let is_word = |character: char| character.is_ascii_alphanumeric() || "+-_#.".contains(character);
        if language.is_empty() || !language.chars().all(is_word) {
            self.out.push_str("<pre><code>");
        } else {
            self.out.push_str(&format!("<pre><code class=\"language-{language}\">"));
        }
    }

    fn start_list(&mut self, first: Option<u64>) {
        if self.telegram() && self.lists.is_empty() {
            self.gap();
        }
        match first {
            Some(1) => self.tag_for_matrix("<ol>"),
            Some(number) => self.tag_for_matrix(&format!("<ol start=\"{number}\">")),
            None => self.tag_for_matrix("<ul>"),
        }
        self.lists.push(first);
    }

    fn start_item(&mut self) {
        if !self.telegram() {
            self.out.push_str("<li>");
            return;
        }
        if !self.out.is_empty() && !self.out.ends_with('\n') && !self.out.ends_with("<blockquote>") {
            self.out.push('\n');
        }
        self.out.push_str(&"   ".repeat(self.lists.len().saturating_sub(1)));
        match self.lists.last_mut() {
            Some(Some(number)) => {
                self.out.push_str(&format!("{number}. "));
                *number += 1;
            }
            _ => self.out.push_str("\u{2022} "),
        }
    }

    fn start_link(&mut self, address: &str) {
        // Links cannot be nested.
        let opens = is_safe(address) && !self.links.contains(&true);
        self.links.push(opens);
        if opens {
            self.out.push_str("<a href=\"");
            escape(address, &mut self.out);
            self.out.push_str("\">");
        }
    }

    fn end_telegram_table(&mut self) {
        if let Some(table) = self.table.take() {
            self.out.push_str("<pre>");
            escape(&table.draw(), &mut self.out);
            self.out.push_str("</pre>");
        }
    }

    fn tag_for_matrix(&mut self, tag: &str) {
        if !self.telegram() {
            self.out.push_str(tag);
        }
    }

    /// Adds an empty line before the next block, if no tag separates them.
    fn gap(&mut self) {
        if self.telegram() && !self.out.is_empty() && !self.out.ends_with("<blockquote>") {
            let kept = self.out.trim_end_matches('\n').len();
            self.out.truncate(kept);
            self.out.push_str("\n\n");
        }
    }
}

fn heading(level: HeadingLevel) -> (&'static str, &'static str) {
    match level {
        HeadingLevel::H1 => ("<h1>", "</h1>"),
        HeadingLevel::H2 => ("<h2>", "</h2>"),
        HeadingLevel::H3 => ("<h3>", "</h3>"),
        HeadingLevel::H4 => ("<h4>", "</h4>"),
        HeadingLevel::H5 => ("<h5>", "</h5>"),
        HeadingLevel::H6 => ("<h6>", "</h6>"),
    }
}

#[cfg(test)]
mod tests {
    use super::{Dialect, render};

    #[test]
    fn telegram_gets_inline_tags_and_characters() {
        let text = "# Title\n\nSome **bold _and_** `<code>`.\n\n- one\n- two\n  1. three\n\n> said\n\n```rs\nlet a = 1 < 2;\n```";
        assert_eq!(
            render(text, Dialect::Telegram),
            "<b>Title</b>\n\nSome <b>bold <i>and</i></b> <code>&lt;code&gt;</code>.\n\n\u{2022} one\n\u{2022} two\n   1. three\n\n<blockquote>said</blockquote>\n\n<pre><code class=\"language-rs\">let a = 1 &lt; 2;</code></pre>"
        );
    }

    #[test]
    fn a_table_is_drawn_for_telegram() {
        let text = "| a | long |\n|---|---|\n| 1 | 2 |";
        assert_eq!(render(text, Dialect::Telegram), "<pre>a | long\n--+-----\n1 | 2</pre>");
    }

    #[test]
    fn matrix_gets_structure() {
        let text = "## Title\n\n- one\n- two\n\n| a | b |\n|---|---|\n| 1 | 2 |";
        assert_eq!(
            render(text, Dialect::Matrix),
            "<h2>Title</h2><ul><li>one</li><li>two</li></ul><table><thead><tr><td>a</td><td>b</td></tr></thead><tr><td>1</td><td>2</td></tr></table>"
        );
    }

    #[test]
    fn html_of_the_model_is_escaped() {
        for dialect in [Dialect::Telegram, Dialect::Matrix] {
            let html = render("<script>x</script>\n\n[a](javascript:f) ![p](https://e.org/\"q)", dialect);
            assert!(!html.contains("<script"), "{html}");
            assert!(!html.contains("javascript:"), "{html}");
            assert!(!html.contains("/\"q"), "{html}");
        }
    }
}
