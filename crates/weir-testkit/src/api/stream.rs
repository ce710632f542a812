//! Converts a message into the pieces of its event stream: bytes, pauses and faults. Pure.

use std::time::Duration;

use super::choose::{Break, Faults};
use super::message::ModelMessage;
use crate::json::Json;
use crate::object;

/// A piece of a response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Piece {
    /// Bytes to send at once.
    Send(Vec<u8>),
    /// Nothing for a while.
    Pause(Duration),
    /// The connection is cut here.
    Cut,
}

/// The pieces of a message. Faults occur in the middle of the first block.
pub(super) fn pieces(message: &ModelMessage, word_delay: Duration, faults: &Faults) -> Vec<Piece> {
    let mut pieces = vec![event("message_start", object! { "message" => message.start() })];
    for (index, block) in message.blocks.iter().enumerate() {
        let deltas = deltas(block);
        let middle = deltas.len() / 2;
        pieces.push(event(
            "content_block_start",
            object! { "index" => index, "content_block" => empty(block) },
        ));
        for (place, delta) in deltas.into_iter().enumerate() {
            if index == 0 && place == middle && !add_faults(&mut pieces, faults) {
                return pieces;
            }
            pieces.push(event("content_block_delta", object! { "index" => index, "delta" => delta }));
            pieces.push(Piece::Pause(word_delay));
        }
        pieces.push(event("content_block_stop", object! { "index" => index }));
    }
    let output = message.usage.get("output_tokens").cloned().unwrap_or(Json::Null);
    let usage = if faults.full_delta {
        message.usage.clone()
    } else {
        object! { "output_tokens" => output }
    };
    let mut delta = object! { "stop_reason" => &message.stop_reason, "stop_sequence" => Json::Null };
    if message.stop_reason == "refusal" {
        // Without a category the CLI asks no other model.
        let details = object! { "type" => "refusal", "category" => "cyber", "explanation" => "flagged" };
        delta = delta.with("stop_details", details);
    }
    pieces.push(event("message_delta", object! { "delta" => delta, "usage" => usage }));
    pieces.push(event("message_stop", object! {}));
    pieces.retain(|piece| !matches!(piece, Piece::Pause(pause) if pause.is_zero()));
    pieces
}

/// Adds the faults; returns false if nothing can follow.
fn add_faults(pieces: &mut Vec<Piece>, faults: &Faults) -> bool {
    pieces.push(Piece::Pause(Duration::try_from_secs_f64(faults.stall).unwrap_or_default()));
    match faults.breaks {
        None | Some(Break::Connection) => true,
        Some(Break::Stream) => {
            pieces.push(Piece::Cut);
            false
        }
        Some(Break::Malformed) => {
            pieces.push(Piece::Send(
                b"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":\n\n"
                    .to_vec(),
            ));
            true
        }
        Some(Break::Error) => {
            let error = object! { "type" => "overloaded_error", "message" => "Overloaded" };
            pieces.push(event("error", object! { "error" => error }));
            false
        }
    }
}

/// A block as it is announced: without the contents of its deltas.
fn empty(block: &Json) -> Json {
    let mut empty = block.clone();
    match block.str_of("type") {
        Some("text") => empty.set("text", ""),
        Some("thinking") => {
            empty.set("thinking", "");
            empty.set("signature", "");
        }
        _ => empty.set("input", object! {}),
    }
    empty
}

fn deltas(block: &Json) -> Vec<Json> {
    let text_of = |key: &str| block.str_of(key).unwrap_or_default();
    match block.str_of("type") {
        Some("text") => {
            let words = text_of("text").split_inclusive(' ');
            words.map(|word| object! { "type" => "text_delta", "text" => word }).collect()
        }
        Some("thinking") => {
            let halves = halves(text_of("thinking")).into_iter();
            let mut deltas: Vec<_> =
                halves.map(|half| object! { "type" => "thinking_delta", "thinking" => half }).collect();
            deltas.push(object! { "type" => "signature_delta", "signature" => text_of("signature") });
            deltas
        }
        _ => {
            let input = block.get("input").map(Json::to_string).unwrap_or_default();
            let halves = halves(&input).into_iter();
            halves.map(|half| object! { "type" => "input_json_delta", "partial_json" => half }).collect()
        }
    }
}

/// A text in two pieces, split at a character boundary.
fn halves(text: &str) -> [&str; 2] {
    let middle = (text.len() / 2..text.len()).find(|&place| text.is_char_boundary(place));
    <[&str; 2]>::from(text.split_at(middle.unwrap_or(text.len())))
}

fn event(kind: &str, data: Json) -> Piece {
    let data = object! { "type" => kind }.with_all(data);
    Piece::Send(format!("event: {kind}\ndata: {data}\n\n").into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::parse;
    use crate::script::Step;

    fn played(step: &str, faults: &Faults) -> Vec<Piece> {
        let step = Step::from_json(&parse(step).unwrap());
        pieces(&ModelMessage::new(&step, Json::from("m"), 1, || 1), step.word_delay, faults)
    }

    fn text(pieces: &[Piece]) -> String {
        let bytes = pieces.iter().filter_map(|piece| match piece {
            Piece::Send(bytes) => Some(String::from_utf8(bytes.clone()).unwrap()),
            _ => None,
        });
        bytes.collect()
    }

    fn data(pieces: &[Piece]) -> Vec<Json> {
        text(pieces)
            .lines()
            .filter_map(|line| line.strip_prefix("data: "))
            .map(|data| parse(data).unwrap())
            .collect()
    }

    #[test]
    fn the_deltas_make_up_the_blocks() {
        let step = r#"{"thinking":"é think","text":"one two  three","tool":"Bash","input":{"command":"é"},"wdelay":0.1}"#;
        let pieces = played(step, &Faults::default());
        let joined = |kind: &str, member: &str| -> String {
            let events = data(&pieces);
            let deltas = events.iter().filter_map(|event| event.get("delta"));
            deltas
                .filter(|delta| delta.str_of("type") == Some(kind))
                .filter_map(|delta| delta.str_of(member))
                .collect()
        };
        assert_eq!(joined("text_delta", "text"), "one two  three");
        assert_eq!(joined("thinking_delta", "thinking"), "é think");
        assert_eq!(joined("input_json_delta", "partial_json"), r#"{"command":"é"}"#);
        assert!(pieces.contains(&Piece::Pause(Duration::from_millis(100))));
        assert_eq!(data(&pieces).last().unwrap().str_of("type"), Some("message_stop"));
    }

    #[test]
    fn a_cut_stream_ends_in_the_middle_of_a_block() {
        let faults = Faults { breaks: Some(Break::Stream), ..Faults::default() };
        let pieces = played(r#"{"text":"one two three four"}"#, &faults);
        assert_eq!(pieces.last(), Some(&Piece::Cut));
        assert!(text(&pieces).contains("two"));
        assert!(!text(&pieces).contains("three"));
        let pieces = played(r#"{"tool":"Bash"}"#, &faults);
        assert_eq!(pieces.last(), Some(&Piece::Cut));
    }

    #[test]
    fn a_stall_and_a_malformed_event_do_not_end_the_stream() {
        let faults = Faults { breaks: Some(Break::Malformed), stall: 2.5, ..Faults::default() };
        let pieces = played(r#"{"text":"one two"}"#, &faults);
        assert!(pieces.contains(&Piece::Pause(Duration::from_millis(2500))));
        assert!(text(&pieces).contains("\"index\":\n\n"));
        assert!(text(&pieces).ends_with("data: {\"type\":\"message_stop\"}\n\n"));
    }

    #[test]
    fn the_usage_in_the_last_delta_is_full_on_request() {
        let faults = Faults { full_delta: true, ..Faults::default() };
        assert!(text(&played(r#"{"text":"x"}"#, &faults)).contains(r#""usage":{"input_tokens":100"#));
    }
}
