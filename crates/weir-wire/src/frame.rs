//! Splits bytes into lines, without IO.
//!
//! The owner of the pipe reads straight into [`Framer::space`], reports how many bytes arrived with
//! [`Framer::filled`] and takes lines with [`Framer::next_frame`] until there are no more. A line that is
//! complete in the buffer is returned without a copy. The framer looks only for line feeds: what the bytes mean
//! is up to the decoder, and a raw log gets them verbatim.

/// A line, or the beginning of one that was too long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Frame<'a> {
    /// A line without its line feed; a carriage return before it is kept.
    Line(&'a [u8]),
    /// A line over the limit: its first bytes and its whole length. The rest was skipped.
    Oversize {
        /// The first bytes of the line.
        head: &'a [u8],
        /// Length of the line, without its line feed.
        length: u64,
    },
}

/// Cuts a stream of bytes into lines.
///
/// ```
/// use weir_wire::{Frame, Framer};
///
/// let mut framer = Framer::new();
/// framer.push(b"{\"type\":\"sys");
/// assert_eq!(framer.next_frame(), None);
/// framer.push(b"tem\"}\nlast");
/// assert_eq!(framer.next_frame(), Some(Frame::Line(b"{\"type\":\"system\"}")));
/// assert_eq!(framer.next_frame(), None);
/// assert_eq!(framer.finish(), Some(Frame::Line(b"last")));
/// ```
#[derive(Debug)]
pub struct Framer {
    buffer: Vec<u8>,
    /// Start of the bytes that have not been returned yet.
    start: usize,
    /// End of the received bytes.
    end: usize,
    /// End of the bytes that were already searched for a line feed, so no byte is searched twice.
    searched: usize,
    limit: usize,
    /// Set while the rest of an oversize line is skipped: its length so far. Its head is in `oversize_head`.
    skipping: Option<u64>,
    oversize_head: Vec<u8>,
}

impl Default for Framer {
    fn default() -> Self {
        Self::new()
    }
}

impl Framer {
    /// Default maximum length of a line: 64 MiB.
    pub const DEFAULT_LIMIT: usize = 64 << 20;

    /// Bytes of an oversize line that are kept; fewer if the limit itself is lower.
    pub const HEAD: usize = 4 << 10;

    const READ_SIZE: usize = 256 << 10;

    /// A framer with the default limit.
    pub fn new() -> Self {
        Self::with_limit(Self::DEFAULT_LIMIT)
    }

    /// A framer that accepts lines of up to `limit` bytes. A limit of 4 GiB or more is reduced to just below 4
    /// GiB.
    pub fn with_limit(limit: usize) -> Self {
        Self {
            buffer: Vec::new(),
            start: 0,
            end: 0,
            searched: 0,
            limit: limit.min(u32::MAX as usize - 1),
            skipping: None,
            oversize_head: Vec::new(),
        }
    }

    /// The buffer to read the next bytes into. Never empty.
    pub fn space(&mut self) -> &mut [u8] {
        if self.start == self.end {
            self.rewind();
        } else if self.buffer.len() - self.end < Self::READ_SIZE / 4 || self.is_too_large() {
            self.make_room();
        }
        if self.buffer.len() == self.end {
            self.buffer.resize(self.end + Self::READ_SIZE, 0);
        }
        self.buffer.get_mut(self.end..).unwrap_or_default()
    }

    /// Records that `count` bytes were written to the front of [`Framer::space`].
    pub fn filled(&mut self, count: usize) {
        self.end = self.buffer.len().min(self.end.saturating_add(count));
    }

    /// The last `count` bytes received, if no line has been taken since.
    pub fn newest(&self, count: usize) -> &[u8] {
        let from = self.end.saturating_sub(count);
        self.buffer.get(from..self.end).unwrap_or_default()
    }

    /// Appends bytes from elsewhere, at the cost of a copy.
    pub fn push(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let space = self.space();
            let count = space.len().min(bytes.len());
            let (now, later) = bytes.split_at(count);
            if let Some(target) = space.get_mut(..count) {
                target.copy_from_slice(now);
            }
            self.filled(count);
            bytes = later;
        }
    }

    /// The next line, if one is complete.
    pub fn next_frame(&mut self) -> Option<Frame<'_>> {
        if self.skipping.is_some() {
            return self.end_of_skipped();
        }
        let unsearched = self.buffer.get(self.searched..self.end).unwrap_or_default();
        let Some(offset) = memchr::memchr(b'\n', unsearched) else {
            self.searched = self.end;
            if self.end - self.start > self.limit {
                self.begin_skipping();
            }
            return None;
        };
        let line_end = self.searched + offset;
        let line_start = self.start;
        self.start = line_end + 1;
        self.searched = self.start;
        self.frame(line_start, line_end)
    }

    /// The bytes after the last line feed. Call this when no more bytes will come.
    pub fn finish(&mut self) -> Option<Frame<'_>> {
        if self.skipping.is_some() {
            self.skip();
            let length = self.skipping.take()?;
            return Some(Frame::Oversize { head: &self.oversize_head, length });
        }
        let (start, end) = (self.start, self.end);
        (self.start, self.searched) = (end, end);
        if start == end { None } else { self.frame(start, end) }
    }

    fn frame(&self, start: usize, end: usize) -> Option<Frame<'_>> {
        if end - start <= self.limit {
            return self.buffer.get(start..end).map(Frame::Line);
        }
        let head = self.buffer.get(start..start + self.head_length())?;
        Some(Frame::Oversize { head, length: (end - start) as u64 })
    }

    /// Does not depend on how the bytes were chunked: an oversize line is always longer than this.
    fn head_length(&self) -> usize {
        Self::HEAD.min(self.limit)
    }

    fn begin_skipping(&mut self) {
        let head = self.buffer.get(self.start..self.start + self.head_length()).unwrap_or_default();
        self.oversize_head.clear();
        self.oversize_head.extend_from_slice(head);
        self.skipping = Some((self.end - self.start) as u64);
        (self.start, self.searched) = (self.end, self.end);
    }

    /// Drops the received part of an oversize line, up to its line feed.
    fn skip(&mut self) {
        let fresh = self.buffer.get(self.start..self.end).unwrap_or_default();
        let skipped = memchr::memchr(b'\n', fresh).unwrap_or(fresh.len());
        self.skipping = self.skipping.map(|length| length + skipped as u64);
        self.start += skipped;
        self.searched = self.start;
    }

    fn end_of_skipped(&mut self) -> Option<Frame<'_>> {
        self.skip();
        if self.start == self.end {
            return None;
        }
        self.start += 1;
        self.searched = self.start;
        let length = self.skipping.take()?;
        Some(Frame::Oversize { head: &self.oversize_head, length })
    }

    /// Everything has been returned: start over at the front.
    fn rewind(&mut self) {
        (self.start, self.end, self.searched) = (0, 0, 0);
        self.release_memory();
    }

    /// A part of a line is at the end of the buffer: move it to the front, or grow.
    fn make_room(&mut self) {
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.searched -= self.start;
            self.start = 0;
            self.release_memory();
        }
        if self.buffer.len() - self.end < Self::READ_SIZE / 2 {
            // A quarter at a time: a huge line never holds much more memory than it is long, and growing by a
            // factor keeps the work linear in its length.
            let more = (self.buffer.len() / 4).max(Self::READ_SIZE);
            self.buffer.reserve_exact(more);
            self.buffer.resize(self.buffer.len() + more, 0);
        }
    }

    /// Whether a huge line has left behind a buffer larger than its current contents need.
    fn is_too_large(&self) -> bool {
        self.buffer.len() > 4 * Self::READ_SIZE && self.end - self.start < Self::READ_SIZE
    }

    /// Releases the memory that a huge line took, once it is no longer needed.
    fn release_memory(&mut self) {
        if self.is_too_large() {
            self.buffer.truncate(2 * Self::READ_SIZE);
            self.buffer.shrink_to_fit();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[derive(Debug, PartialEq, Eq)]
    enum Owned {
        Line(Vec<u8>),
        Oversize(Vec<u8>, u64),
    }

    fn owned(frame: Frame<'_>) -> Owned {
        match frame {
            Frame::Line(line) => Owned::Line(line.to_vec()),
            Frame::Oversize { head, length } => Owned::Oversize(head.to_vec(), length),
        }
    }

    fn frames(chunks: &[&[u8]], limit: usize) -> Vec<Owned> {
        let mut framer = Framer::with_limit(limit);
        let mut out = Vec::new();
        for chunk in chunks {
            framer.push(chunk);
            while let Some(frame) = framer.next_frame() {
                out.push(owned(frame));
            }
        }
        out.extend(framer.finish().map(owned));
        out
    }

    /// The frames that the framer must return, computed without a buffer.
    fn expected(bytes: &[u8], limit: usize) -> Vec<Owned> {
        let mut lines: Vec<&[u8]> = bytes.split(|&b| b == b'\n').collect();
        if lines.last().is_some_and(|last| last.is_empty()) {
            lines.pop();
        }
        let frame = |line: &[u8]| match line.len() > limit {
            true => Owned::Oversize(line[..limit.min(Framer::HEAD)].to_vec(), line.len() as u64),
            false => Owned::Line(line.to_vec()),
        };
        lines.into_iter().map(frame).collect()
    }

    proptest! {
        #[test]
        fn any_chunking_gives_the_same_lines(
            bytes in proptest::collection::vec(prop_oneof![3 => any::<u8>(), 1 => Just(b'\n'), 1 => Just(b'\r')], 0..300),
            sizes in proptest::collection::vec(1usize..40, 1..20),
            limit in prop_oneof![Just(5usize), Just(20), Just(1000)],
        ) {
            let mut rest: &[u8] = &bytes;
            let mut chunks = Vec::new();
            for size in sizes.iter().cycle() {
                if rest.is_empty() { break }
                let (now, later) = rest.split_at((*size).min(rest.len()));
                chunks.push(now);
                rest = later;
            }
            prop_assert_eq!(frames(&chunks, limit), expected(&bytes, limit));
        }
    }

    #[test]
    fn one_byte_at_a_time_splits_no_character() {
        let text = "{\"a\":\"é😀\"}\r\n\u{1b}[?25h{\"b\":\"€\"}".as_bytes();
        let bytes: Vec<&[u8]> = text.chunks(1).collect();
        assert_eq!(frames(&bytes, 100), expected(text, 100));
    }

    #[test]
    fn an_oversize_line_is_skipped_in_bounded_memory_and_the_next_one_is_read() {
        let mut framer = Framer::with_limit(1 << 20);
        let chunk = vec![b'x'; 100_000];
        for _ in 0..1000 {
            framer.push(&chunk);
            assert_eq!(framer.next_frame(), None);
            assert!(framer.buffer.capacity() < 4 << 20, "{}", framer.buffer.capacity());
        }
        framer.push(b"\nnext\n");
        let head = vec![b'x'; Framer::HEAD];
        assert_eq!(framer.next_frame(), Some(Frame::Oversize { head: &head, length: 100_000_000 }));
        assert_eq!(framer.next_frame(), Some(Frame::Line(b"next")));
    }

    #[test]
    fn the_memory_of_a_huge_line_is_given_back() {
        let mut framer = Framer::new();
        framer.push(&vec![b'x'; 20 << 20]);
        framer.push(b"\n");
        assert!(matches!(framer.next_frame(), Some(Frame::Line(line)) if line.len() == 20 << 20));
        framer.space();
        assert!(framer.buffer.capacity() <= 2 * Framer::READ_SIZE);
    }

    #[test]
    fn the_memory_of_a_huge_line_is_given_back_even_if_part_of_the_next_line_is_always_buffered() {
        let mut framer = Framer::new();
        framer.push(&vec![b'x'; 20 << 20]);
        framer.push(b"\npart of ");
        for _ in 0..20_000 {
            while framer.next_frame().is_some() {}
            framer.push(b"the next line, which is a little longer\npart of ");
        }
        assert!(framer.buffer.capacity() <= 4 * Framer::READ_SIZE, "{}", framer.buffer.capacity());
    }

    #[test]
    fn the_limit_applies_to_each_line_separately() {
        let mut framer = Framer::with_limit(100);
        for _ in 0..10_000 {
            framer.push(&[b'y'; 90]);
            framer.push(b"\n");
            assert!(matches!(framer.next_frame(), Some(Frame::Line(line)) if line.len() == 90));
        }
    }
}
