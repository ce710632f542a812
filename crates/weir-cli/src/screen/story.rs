//! A session as text on a terminal: messages and answers, with one line per tool call.

use std::fmt::Write as _;

use weir_transcript::{Entry, EntryBody, ToolState, UserSource, View};

use super::clean::clean;
use super::markdown::Markdown;
use super::progress::headline;
use super::style::Style;

/// The session as text: the last messages, or all of it.
pub(crate) fn story(view: &View, last_messages: Option<usize>, style: Style) -> String {
    let mut out = String::new();
    for entry in view.entries.iter().skip(first(view, last_messages)) {
        if let Some(text) = one(entry, style) {
            out.push_str(&text);
        }
    }
    out
}

/// The index of the first entry to show, counting back messages of a person.
fn first(view: &View, last_messages: Option<usize>) -> usize {
    let Some(count) = last_messages else { return 0 };
    let is_message = |entry: &Entry| matches!(&entry.body, EntryBody::User(user) if entry.parent.is_none() && user.source == UserSource::Host && !user.automatic);
    let places = view.entries.iter().enumerate().filter(|(_, entry)| is_message(entry));
    let places: Vec<usize> = places.map(|(place, _)| place).collect();
    places.len().checked_sub(count).and_then(|skipped| places.get(skipped)).copied().unwrap_or(0)
}

fn one(entry: &Entry, style: Style) -> Option<String> {
    let mut text = String::new();
    // Writing to a string cannot fail.
    match &entry.body {
        // Messages from the CLI to the model are not shown.
        EntryBody::User(user)
            if entry.parent.is_none() && user.source != UserSource::Cli && !user.automatic =>
        {
            let said = clean(user.text.trim_end());
            let _ = writeln!(text, "\n{} {}\n", style.accent(">"), style.bold(&said.replace('\n', "\n  ")));
        }
        EntryBody::Text(block) if entry.parent.is_none() && !block.text.trim().is_empty() => {
            let mut markdown = Markdown::new(style);
            markdown.push(&clean(block.text.trim_end()), &mut text);
            markdown.finish(&mut text);
            text.push('\n');
        }
        EntryBody::Tool(tool) => {
            let mark = match tool.state {
                ToolState::Succeeded => style.good("✓"),
                ToolState::Failed | ToolState::Denied | ToolState::Interrupted => style.bad("✗"),
                _ => style.faint("?"),
            };
            let _ = writeln!(text, "{mark} {}", headline(entry, tool));
        }
        EntryBody::Notice { notice } => {
            let notice = super::notices::text(notice)?;
            let _ = writeln!(text, "{} {}", style.careful("!"), clean(notice.trim_end()));
        }
        _ => return None,
    }
    Some(text)
}
