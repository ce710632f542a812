//! A long text in pieces that a channel takes.
//!
//! Pieces end between blocks where that is possible, else between lines, else between words. A code block that does
//! not fit is closed at the end of a piece and opened again in the next one.

use super::Markup;
use super::html::parser;

/// Splits Markdown into pieces of Markdown, none of which is longer than `longest` once it is rendered.
///
/// The beginning of the pieces does not depend on what is added at the end, so that a text that grows changes its
/// last piece only.
pub fn split(markdown: &str, markup: Markup, longest: usize) -> Vec<String> {
    let text = markdown.trim_end();
    if text.trim().is_empty() {
        return Vec::new();
    }
    if text.len() <= longest / 4 && markup.length(text) <= longest {
        return vec![text.to_owned()];
    }
    let mut packer =
        Packer { markup, longest: longest.max(SMALLEST), pieces: Vec::new(), piece: String::new() };
    for block in blocks(text) {
        packer.block(block);
    }
    packer.flush();
    packer.pieces
}

/// Nothing sensible fits into less.
const SMALLEST: usize = 64;

/// The blocks of the top level, each with the space before it.
fn blocks(text: &str) -> Vec<&str> {
    let mut cuts = Vec::new();
    let mut depth = 0_usize;
    for (event, range) in parser(text).into_offset_iter() {
        match event {
            pulldown_cmark::Event::Start(_) => {
                if depth == 0 {
                    cuts.push(range.start);
                }
                depth += 1;
            }
            pulldown_cmark::Event::End(_) => depth = depth.saturating_sub(1),
            pulldown_cmark::Event::Rule if depth == 0 => cuts.push(range.start),
            _ => {}
        }
    }
    // A block begins where its line begins: the spaces before it are a part of it.
    let line_start =
        |cut: usize| text.get(..cut).and_then(|before| before.rfind('\n')).map_or(0, |at| at + 1);
    let mut starts: Vec<usize> = cuts.into_iter().map(line_start).collect();
    starts.dedup();
    let ends = starts.iter().skip(1).copied().chain([text.len()]).collect::<Vec<_>>();
    let mut blocks: Vec<&str> =
        starts.iter().zip(ends).filter_map(|(start, end)| text.get(*start..end)).collect();
    // Definitions of links and the like give no event; nothing may be left out.
    if let Some(before) =
        starts.first().and_then(|first| text.get(..*first)).filter(|before| !before.is_empty())
    {
        blocks.insert(0, before);
    }
    if starts.is_empty() { vec![text] } else { blocks }
}

struct Packer {
    markup: Markup,
    longest: usize,
    pieces: Vec<String>,
    piece: String,
}

impl Packer {
    fn fits(&self, text: &str) -> bool {
        self.markup.length(text) <= self.longest
    }

    fn block(&mut self, block: &str) {
        let together = format!("{}{block}", self.piece);
        if self.fits(together.trim_end()) {
            self.piece = together;
            return;
        }
        if self.fits(block.trim_end()) {
            self.flush();
            self.piece = block.to_owned();
            return;
        }
        self.flush();
        self.lines(block);
    }

    fn flush(&mut self) {
        let piece = std::mem::take(&mut self.piece);
        let piece = piece.trim_end();
        if !piece.trim().is_empty() {
            self.pieces.push(piece.to_owned());
        }
    }

    /// Packs a block that does not fit line by line.
    fn lines(&mut self, block: &str) {
        let mut fence: Option<Fence> = None;
        for line in block.split_inclusive('\n') {
            let closes = fence.as_ref().is_some_and(|fence| fence.is_closed_by(line));
            self.line(line, fence.as_ref().filter(|_| !closes), closes);
            if closes {
                fence = None;
            } else if fence.is_none() {
                fence = Fence::opened_by(line);
            }
        }
    }

    fn line(&mut self, line: &str, fence: Option<&Fence>, closes: bool) {
        let closing = fence.map(|fence| fence.closing.as_str()).unwrap_or_default();
        if self.fits(&format!("{}{line}{closing}", self.piece)) || closes {
            self.piece.push_str(line);
            return;
        }
        let only_opened = fence.is_some_and(|fence| self.piece == fence.opening);
        if !self.piece.trim().is_empty() && !only_opened {
            self.break_piece(fence);
        }
        if self.fits(&format!("{}{line}{closing}", self.piece)) {
            self.piece.push_str(line);
            return;
        }
        self.long_line(line, fence);
    }

    /// Ends the piece; a code block goes on in the next one.
    fn break_piece(&mut self, fence: Option<&Fence>) {
        if let Some(fence) = fence {
            if !self.piece.ends_with('\n') {
                self.piece.push('\n');
            }
            self.piece.push_str(&fence.closing);
        }
        self.flush();
        if let Some(fence) = fence {
            self.piece.push_str(&fence.opening);
        }
    }

    /// Packs a line that does not fit, between words where there are some.
    fn long_line(&mut self, line: &str, fence: Option<&Fence>) {
        let closing = fence.map(|fence| fence.closing.as_str()).unwrap_or_default();
        let mut rest = line;
        while !rest.is_empty() {
            if self.fits(&format!("{}{rest}{closing}", self.piece)) {
                self.piece.push_str(rest);
                return;
            }
            let end = self.cut(rest, closing);
            self.piece.push_str(rest.get(..end).unwrap_or(rest));
            self.break_piece(fence);
            rest = rest.get(end..).unwrap_or_default();
        }
    }

    /// Where to cut a text that does not fit: between words where there are some, and so that what is before it fits.
    fn cut(&self, text: &str, closing: &str) -> usize {
        let most = self.most_that_fits(text, closing);
        let part = text.get(..most).unwrap_or(text);
        let word = part.rfind(' ').filter(|space| *space > most / 2).map(|space| space + 1);
        // Less of a text can be longer: markup that is not closed any more is text, and code that is not may be markup.
        let shorter = part.char_indices().rev().map(|(at, _)| at).filter(|at| *at > 0);
        let mut cuts = word.into_iter().chain([most]).chain(shorter);
        let fits = |end: &usize| {
            let part = text.get(..*end).unwrap_or(text);
            self.fits(format!("{}{part}\n{closing}", self.piece).trim_end())
        };
        cuts.find(fits).unwrap_or(most)
    }

    /// How many bytes of a text fit into the open piece; at least one character.
    fn most_that_fits(&self, text: &str, closing: &str) -> usize {
        let ends: Vec<usize> =
            text.char_indices().map(|(at, character)| at + character.len_utf8()).take(self.longest).collect();
        let fitting = ends.partition_point(|end| {
            let part = text.get(..*end).unwrap_or_default();
            self.fits(&format!("{}{part}\n{closing}", self.piece))
        });
        ends.get(fitting.saturating_sub(1)).copied().unwrap_or(text.len())
    }
}

/// The fence of a code block that is open.
#[derive(Debug)]
struct Fence {
    /// The line that opens it again, with its line feed.
    opening: String,
    closing: String,
    mark: char,
    count: usize,
}

impl Fence {
    fn opened_by(line: &str) -> Option<Self> {
        let indent = line.len() - line.trim_start_matches([' ', '>']).len();
        let (before, code) = line.split_at_checked(indent)?;
        let mark = code.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
        let count = code.chars().take_while(|character| *character == mark).count();
        // Backticks later in the line make it code inside a line.
        let is_fence = count >= 3 && !(mark == '`' && code.trim_start_matches('`').contains('`'));
        is_fence.then(|| Self {
            opening: format!("{}\n", line.trim_end()),
            closing: format!("{before}{}", String::from(mark).repeat(count)),
            mark,
            count,
        })
    }

    fn is_closed_by(&self, line: &str) -> bool {
        let line = line.trim_matches([' ', '>', '\n', '\r', '\t']);
        line.chars().count() >= self.count && line.chars().all(|character| character == self.mark)
    }
}
