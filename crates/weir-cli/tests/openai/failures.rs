//! Errors for clients: the status and type say what really happened.

use serde_json::{Value, json};

use crate::common::{Place, TOUCHES, script};
use crate::support::Served;
use crate::{CHAT, RESPONSES, chat, messages, said};

fn failing(step: &str) -> Value {
    chat(&script(step))
}

fn served() -> Served {
    Served::in_place(Place::new().set("CLAUDE_CODE_MAX_RETRIES", "0"), &[])
}

#[test]
fn errors_of_the_api_keep_their_status_whole_and_streamed() {
    let mut served = served();
    for (step, status, code) in [
        (r#"{"status":400,"etype":"invalid_request_error","msg":"bad"}"#, 400, "upstream_invalid_request"),
        (
            r#"{"status":400,"etype":"invalid_request_error","msg":"prompt is too long: 210000 tokens > 200000 maximum"}"#,
            400,
            "context_length_exceeded",
        ),
        (r#"{"status":401,"etype":"authentication_error","msg":"bad key"}"#, 401, "upstream_unauthorized"),
        (r#"{"status":403,"etype":"permission_error","msg":"no"}"#, 403, "upstream_forbidden"),
        (r#"{"status":404,"etype":"not_found_error","msg":"no model"}"#, 404, "model_not_found"),
        (r#"{"status":429,"etype":"rate_limit_error","msg":"slow down"}"#, 429, "rate_limit_exceeded"),
        (r#"{"status":500,"etype":"api_error","msg":"boom"}"#, 502, "upstream_error"),
        (r#"{"status":529,"etype":"overloaded_error","msg":"Overloaded"}"#, 503, "overloaded"),
    ] {
        for stream in [false, true] {
            let mut body = failing(step);
            body["stream"] = json!(stream);
            let answer = served.client.post(CHAT, &body);
            let error = &answer.json()["error"];
            assert_eq!((answer.status, &error["code"]), (status, &json!(code)), "{}", answer.text());
            assert_eq!(answer.header("x-should-retry"), "false");
            assert!(!answer.header("x-weir-session").is_empty());
            let waits = matches!(status, 429 | 503);
            assert_eq!(answer.headers.iter().any(|(name, _)| name == "retry-after"), waits, "{status}");
        }
        let body = json!({"model": "default", "input": script(step)});
        let answer = served.client.post(RESPONSES, &body);
        assert_eq!((answer.status, &answer.json()["error"]["code"]), (status, &json!(code)));
    }
    served.stop();
}

#[test]
fn an_empty_result_falls_back_to_the_streamed_text_and_is_marked() {
    let mut served = served();
    let step = r#"{"text":"Half a word.","misbehave":"empty_result"}"#;
    let answer = served.client.post(CHAT, &failing(step)).expect(200);
    assert_eq!((said(&answer).as_str(), answer.header("x-weir-degraded")), ("Half a word.", "true"));
    let messages = messages(&served);
    assert!(messages.iter().all(|message| message["state"] == "answered"), "{messages:?}");
    let whole = served.client.post(CHAT, &failing(r#"{"text":"A word."}"#)).expect(200);
    assert!(whole.headers.iter().all(|(name, _)| name != "x-weir-degraded"));
    served.stop();
}

#[test]
fn a_limit_of_the_account_says_when_it_is_lifted() {
    let mut served = served();
    let step = r#"{"tool":"Read","input":{"file_path":"a"},"misbehave":{"rate_limit":7200}},{"status":429,"etype":"rate_limit_error","msg":"limit"}"#;
    let answer = served.client.post(CHAT, &failing(step)).expect(429);
    let seconds: u64 = answer.header("retry-after").parse().unwrap();
    assert!((7000..=7200).contains(&seconds), "{seconds}");
    served.stop();
}

#[test]
fn a_failure_in_the_middle_of_a_stream_is_an_event_of_it() {
    let mut served = served();
    let steps = script(
        r#"{"text":"So far.","tool":"Read","input":{"file_path":"a"}},{"status":400,"etype":"invalid_request_error","msg":"prompt is too long: 2 tokens > 1 maximum"}"#,
    );
    let mut body = chat(&steps);
    body["stream"] = json!(true);
    let mut stream = served.client.post_events(CHAT, &body);
    let events = stream.rest();
    let last = events.last().unwrap().json();
    assert_eq!(last["error"]["code"], "context_length_exceeded", "{events:#?}");
    let chunks = events.iter().map(crate::common::Event::json);
    let all: String = chunks
        .filter_map(|chunk| chunk["choices"][0]["delta"]["content"].as_str().map(str::to_owned))
        .collect();
    assert_eq!(all, "So far.");
    let body = json!({"model": "default", "stream": true, "input": steps});
    let events = served.client.post_events(RESPONSES, &body).rest();
    let last = events.last().unwrap().json();
    assert_eq!(
        (&last["type"], &last["response"]["error"]["code"]),
        (&json!("response.failed"), &json!("context_length_exceeded"))
    );
    served.stop();
}

#[test]
fn a_failed_turn_keeps_its_session_and_the_next_request_says_so() {
    let mut served = served();
    let first = script(r#"{"text":"Fine."}"#);
    let answer = served.client.post(CHAT, &chat(&first)).expect(200);
    let session = answer.header("x-weir-session").to_owned();
    let history = |more: &[&str]| {
        let mut messages =
            vec![json!({"role": "user", "content": first}), json!({"role": "assistant", "content": "Fine."})];
        messages.extend(more.iter().map(|text| json!({"role": "user", "content": text})));
        json!({"model": "default", "messages": messages})
    };
    let bad = script(r#"{"status":403,"etype":"permission_error","msg":"no"}"#);
    let failed = served.client.post(CHAT, &history(&[&bad])).expect(403);
    assert_eq!(failed.header("x-weir-session"), session);
    // The client drops the failed message or keeps it: both continue the session.
    let next = script(r#"{"text":"Better."}"#);
    let answer = served.client.post(CHAT, &history(&[&bad, &next])).expect(200);
    assert_eq!((said(&answer).as_str(), answer.header("x-weir-session")), ("Better.", session.as_str()));
    assert!(answer.header("x-weir-earlier-failure").contains("403"), "{:?}", answer.headers);
    let told = messages(&served);
    let told = told.iter().find(|message| message["text"].as_str().unwrap().contains("Better.")).unwrap();
    assert!(told["text"].as_str().unwrap().starts_with("The message before this one got no answer"));
    served.stop();
}

#[test]
fn nothing_waits_forever() {
    let mut served = Served::with(&["--openai-timeout", "500ms"]);
    let answer = served.client.post(CHAT, &chat(TOUCHES)).expect(504);
    assert_eq!(
        (answer.json()["error"]["code"].as_str(), answer.header("x-should-retry")),
        (Some("timeout"), "false")
    );
    crate::was_interrupted(&served, &json!(answer.header("x-weir-session")));
    assert!(!served.place.workspace().join("made").exists());
    served.stop();
}

#[test]
fn unknown_routes_answer_in_openais_format() {
    let mut served = Served::start();
    for (method, path, status, code) in [
        ("GET", "/v1/models/nothing", 404, "model_not_found"),
        ("POST", "/v1/embeddings", 404, "unknown_url"),
        ("GET", "/v1/embeddings", 404, "unknown_url"),
        ("POST", "/v1/completions", 404, "unknown_url"),
        ("GET", "/v1/chat/completions/abc", 404, "unknown_url"),
        ("GET", "/v1/responses/resp_1", 404, "unknown_url"),
        ("DELETE", "/v1/responses/resp_1/input_items", 404, "unknown_url"),
        ("GET", "/v1/chat/completions", 405, "method_not_allowed"),
        ("DELETE", "/v1/responses", 405, "method_not_allowed"),
        ("POST", "/v1/models", 405, "method_not_allowed"),
        ("PUT", "/v1/models/default", 405, "method_not_allowed"),
    ] {
        let answer = served.client.ask(method, path, &[], None);
        assert_eq!(
            (answer.status, &answer.json()["error"]["code"]),
            (status, &json!(code)),
            "{method} {path}: {}",
            answer.text()
        );
        assert_eq!(answer.json()["error"]["type"], "invalid_request_error");
    }
    assert_eq!(served.client.get("/v1/models/default").expect(200).json()["id"], "default");
    // The server's own API has its own format.
    for path in ["/v1/sessions/x/nothing", "/v1/tokens/x/nothing"] {
        assert_eq!(served.client.get(path).expect(404).json()["code"], "not_found", "{path}");
    }
    served.stop();
}

#[test]
fn a_token_without_budget_is_refused_without_a_retry() {
    let mut served = Served::start();
    let body = json!({"name": "poor", "role": "driver", "max_cost_usd": 0.000_001});
    let token =
        served.client.post("/v1/tokens", &body).expect(201).json()["token"].as_str().unwrap().to_owned();
    let poor = served.client.with(&token);
    poor.post(CHAT, &chat(&script(r#"{"text":"Once."}"#))).expect(200);
    let refused = crate::common::eventually("the money is counted", || {
        let answer = poor.post(CHAT, &chat(&script(r#"{"text":"Twice."}"#)));
        (answer.status != 200).then_some(answer)
    });
    assert_eq!((refused.status, &refused.json()["error"]["code"]), (429, &json!("insufficient_quota")));
    served.stop();
}

#[test]
fn a_stream_counts_towards_the_limit_of_its_token() {
    let served = Served::with(&["--streams-per-token", "1"]);
    let session = served.session();
    let watching = served.follow(&session, "view");
    let mut body = chat(&script(r#"{"text":"Never said."}"#));
    body["stream"] = json!(true);
    let refused = served.client.post(CHAT, &body).expect(429);
    assert_eq!(refused.json()["error"]["type"], "rate_limit_error", "{}", refused.text());
    assert_eq!(messages(&served).len(), 0, "no turn may start that cannot be answered");
    // An answer that is not streamed does not count.
    body["stream"] = json!(false);
    served.client.post(CHAT, &body).expect(200);
    watching.cut();
}
