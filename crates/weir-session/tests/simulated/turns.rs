//! "Turns and sessions" among the lessons.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use weir_session::{Phase, Session, SessionError, TurnEnd};
use weir_transcript::{TurnCause, TurnState};

use crate::place::{Place, cli, running, script, soon};

pub(crate) type Answer = Result<Arc<TurnEnd>, SessionError>;

fn says(text: &str) -> String {
    script(&json!([{"text": text}]))
}

#[tokio::test]
async fn one_process_serves_many_turns() {
    let place = Place::new();
    let session = Session::new(place.options());
    for number in 0..5 {
        let answer = soon(session.ask(says(&format!("answer {number}")))).await.unwrap();
        assert_eq!(answer.text, format!("answer {number}"));
    }
    assert_eq!(session.facts().await.unwrap().processes, 1);
    soon(session.stop()).await;
    place.assert_clean().await;
}

#[tokio::test]
async fn a_background_task_is_not_lost_and_its_turn_answers_no_message() {
    let place = Place::new();
    let session = Session::new(place.options());
    let steps = json!([
        {"tool": "Bash", "input": {"command": "sleep 0.3; echo finished > done", "run_in_background": true}},
        {"text": "started it"},
        {"text": "it has finished"},
    ]);
    let answer = soon(session.ask(script(&steps))).await.unwrap();
    assert_eq!(answer.text, "started it");
    soon(session.settled()).await.unwrap();
    assert!(place.path("work").join("done").exists(), "settled means that the task is done");
    let view = session.view().await.unwrap();
    assert_eq!(view.turns.len(), 2, "{:?}", view.turns);
    assert!(matches!(view.turns[1].cause, TurnCause::Unasked { .. }));
    let answer = soon(session.ask(says("next"))).await.unwrap();
    assert_eq!(answer.text, "next");
    soon(session.stop()).await;
    place.assert_clean().await;
}

#[tokio::test]
async fn second_and_late_results_answer_no_message() {
    // If results do not name their messages, one that arrives after the next turn has begun cannot be told from
    // that turn's answer; so on 2.1.9 only one that arrives before.
    let all = [
        (json!("stray_result"), ["2.1.325", "2.1.9"].as_slice()),
        (json!({"late_result": 0.0}), &["2.1.325"]),
        (json!({"late_result": 0.1}), &["2.1.325"]),
    ];
    for (misbehaviour, versions) in all {
        for version in versions {
            let place = Place::new();
            let mut options = place.options();
            options.environment = options.environment.set("SIMULATED_CLAUDE_VERSION", version);
            let session = Session::new(options);
            let steps = json!([{"misbehave": misbehaviour, "text": "one"}]);
            let mut sent = vec![session.send(script(&steps)).await.unwrap()];
            let slow = json!([{"sleep": 0.3, "text": "two"}]);
            sent.push(session.send(script(&slow)).await.unwrap());
            sent.push(session.send(says("three")).await.unwrap());
            for (sent, expected) in sent.iter_mut().zip(["one", "two", "three"]) {
                let answer = soon(sent.answer()).await.unwrap();
                assert_eq!(answer.text, expected, "{misbehaviour} on {version}");
            }
            soon(session.stop()).await;
            place.assert_clean().await;
        }
    }
}

#[tokio::test]
async fn an_empty_result_first_is_not_the_answer() {
    let place = Place::new();
    let session = Session::new(place.misbehaving("empty_result_first"));
    assert_eq!(soon(session.ask(says("the answer"))).await.unwrap().text, "the answer");
    soon(session.stop()).await;
    place.assert_clean().await;
}

#[tokio::test]
async fn messages_answered_together_all_end() {
    let place = Place::new();
    let session = Session::new(place.options());
    let slow = json!([{"sleep": 0.5, "text": "one"}]);
    let mut first = session.send(script(&slow)).await.unwrap();
    let mut second = session.steer(says("two")).await.unwrap();
    let mut third = session.steer(says("three")).await.unwrap();
    for sent in [&mut first, &mut second, &mut third] {
        soon(sent.answer()).await.unwrap();
    }
    soon(session.settled()).await.unwrap();
    soon(session.stop()).await;
    place.assert_clean().await;
}

#[tokio::test]
async fn messages_are_answered_one_by_one_on_a_version_that_does_not_name_them() {
    let place = Place::new();
    let mut options = place.options();
    options.environment = options.environment.set("SIMULATED_CLAUDE_VERSION", "2.1.9");
    let session = Session::new(options);
    let mut sent = Vec::new();
    for text in ["one", "two", "three"] {
        sent.push(session.steer(says(text)).await.unwrap());
    }
    for (sent, expected) in sent.iter_mut().zip(["one", "two", "three"]) {
        assert_eq!(soon(sent.answer()).await.unwrap().text, expected);
    }
    soon(session.stop()).await;
    place.assert_clean().await;
}

#[tokio::test]
async fn an_interrupt_ends_the_turn_and_not_the_process() {
    let place = Place::new();
    let session = Session::new(place.options());
    let mut sent = session.send(script(&json!([{"sleep": 60, "text": "never"}]))).await.unwrap();
    running(&session).await;
    let before = cli(&session).await;
    assert!(soon(session.interrupt()).await.unwrap());
    assert_eq!(soon(sent.answer()).await.unwrap().turn.state, TurnState::Interrupted);
    assert_eq!(soon(session.ask(says("next"))).await.unwrap().text, "next");
    assert_eq!(cli(&session).await, before);
    soon(session.stop()).await;
    place.assert_clean().await;
}

#[tokio::test]
async fn a_process_for_each_message_is_one_session() {
    let place = Place::new();
    let session = Session::new(place.options().keep_process(false));
    let mut sent = Vec::new();
    for text in ["one", "two", "three"] {
        sent.push(session.send(says(text)).await.unwrap());
    }
    let mut ids = Vec::new();
    for (sent, expected) in sent.iter_mut().zip(["one", "two", "three"]) {
        let answer = soon(sent.answer()).await.unwrap();
        assert_eq!(answer.text, expected);
        ids.push(answer.session_id.clone());
    }
    assert!(ids[0].is_some() && ids.iter().all(|id| *id == ids[0]), "{ids:?}");
    let view = session.view().await.unwrap();
    assert_eq!((view.turns.len(), view.session.forked), (3, false));
    assert_eq!(session.facts().await.unwrap().processes, 3);
    soon(session.stop()).await;
    place.assert_clean().await;
}

#[tokio::test]
async fn a_process_for_each_message_waits_for_background_tasks() {
    let place = Place::new();
    let session = Session::new(place.options().keep_process(false));
    let steps = json!([
        {"tool": "Bash", "input": {"command": "sleep 0.3; echo finished > done", "run_in_background": true}},
        {"text": "started it"},
        {"text": "it has finished"},
    ]);
    soon(session.ask(script(&steps))).await.unwrap();
    assert_eq!(soon(session.ask(says("next"))).await.unwrap().text, "next");
    assert!(place.path("work").join("done").exists(), "the first process ended before its task was done");
    let view = session.view().await.unwrap();
    assert_eq!(view.turns.len(), 3, "{:?}", view.turns);
    soon(session.stop()).await;
    place.assert_clean().await;
}

#[tokio::test]
async fn the_cost_limit_counts_across_turns() {
    let place = Place::new();
    let first = Session::new(place.options());
    let cost = soon(first.ask(says("one"))).await.unwrap().cost_usd().unwrap();
    soon(first.stop()).await;
    assert!(cost > 0.0);
    let place = Place::new();
    let session = Session::new(place.options().max_cost_usd(cost * 1.5));
    soon(session.ask(says("one"))).await.unwrap();
    // The CLI ends the turn that exceeds the limit.
    let two = soon(session.ask(says("two"))).await;
    assert!(matches!(&two, Err(SessionError::TurnFailed(end)) if end.text == "two"), "{two:?}");
    let error = soon(session.ask(says("three"))).await.unwrap_err();
    assert!(matches!(error, SessionError::BudgetExhausted { .. }), "{error}");
    soon(session.stop()).await;
    place.assert_clean().await;
}

#[tokio::test]
async fn a_turn_has_an_absolute_limit() {
    let place = Place::new();
    let mut options = place.options();
    options.limits.turn = Some(Duration::from_secs(1));
    let session = Session::new(options);
    let error = soon(session.ask(script(&json!([{"wdelay": 0.1, "text": "on and on ".repeat(100)}])))).await;
    assert!(matches!(error, Err(SessionError::TimedOut { phase: Phase::Turn, .. })), "{error:?}");
    assert_eq!(soon(session.ask(says("next"))).await.unwrap().text, "next");
    soon(session.stop()).await;
    place.assert_clean().await;
}
