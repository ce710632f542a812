//! A long text in pieces that a channel takes.
//!
//! Pieces end between blocks where that is possible, else between lines, else between words. A code block that does
//! not fit is closed at the end of a piece and opened again in the next one.
//!
//! The work grows with the length of the text and with nothing else: each piece is looked at a few times when it is cut
//! off, and never again when text is added behind it.

mod cutter;
mod fence;
mod search;

use super::Markup;
use cutter::Cutter;
use fence::Fence;

/// Splits Markdown into pieces of Markdown, none of which is longer than `longest` once it is rendered.
///
/// The beginning of the pieces does not depend on what is added at the end, so that a text that grows changes its
/// last piece only.
pub fn split(markdown: &str, markup: Markup, longest: usize) -> Vec<String> {
    let mut splitter = Splitter::new(markup, longest);
    let last = splitter.advance(markdown, usize::MAX);
    splitter.closed.into_iter().chain(last).collect()
}

/// Splits a text that grows. What was cut off once is not looked at again.
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
    /// A splitter for a channel with this markup and this longest message.
    pub fn new(markup: Markup, longest: usize) -> Self {
        Self { cutter: Cutter::new(markup, longest), closed: Vec::new(), at: 0, fence: None }
    }

    /// Splits a text that begins with the text of the last call, into at most `max_closed` closed pieces. Gives the
    /// piece behind them, which later text may still change; nothing where there is none, or where the limit is
    /// reached.
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

    /// Whether a text has something behind the closed pieces.
    pub fn has_more(&self, markdown: &str) -> bool {
        markdown.get(self.at..).is_some_and(|rest| !rest.trim().is_empty())
    }

    /// How many bytes were looked at so far.
    pub fn looked_at(&self) -> u64 {
        self.cutter.looked_at
    }
}
