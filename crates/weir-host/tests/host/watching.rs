//! Watching: no gap, no repetition, whatever happens in between.

use std::time::Duration;

use serde_json::{Value, json};
use weir_host::{Cursor, Format, Frame, Host, SessionStatus, WatchQuery};
use weir_transcript::{EntryBody, Status, View};

use crate::place::{Onlooker, Place, ask, frames_until, json, me, says, script, send, soon, status};

fn texts(view: &View) -> Vec<String> {
    let text = |body: &EntryBody| match body {
        EntryBody::Text(text) => Some(text.text.clone()),
        _ => None,
    };
    view.entries.iter().filter_map(|entry| text(&entry.body)).collect()
}

#[tokio::test]
async fn a_viewer_sees_what_happens_as_it_happens() {
    let place = Place::new();
    let host = place.host().await;
    let id = place.session(&host).await;
    let mut onlooker = Onlooker::new(&host, &id, None).await;
    assert_eq!(onlooker.hello["resume"], "fresh");
    assert_eq!(onlooker.session["status"], "idle");
    let steps = json!([{"wdelay": 0.01, "text": "one two three four five six seven eight nine ten"}]);
    let sent = send(&host, &id, script(&steps)).await;
    let mut partial = false;
    while onlooker.view.turns.first().is_none_or(|turn| turn.result.is_none()) {
        assert!(onlooker.step().await);
        partial |= texts(&onlooker.view).first().is_some_and(|text| !text.is_empty() && text.len() < 20);
    }
    assert!(partial, "text is seen while it is written");
    assert_eq!(texts(&onlooker.view), ["one two three four five six seven eight nine ten"]);
    soon(host.finished(&id, &sent.message_id)).await.unwrap();
    onlooker.until("the session is idle", |onlooker| onlooker.session["status"] == "idle").await;
    assert_eq!(onlooker.messages, json!([]));
    assert_eq!(onlooker.snapshots, 1, "an ordinary turn needs no second snapshot");
    soon(host.shut_down(Duration::ZERO)).await;
}

#[tokio::test]
async fn a_later_viewer_sees_the_same() {
    let place = Place::new();
    let host = place.host().await;
    let id = place.session(&host).await;
    let mut early = Onlooker::new(&host, &id, None).await;
    let steps = json!([
        {"tool": "Bash", "input": {"command": "echo hello"}},
        {"wdelay": 0.005, "text": "some words that come one after another"},
    ]);
    let sent = send(&host, &id, script(&steps)).await;
    status(&host, &id, SessionStatus::Running).await;
    let mut middle = Onlooker::new(&host, &id, None).await;
    soon(host.finished(&id, &sent.message_id)).await.unwrap();
    let mut late = Onlooker::new(&host, &id, None).await;
    for onlooker in [&mut early, &mut middle, &mut late] {
        // Not by number: what changes nothing in the view has one, and is not told.
        onlooker.until("the end", |onlooker| onlooker.view.status == Status::Idle).await;
        assert_eq!(texts(&onlooker.view), ["some words that come one after another"]);
    }
    soon(host.stop(&id, &me())).await.unwrap();
    let again = Onlooker::new(&host, &id, early.cursor.clone()).await;
    assert_eq!(again.hello["resume"], "ok");
    assert_eq!(texts(&again.view), texts(&early.view));
    soon(host.shut_down(Duration::ZERO)).await;
}

#[tokio::test]
async fn a_cursor_of_another_log_is_a_gap() {
    let place = Place::new();
    let host = place.host().await;
    let id = place.session(&host).await;
    ask(&host, &id, says("one")).await;
    let onlooker = Onlooker::new(&host, &id, Some(Cursor::new("another", 1, None))).await;
    assert_eq!(onlooker.hello["resume"], "gap");
    let beyond = Cursor::new(host.epoch(), 9999, None);
    let onlooker = Onlooker::new(&host, &id, Some(beyond)).await;
    assert_eq!(onlooker.hello["resume"], "gap");
    let start = Cursor::new(host.epoch(), 0, None);
    assert_eq!(Onlooker::new(&host, &id, Some(start)).await.hello["resume"], "ok");
    soon(host.shut_down(Duration::ZERO)).await;
}

/// The frames of a session that is over, without greeting.
async fn replay(
    host: &Host,
    id: &weir_host::SessionId,
    format: Format,
    cursor: Option<Cursor>,
) -> Vec<Frame> {
    let mut watch = soon(host.watch(id, WatchQuery { format, cursor, heartbeat: None })).await.unwrap();
    let hello = soon(watch.next()).await.unwrap();
    assert_eq!(hello.event().name(), "hello");
    let mut frames = Vec::new();
    // What is there comes at once; then there is silence.
    while let Ok(Some(frame)) = tokio::time::timeout(Duration::from_millis(500), watch.next()).await {
        frames.push(frame);
    }
    frames
}

#[tokio::test]
async fn other_forms_are_replayed_after_the_cursor_without_loss_or_repetition() {
    let place = Place::new();
    let host = place.host().await;
    let id = place.session(&host).await;
    for text in ["one", "two", "three"] {
        ask(&host, &id, says(text)).await;
    }
    soon(host.stop(&id, &me())).await.unwrap();
    for format in [Format::Agent, Format::Classic, Format::Raw] {
        let all = replay(&host, &id, format, None).await;
        let shown = |frames: &[Frame]| -> Vec<(&str, Value)> {
            frames.iter().map(|frame| (frame.event().name(), json(frame))).collect()
        };
        let cursors: Vec<(usize, Cursor)> =
            all.iter().enumerate().filter_map(|(place, frame)| Some((place, frame.id()?.clone()))).collect();
        assert!(cursors.len() > 5, "{format:?}");
        for (place, cursor) in cursors.iter().step_by(3) {
            let rest = replay(&host, &id, format, Some(cursor.clone())).await;
            assert_eq!(shown(&rest), shown(&all[place + 1..]), "{format:?} after {cursor}");
        }
    }
    let raw = replay(&host, &id, Format::Raw, None).await;
    assert!(raw.iter().all(|frame| frame.event().name() == "line" && !is_transient(&json(frame))));
    soon(host.shut_down(Duration::ZERO)).await;
}

/// Whether a line says nothing that a complete line does not repeat.
fn is_transient(line: &Value) -> bool {
    let kinds = ["content_block_delta", "content_block_stop", "message_stop"];
    line["type"] == "stream_event" && kinds.iter().any(|kind| line["event"]["type"] == *kind)
}

#[tokio::test]
async fn deltas_have_no_cursor() {
    let place = Place::new();
    let host = place.host().await;
    let id = place.session(&host).await;
    let query = WatchQuery { format: Format::Raw, ..WatchQuery::default() };
    let mut watch = soon(host.watch(&id, query)).await.unwrap();
    let sent = send(&host, &id, says("some words to be written")).await;
    soon(host.finished(&id, &sent.message_id)).await.unwrap();
    soon(host.stop(&id, &me())).await.unwrap();
    let mut deltas = 0;
    while let Ok(Some(frame)) = tokio::time::timeout(Duration::from_millis(500), watch.next()).await {
        if frame.event().name() == "line" {
            let is_delta = is_transient(&json(&frame));
            assert_eq!(is_delta, frame.id().is_none());
            deltas += u32::from(is_delta);
        }
    }
    assert!(deltas > 3);
    soon(host.shut_down(Duration::ZERO)).await;
}

#[tokio::test]
async fn one_who_joins_in_the_middle_of_a_text_gets_all_of_it() {
    let place = Place::new();
    let host = place.host().await;
    let id = place.session(&host).await;
    let words: Vec<String> = (0..60).map(|number| format!("word{number}")).collect();
    let text = words.join(" ");
    let mut early = Onlooker::new(&host, &id, None).await;
    let sent = send(&host, &id, script(&json!([{"wdelay": 0.02, "text": text}]))).await;
    early.until("a part", |onlooker| texts(&onlooker.view).iter().any(|text| text.contains("word5"))).await;
    let query = WatchQuery { format: Format::Agent, ..WatchQuery::default() };
    let mut watch = soon(host.watch(&id, query)).await.unwrap();
    let frames = frames_until(&mut watch, "agent-message-end").await;
    let mut said = String::new();
    for frame in frames.iter().filter(|frame| frame.event().name() == "agent-text-delta") {
        let data = json(frame);
        if data["replaces"] == true {
            said.clear();
        }
        said.push_str(data["text"].as_str().unwrap());
    }
    assert_eq!(said, text);
    soon(host.finished(&id, &sent.message_id)).await.unwrap();
    soon(host.shut_down(Duration::ZERO)).await;
}

#[tokio::test]
async fn a_slow_viewer_is_told_and_costs_the_others_nothing() {
    let place = Place::new();
    let mut options = place.options();
    options.viewer_bytes = 100_000;
    let host = Host::open(options).await.unwrap();
    let id = place.session(&host).await;
    let mut quick = Onlooker::new(&host, &id, None).await;
    let mut slow = Onlooker::new(&host, &id, None).await;
    let words = vec!["word"; 2000].join(" ");
    let sent = send(&host, &id, script(&json!([{"wdelay": 0.0005, "text": words}]))).await;
    quick
        .until("the end", |onlooker| onlooker.view.turns.first().is_some_and(|turn| turn.result.is_some()))
        .await;
    soon(host.finished(&id, &sent.message_id)).await.unwrap();
    assert_eq!(texts(&quick.view).join(""), words);
    let mut last = None;
    while let Some(frame) = soon(slow.watch.next()).await {
        last = Some(frame);
    }
    let last = last.unwrap();
    assert_eq!((last.event().name(), json(&last)), ("bye", json!({"reason": "lag"})));
    assert_eq!(host.metrics().lagged, 1);
    let again = Onlooker::new(&host, &id, slow.cursor).await;
    assert_eq!((again.hello["resume"].as_str(), texts(&again.view)), (Some("ok"), vec![words]));
    soon(host.shut_down(Duration::ZERO)).await;
}

#[tokio::test(start_paused = true)]
async fn a_quiet_session_has_a_heartbeat() {
    let store = std::sync::Arc::new(weir_store::MemoryStore::new());
    let folder = tempfile::tempdir().unwrap();
    let options =
        weir_host::HostOptions::new(store, |_| weir_session::SessionOptions::new()).root(folder.path());
    let host = Host::open(options).await.unwrap();
    let new = weir_host::NewSession::new(folder.path().to_string_lossy());
    let id = host.create(new, &me()).await.unwrap().session.id.parse().unwrap();
    let query = WatchQuery { heartbeat: Some(Duration::from_secs(15)), ..WatchQuery::default() };
    let mut watch = host.watch(&id, query).await.unwrap();
    let mut events = Vec::new();
    for _ in 0..4 {
        events.push(watch.next().await.unwrap().event().name());
    }
    assert_eq!(events, ["hello", "snapshot", "heartbeat", "heartbeat"]);
}

#[tokio::test]
async fn a_session_goes_from_work_to_rest_and_does_not_seem_to_start_in_between() {
    let place = Place::new();
    let host = place.host().await;
    let id = place.session(&host).await;
    let mut watch = soon(host.watch(&id, WatchQuery::default())).await.unwrap();
    let steps = json!([{"tool": "Bash", "input": {"command": "sleep 0.3"}}, {"text": "done"}]);
    for _ in 0..3 {
        ask(&host, &id, script(&steps)).await;
    }
    status(&host, &id, SessionStatus::Idle).await;
    soon(host.shut_down(Duration::ZERO)).await;
    let mut seen = Vec::new();
    while let Some(frame) = soon(watch.next()).await {
        if frame.event().name() == "session" {
            seen.push(json(&frame)["status"].as_str().unwrap().to_owned());
        }
    }
    seen.dedup();
    let restarts = seen.windows(2).filter(|pair| *pair == ["running", "starting"]);
    assert_eq!(restarts.count(), 0, "{seen:?}");
    assert!(
        seen.contains(&"running".to_owned()) && seen.last().is_some_and(|last| last == "idle"),
        "{seen:?}"
    );
}
