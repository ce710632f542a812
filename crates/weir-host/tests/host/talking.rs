//! Messages: accepted once, sent in order, taken back, answered.

use serde_json::json;
use weir_host::{
    Document, FailureKind, Host, HostError, Image, MessageMode, MessageState, NewMessage, SessionStatus,
};
use weir_session::SessionSpec;
use weir_store::{Append, NewEvent};
use weir_transcript::EntryBody;

use crate::place::{Place, ask, id_of, me, says, script, send, soon, status, with};

#[tokio::test]
async fn a_message_is_answered_and_the_process_stays() {
    let place = Place::new();
    let host = place.host().await;
    let id = place.session(&host).await;
    assert_eq!(ask(&host, &id, says("one")).await, "one");
    assert_eq!(ask(&host, &id, says("two")).await, "two");
    let info = status(&host, &id, SessionStatus::Idle).await;
    assert!(info.has_process && info.cost_usd.unwrap() > 0.0 && info.cli_session_id.is_some(), "{info:?}");
    soon(host.stop(&id, &me())).await.unwrap();
    let info = host.info(&id).await.unwrap();
    assert_eq!((info.status, info.has_process), (SessionStatus::Idle, false));
    assert_eq!(place.living(), Vec::<u32>::new());
    host.shut_down(std::time::Duration::ZERO).await;
}

#[tokio::test]
async fn the_same_client_id_is_the_same_message_whatever_has_become_of_its_files() {
    let place = Place::new();
    let host = place.host().await;
    let id = place.session(&host).await;
    let folder = std::path::PathBuf::from(host.info(&id).await.unwrap().cwd);
    std::fs::write(folder.join("notes.md"), "hello").unwrap();
    let message = |files: &[&str]| NewMessage {
        files: files.iter().map(ToString::to_string).collect(),
        ..NewMessage::text(says("once")).client_id("mine")
    };
    let first = soon(host.send(&id, message(&["notes.md"]), &me())).await.unwrap();
    std::fs::remove_file(folder.join("notes.md")).unwrap();
    let again = soon(host.send(&id, message(&["notes.md"]), &me())).await.unwrap();
    assert_eq!((&again.message_id, again.duplicate, again.differs), (&first.message_id, true, false));
    for other in [&["other.md"][..], &[], &["notes.md", "notes.md"]] {
        let other = soon(host.send(&id, message(other), &me())).await.unwrap();
        assert!(other.duplicate && other.differs);
    }
    soon(host.finished(&id, &first.message_id)).await.unwrap();
    soon(host.shut_down(std::time::Duration::ZERO)).await;
}

#[tokio::test]
async fn the_same_client_id_is_the_same_message() {
    let place = Place::new();
    let host = place.host().await;
    let id = place.session(&host).await;
    let message = || NewMessage::text(says("once")).client_id("mine");
    let first = soon(host.send(&id, message(), &me())).await.unwrap();
    let second = soon(host.send(&id, message(), &me())).await.unwrap();
    assert!(!first.duplicate && second.duplicate);
    assert_eq!(first.message_id, second.message_id);
    soon(host.finished(&id, &first.message_id)).await.unwrap();
    let third = soon(host.send(&id, message(), &me())).await.unwrap();
    assert_eq!((third.state, third.duplicate), (MessageState::Answered, true));
    status(&host, &id, SessionStatus::Idle).await;
    assert_eq!(host.messages(&id, None).await.unwrap().len(), 1);
    soon(host.shut_down(std::time::Duration::ZERO)).await;
}

/// Older versions wrote no event of its own when a message was queued.
#[tokio::test]
async fn a_log_of_an_older_version_is_read_and_its_messages_are_recognised() {
    let place = Place::new();
    let options = place.options();
    let host = Host::open(options.clone()).await.unwrap();
    let id = place.session(&host).await;
    let message = json!({"message_id": "old", "client_id": "mine", "by": "me", "text": "hello"});
    let logged =
        |kind: &str, payload: &serde_json::Value| NewEvent::new(1, kind, payload.to_string().into_bytes());
    let events = vec![
        NewEvent { client_id: Some("mine".into()), ..logged("message", &message) },
        logged("note", &json!({"note": "handed_over", "message_id": "old"})),
        logged("host", &json!({"event": "message_sent", "message": "old"})),
        logged(
            "line",
            &json!({"type": "assistant", "message": {"id": "m", "content": [{"type": "text", "text": "hi"}]}}),
        ),
        logged(
            "line",
            &json!({"type": "result", "subtype": "success", "is_error": false, "num_turns": 1, "result": "hi"}),
        ),
    ];
    options.store.append(Append::new(id.clone(), events)).await.unwrap();
    let again = soon(host.send(&id, NewMessage::text("hello").client_id("mine"), &me())).await.unwrap();
    assert_eq!((again.message_id.as_str(), again.duplicate, again.differs), ("old", true, false));
    assert_eq!(again.state, MessageState::Answered);
    let other = soon(host.send(&id, NewMessage::text("other").client_id("mine"), &me())).await.unwrap();
    assert!(other.duplicate && other.differs);
    let view = soon(host.view(&id)).await.unwrap();
    assert_eq!((view.entries.len(), view.turns.len()), (2, 1));
    // It continues where the old version ended.
    assert_eq!(ask(&host, &id, says("more")).await, "more");
    host.shut_down(std::time::Duration::ZERO).await;
}

#[tokio::test]
async fn many_at_once_with_one_client_id_are_one_message() {
    let place = Place::new();
    let host = place.host().await;
    let id = place.session(&host).await;
    let sends = (0..20).map(|_| {
        let (host, id) = (host.clone(), id.clone());
        tokio::spawn(async move {
            host.send(&id, NewMessage::text(says("x")).client_id("c"), &me()).await.unwrap()
        })
    });
    let sends: Vec<_> = sends.collect();
    let mut new = 0;
    let mut ids = std::collections::HashSet::new();
    for send in sends {
        let accepted = soon(send).await.unwrap();
        new += u32::from(!accepted.duplicate);
        ids.insert(accepted.message_id);
    }
    assert_eq!((new, ids.len()), (1, 1));
    soon(host.shut_down(std::time::Duration::ZERO)).await;
}

#[tokio::test]
async fn what_waits_is_listed_and_can_be_taken_back() {
    let place = Place::new();
    let host = place.host().await;
    let id = place.session(&host).await;
    let slow = send(&host, &id, script(&json!([{"sleep": 60, "text": "never"}]))).await;
    status(&host, &id, SessionStatus::Running).await;
    let second = send(&host, &id, says("two")).await;
    let third = send(&host, &id, says("three")).await;
    let queued = host.messages(&id, Some(MessageState::Queued)).await.unwrap();
    let ids: Vec<_> = queued.iter().map(|message| message.message_id.clone()).collect();
    assert_eq!(ids, [second.message_id.clone(), third.message_id.clone()]);
    assert_eq!((queued[0].by.as_str(), host.info(&id).await.unwrap().queued), ("me", 2));
    soon(host.cancel_message(&id, &second.message_id, &me())).await.unwrap();
    let again = soon(host.cancel_message(&id, &second.message_id, &me())).await;
    assert!(matches!(again, Err(HostError::NotCancellable { state: "cancelled" })), "{again:?}");
    let ended = soon(host.finished(&id, &second.message_id)).await.unwrap();
    assert_eq!(ended.error.unwrap().kind, FailureKind::Cancelled);
    assert!(soon(host.interrupt(&id, &me())).await.unwrap());
    let ended = soon(host.finished(&id, &slow.message_id)).await.unwrap();
    assert_eq!(ended.error.unwrap().kind, FailureKind::Interrupted);
    assert_eq!(soon(host.finished(&id, &third.message_id)).await.unwrap().text, "three");
    let missing = host.cancel_message(&id, &"nobody".into(), &me()).await;
    assert!(matches!(missing, Err(HostError::NoSuchMessage)));
    soon(host.shut_down(std::time::Duration::ZERO)).await;
}

#[tokio::test]
async fn a_message_that_steers_joins_the_running_turn() {
    let place = Place::new();
    let host = place.host().await;
    let id = place.session(&host).await;
    // The CLI names messages from its first answer on, and only then it is safe to steer.
    ask(&host, &id, says("hello")).await;
    let steps = json!([{"tool": "Bash", "input": {"command": "sleep 0.5"}}, {"text": "done"}]);
    let slow = send(&host, &id, script(&steps)).await;
    status(&host, &id, SessionStatus::Running).await;
    let message = NewMessage { mode: MessageMode::Steer, ..NewMessage::text(says("steered")) };
    let steered = soon(host.send(&id, message, &me())).await.unwrap();
    for message in [&slow, &steered] {
        let ended = soon(host.finished(&id, &message.message_id)).await.unwrap();
        assert_eq!(ended.state, MessageState::Answered, "{ended:?}");
    }
    soon(host.shut_down(std::time::Duration::ZERO)).await;
}

#[tokio::test]
async fn stop_ends_the_turn_and_takes_back_what_waits() {
    let place = Place::new();
    let host = place.host().await;
    let id = place.session(&host).await;
    let steps = json!([{"tool": "Bash", "input": {"command": "sleep 60"}}, {"text": "never"}]);
    let running = send(&host, &id, script(&steps)).await;
    let waiting = send(&host, &id, says("two")).await;
    status(&host, &id, SessionStatus::Running).await;
    soon(host.stop(&id, &me())).await.unwrap();
    assert_eq!(place.living(), Vec::<u32>::new(), "stopped means that no process is left");
    let info = host.info(&id).await.unwrap();
    assert_eq!((info.status, info.has_process, info.queued), (SessionStatus::Idle, false, 0));
    assert!(soon(host.finished(&id, &running.message_id)).await.unwrap().error.is_some());
    let ended = soon(host.finished(&id, &waiting.message_id)).await.unwrap();
    assert_eq!(ended.state, MessageState::Cancelled);
    assert_eq!(ask(&host, &id, says("again")).await, "again");
    soon(host.shut_down(std::time::Duration::ZERO)).await;
    assert_eq!(place.living(), Vec::<u32>::new());
}

#[tokio::test]
async fn a_cli_that_cannot_be_started_is_told_with_the_message() {
    let place = Place::new();
    let mut options = place.options();
    options.recipe = std::sync::Arc::new(|_| weir_session::SessionOptions::new().program("/nowhere/claude"));
    let host = Host::open(options).await.unwrap();
    let id = place.session(&host).await;
    let sent = send(&host, &id, "hello").await;
    let ended = soon(host.finished(&id, &sent.message_id)).await.unwrap();
    assert_eq!(ended.state, MessageState::Failed);
    assert_eq!(ended.error.as_ref().unwrap().kind, FailureKind::NotStarted);
    let listed = host.messages(&id, Some(MessageState::Failed)).await.unwrap();
    assert!(listed[0].error.as_ref().is_some_and(|error| error.contains("/nowhere/claude")), "{listed:?}");
    let info = status(&host, &id, SessionStatus::Failed).await;
    assert_eq!(info.last_error, Some(ended.error.unwrap().message));
    soon(host.shut_down(std::time::Duration::ZERO)).await;
}

#[tokio::test]
async fn a_message_that_the_api_refuses_has_failed_and_says_why() {
    let place = Place::new();
    let host = place.host().await;
    let id = place.session(&host).await;
    let steps = json!([{"status": 400, "etype": "invalid_request_error", "msg": "too much of everything"}]);
    let sent = send(&host, &id, script(&steps)).await;
    let ended = soon(host.finished(&id, &sent.message_id)).await.unwrap();
    assert_eq!(ended.state, MessageState::Failed);
    assert!(ended.error.unwrap().message.contains("too much of everything"));
    // Also after the CLI has finished with the message, and for a later caller.
    assert_eq!(ask(&host, &id, says("better")).await, "better");
    let entry = host.view(&id).await.unwrap().entries.iter().find_map(|entry| match &entry.body {
        EntryBody::User(user) if user.message.as_ref() == Some(&sent.message_id) => Some(user.clone()),
        _ => None,
    });
    let entry = entry.unwrap();
    assert_eq!(entry.delivery, MessageState::Failed);
    assert!(entry.error.is_some_and(|error| error.contains("too much of everything")));
    soon(host.shut_down(std::time::Duration::ZERO)).await;
}

#[tokio::test]
async fn a_cli_that_dies_fails_the_session_and_the_next_message_goes_on() {
    let place = Place::new();
    let host = place.host().await;
    let id = place.session(&host).await;
    let steps =
        json!([{"misbehave": {"crash": {"at": "mid", "exit": 3}}, "text": "a long text that breaks off"}]);
    let sent = send(&host, &id, script(&steps)).await;
    let ended = soon(host.finished(&id, &sent.message_id)).await.unwrap();
    assert_eq!(ended.state, MessageState::Indeterminate);
    assert_eq!(ended.error.unwrap().kind, FailureKind::Died);
    assert!(status(&host, &id, SessionStatus::Failed).await.last_error.is_some());
    assert_eq!(ask(&host, &id, says("better")).await, "better");
    status(&host, &id, SessionStatus::Idle).await;
    soon(host.shut_down(std::time::Duration::ZERO)).await;
}

#[tokio::test]
async fn nothing_more_is_sent_when_the_budget_is_spent() {
    let place = Place::new();
    let host = place.host().await;
    let new = with(&place, SessionSpec { max_cost_usd: Some(0.000_001), ..SessionSpec::default() });
    let id = id_of(&host.create(new, &me()).await.unwrap().session);
    let sent = send(&host, &id, says("one")).await;
    soon(host.finished(&id, &sent.message_id)).await.unwrap();
    let refused = soon(host.send(&id, NewMessage::text("two"), &me())).await;
    assert!(matches!(refused, Err(HostError::BudgetExhausted { .. })), "{refused:?}");
    soon(host.shut_down(std::time::Duration::ZERO)).await;
}

#[tokio::test]
async fn what_makes_no_sense_is_refused() {
    let place = Place::new();
    let host = place.host().await;
    let id = place.session(&host).await;
    let picture = |media_type: &str| NewMessage {
        images: vec![Image { media_type: media_type.into(), data: vec![1] }],
        ..NewMessage::default()
    };
    for message in [NewMessage::text(" "), picture("text/html"), NewMessage::text("x").client_id("")] {
        let refused = host.send(&id, message, &me()).await;
        assert!(matches!(refused, Err(HostError::Invalid(_))), "{refused:?}");
    }
    let title = Some("x".repeat(201));
    let long_title = Document { media_type: "application/pdf".into(), data: b"%PDF-".to_vec(), title };
    let long_title = NewMessage { documents: vec![long_title], ..NewMessage::default() };
    let refused = host.send(&id, long_title, &me()).await;
    assert!(matches!(refused, Err(HostError::Invalid(_))), "{refused:?}");
    let picture = NewMessage { text: says("I see"), ..picture("image/png") };
    let accepted = soon(host.send(&id, picture, &me())).await.unwrap();
    assert_eq!(host.messages(&id, None).await.unwrap()[0].images, 1);
    soon(host.finished(&id, &accepted.message_id)).await.unwrap();
    let unknown = "00000000-0000-4000-8000-000000000000".parse().unwrap();
    let refused = host.send(&unknown, NewMessage::text("x"), &me()).await;
    assert!(matches!(refused, Err(HostError::NotFound(_))), "{refused:?}");
    soon(host.shut_down(std::time::Duration::ZERO)).await;
}

/// The view keeps 200 entries; what a message needs to come to its end must outlive its entry.
#[tokio::test]
async fn a_turn_of_many_tools_is_answered() {
    let place = Place::new();
    let host = place.host().await;
    let id = place.session(&host).await;
    let look = json!({"tool": "Read", "input": {"file_path": place.path("work").join("nothing")}});
    let steps = json!([{"tools": vec![look; 500]}, {"text": "read it all"}]);
    assert_eq!(ask(&host, &id, script(&steps)).await, "read it all");
    assert_eq!(ask(&host, &id, says("and the next")).await, "and the next");
    let messages = host.messages(&id, None).await.unwrap();
    assert!(messages.iter().all(|message| message.state == MessageState::Answered), "{messages:?}");
    soon(host.shut_down(std::time::Duration::ZERO)).await;
}
