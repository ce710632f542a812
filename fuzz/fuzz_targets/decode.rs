//! Frames and decodes arbitrary bytes.
//!
//! The first four bytes of an input choose the framer's limit and the chunk sizes; the rest is the stream.

#![no_main]

use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use weir_wire::{Body, Decoder, Frame, Framer, RawJson};

/// Weir returns deeper values as text, so they are not compared.
const COMPARED_DEPTH: usize = 118;

fuzz_target!(|data: &[u8]| {
    let Some((header, stream)) = data.split_first_chunk::<4>() else {
        return;
    };
    let [limit, sizes @ ..] = *header;
    let limit = match limit {
        0..128 => Framer::DEFAULT_LIMIT,
        short => 8 << (short % 10),
    };
    let mut framer = Framer::with_limit(limit);
    let mut decoder = Decoder::new();
    let mut expected = lines(stream);
    let mut sizes = sizes.iter().cycle();
    let mut rest = stream;
    while !rest.is_empty() {
        let size = sizes.next().map_or(1, |size| chunk_size(*size));
        let (now, later) = rest.split_at(size.min(rest.len()));
        rest = later;
        framer.push(now);
        while let Some(frame) = framer.next_frame() {
            check(frame, expected.next(), limit, &mut decoder);
        }
    }
    if let Some(frame) = framer.finish() {
        check(frame, expected.next(), limit, &mut decoder);
    }
    assert_eq!(expected.next(), None, "a line was lost");
});

/// From one byte to some kilobytes.
fn chunk_size(byte: u8) -> usize {
    let byte = usize::from(byte);
    if byte < 64 { byte + 1 } else { (byte - 62) * 32 }
}

/// The lines of a stream, found the simple way.
fn lines(stream: &[u8]) -> impl Iterator<Item = &[u8]> {
    let whole = stream.strip_suffix(b"\n").unwrap_or(stream);
    let lines = (!stream.is_empty()).then(|| whole.split(|byte| *byte == b'\n'));
    lines.into_iter().flatten()
}

fn check(frame: Frame<'_>, expected: Option<&[u8]>, limit: usize, decoder: &mut Decoder) {
    let expected = expected.expect("an unexpected line");
    match frame {
        Frame::Line(line) => {
            assert_eq!(line, expected);
            assert!(line.len() <= limit);
        }
        Frame::Oversize { head, length } => {
            assert!(expected.starts_with(head));
            assert_eq!(length, expected.len() as u64);
            assert!(expected.len() > limit);
        }
    }
    let line = decoder.decode_frame(frame);
    // Formatting walks the whole line, and turns every text into a string.
    let decoded = format!("{:?}", line.body);
    let Frame::Line(bytes) = frame else {
        assert!(matches!(line.body, Body::Oversize { .. }));
        return;
    };
    assert_eq!(line.raw, bytes);
    let fresh = format!("{:?}", Decoder::new().decode(bytes).body);
    assert_eq!(decoded, fresh, "the result depends on earlier lines");
    compare_with_serde(bytes, &line.body);
}

/// What serde_json accepts as an object is one here too, with the same content.
fn compare_with_serde(bytes: &[u8], body: &Body<'_>) {
    let Ok(theirs @ Value::Object(_)) = serde_json::from_slice::<Value>(bytes) else {
        return;
    };
    assert!(!matches!(body, Body::NotJson { .. } | Body::Blank), "{body:?} for an object");
    let ours = RawJson::parse(bytes).expect("serde_json reads it").to_value();
    assert!(same(&ours, &theirs, 0), "{ours} is not {theirs}");
}

fn same(ours: &Value, theirs: &Value, depth: usize) -> bool {
    if depth >= COMPARED_DEPTH {
        return true;
    }
    match (ours, theirs) {
        (Value::Array(ours), Value::Array(theirs)) => {
            let mut pairs = ours.iter().zip(theirs);
            ours.len() == theirs.len() && pairs.all(|(ours, theirs)| same(ours, theirs, depth + 1))
        }
        (Value::Object(ours), Value::Object(theirs)) => {
            let is_same = |(key, ours): (&String, &Value)| {
                let theirs = theirs.get(key);
                theirs.is_some_and(|theirs| same(ours, theirs, depth + 1))
            };
            ours.len() == theirs.len() && ours.iter().all(is_same)
        }
        // By value: whether a signed zero or a huge integer is a float is a matter of taste.
        (Value::Number(ours), Value::Number(theirs)) => ours == theirs || ours.as_f64() == theirs.as_f64(),
        (ours, theirs) => ours == theirs,
    }
}
