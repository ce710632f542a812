//! Standard output and standard error: whole lines, and ways to write them badly.

use std::io::Write;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use super::lock;
use super::misbehave::Misbehaviour;
use crate::json::Json;

/// Something to write to.
pub(crate) type Sink = Box<dyn Write + Send>;

#[derive(Debug, Default, Clone, Copy)]
struct Style {
    single_bytes: bool,
    split_utf8: bool,
    crlf: bool,
    escapes: bool,
    reordered_keys: bool,
}

/// Where lines go.
pub(crate) struct Output {
    out: Mutex<(Sink, Style)>,
    err: Mutex<Sink>,
    /// Whether lines are written at all; not if only the final text was requested.
    streams: bool,
    /// Whether nothing more is written: the other side is gone, or the CLI is silent.
    closed: AtomicBool,
}

impl std::fmt::Debug for Output {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Output").field("streams", &self.streams).finish_non_exhaustive()
    }
}

impl Output {
    pub(crate) fn new(out: Sink, err: Sink, streams: bool) -> Self {
        let out = Mutex::new((out, Style::default()));
        Self { out, err: Mutex::new(err), streams, closed: AtomicBool::new(false) }
    }

    /// Changes how lines are written from now on, if the misbehaviour is of that kind.
    pub(crate) fn misbehave(&self, misbehaviour: &Misbehaviour) {
        let style = &mut lock(&self.out).1;
        match misbehaviour {
            Misbehaviour::SingleBytes => style.single_bytes = true,
            Misbehaviour::SplitUtf8 => style.split_utf8 = true,
            Misbehaviour::CrLf => style.crlf = true,
            Misbehaviour::Escapes => style.escapes = true,
            Misbehaviour::ReorderedKeys => style.reordered_keys = true,
            _ => {}
        }
    }

    /// Stops writing.
    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
    }

    /// Whether the other side is gone.
    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::SeqCst)
    }

    /// Writes a line of the stream.
    pub(crate) fn line(&self, line: &Json) {
        if self.streams {
            let reorder = lock(&self.out).1.reordered_keys;
            let text = if reorder { reordered(line.clone()).to_string() } else { line.to_string() };
            self.text_line(&text);
        }
    }

    /// Writes a line that is not JSON, or only part of it.
    pub(crate) fn text_line(&self, text: &str) {
        let (sink, style) = &mut *lock(&self.out);
        let end = if style.crlf { "\r\n" } else { "\n" };
        let line =
            if style.escapes { format!("\u{1b}[?25l{text}\u{1b}[?25h{end}") } else { format!("{text}{end}") };
        self.write(sink, *style, line.as_bytes());
    }

    /// Writes the final text, or a truncated line.
    pub(crate) fn raw(&self, bytes: &[u8]) {
        let (sink, style) = &mut *lock(&self.out);
        self.write(sink, *style, bytes);
    }

    fn write(&self, sink: &mut Sink, style: Style, bytes: &[u8]) {
        if self.is_closed() {
            return;
        }
        let pieces: Vec<&[u8]> = if style.single_bytes {
            bytes.chunks(1).collect()
        } else if style.split_utf8 {
            split_inside_characters(bytes)
        } else {
            vec![bytes]
        };
        for piece in pieces {
            if sink.write_all(piece).and_then(|()| sink.flush()).is_err() {
                self.close();
            }
        }
    }

    /// Writes to standard error. If there is no reader, that is not a reason to stop.
    pub(crate) fn error(&self, text: &str) {
        let sink = &mut *lock(&self.err);
        drop(sink.write_all(text.as_bytes()).and_then(|()| sink.flush()));
    }
}

/// Splits after the first byte of each multi-byte character.
fn split_inside_characters(bytes: &[u8]) -> Vec<&[u8]> {
    let mut pieces = Vec::new();
    let mut rest = bytes;
    while let Some(place) = rest.iter().position(|byte| *byte >= 0xC0) {
        let (piece, tail) = rest.split_at((place + 1).min(rest.len()));
        pieces.push(piece);
        rest = tail;
    }
    pieces.push(rest);
    pieces
}

/// The same object with its keys reversed, on all levels.
fn reordered(value: Json) -> Json {
    match value {
        Json::Object(members) => {
            Json::Object(members.into_iter().rev().map(|(key, value)| (key, reordered(value))).collect())
        }
        Json::Array(items) => Json::Array(items.into_iter().map(reordered).collect()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{array, object};

    #[test]
    fn characters_are_split_and_nothing_is_lost() {
        let pieces = split_inside_characters("aé😀".as_bytes());
        assert!(pieces.len() > 2 && pieces.iter().any(|piece| std::str::from_utf8(piece).is_err()));
        assert_eq!(pieces.concat(), "aé😀".as_bytes());
    }

    #[test]
    fn keys_are_reordered_on_all_levels() {
        let value = object! { "a" => 1, "b" => array![object! { "c" => 2, "d" => 3 }] };
        assert_eq!(reordered(value).to_string(), r#"{"b":[{"d":3,"c":2}],"a":1}"#);
    }
}
