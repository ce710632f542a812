//! Waits between lines, so that a replay runs at the recorded pace.

use std::time::Duration;

use weir_wire::{Body, Line, Message, Text};

/// Pieces of a message have no timestamps; this is about how long a model takes for one.
const BETWEEN_PIECES: Duration = Duration::from_millis(30);

/// Maximum pause: a recording may include hours of waiting for a person.
const MAX_PAUSE: Duration = Duration::from_secs(10);

pub(super) struct Pace {
    speed: f64,
    last: Option<i64>,
}

impl Pace {
    pub(super) fn new(speed: f64) -> Self {
        Self { speed, last: None }
    }

    /// Waits until the line is due.
    #[expect(clippy::disallowed_methods, reason = "the user asked for a replay at the recorded pace")]
    pub(super) fn wait_for(&mut self, line: &Line<'_>) {
        let pause = self.pause_before(line);
        if !pause.is_zero() {
            std::thread::sleep(pause);
        }
    }

    fn pause_before(&mut self, line: &Line<'_>) -> Duration {
        let recorded = match &line.body {
            Body::Known(Message::StreamEvent(_)) => BETWEEN_PIECES,
            Body::Known(message) => {
                let Some(now) = time_of(message) else {
                    return Duration::ZERO;
                };
                let gap = self.last.map_or(0, |last| now - last);
                self.last = Some(now);
                Duration::from_millis(u64::try_from(gap).unwrap_or(0)).min(MAX_PAUSE)
            }
            _ => return Duration::ZERO,
        };
        recorded.div_f64(self.speed)
    }
}

fn time_of(message: &Message<'_>) -> Option<i64> {
    let stamp: Option<Text<'_>> = match message {
        Message::Assistant(message) => message.timestamp,
        Message::User(message) => message.timestamp,
        _ => None,
    };
    weir_transcript::milliseconds(&stamp?.to_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use weir_wire::Decoder;

    #[test]
    fn pauses_are_the_recorded_ones_divided_by_the_speed() {
        let mut decoder = Decoder::new();
        let mut pace = Pace::new(2.0);
        let mut pause = |line: &str| pace.pause_before(&decoder.decode(line.as_bytes()));
        let at = |time: &str| {
            format!(
                r#"{{"type":"assistant","message":{{"content":[]}},"timestamp":"2026-11-15T07:03:{time}Z"}}"#
            )
        };
        assert_eq!(pause(&at("04.000")), Duration::ZERO);
        assert_eq!(pause(&at("05.500")), Duration::from_millis(750));
        assert_eq!(pause(&at("05.000")), Duration::ZERO);
        assert_eq!(pause(&at("59.000")), Duration::from_secs(5));
        assert_eq!(pause("not JSON"), Duration::ZERO);
        assert_eq!(pause(r#"{"type":"stream_event","event":{"type":"ping"}}"#), Duration::from_millis(15));
    }
}
