//! A loss of power takes the end of a log: a viewer that has seen more is told so, also when the log is longer again.

use std::time::Duration;

use serde_json::json;
use weir_host::{Cursor, Format, Host, SessionId, WatchQuery};

use crate::place::{Onlooker, Place, ask, frames_until, json, says, script, soon};

/// How a viewer with this cursor is greeted, in each form.
async fn resumes(host: &Host, id: &SessionId, cursor: &Cursor) -> Vec<String> {
    let word = |value: &serde_json::Value| value["resume"].as_str().unwrap().to_owned();
    let mut answers = vec![word(&Onlooker::new(host, id, Some(cursor.clone())).await.hello)];
    for format in [Format::Agent, Format::Classic, Format::Raw] {
        let query = WatchQuery { format, cursor: Some(cursor.clone()), heartbeat: None };
        let mut watch = soon(host.watch(id, query)).await.unwrap();
        answers.push(word(&json(&frames_until(&mut watch, "hello").await[0])));
    }
    answers
}

async fn newest(host: &Host, id: &SessionId) -> Cursor {
    let cursor = Onlooker::new(host, id, None).await.cursor.unwrap();
    // As it travels.
    cursor.to_string().parse().unwrap()
}

#[tokio::test]
async fn a_viewer_that_has_seen_what_is_lost_starts_over() {
    let place = Place::new();
    let host = place.host().await;
    let id = place.session(&host).await;
    ask(&host, &id, says("kept")).await;
    let kept = newest(&host, &id).await;
    soon(host.shut_down(Duration::ZERO)).await;
    drop(host);
    // All that the disk has when the power goes.
    std::fs::copy(place.path("weir.db"), place.path("as it was")).unwrap();

    let host = place.host().await;
    ask(&host, &id, says("lost")).await;
    let lost = newest(&host, &id).await;
    assert!(lost.seq > kept.seq);
    assert_eq!(resumes(&host, &id, &lost).await, ["ok"; 4]);
    soon(host.shut_down(Duration::ZERO)).await;
    drop(host);
    std::fs::rename(place.path("as it was"), place.path("weir.db")).unwrap();

    let host = place.host().await;
    assert_eq!(resumes(&host, &id, &lost).await, ["gap"; 4], "it lies beyond the end");
    let more = json!([{"misbehave": {"messages": 50}, "text": "other"}]);
    assert_eq!(ask(&host, &id, script(&more)).await, "other");
    assert!(newest(&host, &id).await.seq > lost.seq);
    assert_eq!(resumes(&host, &id, &lost).await, ["gap"; 4], "another event has its number");
    assert_eq!(resumes(&host, &id, &kept).await, ["ok"; 4]);
    let now = newest(&host, &id).await;
    soon(host.shut_down(Duration::ZERO)).await;
    drop(host);

    // An ordinary restart takes nothing away.
    let host = place.host().await;
    assert_eq!(resumes(&host, &id, &now).await, ["ok"; 4]);
    assert_eq!(resumes(&host, &id, &lost).await, ["gap"; 4]);
    soon(host.shut_down(Duration::ZERO)).await;
}
