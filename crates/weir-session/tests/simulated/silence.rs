//! A CLI that goes silent, at any point.

use std::time::Duration;

use serde_json::json;
use weir_session::{Phase, Session, SessionError};

use crate::place::{Place, script, soon, until};

#[tokio::test]
async fn silence_is_noticed_in_every_phase() {
    let points = [
        ("start", Phase::Starting),
        ("initialize", Phase::Starting),
        ("turn", Phase::Model),
        ("mid", Phase::Model),
        ("result", Phase::Model),
    ];
    for (point, expected) in points {
        let place = Place::new();
        let mut options = place.misbehaving(&json!({"silence": point}).to_string());
        options.limits.starting = Some(Duration::from_secs(1));
        options.limits.model = Some(Duration::from_secs(1));
        let session = Session::new(options);
        let error = soon(session.ask(script(&json!([{"text": "some words of a text"}])))).await.unwrap_err();
        let SessionError::TimedOut { phase, .. } = &error else { panic!("{point}: {error}") };
        assert_eq!(*phase, expected, "{point}: {error}");
        soon(session.stop()).await;
        place.assert_clean().await;
    }
}

#[tokio::test]
async fn a_turn_without_a_result_is_noticed() {
    let place = Place::new();
    let mut options = place.misbehaving("no_result");
    options.limits.model = Some(Duration::from_secs(1));
    let session = Session::new(options);
    let error = soon(session.ask(script(&json!([{"text": "words"}])))).await.unwrap_err();
    assert!(matches!(error, SessionError::TimedOut { phase: Phase::Model, .. }), "{error}");
    soon(session.stop()).await;
    place.assert_clean().await;
}

#[tokio::test]
async fn an_end_without_a_result_is_an_error_even_with_exit_0() {
    for how in ["exit_without_result", "truncated_result"] {
        let place = Place::new();
        let session = Session::new(place.misbehaving(how));
        let error = soon(session.ask(script(&json!([{"text": "words"}])))).await.unwrap_err();
        let SessionError::Died { exit, text, .. } = &error else { panic!("{how}: {error}") };
        assert!(exit.is_success(), "{how}: {error}");
        assert_eq!(text.as_deref(), Some("words"), "{how}: {error}");
        soon(session.stop()).await;
        place.assert_clean().await;
    }
}

#[tokio::test]
async fn an_ignored_interrupt_ends_the_process_and_nothing_runs_afterwards() {
    let place = Place::new();
    let mut options = place.misbehaving("ignore_interrupt");
    options.limits.interrupt = Duration::from_millis(200);
    let session = Session::new(options);
    let steps = json!([{"tool": "Bash", "input": {"command": "touch began; sleep 60; touch ran"}},
        {"tool": "Bash", "input": {"command": "touch ran"}}, {"text": "never"}]);
    let mut sent = soon(session.send(script(&steps))).await.unwrap();
    let began = place.path("work").join("began");
    until("the tool has begun", || began.exists()).await;
    assert!(soon(session.interrupt()).await.unwrap());
    assert_eq!(session.facts().await.unwrap().pid, None, "it was reported as ended but is still running");
    assert!(matches!(soon(sent.answer()).await, Err(SessionError::Interrupted)));
    assert!(!place.path("work").join("ran").exists());
    let answer = soon(session.ask(script(&json!([{"text": "next"}])))).await.unwrap();
    assert_eq!(answer.text, "next");
    soon(session.stop()).await;
    place.assert_clean().await;
}
