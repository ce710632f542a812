//! The OpenAI API with a real CLI: complete, streamed, continued, and abandoned by its client.
//!
//! The CLI has to be installed: `scripts/setup-real-cli.sh`. `WEIR_SKIP_REAL_CLI=1` skips this and says so.

use serde_json::{Value, json};
use weir_testkit::Place as RealPlace;
use weir_testkit::api::ScriptedApi;
use weir_testkit::real::RealCli;

use crate::common::{Event, Place, script};
use crate::support::Served;
use crate::{CHAT, RESPONSES, chat, said, structured, was_interrupted};

/// The pieces of text of a stream.
fn pieces(events: &[Event]) -> Vec<String> {
    let chunks = events.iter().filter(|event| event.data != "[DONE]").map(Event::json);
    let text = |chunk: Value| chunk["choices"][0]["delta"]["content"].as_str().map(str::to_owned);
    chunks.filter_map(text).filter(|text| !text.is_empty()).collect()
}

/// A server on a real CLI, which keeps its files in the place that goes with it.
fn serve(cli: &RealCli, api: &ScriptedApi) -> (Served, RealPlace) {
    let real = RealPlace::new().unwrap();
    let mut place = Place::new();
    let mark = place.path("");
    for (name, value) in real.environment(&api.url()) {
        place = place.set(&name.to_string_lossy(), value);
    }
    let place = place.set("WEIR_CLAUDE", cli.program.as_os_str()).set("WEIR_TEST_PLACE", mark);
    (Served::in_place(place, &["--openai-grace", "200ms"]), real)
}

#[test]
fn a_real_cli_answers_streams_and_is_interrupted() {
    let Some(cli) = RealCli::required().into_iter().max_by_key(|cli| cli.version) else { return };
    let api = ScriptedApi::start().unwrap();
    let (mut served, _real) = serve(&cli, &api);
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

    // A client that disconnects ends the turn.
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

#[test]
fn real_clis_answer_in_a_schema_and_branch() {
    for cli in RealCli::required() {
        let api = ScriptedApi::start().unwrap();
        let (mut served, _real) = serve(&cli, &api);
        structured::check_forms(&served);

        let respond = |text: &str, previous: Option<&str>| {
            let input = script(&format!(r#"{{"text":"{text}"}}"#));
            let body = json!({"model": "default", "input": input, "previous_response_id": previous});
            let answer = served.client.post(RESPONSES, &body).expect(200);
            let id = answer.json()["id"].as_str().unwrap().to_owned();
            // How many messages the model was sent.
            let shown = api
                .requests()
                .into_iter()
                .rfind(weir_testkit::api::RecordedRequest::is_message)
                .unwrap()
                .messages;
            (id, answer.header("x-weir-session").to_owned(), shown)
        };
        let (first, session, one) = respond("One.", None);
        let (_, second_session, two) = respond("Two.", Some(&first));
        assert_eq!(second_session, session);
        let (_, third_session, three) = respond("Three.", Some(&first));
        assert_ne!(third_session, session);
        // The branch has the same history as the second: the first exchange, and not the second one.
        assert_eq!(two, three, "{}: {one} {two} {three}", cli.version);
        assert!(two > one);
        served.stop();
    }
}

#[test]
fn a_real_cli_is_cut_off_refused_and_fails() {
    let Some(cli) = RealCli::required().into_iter().max_by_key(|cli| cli.version) else { return };
    let api = ScriptedApi::start().unwrap();
    let (mut served, _real) = serve(&cli, &api);
    // It asks the model to continue three times, and gives up.
    let part = |word: &str| format!(r#"{{"text":"{word}","stop_reason":"max_tokens"}}"#);
    let parts = ["one", "two", "three", "four"].map(part).join(",");
    let cut = served.client.post(CHAT, &chat(&script(&parts))).expect(200);
    assert_eq!(cut.json()["choices"][0]["finish_reason"], "length");
    assert_eq!(said(&cut), "one\n\ntwo\n\nthree\n\nfour");
    let mut body = chat(&script(&parts));
    body["stream"] = json!(true);
    let events = served.client.post_events(CHAT, &body).rest();
    assert_eq!(pieces(&events).concat(), "one\n\ntwo\n\nthree\n\nfour");
    assert!(events.iter().any(|event| event.data.contains(r#""finish_reason":"length""#)), "{events:#?}");

    let refused =
        script(r#"{"text":"I will","stop_reason":"refusal"},{"text":"No","stop_reason":"refusal"}"#);
    let answer = served.client.post(CHAT, &chat(&refused)).expect(200).json();
    let choice = &answer["choices"][0];
    assert_eq!(
        (&choice["finish_reason"], &choice["message"]["content"]),
        (&json!("content_filter"), &Value::Null)
    );
    assert!(choice["message"]["refusal"].as_str().unwrap().contains("safeguards"), "{answer:#}");

    let no_retry = r#""headers":{"x-should-retry":"false"}"#;
    for (status, kind, expected, code) in [
        (400, "invalid_request_error", 400, "upstream_invalid_request"),
        (401, "authentication_error", 401, "upstream_unauthorized"),
        (429, "rate_limit_error", 429, "rate_limit_exceeded"),
        (529, "overloaded_error", 503, "overloaded"),
    ] {
        let step = format!(r#"{{"status":{status},"etype":"{kind}","msg":"no",{no_retry}}}"#);
        let answer = served.client.post(CHAT, &chat(&script(&step)));
        assert_eq!(
            (answer.status, &answer.json()["error"]["code"]),
            (expected, &json!(code)),
            "{}",
            answer.text()
        );
        assert_eq!(answer.header("x-should-retry"), "false");
    }
    let long = r#"{"status":400,"etype":"invalid_request_error","msg":"prompt is too long: 210000 tokens > 200000 maximum"}"#;
    let answer = served.client.post(CHAT, &chat(&script(long))).expect(400);
    assert_eq!(answer.json()["error"]["code"], "context_length_exceeded");
    served.stop();
}
