//! What can be changed about a session that exists: its limits, and the messages that wait.

use std::time::Duration;

use serde_json::json;
use weir_host::{
    Actor, ChangeLimits, ChangeMessage, FailureKind, HostError, MessageState, SessionInfo, SessionStatus,
};
use weir_transcript::EntryBody;

use crate::place::{Place, ask, me, says, script, send, soon, status};

#[tokio::test]
async fn limits_can_be_changed_one_by_one() {
    let place = Place::new();
    let host = place.host().await;
    let id = place.session(&host).await;
    let two_steps = script(&json!([{"tool": "Read", "input": {"file_path": "a"}}, {"text": "done"}]));
    ask(&host, &id, two_steps.clone()).await;
    let all = ChangeLimits {
        max_turns: Some(1),
        ask_timeout_s: Some(60),
        task_budget_tokens: Some(9),
        ..Default::default()
    };
    let limits = |info: SessionInfo| (info.max_turns, info.ask_timeout_s, info.task_budget_tokens);
    assert_eq!(limits(host.set_limits(&id, all).await.unwrap()), (Some(1), Some(60), Some(9)));
    let none = ChangeLimits { ask_timeout_s: Some(0), ..Default::default() };
    assert_eq!(
        limits(host.set_limits(&id, none).await.unwrap()),
        (Some(1), None, Some(9)),
        "the others stay"
    );
    // The next process knows it.
    let sent = send(&host, &id, two_steps).await;
    let failure = soon(host.finished(&id, &sent.message_id)).await.unwrap().error;
    assert!(failure.is_some(), "one call of the model is not enough");
    soon(host.shut_down(Duration::ZERO)).await;
    drop(host);
    let host = place.host().await;
    assert_eq!(limits(host.info(&id).await.unwrap()), (Some(1), None, Some(9)), "they survive a restart");
    soon(host.shut_down(Duration::ZERO)).await;
}

#[tokio::test]
async fn a_message_sent_during_a_stop_is_for_the_next_process() {
    let place = Place::new();
    let host = place.host().await;
    let id = place.session(&host).await;
    // It takes its time to end.
    let slow = json!([{"text": "one two", "wdelay": 60, "misbehave": {"ignore_sigterm": true}}]);
    send(&host, &id, script(&slow)).await;
    status(&host, &id, SessionStatus::Running).await;
    let before = send(&host, &id, says("before")).await;
    let by = me();
    let stop = host.stop(&id, &by);
    let during = async {
        status(&host, &id, SessionStatus::Stopping).await;
        send(&host, &id, says("afterwards")).await
    };
    let (stopped, during) = soon(async { tokio::join!(stop, during) }).await;
    stopped.unwrap();
    let answer = soon(host.finished(&id, &during.message_id)).await.unwrap();
    assert_eq!(answer.text, "afterwards");
    let earlier = soon(host.finished(&id, &before.message_id)).await.unwrap();
    assert_eq!(earlier.error.unwrap().kind, FailureKind::Cancelled, "what was queued before the stop");
    soon(host.shut_down(Duration::ZERO)).await;
}

#[tokio::test]
async fn what_waits_can_be_changed_until_it_is_sent() {
    let place = Place::new();
    let host = place.host().await;
    let id = place.session(&host).await;
    let running = send(&host, &id, script(&json!([{"sleep": 60, "text": "never"}]))).await;
    status(&host, &id, SessionStatus::Running).await;
    let first = send(&host, &id, says("first")).await;
    let second = send(&host, &id, says("second")).await;
    let to_front = ChangeMessage { position: Some(0), ..ChangeMessage::default() };
    host.change_message(&id, &second.message_id, to_front.clone(), &me()).await.unwrap();
    let reworded = ChangeMessage { text: Some(says("third")), position: None };
    let bob = Actor::new("bob");
    let info = host.change_message(&id, &first.message_id, reworded, &bob).await.unwrap();
    assert_eq!((info.text, info.by.as_str()), (says("third"), "bob"));
    let shown = host.transcript(&id, None, 100).await.unwrap();
    let has = |wanted: &str| {
        shown.entries.iter().any(|entry| matches!(&entry.body, EntryBody::User(user) if user.text == wanted))
    };
    assert!(has(&says("third")) && !has(&says("first")), "the transcript says what will be sent");
    let empty = ChangeMessage { text: Some(" ".into()), position: None };
    let refused = host.change_message(&id, &first.message_id, empty, &bob).await;
    assert!(matches!(refused, Err(HostError::Invalid(_))), "{refused:?}");
    let late = host.change_message(&id, &running.message_id, to_front, &me()).await;
    assert!(matches!(late, Err(HostError::NotCancellable { .. })), "{late:?}");
    // It survives a kill of the host, in this order.
    soon(host.shut_down(Duration::ZERO)).await;
    drop(host);
    let host = place.host().await;
    let waiting = host.messages(&id, Some(MessageState::Queued)).await.unwrap();
    let texts: Vec<_> = waiting.iter().map(|message| message.text.clone()).collect();
    assert_eq!(texts, [says("second"), says("third")]);
    soon(host.release(&id, &me())).await.unwrap();
    let answer = soon(host.finished(&id, &first.message_id)).await.unwrap();
    assert_eq!(answer.text, "third");
    let page = host.transcript(&id, None, 100).await.unwrap();
    let said = page.entries.iter().filter_map(|entry| match &entry.body {
        EntryBody::Text(text) => Some(text.text.clone()),
        _ => None,
    });
    assert_eq!(said.collect::<Vec<_>>(), ["third", "second"], "newest first");
    soon(host.shut_down(Duration::ZERO)).await;
}
