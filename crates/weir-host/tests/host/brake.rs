//! The brake: an interrupt wherever a message is on its way to the CLI, and the stop of a single task.

use std::time::Duration;

use serde_json::json;
use weir_host::{FailureKind, HostError, MessageState, SessionStatus};
use weir_wire::TaskId;

use crate::place::{Place, ask, me, says, script, send, soon, status};

fn tool() -> String {
    script(&json!([{"tool": "Bash", "input": {"command": "touch ran"}}, {"text": "done"}]))
}

#[tokio::test]
async fn an_interrupt_at_any_instant_after_the_message_takes_it_back() {
    let place = Place::new();
    let host = place.host().await;
    for instant in [0, 1, 2, 4, 8, 16, 32, 64, 128] {
        let id = place.session(&host).await;
        // The model thinks longer than all instants, so no tool is at work yet.
        let steps = json!([{"sleep": 60, "tool": "Bash", "input": {"command": "touch ran"}}, {"text": "x"}]);
        let sent = send(&host, &id, script(&steps)).await;
        tokio::time::sleep(Duration::from_millis(instant)).await;
        assert!(soon(host.interrupt(&id, &me())).await.unwrap(), "{instant} ms");
        let ended = soon(host.finished(&id, &sent.message_id)).await.unwrap();
        assert_eq!(ended.error.unwrap().kind, FailureKind::Interrupted, "{instant} ms");
        assert_eq!(ask(&host, &id, says("next")).await, "next", "{instant} ms");
        assert!(!place.path("work").join("ran").exists(), "{instant} ms");
    }
    soon(host.shut_down(Duration::ZERO)).await;
}

#[tokio::test]
async fn an_interrupt_takes_back_a_message_that_waits_for_a_process() {
    let place = Place::new();
    let mut options = place.options();
    options.pool.max_processes = 1;
    let host = weir_host::Host::open(options).await.unwrap();
    let (busy, waiting) = (place.session(&host).await, place.session(&host).await);
    send(&host, &busy, script(&json!([{"sleep": 60, "text": "never"}]))).await;
    status(&host, &busy, SessionStatus::Running).await;
    let first = send(&host, &waiting, tool()).await;
    let second = send(&host, &waiting, says("second")).await;
    assert!(soon(host.interrupt(&waiting, &me())).await.unwrap());
    let ended = soon(host.finished(&waiting, &first.message_id)).await.unwrap();
    assert_eq!((ended.state, ended.error.unwrap().kind), (MessageState::Cancelled, FailureKind::Interrupted));
    // What waits behind it stays, and is answered once there is a process for it.
    soon(host.stop(&busy, &me())).await.unwrap();
    assert_eq!(soon(host.finished(&waiting, &second.message_id)).await.unwrap().text, "second");
    assert!(!place.path("work").join("ran").exists());
    soon(host.shut_down(Duration::ZERO)).await;
}

#[tokio::test]
async fn a_task_in_the_background_is_stopped_by_itself() {
    let place = Place::new();
    let host = place.host().await;
    let id = place.session(&host).await;
    let stop_unknown = async || soon(host.stop_task(&id, &TaskId::new("none"), &me())).await;
    let missing = stop_unknown().await;
    assert!(matches!(missing, Err(HostError::NoSuchTask(_))), "without a process: {missing:?}");
    let command = json!({"command": "echo $$ > task.pid; sleep 300", "run_in_background": true});
    let steps = json!([{"tool": "Bash", "input": command}, {"text": "started"}]);
    assert_eq!(ask(&host, &id, script(&steps)).await, "started");
    let tasks = async || host.view(&id).await.unwrap().tasks;
    let task = tasks().await.first().expect("it runs").id.clone();
    // An interrupt is not for it.
    assert!(!soon(host.interrupt(&id, &me())).await.unwrap());
    assert_eq!(tasks().await.len(), 1);
    let missing = stop_unknown().await;
    assert!(matches!(missing, Err(HostError::NoSuchTask(_))), "with one: {missing:?}");
    soon(host.stop_task(&id, &task, &me())).await.unwrap();
    soon(async {
        while !tasks().await.is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
    let again = soon(host.stop_task(&id, &task, &me())).await;
    assert!(matches!(again, Err(HostError::NoSuchTask(_))), "it has ended: {again:?}");
    assert_eq!(ask(&host, &id, says("next")).await, "next");
    soon(host.shut_down(Duration::ZERO)).await;
}

#[tokio::test]
async fn a_session_is_settled_when_nothing_runs_in_the_background_either() {
    let place = Place::new();
    let host = place.host().await;
    let id = place.session(&host).await;
    soon(host.settled(&id)).await.unwrap();
    let command = json!({"command": "until [ -e go ]; do sleep 0.01; done", "run_in_background": true});
    let steps = json!([{"tool": "Bash", "input": command}, {"text": "It runs."}, {"text": "It has ended."}]);
    assert_eq!(ask(&host, &id, script(&steps)).await, "It runs.");
    let settled = tokio::time::timeout(Duration::from_millis(100), host.settled(&id)).await;
    assert!(settled.is_err(), "the task still runs");
    std::fs::write(place.path("work").join("go"), "").unwrap();
    soon(host.settled(&id)).await.unwrap();
    let view = host.view(&id).await.unwrap();
    assert_eq!((view.tasks.len(), view.turns.len()), (0, 2), "and so is the turn that its end began");
    soon(host.shut_down(Duration::ZERO)).await;
}

#[tokio::test]
async fn the_raw_logs_of_a_session_are_known_while_it_runs_and_after_its_process_has_died() {
    let place = Place::new();
    let mut options = place.options();
    let (recipe, logs) = (options.recipe.clone(), place.path("logs"));
    options.recipe = std::sync::Arc::new(move |settings| {
        let mut options = recipe(settings);
        options.log = Some(weir_process::LogOptions::new(&logs, "test", "one"));
        options
    });
    let host = weir_host::Host::open(options).await.unwrap();
    let id = place.session(&host).await;
    assert_eq!(host.raw_logs(&id).await.unwrap(), None);
    let watch = host.watch(&id, weir_host::WatchQuery::default()).await.unwrap();
    assert_eq!(ask(&host, &id, says("hello")).await, "hello");
    let first = host.raw_logs(&id).await.unwrap().expect("a log");
    assert!(std::fs::read_to_string(&first.output).unwrap().contains("hello"));
    let steps = json!([{"misbehave": {"crash": {"at": "mid", "exit": 3}}, "text": "a text that breaks off"}]);
    let sent = send(&host, &id, script(&steps)).await;
    soon(host.finished(&id, &sent.message_id)).await.unwrap();
    assert_eq!(host.raw_logs(&id).await.unwrap().as_ref(), Some(&first));
    drop(watch);
    soon(host.shut_down(Duration::ZERO)).await;
}
