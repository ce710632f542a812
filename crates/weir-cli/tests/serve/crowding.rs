//! Sessions that wait for a person do not block others, and unattended callers are not kept waiting.

use serde_json::{Value, json};

use crate::common::{SAYS_HELLO, TOUCHES, eventually};
use crate::support::Served;

fn ready(served: &Served) -> Value {
    served.client.get("/readyz").expect(200).json()
}

fn metric(served: &Served, name: &str) -> String {
    let text = served.client.get("/metrics").expect(200).text();
    let line =
        text.lines().find(|line| line.starts_with(name) && line.as_bytes().get(name.len()) == Some(&b' '));
    line.unwrap_or_else(|| panic!("no {name}")).rsplit(' ').next().unwrap().to_owned()
}

fn open_request(served: &Served, session: &str) -> String {
    let snapshot = served.follow(session, "view").wait("snapshot").json();
    snapshot["view"]["requests"][0]["id"].as_str().unwrap().to_owned()
}

#[test]
fn a_waiting_permission_does_not_starve_other_sessions() {
    let served = Served::with(&["--max-processes", "1"]);
    let (waiting, other) = (served.session(), served.session());
    served.send(&waiting, TOUCHES);
    served.wait_for_status(&waiting, "waiting");
    served.send(&other, SAYS_HELLO);
    eventually("an answer", || {
        let messages = served.client.get(&format!("/v1/sessions/{other}/messages")).expect(200).json();
        (messages["messages"][0]["state"] == "answered").then_some(())
    });
    assert_eq!(served.info(&waiting)["status"], "waiting", "it still waits");
    assert_eq!(metric(&served, "weir_pool_awaiting_person"), "1");
}

#[test]
fn a_session_that_waits_for_a_process_says_why() {
    let served = Served::with(&["--max-processes", "1", "--max-awaiting", "0", "--crowded-wait", "1h"]);
    assert_eq!(ready(&served), json!({"status": "ok"}));
    let (waiting, other) = (served.session(), served.session());
    served.send(&waiting, TOUCHES);
    served.wait_for_status(&waiting, "waiting");
    served.send(&other, SAYS_HELLO);
    let info = eventually("it says what it waits for", || {
        Some(served.info(&other)).filter(|info| info["waiting_for"]["process"] == true)
    });
    assert_eq!(info["status"], "starting");
    let reason = ready(&served)["reasons"][0].as_str().unwrap().to_owned();
    assert!(
        reason.contains("1 sessions wait for a process") && reason.contains("1 wait for an answer"),
        "{reason}"
    );
    assert_eq!(metric(&served, "weir_pool_waiting"), "1");
    let path = format!("/v1/sessions/{waiting}/permissions/{}", open_request(&served, &waiting));
    served.client.post(&path, &json!({"behavior": "deny"})).expect(200);
    served.wait_for_status(&other, "idle");
    assert_eq!(ready(&served), json!({"status": "ok"}));
}

#[test]
fn a_wait_that_blocks_other_sessions_times_out() {
    let served = Served::with(&["--max-processes", "1", "--max-awaiting", "0", "--crowded-wait", "1s"]);
    let (waiting, other) = (served.session(), served.session());
    served.send(&waiting, TOUCHES);
    served.wait_for_status(&waiting, "waiting");
    served.send(&other, SAYS_HELLO);
    eventually("an answer", || {
        let messages = served.client.get(&format!("/v1/sessions/{other}/messages")).expect(200).json();
        (messages["messages"][0]["state"] == "answered").then_some(())
    });
    let view = served.follow(&waiting, "view").wait("snapshot").json()["view"].clone();
    let told = view["requests"][0]["state"].to_string();
    assert!(told.contains("other sessions need the process") && told.contains("\"weir\""), "{told}");
    assert_eq!(metric(&served, "weir_pool_crowded_out_total"), "1");
    assert!(!served.place.workspace().join("made").exists());
}

#[test]
fn a_request_without_a_person_to_answer_times_out() {
    let served = Served::with(&["--unattended-ask-timeout", "1s"]);
    let body = json!({"model": "default", "messages": [{"role": "user", "content": TOUCHES}]});
    let answer = served.client.post("/v1/chat/completions", &body).expect(200);
    let session = answer.header("x-weir-session").to_owned();
    let log = served.client.get(&format!("/v1/sessions/{session}/log")).expect(200).text();
    assert!(log.contains("No one answered within 1 s, so this was denied."), "{log}");
    assert!(!served.place.workspace().join("made").exists());
}

#[test]
fn a_session_can_set_its_own_ask_timeout() {
    let served = Served::start();
    let session = served.session_with(&json!({"ask_timeout_s": 1}));
    served.send(&session, TOUCHES);
    served.wait_for_status(&session, "idle");
    let body = json!({"cwd": served.place.workspace(), "ask_timeout_s": 0});
    assert_eq!(served.client.post("/v1/sessions", &body).expect(422).json()["code"], "invalid");
}
