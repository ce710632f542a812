//! Splits a long text into pieces that fit into messages of a channel.
//!
//! Pieces end between blocks if possible, or else between lines or words. A code block that does not fit is closed at
//! the end of a piece and reopened in the next one.
//!
//! The work is proportional to the length of the text: each piece is processed a few times when it is cut off, and
//! never again when text is added after it.

mod cutter;
mod fence;
mod search;

use super::Markup;
use cutter::Cutter;
use fence::Fence;

/// Splits Markdown into pieces of Markdown that are at most `longest` long once rendered.
///
/// Pieces do not depend on the text after them, so a growing text changes only its last piece.
pub fn split(markdown: &str, markup: Markup, longest: usize) -> Vec<String> {
    let mut splitter = Splitter::new(markup, longest);
    let last = splitter.advance(markdown, usize::MAX);
    splitter.closed.into_iter().chain(last).collect()
}

/// Splits a growing text. Pieces that were cut off are not processed again.
#[derive(Debug, Clone)]
pub struct Splitter {
    cutter: Cutter,
    /// Pieces that later text cannot change.
    closed: Vec<String>,
    /// Where the text continues after them.
    at: usize,
    /// The code block that is open there.
    fence: Option<Fence>,
}

impl Splitter {
    /// A splitter for a channel with this markup and maximum message length.
    pub fn new(markup: Markup, longest: usize) -> Self {
        Self { cutter: Cutter::new(markup, longest), closed: Vec::new(), at: 0, fence: None }
    }

    /// Splits a text that starts with the text of the last call into at most `max_closed` closed pieces. Returns the
    /// piece after them, which later text may still change, or `None` if there is none or the limit is reached.
    pub fn advance(&mut self, markdown: &str, max_closed: usize) -> Option<String> {
        let text = markdown.trim_end();
        while self.closed.len() < max_closed {
            let rest = text.get(self.at..)?;
            if rest.trim().is_empty() {
                return None;
            }
            let Some(cut) = self.cutter.cut(rest, self.fence.as_ref()) else {
                let opening = self.fence.as_ref().map_or("", |fence| fence.opening.as_str());
                let only_closes = self.fence.as_ref().is_some_and(|fence| fence.is_closed_by(rest));
                return (!only_closes).then(|| format!("{opening}{rest}"));
            };
            self.at += cut.end;
            self.closed.extend(cut.piece);
            self.fence = cut.fence;
        }
        None
    }

    /// The pieces that later text cannot change.
    pub fn closed(&self) -> &[String] {
        &self.closed
    }

    /// Whether a text continues after the closed pieces.
    pub fn has_more(&self, markdown: &str) -> bool {
        markdown.get(self.at..).is_some_and(|rest| !rest.trim().is_empty())
    }

    /// Number of bytes processed so far.
    pub fn bytes_processed(&self) -> u64 {
        self.cutter.bytes_processed
    }
}
