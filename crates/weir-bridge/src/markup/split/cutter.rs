//! Finds where the first piece of a text ends.
//!
//! It examines a window at the beginning of the text that grows until it no longer fits, so the work for a piece
//! depends on the length of the piece and not on the length of the text.

use pulldown_cmark::Event;

use super::fence::Fence;
use super::search::last_that_passes;
use crate::markup::Markup;
use crate::markup::html::parser;

/// Minimum message length. Nothing sensible fits into less.
const MIN_LENGTH: usize = 64;

/// Finds where pieces end, and counts the bytes that it processes.
#[derive(Debug, Clone)]
pub(super) struct Cutter {
    markup: Markup,
    longest: usize,
    pub(super) bytes_processed: u64,
}

/// The end of a piece.
#[derive(Debug)]
pub(super) struct Cut {
    /// Number of bytes of the text that it takes.
    pub(super) end: usize,
    /// The piece itself, or `None` if nothing in it is visible.
    pub(super) piece: Option<String>,
    /// The code block that continues in the next piece.
    pub(super) fence: Option<Fence>,
}

/// The beginning of a text that does not fit, after the fence that reopens its code block.
struct Window<'a> {
    shown: &'a str,
    /// Where the text begins.
    base: usize,
    /// The fence that is open there.
    fence: Option<&'a Fence>,
    /// Approximate number of bytes that fit.
    guess: usize,
}

impl Cutter {
    pub(super) fn new(markup: Markup, longest: usize) -> Self {
        Self { markup, longest: longest.max(MIN_LENGTH), bytes_processed: 0 }
    }

    /// The length of a text once rendered.
    fn length(&mut self, text: &str) -> usize {
        self.bytes_processed += u64::try_from(text.len()).unwrap_or(u64::MAX);
        self.markup.length(text)
    }

    fn fits(&mut self, text: &str) -> bool {
        self.length(text) <= self.longest
    }

    /// Cuts off the first piece, or returns `None` if the whole text fits.
    pub(super) fn cut(&mut self, text: &str, fence: Option<&Fence>) -> Option<Cut> {
        let opening = fence.map_or("", |fence| fence.opening.as_str());
        let mut size = self.longest;
        let (shown, guess) = loop {
            let window = whole_lines(text, size);
            let shown = format!("{opening}{window}");
            let length = self.length(shown.trim_end());
            if length > self.longest {
                let guess = shown.len().saturating_mul(self.longest) / length.max(1);
                break (shown, guess);
            }
            if window.len() == text.len() {
                return None;
            }
            size = size.saturating_mul(2);
        };
        let window = Window { shown: &shown, base: opening.len(), fence, guess };
        let (end, fence) = self.end_of_piece(&window);
        Some(Cut { end: end - window.base, piece: piece(&window, end, fence.as_ref()), fence })
    }

    /// Where the piece ends: between blocks, or else between lines, between words, or anywhere.
    fn end_of_piece(&mut self, window: &Window<'_>) -> (usize, Option<Fence>) {
        let shown = window.shown;
        self.bytes_processed += u64::try_from(shown.len()).unwrap_or(u64::MAX);
        let starts = block_starts(shown, window.base);
        let fits = |end: usize| self.fits(shown.get(..end).unwrap_or_default().trim_end());
        if let Some(end) = last_that_passes(&starts, window.guess, fits) {
            return (end, None);
        }
        let block_end = starts.first().copied().unwrap_or(shown.len());
        self.end_in_block(window, block_end)
    }

    /// Where the piece ends if its first block does not fit.
    fn end_in_block(&mut self, window: &Window<'_>, block_end: usize) -> (usize, Option<Fence>) {
        let shown = window.shown;
        let mut open = window.fence.cloned();
        // Do not make a piece that has only the line that opens a code block.
        let mut content = window.base;
        let mut lines: Vec<(usize, Option<Fence>)> = Vec::new();
        let mut at = window.base;
        for line in shown.get(window.base..block_end).unwrap_or_default().split_inclusive('\n') {
            let is_first = lines.is_empty() && content == window.base;
            let after = Fence::after(open.as_ref(), line);
            let only_opens = is_first && open.is_none() && after.is_some();
            at += line.len();
            open = after;
            if only_opens {
                content = at;
            } else if at < block_end {
                lines.push((at, open.clone()));
            }
        }
        let ends: Vec<usize> = lines.iter().map(|(end, _)| *end).collect();
        let fence_at = |end: usize| {
            let found = lines.binary_search_by_key(&end, |(at, _)| *at).ok();
            found.and_then(|index| lines.get(index)).and_then(|(_, fence)| fence.as_ref())
        };
        let fits = |end: usize| self.fits_closed(shown, end, fence_at(end));
        if let Some(end) = last_that_passes(&ends, window.guess, fits) {
            return (end, fence_at(end).cloned());
        }
        let fence = match window.fence {
            Some(fence) => Some(fence.clone()),
            None => shown.get(window.base..content).and_then(Fence::opened_by),
        };
        let line_end = ends.first().copied().unwrap_or(block_end);
        (self.end_in_line(window, content, line_end, fence.as_ref()), fence)
    }

    /// Where the piece ends if its first line does not fit.
    fn end_in_line(&mut self, window: &Window<'_>, from: usize, to: usize, fence: Option<&Fence>) -> usize {
        let shown = window.shown;
        let line = shown.get(from..to).unwrap_or_default();
        let ends: Vec<usize> =
            line.char_indices().map(|(at, character)| from + at + character.len_utf8()).collect();
        let one = ends.first().copied().unwrap_or(shown.len());
        let max =
            last_that_passes(&ends, window.guess, |end| self.fits_closed(shown, end, fence)).unwrap_or(one);
        let word = shown.get(from..max).and_then(|part| part.rfind(' ')).map(|space| from + space + 1);
        if let Some(word) = word.filter(|word| *word > from + (max - from) / 2 && *word < max)
            && self.fits_closed(shown, word, fence)
        {
            return word;
        }
        max
    }

    /// Whether a part fits once its code block is closed.
    fn fits_closed(&mut self, shown: &str, end: usize, fence: Option<&Fence>) -> bool {
        let part = shown.get(..end).unwrap_or_default();
        match fence {
            Some(fence) => self.fits(&closed(part, fence)),
            None => self.fits(part.trim_end()),
        }
    }
}

/// A part of a text, with its code block closed.
fn closed(part: &str, fence: &Fence) -> String {
    let line_feed = if part.ends_with('\n') { "" } else { "\n" };
    format!("{part}{line_feed}{}", fence.closing)
}

/// The piece that ends at `end`, or `None` if nothing in it is visible.
fn piece(window: &Window<'_>, end: usize, fence: Option<&Fence>) -> Option<String> {
    let content = window.shown.get(window.base..end).unwrap_or_default();
    let only_closes = window.fence.is_some_and(|fence| fence.is_closed_by(content));
    if content.trim().is_empty() || only_closes {
        return None;
    }
    let part = window.shown.get(..end).unwrap_or_default();
    Some(match fence {
        Some(fence) => closed(part, fence),
        None => part.trim_end().to_owned(),
    })
}

/// The first bytes of a text, about `size` of them, cut after a line if possible.
fn whole_lines(text: &str, size: usize) -> &str {
    if text.len() <= size {
        return text;
    }
    let mut end = size.max(1);
    while !text.is_char_boundary(end) {
        end += 1;
    }
    let part = text.get(..end).unwrap_or(text);
    let line = part.rfind('\n').filter(|at| *at > end / 2).map_or(end, |at| at + 1);
    text.get(..line).unwrap_or(text)
}

/// Where top-level blocks begin, after this offset.
fn block_starts(text: &str, after: usize) -> Vec<usize> {
    let mut starts = Vec::new();
    let mut depth = 0_usize;
    // A block begins at the start of its line, including leading spaces.
    let line_start =
        |at: usize| text.get(..at).and_then(|before| before.rfind('\n')).map_or(0, |line| line + 1);
    for (event, range) in parser(text).into_offset_iter() {
        match event {
            Event::Start(_) => {
                if depth == 0 {
                    starts.push(line_start(range.start));
                }
                depth += 1;
            }
            Event::End(_) => depth = depth.saturating_sub(1),
            Event::Rule if depth == 0 => starts.push(line_start(range.start)),
            _ => {}
        }
    }
    starts.retain(|start| *start > after);
    starts.dedup();
    starts
}
