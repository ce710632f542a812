//! Exports a view for people to keep: as Markdown, or as a self-contained web page.
//!
//! Pure: a view goes in, text comes out through [`std::fmt::Write`]. Everything that an agent, a tool or a
//! person wrote is treated as data. It can neither break out of its place in the document nor add markup or
//! scripts, and a page loads nothing from elsewhere.
//!
//! `outline` nests the entries, `walk` orders them, `parts` collects what to show of a tool call, `words`
//! formats states, times and amounts, `clean` sanitises text, `format` says what a format is, `markdown` and
//! `html` are the two, `stream` exports a session that does not fit in memory.

mod clean;
mod format;
mod html;
mod markdown;
mod outline;
mod parts;
mod rich_text;
mod stream;
mod walk;
mod words;

use std::fmt;

pub(crate) use clean::plain;
pub use format::ExportForm;
pub use stream::Exporter;

use crate::view::View;

/// Writes a session as Markdown, with tool calls collapsed.
///
/// # Errors
/// Errors of the output.
///
/// ```
/// let mut text = String::new();
/// weir_transcript::export::markdown(&weir_transcript::View::default(), &mut text)?;
/// assert!(text.starts_with("# Session"));
/// # Ok::<(), std::fmt::Error>(())
/// ```
pub fn markdown(view: &View, output: &mut dyn fmt::Write) -> fmt::Result {
    ExportForm::Markdown.write(view, output)
}

/// Writes a session as one HTML file, without scripts, light or dark as the reader prefers.
///
/// # Errors
/// Errors of the output.
pub fn html(view: &View, output: &mut dyn fmt::Write) -> fmt::Result {
    ExportForm::Html.write(view, output)
}
