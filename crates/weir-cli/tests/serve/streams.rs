//! Event streams: what comes first, what is replayed, how they end.

use serde_json::{Value, json};

use crate::common::{Event, IS_SLOW, SAYS_HELLO, script};
use crate::support::Served;

fn header<'a>(headers: &'a [(String, String)], name: &str) -> &'a str {
    headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str()).unwrap_or_default()
}

fn durable(events: &[Event]) -> Vec<Event> {
    events.iter().filter(|event| event.id.is_some()).cloned().collect()
}

#[test]
fn a_view_begins_with_hello_and_a_snapshot() {
    let served = Served::start();
    let session = served.session();
    let mut events = served.follow(&session, "view");
    assert_eq!(header(&events.headers, "content-type"), "text/event-stream");
    assert_eq!(header(&events.headers, "cache-control"), "no-cache, no-transform");
    assert_eq!(header(&events.headers, "x-accel-buffering"), "no");
    assert_eq!(header(&events.headers, "content-encoding"), "");
    let hello = events.next().unwrap();
    assert_eq!((hello.name.as_str(), &hello.json()["resume"]), ("hello", &json!("fresh")));
    let snapshot = events.next().unwrap();
    assert_eq!(snapshot.name, "snapshot");
    assert_eq!(snapshot.json()["session"]["id"], session);
    served.send(&session, &script(r#"{"text":"Hello there","wdelay":0.2}"#));
    let seen = events.until(|event| event.name == "session" && event.json()["status"] == "idle");
    let text: String = seen
        .iter()
        .filter(|event| event.name == "changes")
        .flat_map(|event| event.json()["changes"].as_array().unwrap().clone())
        .filter(|change| change["change"] == "text_appended")
        .map(|change| change["text"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(text, "Hello there");
    assert!(seen.iter().any(|event| event.name == "changes" && event.id.is_none()), "previews have no id");
}

#[test]
fn seen_events_are_not_repeated_and_nothing_is_lost() {
    let served = Served::start();
    let session = served.session();
    served.send(&session, SAYS_HELLO);
    served.wait_for_status(&session, "idle");
    for format in ["raw", "agent", "classic"] {
        let is_last = |event: &Event| {
            event.data.contains("\"result\"") || event.name == "agent-message-end" || event.name == "done"
        };
        let all = durable(&served.follow(&session, format).until(is_last));
        for (place, event) in all.iter().enumerate() {
            let path = format!("/v1/sessions/{session}/events?format={format}");
            let mut events = served.client.events(&path, event.id.as_deref());
            assert_eq!(events.next().unwrap().json()["resume"], "ok");
            let rest = &all[place + 1..];
            // Events of one line share its number, and are repeated together or not at all.
            let rest: Vec<_> = rest.iter().filter(|later| later.id != event.id).cloned().collect();
            if let Some(last) = rest.last() {
                let again = durable(&events.until(|event| event == last));
                assert_eq!(again, rest, "{format} after {:?}", event.id);
            }
        }
    }
}

#[test]
fn a_position_in_another_log_is_a_gap() {
    let served = Served::start();
    let session = served.session();
    let path = format!("/v1/sessions/{session}/events");
    let mut hello = served.client.events(&path, None);
    let epoch = hello.next().unwrap().json()["epoch"].as_str().unwrap().to_owned();
    let resume =
        |last: &str| served.client.events(&path, Some(last)).next().unwrap().json()["resume"].clone();
    assert_eq!(resume(&format!("{epoch}:0")), "ok");
    assert_eq!(resume(&format!("{epoch}:999")), "gap");
    assert_eq!(resume("another:0"), "gap");
    let bad = served.client.ask("GET", &path, &[("Last-Event-ID", "nonsense")], None).expect(400).json();
    assert_eq!(bad["code"], "last_event_id");
}

#[test]
fn raw_lines_are_those_of_the_cli() {
    let served = Served::start();
    let session = served.session();
    let odd = script(r#"{"text":"Hm","misbehave":["sandbox_debug","unknown_type"]}"#);
    let mut events = served.follow(&session, "raw");
    served.send(&session, &odd);
    let lines = events.until(|event| event.name == "line" && event.data.contains("\"type\":\"result\""));
    assert!(
        lines.iter().any(|event| serde_json::from_str::<Value>(&event.data).is_err()),
        "text is passed on as data too"
    );
}

#[test]
fn standard_error_is_in_the_classic_stream_while_it_is_printed() {
    let served = Served::start();
    let session = served.session();
    let mut events = served.follow(&session, "classic");
    served.send(&session, &script(r#"{"text":"Hm","misbehave":{"stderr_flood":0.001}}"#));
    // There is no order between the two outputs of a process.
    let until_done = events.until(|event| event.name == "done");
    let printed = until_done.into_iter().find(|event| event.name == "stderr");
    let printed = printed.unwrap_or_else(|| events.wait("stderr"));
    assert!(printed.json()["text"].as_str().unwrap().starts_with("debug noise on stderr"), "{printed:?}");
    assert_eq!(printed.id, None, "it is not in the log");
}

#[test]
fn two_viewers_see_the_same() {
    let served = Served::start();
    let session = served.session();
    let (mut one, mut other) = (served.follow(&session, "agent"), served.follow(&session, "agent"));
    served.send(&session, SAYS_HELLO);
    let is_last = |event: &Event| event.name == "agent-message-end";
    assert_eq!(durable(&one.until(is_last)), durable(&other.until(is_last)));
}

#[test]
fn all_sessions_at_a_glance() {
    let served = Served::start();
    let first = served.session();
    let mut events = served.client.events("/v1/events", None);
    assert_eq!(events.next().unwrap().name, "hello");
    let sessions = events.next().unwrap();
    assert_eq!(sessions.name, "sessions");
    assert_eq!(sessions.json()["sessions"][0]["id"], first);
    let second = served.session();
    events.until(|event| event.name == "session" && event.json()["id"] == second);
    served.client.ask("DELETE", &format!("/v1/sessions/{second}"), &[], None).expect(204);
    let removed = events.wait("removed");
    assert_eq!(removed.json(), json!({"id": second}));
}

#[test]
fn a_share_link_sees_events_of_its_session_only() {
    let served = Served::start();
    let (own, other) = (served.session(), served.session());
    let share = served.client.post(&format!("/v1/sessions/{own}/share"), &json!({})).expect(201).json();
    let guest = served.client.with(share["token"].as_str().unwrap());
    let mut events = guest.events("/v1/events", None);
    let rename = |session: &str, name: &str| {
        served
            .client
            .ask("PATCH", &format!("/v1/sessions/{session}"), &[], Some(&json!({"name": name})))
            .expect(200)
    };
    rename(&other, "secret");
    rename(&own, "open");
    let seen = events.until(|event| event.name == "session");
    assert!(seen.iter().all(|event| !event.data.contains(&other)), "{seen:#?}");
    assert_eq!(seen.last().unwrap().json()["name"], "open");
}

#[test]
fn a_deleted_session_says_goodbye() {
    let served = Served::start();
    let session = served.session();
    served.send(&session, IS_SLOW);
    served.wait_for_status(&session, "running");
    let mut events = served.follow(&session, "view");
    events.wait("snapshot");
    served.client.ask("DELETE", &format!("/v1/sessions/{session}"), &[], None).expect(204);
    let last = events.rest().pop().unwrap();
    assert_eq!((last.name.as_str(), &last.json()["reason"]), ("bye", &json!("deleted")));
}

#[test]
fn a_viewer_that_goes_away_is_forgotten() {
    let served = Served::start();
    let session = served.session();
    let mut events = served.follow(&session, "view");
    events.wait("snapshot");
    let open = || served.client.get("/metrics").expect(200).text().contains("weir_sse_clients 1");
    assert!(open());
    events.cut();
    crate::common::eventually("the end of the stream", || (!open()).then_some(()));
}
