//! Markdown from people and models: made safe for embedding in a document, or turned into HTML.

use std::fmt::Write;
use std::ops::Range;

use pulldown_cmark::{CowStr, Event, LinkType, Options, Parser, Tag, TagEnd, html};
use weir_base::html::escape;

use super::clean::plain;
use crate::code_blocks;

fn options() -> Options {
    Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS
}

/// The same Markdown, but with its HTML escaped and an unclosed code block closed.
pub(super) fn safe_markdown(text: &str) -> String {
    // Inside a quotation a tab is narrower, and text that is a code block here might not be one there.
    let mut safe = plain(text).replace('\t', "    ");
    // What was inside a tag becomes text, which may begin or end code, so repeat until nothing is found.
    for _ in 0..MAX_ROUNDS {
        match without_html(&safe) {
            Some(changed) => safe = changed,
            None => {
                close_code_block(&mut safe);
                return safe;
            }
        }
    }
    // Such a text is not written by accident, so it may look odd.
    safe = safe.replace('<', "&lt;");
    close_code_block(&mut safe);
    safe
}

const MAX_ROUNDS: usize = 8;

/// The text with each `<` escaped that is neither in code nor around an address; `None` if it contains no HTML.
fn without_html(text: &str) -> Option<String> {
    let mut has_html = false;
    let mut verbatim: Vec<Range<usize>> = Vec::new();
    for (event, range) in Parser::new_ext(text, options()).into_offset_iter() {
        match event {
            Event::Html(_) | Event::InlineHtml(_) => has_html = true,
            Event::Code(_) | Event::Start(Tag::CodeBlock(_)) => verbatim.push(range),
            Event::Start(Tag::Link { link_type: LinkType::Autolink | LinkType::Email, .. }) => {
                verbatim.push(range);
            }
            _ => {}
        }
    }
    if !has_html {
        return None;
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    let mut done = 0;
    for range in verbatim.into_iter().filter(|range| !range.is_empty()) {
        escaped.push_str(&text.get(done..range.start).unwrap_or_default().replace('<', "&lt;"));
        escaped.push_str(text.get(range.start.max(done)..range.end).unwrap_or_default());
        done = done.max(range.end);
    }
    escaped.push_str(&text.get(done..).unwrap_or_default().replace('<', "&lt;"));
    Some(escaped)
}

fn close_code_block(text: &mut String) {
    let Some(open) = code_blocks(text).pop().filter(|block| block.end == text.len()) else { return };
    let before = text.get(..open.start).unwrap_or_default().trim_end_matches('\n');
    let line = before.rsplit('\n').next().unwrap_or_default().trim_start_matches(' ');
    let mark = if line.starts_with('~') { '~' } else { '`' };
    let fence: String = line.chars().take_while(|c| *c == mark).collect();
    if !text.ends_with('\n') {
        text.push('\n');
    }
    text.push_str(&fence);
}

/// Markdown as HTML: embedded HTML is escaped, links lead only to web and mail addresses, and there are no
/// images.
pub(super) fn to_html(text: &str) -> String {
    let text = plain(text);
    let mut links = Vec::new();
    let events = Parser::new_ext(&text, options()).map(|event| safe_event(event, &mut links));
    let mut output = String::with_capacity(text.len() * 2);
    html::push_html(&mut output, events);
    output
}

/// Makes an event harmless. `links` records which of the open links are written.
fn safe_event<'e>(event: Event<'e>, links: &mut Vec<bool>) -> Event<'e> {
    match event {
        Event::Html(text) | Event::InlineHtml(text) => Event::Text(text),
        Event::Start(Tag::HtmlBlock) => Event::Start(Tag::Paragraph),
        Event::End(TagEnd::HtmlBlock) => Event::End(TagEnd::Paragraph),
        Event::Start(Tag::Link { link_type, dest_url, .. }) => {
            start_link(address(link_type, &dest_url), "", links)
        }
        // An image would be loaded from elsewhere, which would reveal that the page was opened.
        Event::Start(Tag::Image { link_type, dest_url, .. }) => {
            start_link(address(link_type, &dest_url), "image: ", links)
        }
        Event::End(TagEnd::Link | TagEnd::Image) => {
            let end = if links.pop() == Some(true) { "</a>" } else { "" };
            Event::Html(CowStr::Borrowed(end))
        }
        other => other,
    }
}

fn start_link<'e>(address: Option<String>, label: &str, links: &mut Vec<bool>) -> Event<'e> {
    let is_inside = links.contains(&true);
    let mut markup = String::new();
    let is_written = match address.filter(|_| !is_inside) {
        Some(address) => {
            // Writing to a string cannot fail.
            let _ = write!(markup, "<a href=\"{}\" rel=\"noopener noreferrer\">", escape(&address));
            true
        }
        None => false,
    };
    links.push(is_written);
    markup.push_str(label);
    Event::Html(markup.into())
}

/// The address of a link, if it is allowed.
fn address(link_type: LinkType, destination: &str) -> Option<String> {
    if link_type == LinkType::Email {
        return Some(format!("mailto:{destination}"));
    }
    let (scheme, _) = destination.split_once(':')?;
    let is_allowed = ["http", "https", "mailto"].iter().any(|allowed| scheme.eq_ignore_ascii_case(allowed));
    is_allowed.then(|| destination.to_owned())
}

#[cfg(test)]
mod tests {
    use super::{safe_markdown, to_html};

    #[test]
    fn html_in_markdown_is_text() {
        assert_eq!(safe_markdown("a <b>x</b> `<i>`"), "a &lt;b>x&lt;/b> `<i>`");
        assert_eq!(safe_markdown("</details>\n\nnext"), "&lt;/details>\n\nnext");
        assert_eq!(safe_markdown("<!-- open"), "&lt;!-- open");
        assert_eq!(safe_markdown("<https://a.example>"), "<https://a.example>");
    }

    #[test]
    fn open_code_blocks_are_closed() {
        assert_eq!(safe_markdown("```sh\nls"), "```sh\nls\n```");
        assert_eq!(safe_markdown("~~~~\nls\n"), "~~~~\nls\n~~~~");
        assert_eq!(safe_markdown("```\nls\n```"), "```\nls\n```");
    }

    #[test]
    fn links_lead_only_to_web_and_mail_addresses() {
        let link =
            "<p><a href=\"https://a.example/?x=1&amp;y=&quot;\" rel=\"noopener noreferrer\">t</a></p>\n";
        assert_eq!(to_html("[t](<https://a.example/?x=1&y=\">)"), link);
        for harmful in [
            "[t](javascript:alert(1))",
            "[t](JaVaScRiPt:alert(1))",
            "[t](data:text/html,x)",
            "[t](vbscript:x)",
            "[t](//a.example)",
            "[t](&#106;avascript:alert(1))",
            "[t](java&#10;script:alert(1))",
            "[t]( javascript:alert(1))",
        ] {
            assert_eq!(to_html(harmful), "<p>t</p>\n", "{harmful}");
        }
        assert!(to_html("<me@a.example>").contains("href=\"mailto:me@a.example\""));
    }

    #[test]
    fn images_become_links() {
        let image = to_html("![alt](https://a.example/x.png)");
        assert!(!image.contains("<img") && image.contains("image: alt"), "{image}");
        let both = to_html("[![alt](https://a.example/x.png)](https://b.example)");
        assert_eq!(both.matches("<a ").count(), 1, "{both}");
        assert!(!to_html("![x](javascript:alert(1))").contains("javascript"));
    }
}
