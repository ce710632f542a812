//! The front with a real CLI behind it: whole, streamed, continued, and left by its client.
//!
//! The CLI has to be installed: `scripts/setup-real-cli.sh`. `WEIR_SKIP_REAL_CLI=1` leaves this out, and says so.

use serde_json::{Value, json};
use weir_testkit::api::ScriptedApi;
use weir_testkit::real::{Place as RealPlace, RealCli};

use crate::common::{Event, Place, script};
use crate::support::Served;
use crate::was_interrupted;

/// The pieces of text of a stream.
fn pieces(events: &[Event]) -> Vec<String> {
    let chunks = events.iter().filter(|event| event.data != "[DONE]").map(Event::json);
    let text = |chunk: Value| chunk["choices"][0]["delta"]["content"].as_str().map(str::to_owned);
    chunks.filter_map(text).filter(|text| !text.is_empty()).collect()
}

#[test]
fn a_real_cli_answers_streams_and_is_interrupted() {
    let Some(cli) = RealCli::required().unwrap().into_iter().max_by_key(|cli| cli.version) else { return };
    let api = ScriptedApi::start().unwrap();
    let real = RealPlace::new().unwrap();
    let mut place = Place::new();
    let mark = place.path("");
    for (name, value) in real.environment(&api.url()) {
        place = place.set(&name.to_string_lossy(), value);
    }
    let place = place.set("WEIR_CLAUDE", cli.program.as_os_str()).set("WEIR_TEST_PLACE", mark);
    let mut served = Served::in_place(place, &["--openai-grace", "200ms"]);
    let first = script(r#"{"text":"The first answer."}"#);
    let body = json!({"model": "default", "messages": [{"role": "user", "content": first}]});
    let answer = served.client.post("/v1/chat/completions", &body).expect(200);
    assert_eq!(answer.json()["choices"][0]["message"]["content"], "The first answer.");
    assert!(answer.json()["usage"]["completion_tokens"].as_u64() > Some(0), "{}", answer.text());
    let session = answer.header("x-weir-session").to_owned();

    // The client comes back with the history, and is answered in pieces, in the same session.
    let second = script(r#"{"text":"one two three four five six","wdelay":0.05}"#);
    let body = json!({"model": "default", "stream": true, "stream_options": {"include_usage": true}, "messages": [
        {"role": "user", "content": first},
        {"role": "assistant", "content": "The first answer."},
        {"role": "user", "content": second},
    ]});
    let mut stream = served.client.post_events("/v1/chat/completions", &body);
    let found =
        stream.headers.iter().find(|(name, _)| name == "x-weir-session").map(|(_, value)| value.clone());
    assert_eq!(found, Some(session));
    let events = stream.rest();
    let pieces = pieces(&events);
    assert_eq!(pieces.concat(), "one two three four five six");
    assert!(pieces.len() > 1, "it came in pieces: {pieces:?}");
    assert_eq!(events.last().map(|event| event.data.as_str()), Some("[DONE]"));

    // A client that goes away ends the turn.
    let slow = script(r#"{"text":"word word word word word","wdelay":30}"#);
    let body = json!({"model": "default", "stream": true, "messages": [{"role": "user", "content": slow}]});
    let mut stream = served.client.post_events("/v1/chat/completions", &body);
    let left =
        stream.headers.iter().find(|(name, _)| name == "x-weir-session").map(|(_, value)| value.clone());
    stream.until(|event| event.data.contains("word"));
    stream.cut();
    was_interrupted(&served, &json!(left));
    served.stop();
}
