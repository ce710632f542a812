//! A message that is answered with its own events.

use serde_json::json;

use crate::support::{Served, says};

#[test]
fn a_message_is_answered_with_the_events_of_its_turn() {
    let served = Served::start();
    let session = served.session();
    let path = format!("/v1/sessions/{session}/messages");
    let body = json!({"client_id": "one", "text": says("Hello there")});
    for format in ["agent", "classic"] {
        // The second time, the same message is replayed from the log.
        let seen = served.client.post_events(&format!("{path}?format={format}"), &body).rest();
        let names: Vec<&str> = seen.iter().map(|event| event.name.as_str()).collect();
        assert_eq!((names.first(), names.last()), (Some(&"accepted"), Some(&"message")), "{names:?}");
        let text = if format == "agent" { "agent-text-delta" } else { "text" };
        assert!(names.contains(&text), "{names:?}");
        assert_eq!(names.contains(&"done"), format == "classic");
        let outcome = seen.last().unwrap().json();
        assert_eq!((&outcome["state"], &outcome["text"]), (&json!("answered"), &json!("Hello there")));
        assert_eq!(seen[0].json()["duplicate"], format == "classic");
    }
    assert_eq!(served.client.get(&path).expect(200).json()["messages"].as_array().unwrap().len(), 1);
    let other = json!({"client_id": "one", "text": "something else"});
    let headers = [("Accept", "application/json;q=0.5, text/event-stream")];
    served.client.ask("POST", &path, &headers, Some(&other)).expect(409);
    served.client.ask("POST", &format!("{path}?format=view"), &headers, Some(&other)).expect(400);
}

#[test]
fn a_client_that_goes_away_ends_the_stream_and_not_the_turn() {
    let served = Served::start();
    let session = served.session();
    let path = format!("/v1/sessions/{session}/messages");
    let text = crate::common::script(r#"{"text":"one two three","wdelay":0.1}"#);
    let body = json!({"client_id": "one", "text": text});
    let mut events = served.client.post_events(&path, &body);
    events.wait("agent-text-delta");
    events.cut();
    let seen = served.client.post_events(&path, &body).rest();
    assert_eq!(seen.last().unwrap().json()["text"], "one two three");
}
