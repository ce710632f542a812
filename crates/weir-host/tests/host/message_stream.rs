//! The stream of one message: its own turn and nothing else, also when it is asked for again.

use std::time::Duration;

use serde_json::json;
use weir_host::{Format, Host, HostError, MessageWatch, NewMessage, SessionId, WatchQuery};

use crate::place::{Place, json, me, says, script, send, soon};

async fn stream(host: &Host, id: &SessionId, message: NewMessage, format: Format) -> MessageWatch {
    let query = WatchQuery { format, ..WatchQuery::default() };
    soon(host.send_and_watch(id, message, &me(), query)).await.unwrap().1.unwrap()
}

/// All of it: the name of each frame, and the text in it.
async fn all(mut watch: MessageWatch) -> Vec<(String, String)> {
    let mut seen = Vec::new();
    while let Some(frame) = soon(watch.next()).await {
        let text = json(&frame)["text"].as_str().unwrap_or_default().to_owned();
        seen.push((frame.event().name().to_owned(), text));
    }
    seen
}

fn texts(seen: &[(String, String)], name: &str) -> String {
    seen.iter().filter(|(event, _)| event == name).map(|(_, text)| text.as_str()).collect()
}

#[tokio::test]
async fn a_message_has_the_stream_of_its_own_turn() {
    let place = Place::new();
    let host = place.host().await;
    let id = place.session(&host).await;
    // Another turn is under way, and is not told.
    let steps = json!([{"tool": "Bash", "input": {"command": "sleep 0.3"}}, {"text": "first"}]);
    send(&host, &id, script(&steps)).await;
    let message = NewMessage { client_id: Some("mine".to_owned()), ..NewMessage::text(says("second")) };
    let seen = all(stream(&host, &id, message.clone(), Format::Agent).await).await;
    assert_eq!(texts(&seen, "agent-text-delta"), "second", "{seen:?}");
    assert!(!seen.iter().any(|(event, _)| event.starts_with("agent-tool")), "{seen:?}");
    assert_eq!(seen.last().unwrap(), &("message".to_owned(), "second".to_owned()));
    // The same again, from the log, also when another turn came after it.
    send(&host, &id, says("third")).await;
    let again = all(stream(&host, &id, message, Format::Agent).await).await;
    assert_eq!(texts(&again, "agent-text-delta"), "second", "{again:?}");
    assert_eq!(again.last(), seen.last());
    let classic = all(stream(&host, &id, NewMessage::text(says("fourth")), Format::Classic).await).await;
    let names: Vec<&str> = classic.iter().map(|(event, _)| event.as_str()).collect();
    assert_eq!(names[names.len() - 3..], ["result", "done", "message"], "{names:?}");
    soon(host.shut_down(Duration::ZERO)).await;
}

#[tokio::test]
async fn a_message_that_is_taken_back_ends_its_stream() {
    let place = Place::new();
    let host = place.host().await;
    let id = place.session(&host).await;
    let steps = json!([{"tool": "Bash", "input": {"command": "sleep 30"}}, {"text": "first"}]);
    send(&host, &id, script(&steps)).await;
    let query = WatchQuery { format: Format::Classic, ..WatchQuery::default() };
    let actor = me();
    let sent = host.send_and_watch(&id, NewMessage::text(says("second")), &actor, query);
    let (accepted, watch) = soon(sent).await.unwrap();
    soon(host.cancel_message(&id, &accepted.message_id, &me())).await.unwrap();
    let mut watch = watch.unwrap();
    let mut last = None;
    let mut is_done = false;
    while let Some(frame) = soon(watch.next()).await {
        is_done |= frame.event().name() == "done";
        last = Some(json(&frame));
    }
    assert_eq!(last.unwrap()["state"], "cancelled");
    assert!(is_done, "a client of this vocabulary waits for `done`");
    soon(host.kill(&id, &me())).await.unwrap();
    soon(host.shut_down(Duration::ZERO)).await;
}

#[tokio::test]
async fn one_message_cannot_be_watched_as_a_view() {
    let place = Place::new();
    let host = place.host().await;
    let id = place.session(&host).await;
    let query = WatchQuery { format: Format::View, ..WatchQuery::default() };
    let refused = host.send_and_watch(&id, NewMessage::text(says("hello")), &me(), query).await;
    assert!(matches!(refused, Err(HostError::Invalid(_))), "{:?}", refused.map(|_| ()));
    assert!(host.messages(&id, None).await.unwrap().is_empty(), "it is not in the log");
    soon(host.shut_down(Duration::ZERO)).await;
}
