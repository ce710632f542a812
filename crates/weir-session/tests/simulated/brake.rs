//! The brake with real processes: a tool interrupted before it began never runs.

use std::time::Duration;

use serde_json::json;
use weir_session::{Message, Session, SessionError};

use crate::place::{Place, script, soon};

/// Waits until the history is being compacted.
async fn compacting(session: &Session) {
    let mut updates = session.follow().await.unwrap();
    while session.view().await.unwrap().status != weir_transcript::Status::Compacting {
        updates.next().await.unwrap();
    }
}

fn tool() -> String {
    script(&json!([{"tool": "Bash", "input": {"command": "touch ran"}}, {"text": "done"}]))
}

#[tokio::test]
async fn before_the_cli_is_ready() {
    let place = Place::new();
    let session = Session::new(place.misbehaving(r#"{"slow_start": 0.5}"#));
    let mut sent = soon(session.send(tool())).await.unwrap();
    assert!(soon(session.interrupt()).await.unwrap());
    assert!(matches!(soon(sent.answer()).await, Err(SessionError::Interrupted)));
    // The process starts anyway, and gets the next message.
    let answer = soon(session.ask(script(&json!([{"text": "next"}])))).await.unwrap();
    assert_eq!(answer.text, "next");
    assert!(!place.path("work").join("ran").exists());
    soon(session.stop()).await;
    place.assert_clean().await;
}

#[tokio::test]
async fn while_the_history_is_compacted() {
    for version in ["2.1.325", "2.1.9"] {
        let place = Place::new();
        let mut options = place.options();
        options.environment = options.environment.set("SIMULATED_CLAUDE_VERSION", version);
        let session = Session::new(options);
        soon(session.ask(script(&json!([{"text": "first"}])))).await.unwrap();
        // Interpreted, because the script would be changed as the argument of a command.
        let command = Message::from(format!("/compact {}", script(&json!([{"sleep": 60}])))).interpreted();
        let mut sent = soon(session.send(command)).await.unwrap();
        // A message queued behind it stays.
        let mut behind = soon(session.send(tool())).await.unwrap();
        soon(compacting(&session)).await;
        assert!(soon(session.interrupt()).await.unwrap(), "{version}");
        // Both versions report success, the newer one with text.
        let end = soon(sent.answer()).await.unwrap();
        assert!(matches!(&*end.text, "" | "Compaction canceled."), "{version}: {}", end.text);
        assert_eq!(soon(behind.answer()).await.unwrap().text, "done", "{version}");
        soon(session.stop()).await;
        place.assert_clean().await;
    }
}

#[tokio::test]
async fn at_any_instant_after_the_message() {
    for version in ["2.1.325", "2.1.9"] {
        for instant in [0, 1, 2, 4, 8, 16, 32, 64, 128, 256] {
            let place = Place::new();
            let mut options = place.options();
            options.environment = options.environment.set("SIMULATED_CLAUDE_VERSION", version);
            let session = Session::new(options);
            let steps =
                json!([{"sleep": 60, "tool": "Bash", "input": {"command": "touch ran"}}, {"text": "x"}]);
            let mut sent = soon(session.send(script(&steps))).await.unwrap();
            tokio::time::sleep(Duration::from_millis(instant)).await;
            assert!(soon(session.interrupt()).await.unwrap(), "{version}, {instant} ms");
            let is_interrupted = match soon(sent.answer()).await {
                Err(SessionError::Interrupted) => true,
                Ok(end) => end.turn.state == weir_transcript::TurnState::Interrupted,
                Err(_) => false,
            };
            assert!(is_interrupted, "{version}, {instant} ms");
            let answer = soon(session.ask(script(&json!([{"text": "next"}])))).await.unwrap();
            assert_eq!(answer.text, "next", "{version}, {instant} ms");
            assert!(!place.path("work").join("ran").exists(), "{version}, {instant} ms");
            soon(session.stop()).await;
            place.assert_clean().await;
        }
    }
}
