//! Writes a view for people to keep: as Markdown, or as a web page that needs nothing but itself.
//!
//! Pure: a view goes in, text comes out through [`std::fmt::Write`]. Everything that an agent, a tool or a person wrote
//! is data here. It can neither end the place in which it stands nor bring markup or a script of its own, and nothing in
//! a page is loaded from elsewhere.
//!
//! - `outline` what stands inside what, `walk` in which order it is shown, `parts` what there is to show of a tool call,
//!   `words` how states, times and amounts are said, `clean` what may stand in a text, `markdown` and `html` the two
//!   forms, `stream` a conversation that is too long to be in memory.

mod clean;
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
pub use stream::{ExportForm, Exporter};

use crate::view::View;

/// Writes a conversation as Markdown, with tool calls folded.
///
/// # Errors
/// Those of the output.
///
/// ```
/// let mut text = String::new();
/// weir_transcript::export::markdown(&weir_transcript::View::default(), &mut text)?;
/// assert!(text.starts_with("# Conversation"));
/// # Ok::<(), std::fmt::Error>(())
/// ```
pub fn markdown(view: &View, output: &mut dyn fmt::Write) -> fmt::Result {
    markdown::write(view, output)
}

/// Writes a conversation as one HTML file, without scripts, light or dark as the reader has it.
///
/// # Errors
/// Those of the output.
pub fn html(view: &View, output: &mut dyn fmt::Write) -> fmt::Result {
    html::write(view, output)
}
