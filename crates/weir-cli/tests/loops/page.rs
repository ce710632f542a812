//! The page of a running loop: its tasks are sessions that a person can watch, answer and stop.

use serde_json::{Value, json};

use crate::common::{Client, Place, Running, eventually};
use crate::repository::{commits, repository, state, task, weir_loop};

/// Nothing is allowed in advance, and a person is asked.
const ASKS: &str = "[loop.permissions]\npolicy = \"ask\"\n[loop.coder]\nallowed_tools = [\"Read\"]\n";

/// Starts a loop with its page, and a client for it.
fn start(place: &Place) -> (Running, Client) {
    let ready = place.workspace().join("../ready.json");
    let path = ready.to_string_lossy().into_owned();
    let running =
        Running::start(place.command(&["loop", "run", "--listen", "127.0.0.1:0", "--ready-file", &path]));
    let told: Value = eventually("the page", || {
        std::fs::read(&ready).ok().and_then(|text| serde_json::from_slice(&text).ok())
    });
    (running, Client::new(told["url"].as_str().unwrap(), told["token"].as_str().unwrap()))
}

/// The session that waits for a person.
fn waiting(client: &Client) -> Value {
    eventually("a session that waits", || {
        let listed = client.get("/v1/sessions?status=waiting").expect(200).json();
        listed["sessions"].as_array().unwrap().first().cloned()
    })
}

/// The id of a session's open request.
fn asked(client: &Client, session: &str) -> String {
    let mut events = client.events(&format!("/v1/sessions/{session}/events?format=view"), None);
    let snapshot = events.wait("snapshot").json();
    let requests = snapshot["view"]["requests"].as_array().unwrap();
    let open = requests.iter().find(|request| request["state"]["state"] == "open");
    let id = open.unwrap()["id"].as_str().unwrap().to_owned();
    events.cut();
    id
}

#[test]
fn a_permission_is_answered_on_the_page_and_the_task_continues() {
    let place = Place::new();
    repository(&place, &task("Touch it", "echo 1 > a"), ASKS);
    let (running, client) = start(&place);
    let session = waiting(&client);
    assert_eq!((session["origin"].as_str(), session["name"].as_str()), (Some("loop"), Some("touch-it")));
    let id = session["id"].as_str().unwrap().to_owned();
    let request = asked(&client, &id);
    let path = format!("/v1/sessions/{id}/permissions/{request}");
    client.post(&path, &json!({"behavior": "allow"})).expect(200);
    // A second answer is refused.
    client.post(&path, &json!({"behavior": "deny"})).expect(409);
    let done = running.finish().expect(0);
    assert!(done.text().contains("was answered by ready-file"), "{done:?}");
    assert_eq!(commits(&place), ["Touch it"]);
    let attempt = &state(&place)["tasks"][0]["attempts"][0];
    assert!(attempt["cost_usd"].as_f64().unwrap() > 0.0 && attempt["log"].is_string(), "{attempt}");
    weir_loop(&place, &["replay", "--json"]).expect(0);
    place.wait_until_empty();
    // A server that is started later has the session.
    let args = ["serve", "--listen", "127.0.0.1:0", "--ready-file", "../later.json"];
    let server = Running::start(place.command(&args));
    let ready = place.workspace().join("../later.json");
    let told: Value = eventually("the server", || {
        std::fs::read(&ready).ok().and_then(|text| serde_json::from_slice(&text).ok())
    });
    let client = Client::new(told["url"].as_str().unwrap(), told["token"].as_str().unwrap());
    let listed = client.get("/v1/sessions").expect(200).json();
    assert_eq!(listed["sessions"][0]["id"].as_str(), Some(id.as_str()), "{listed}");
    server.signal(rustix::process::Signal::TERM);
    server.finish().expect(0);
}

#[test]
fn the_first_answer_counts_even_from_a_terminal() {
    let place = Place::new();
    repository(&place, &task("Touch it", "echo 1 > a"), ASKS);
    let (running, client) = start(&place);
    waiting(&client);
    weir_loop(&place, &["answer", "yes"]).expect(0);
    running.finish().expect(0);
    assert_eq!(commits(&place), ["Touch it"]);
    place.wait_until_empty();
}

#[test]
fn a_session_that_is_stopped_on_the_page_ends_its_task_and_the_next_one_begins() {
    let place = Place::new();
    repository(
        &place,
        &(task("Slow", "touch ../../../../slow; sleep 300") + &task("Quick", "echo 1 > a")),
        "",
    );
    let (running, client) = start(&place);
    place.wait_for_file("slow");
    let listed = client.get("/v1/sessions?status=running").expect(200).json();
    let id = listed["sessions"][0]["id"].as_str().unwrap().to_owned();
    client.post(&format!("/v1/sessions/{id}/stop"), &json!({})).expect(200);
    running.finish().expect(1);
    assert_eq!(commits(&place), ["Quick"]);
    let failure = &state(&place)["tasks"][0]["failure"];
    assert_eq!(
        (&failure["outcome"], &failure["reason"]),
        (&json!("stopped"), &json!("a person stopped the session"))
    );
    assert_eq!(failure["output"], json!(null), "nothing went wrong");
    place.wait_until_empty();
}

#[test]
fn ctrl_c_ends_the_loop_and_its_page() {
    let place = Place::new();
    repository(
        &place,
        &task("A", "if [ -e ../../../../go ]; then echo 1 > a; else touch ../../../../go; sleep 300; fi"),
        "",
    );
    let (running, _) = start(&place);
    place.wait_for_file("go");
    running.signal(rustix::process::Signal::INT);
    running.finish().expect(130);
    assert_eq!(state(&place)["status"]["end"]["end"], "interrupted");
    place.wait_until_empty();
    weir_loop(&place, &["run", "--keep-sessions"]).expect(0);
    assert_eq!(commits(&place), ["A"]);
    place.wait_until_empty();
}

#[test]
fn what_the_loop_denies_is_a_denial_and_not_a_stop_by_a_person() {
    let place = Place::new();
    let list = "- [ ] A\n  @@[{\"tool\":\"WebFetch\",\"input\":{\"url\":\"https://example.com/\",\"prompt\":\"x\"}},{\"text\":\"x\"}]\n";
    let rules = "[loop.coder]\nallowed_tools = [\"Read\", \"WebFetch(domain:docs.rs)\"]\n";
    repository(&place, list, rules);
    let done = weir_loop(&place, &["run", "--keep-sessions"]).expect(6);
    assert!(done.text().contains("this rule would allow it: WebFetch(domain:example.com)"), "{done:?}");
    assert_eq!(state(&place)["tasks"][0]["failure"]["outcome"], "denied");
}
