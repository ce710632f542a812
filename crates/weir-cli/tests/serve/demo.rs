//! `weir demo`.

use rustix::process::Signal;
use serde_json::Value;

use crate::common::{Client, Place, Running, eventually};

#[test]
fn with_once_it_takes_the_tour_and_exits() {
    let place = Place::new();
    let done = place.weir(&["demo", "--once"]).expect(0);
    assert!(done.stderr.contains("#token=weir_") && done.stderr.contains("&session="), "{done:?}");
    for told in ["That was the tour.", "2 file changes", "2 sub-agents", "3 todos", "1 question"] {
        assert!(done.text().contains(told), "{told}: {done:?}");
    }
    place.wait_until_empty();
}

#[test]
fn without_a_terminal_it_does_not_wait_forever() {
    let place = Place::new();
    place.weir(&["demo"]).expect(0);
    place.wait_until_empty();
}

#[test]
fn a_visitor_finds_a_question_and_can_talk() {
    let place = Place::new();
    let ready = place.path("ready.json").display().to_string();
    let running = Running::start(place.command(&["demo", "--ready-file", &ready]));
    place.wait_for_file("ready.json");
    let file: Value = serde_json::from_slice(&std::fs::read(&ready).unwrap()).unwrap();
    let client = Client::new(file["url"].as_str().unwrap(), file["token"].as_str().unwrap());
    assert_eq!(client.get("/v1/me").expect(200).json()["demo"], true);
    let session = eventually("the question", || {
        let list = client.get("/v1/sessions").expect(200).json();
        Some(list["sessions"][0].clone()).filter(|session| session["waiting_for"]["questions"] == 1)
    });
    let path = format!("/v1/sessions/{}", session["id"].as_str().unwrap());
    let diff = client.get(&format!("{path}/diff")).expect(200).json();
    assert!(diff["files"][0]["path"].as_str().unwrap().ends_with("hello_weir.py"));
    running.signal(Signal::INT);
    running.finish().expect(0);
    place.wait_until_empty();
}
