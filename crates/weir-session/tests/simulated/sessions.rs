//! Session ids: resumed, forked, and owned by a single session.

use serde_json::json;
use weir_session::{Origin, Session, SessionError};
use weir_wire::CliSessionId;

use crate::place::{Place, script, soon};

const ID: &str = "a1b2c3d4-0000-4000-8000-000000000001";

fn says(text: &str) -> String {
    script(&json!([{"text": text}]))
}

/// A session from earlier.
async fn before(place: &Place) -> CliSessionId {
    let session = Session::new(place.options().origin(Origin::Named(CliSessionId::new(ID))));
    let answer = soon(session.ask(says("before"))).await.unwrap();
    soon(session.stop()).await;
    assert_eq!(answer.session_id, Some(CliSessionId::new(ID)));
    CliSessionId::new(ID)
}

#[tokio::test]
async fn a_resumed_session_keeps_its_id() {
    let place = Place::new();
    let id = before(&place).await;
    let session = Session::new(place.options().resume(id.clone()));
    let answer = soon(session.ask(says("after"))).await.unwrap();
    assert_eq!(answer.session_id, Some(id));
    assert!(!session.view().await.unwrap().session.forked);
    soon(session.stop()).await;
    place.assert_clean().await;
}

#[tokio::test]
async fn a_fork_has_its_own_id_and_keeps_it() {
    let place = Place::new();
    let id = before(&place).await;
    let session = Session::new(place.options().fork(id.clone()));
    let first = soon(session.ask(says("one"))).await.unwrap().session_id.clone();
    assert!(first.is_some() && first != Some(id));
    soon(session.close()).await.unwrap();
    let second = soon(session.ask(says("two"))).await.unwrap().session_id.clone();
    assert_eq!(first, second, "the copy is not copied again");
    soon(session.stop()).await;
    place.assert_clean().await;
}

#[tokio::test]
async fn an_unexpected_session_id_is_reported_as_a_fork() {
    let place = Place::new();
    let id = before(&place).await;
    let session = Session::new(place.misbehaving("other_session").resume(id.clone()));
    let answer = soon(session.ask(says("after"))).await.unwrap();
    assert_ne!(answer.session_id, Some(id));
    assert!(session.view().await.unwrap().session.forked, "lost history is reported");
    soon(session.stop()).await;
    place.assert_clean().await;
}

#[tokio::test]
async fn a_missing_session_cannot_be_resumed_and_the_error_says_why() {
    let place = Place::new();
    let session = Session::new(place.options().resume(ID));
    let error = soon(session.ask(says("hello"))).await;
    let said = match error {
        Ok(answer) => {
            assert!(answer.is_error());
            format!("{:?}", answer.turn.result)
        }
        Err(error) => error.to_string(),
    };
    assert!(said.contains(ID) || said.contains("No conversation"), "{said}");
    soon(session.stop()).await;
    place.assert_clean().await;
}

#[tokio::test]
async fn one_owner_for_each_session_id() {
    let place = Place::new();
    let id = before(&place).await;
    let owner = Session::new(place.options().resume(id.clone()));
    soon(owner.start()).await.unwrap();
    let second = Session::new(place.options().resume(id.clone()));
    let error = soon(second.ask(says("mine"))).await.unwrap_err();
    assert!(matches!(error, SessionError::NotStarted(_)), "{error}");
    assert!(error.to_string().contains("in use"), "{error}");
    soon(second.stop()).await;
    soon(owner.stop()).await;
    // As soon as the first has stopped, its id is free.
    let third = Session::new(place.options().resume(id));
    soon(third.start()).await.unwrap();
    soon(third.stop()).await;
    place.assert_clean().await;
}

#[tokio::test]
async fn one_writer_for_each_workspace() {
    let place = Place::new();
    let exclusive = || {
        let mut options = place.options();
        options.lock_workspace = true;
        options
    };
    let first = Session::new(exclusive());
    soon(first.start()).await.unwrap();
    let second = Session::new(exclusive());
    let error = soon(second.start()).await.unwrap_err();
    assert!(error.to_string().contains("in use"), "{error}");
    soon(second.stop()).await;
    soon(first.stop()).await;
    let third = Session::new(exclusive());
    soon(third.start()).await.unwrap();
    soon(third.stop()).await;
    place.assert_clean().await;
}
