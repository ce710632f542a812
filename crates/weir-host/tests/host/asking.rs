//! Requests of the CLI to a person: in the snapshot, and answered once, with the name of who did.

use serde_json::json;
use weir_host::{Actor, Decision, HostError, SessionStatus};
use weir_transcript::{PermissionRequest, RequestKind, RequestState};
use weir_wire::QuestionAnswers;

use crate::place::{Onlooker, Place, me, script, send, soon, status};

#[tokio::test]
async fn the_first_answer_wins_and_the_second_hears_who_was_first() {
    let place = Place::new();
    let host = place.host().await;
    let id = place.session(&host).await;
    let steps = json!([
        {"tool": "Write", "input": {"file_path": place.path("work").join("a.txt"), "content": "hello\n"}},
        {"text": "written"},
    ]);
    let sent = send(&host, &id, script(&steps)).await;
    let info = status(&host, &id, SessionStatus::Waiting).await;
    assert_eq!((info.waiting_for.permissions, info.waiting_for.questions), (1, 0));
    // A viewer that joins now finds the request.
    let mut onlooker = Onlooker::new(&host, &id, None).await;
    let request = onlooker.view.requests[0].clone();
    assert_eq!(host.open_requests(&id).await.unwrap(), std::slice::from_ref(&request));
    assert_eq!(host.view(&id).await.unwrap().requests, std::slice::from_ref(&request));
    assert!(
        matches!(&request.kind, RequestKind::Permission(PermissionRequest { tool_name, .. }) if tool_name == "Write")
    );
    let (alice, bob) = (Actor::new("alice"), Actor::new("bob"));
    let (first, second) = tokio::join!(
        host.answer(&id, &request.id, Decision::allow(), &alice),
        host.answer(&id, &request.id, Decision::deny("no"), &bob),
    );
    let (winner, loser) = if first.is_ok() { ("alice", second) } else { ("bob", first) };
    assert!(matches!(&loser, Err(HostError::AlreadyAnswered { by: Some(by) }) if by == winner), "{loser:?}");
    soon(host.finished(&id, &sent.message_id)).await.unwrap();
    onlooker.until("the answer", |onlooker| onlooker.view.requests[0].state != RequestState::Open).await;
    let late = host.answer(&id, &request.id, Decision::allow(), &me()).await;
    assert!(matches!(&late, Err(HostError::AlreadyAnswered { by: Some(by) }) if by == winner), "{late:?}");
    // Also when the process that asked is gone.
    soon(host.stop(&id, &me())).await.unwrap();
    let late = host.answer(&id, &request.id, Decision::allow(), &me()).await;
    assert!(matches!(&late, Err(HostError::AlreadyAnswered { by: Some(by) }) if by == winner), "{late:?}");
    let none = host.answer(&id, &"nothing".into(), Decision::allow(), &me()).await;
    assert!(matches!(none, Err(HostError::NoSuchRequest)), "{none:?}");
    soon(host.shut_down(std::time::Duration::ZERO)).await;
}

#[tokio::test]
async fn a_question_is_answered_with_its_choices_and_never_empty() {
    let place = Place::new();
    let host = place.host().await;
    let id = place.session(&host).await;
    let question = json!({
        "question": "Which colour?", "header": "Colour", "multiSelect": false,
        "options": [{"label": "Red", "description": "r"}, {"label": "Blue", "description": "b"}],
    });
    let steps = json!([{"tool": "AskUserQuestion", "input": {"questions": [question]}}, {"text": "thanks"}]);
    let sent = send(&host, &id, script(&steps)).await;
    let info = status(&host, &id, SessionStatus::Waiting).await;
    assert_eq!(info.waiting_for.questions, 1);
    let onlooker = Onlooker::new(&host, &id, None).await;
    let request = onlooker.view.requests[0].id.clone();
    let empty = host.answer(&id, &request, Decision::allow(), &me()).await;
    assert!(matches!(empty, Err(HostError::BadAnswer(_))), "{empty:?}");
    let answers = QuestionAnswers::new().choose("Which colour?", "Blue");
    soon(host.answer(&id, &request, Decision::Answers(answers), &me())).await.unwrap();
    assert_eq!(soon(host.finished(&id, &sent.message_id)).await.unwrap().text, "thanks");
    soon(host.shut_down(std::time::Duration::ZERO)).await;
}
