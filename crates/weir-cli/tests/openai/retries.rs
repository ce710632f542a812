//! Retries of a request: the turn runs once, and each attempt gets its result.

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::common::{Answer, Place, TOUCHES, eventually, script};
use crate::support::Served;
use crate::{CHAT, allow, chat, messages, said, sessions};

const FIRST: (&str, &str) = ("X-Stainless-Retry-Count", "0");
const SECOND: (&str, &str) = ("X-Stainless-Retry-Count", "1");

fn post(served: &Served, headers: &[(&str, &str)], body: &Value) -> Answer {
    served.client.ask("POST", CHAT, headers, Some(body))
}

/// A turn that waits for a permission before it ends.
fn waiting(served: &Served) -> String {
    eventually("a turn that waits", || {
        let info = sessions(served).into_iter().find(|info| info["status"] == "waiting")?;
        Some(info["id"].as_str()?.to_owned())
    })
}

#[test]
fn a_failed_turn_runs_once_however_often_it_is_tried() {
    let mut served = Served::start();
    let body = chat(&script(
        r#"{"tool":"Read","input":{"file_path":"nothing.txt"}},{"text":"x","misbehave":{"crash":{"at":"mid","exit":3}}}"#,
    ));
    let first = post(&served, &[FIRST], &body);
    assert_eq!((first.status, first.header("x-should-retry")), (502, "false"), "{}", first.text());
    assert_eq!(first.json()["error"]["code"], "agent_died");
    // OpenAI's clients mark retries; others, such as the AI SDK, do not.
    for headers in [&[SECOND][..], &[FIRST], &[]] {
        let again = post(&served, headers, &body);
        assert_eq!((again.status, again.header("x-should-retry")), (502, "false"));
        assert_eq!(again.header("x-weir-retry"), "attached");
        assert_eq!(again.header("x-weir-session"), first.header("x-weir-session"));
        // A person who reads it knows why nothing happened.
        let is_explained = again.json()["error"]["message"].as_str().unwrap().contains("was not run again");
        assert_eq!(is_explained, !headers.contains(&SECOND));
    }
    assert_eq!(messages(&served).len(), 1);
    // A different request runs.
    let other = post(&served, &[FIRST], &chat(&script(r#"{"text":"Fine."}"#)));
    assert_eq!(said(&other), "Fine.");
    assert_eq!(messages(&served).len(), 2);
    served.stop();
}

#[test]
fn a_client_that_gave_up_finds_its_turn_again() {
    let mut served = Served::start();
    let text =
        script(r#"{"text":"Wait.","tool":"Bash","input":{"command":"touch made"}},{"text":"Finished"}"#);
    let mut body = chat(&text);
    body["stream"] = json!(true);
    // The first attempt disconnects while the turn waits.
    let mut stream = served.client.post_events(CHAT, &body);
    stream.until(|event| event.data.contains("Wait."));
    let session = waiting(&served);
    stream.cut();
    let second = std::thread::scope(|scope| {
        let try_again = scope.spawn(|| post(&served, &[SECOND], &body));
        allow(&served, &session);
        try_again.join().unwrap()
    });
    assert_eq!((second.status, second.header("x-weir-retry")), (200, "attached"), "{}", second.text());
    assert!(second.text().contains("Wait.") && second.text().contains("Finished"), "{}", second.text());
    assert_eq!(second.header("x-weir-session"), session);
    // So does an attempt after the end of the turn, with the same id.
    let third = post(&served, &[SECOND], &body);
    let id = |answer: &Answer| answer.text().split("\"id\":\"").nth(1).map(|id| id[..20].to_owned());
    assert_eq!((third.status, id(&third)), (200, id(&second)));
    assert_eq!(messages(&served).len(), 1);
    assert!(served.place.workspace().join("made").exists());
    // The same request without a retry header is intended: it is another turn.
    let again = std::thread::scope(|scope| {
        let anew = scope.spawn(|| post(&served, &[FIRST], &body));
        let session = waiting(&served);
        allow(&served, &session);
        anew.join().unwrap()
    });
    assert_ne!(again.header("x-weir-session"), session);
    assert_eq!(messages(&served).len(), 2);
    served.stop();
}

/// Versions before 2.1.61 cannot withdraw a message they already have, but are still interrupted.
#[test]
fn a_turn_abandoned_by_its_client_ends_on_older_versions_too() {
    for version in ["2.1.61", "2.1.9"] {
        let place = Place::new().set("SIMULATED_CLAUDE_VERSION", version);
        let mut served = Served::in_place(place, &["--openai-grace", "100ms"]);
        let steps = r#"{"text":"Wait.","tool":"Bash","input":{"command":"touch made"}},{"text":"Finished"}"#;
        let mut body = chat(&script(steps));
        body["stream"] = json!(true);
        let mut stream = served.client.post_events(CHAT, &body);
        stream.until(|event| event.data.contains("Wait."));
        let session = waiting(&served);
        stream.cut();
        crate::was_interrupted(&served, &json!(session));
        assert!(!served.place.workspace().join("made").exists(), "{version}");
        served.stop();
    }
}

#[test]
fn a_turn_abandoned_by_its_client_ends_and_keeps_its_session() {
    let mut served = Served::with(&["--openai-grace", "100ms"]);
    let text =
        script(r#"{"text":"Wait.","tool":"Bash","input":{"command":"touch made"}},{"text":"Finished"}"#);
    let mut body = chat(&text);
    body["stream"] = json!(true);
    let mut stream = served.client.post_events(CHAT, &body);
    stream.until(|event| event.data.contains("Wait."));
    let session = waiting(&served);
    stream.cut();
    crate::was_interrupted(&served, &json!(session));
    // The client sends another message with the same history.
    let mut next = chat(&text);
    next["messages"]
        .as_array_mut()
        .unwrap()
        .push(json!({"role": "user", "content": script(r#"{"text":"Here."}"#)}));
    let answer = served.client.post(CHAT, &next).expect(200);
    assert_eq!((said(&answer).as_str(), answer.header("x-weir-session")), ("Here.", session.as_str()));
    assert!(!answer.header("x-weir-earlier-failure").is_empty());
    let told = messages(&served);
    let told = told.last().unwrap()["text"].as_str().unwrap();
    assert!(
        told.starts_with("The message before this one got no answer") && !told.contains("touch made"),
        "{told}"
    );
    assert!(!served.place.workspace().join("made").exists());
    served.stop();
}

#[test]
fn an_idempotency_key_identifies_one_request() {
    let mut served = Served::start();
    let body = chat(TOUCHES);
    let key = ("Idempotency-Key", "order-7");
    let (one, other) = std::thread::scope(|scope| {
        let one = scope.spawn(|| post(&served, &[key], &body));
        let other = scope.spawn(|| post(&served, &[key], &body));
        let session = waiting(&served);
        allow(&served, &session);
        (one.join().unwrap().expect(200), other.join().unwrap().expect(200))
    });
    assert_eq!(one.json()["id"], other.json()["id"]);
    assert_eq!(messages(&served).len(), 1);
    let reused = post(&served, &[key], &chat(&script(r#"{"text":"Something else."}"#))).expect(400);
    assert_eq!(reused.json()["error"]["code"], "idempotency_key_reused");
    // Keys belong to a token.
    let (_, token) = served.token("other", "driver");
    let fine =
        served.client.with(&token).ask("POST", CHAT, &[key], Some(&chat(&script(r#"{"text":"Mine."}"#))));
    assert_eq!(said(&fine), "Mine.");
    served.stop();
}

#[test]
fn a_retry_after_a_server_kill_does_not_start_over() {
    let mut served = Served::start();
    let (_, token) = served.token("program", "driver");
    served.client = served.client.with(&token);
    let admin = served.client.clone();
    let mut body = chat(&script(
        r#"{"text":"Wait.","tool":"Bash","input":{"command":"touch made"}},{"text":"Finished"}"#,
    ));
    body["stream"] = json!(true);
    let mut stream = admin.post_events(CHAT, &body);
    stream.until(|event| event.data.contains("Wait."));
    served.signal(Signal::KILL);
    assert_eq!(served.finish().code, None);
    served.restart();
    served.client = served.client.with(&token);
    let again = post(&served, &[SECOND], &body);
    // Logged text from before the kill may come first.
    assert!(again.text().contains(r#""code":"restarted""#), "{}", again.text());
    assert_eq!((again.header("x-should-retry"), again.header("x-weir-retry")), ("false", "attached"));
    assert_eq!(messages(&served).len(), 1);
    served.stop();
}

#[test]
fn a_turn_that_waits_for_a_process_is_withdrawn_when_its_client_is_gone() {
    let mut served =
        Served::with(&["--openai-grace", "100ms", "--max-processes", "1", "--max-awaiting", "0"]);
    // The only process waits for a permission, and does not free its slot.
    let mut first = chat(&script(
        r#"{"text":"Wait.","tool":"Bash","input":{"command":"touch first"}},{"text":"Finished"}"#,
    ));
    first["stream"] = json!(true);
    let mut busy = served.client.post_events(CHAT, &first);
    busy.until(|event| event.data.contains("Wait."));
    let session = waiting(&served);
    // Another client comes and goes before there is a process for it.
    let mut second = chat(&script(r#"{"text":"Too late."}"#));
    second["stream"] = json!(true);
    let left = served.client.post_events(CHAT, &second);
    assert_eq!(messages(&served).len(), 2);
    left.cut();
    eventually("it is withdrawn", || {
        messages(&served).iter().any(|message| message["state"] == "cancelled").then_some(())
    });
    // The first one is not disturbed.
    allow(&served, &session);
    let rest: String = busy.rest().into_iter().map(|event| event.data).collect();
    assert!(rest.contains("Finished"), "{rest}");
    assert!(messages(&served).iter().all(|message| message["state"] != "failed"));
    served.stop();
}
