//! Raw logs that fail while a process runs.

use serde_json::json;
use weir_process::{LogOptions, ProcessId};
use weir_session::{Session, SessionError, SessionOptions};
use weir_transcript::{EntryBody, Notice};

use crate::place::{Place, cli, is_reaped, script, soon, until};

/// Options with a log that needs a new file for each line.
fn options(place: &Place, require: bool) -> SessionOptions {
    let mut log = LogOptions::new(place.path("fragile"), "test", "session");
    (log.part_bytes, log.require) = (Some(1), require);
    let mut options = place.options();
    (options.log, options.observer) = (Some(log), None);
    options
}

/// Makes further writes to the log fail.
fn break_log(place: &Place) {
    std::fs::remove_dir_all(place.path("fragile")).unwrap();
}

#[tokio::test]
async fn a_failed_log_is_reported_and_the_run_continues() {
    let place = Place::new();
    let session = Session::new(options(&place, false));
    soon(session.ask(script(&json!([{"text": "one"}])))).await.unwrap();
    assert_eq!(session.facts().await.unwrap().log_error, None);
    break_log(&place);
    let answer = soon(session.ask(script(&json!([{"text": "two"}])))).await.unwrap();
    assert_eq!(answer.text, "two");
    let error = session.facts().await.unwrap().log_error.expect("the error is reported");
    assert!(error.contains("cannot write the raw log"), "{error}");
    let view = session.view().await.unwrap();
    let told = view.entries.iter().filter(|entry| match &entry.body {
        EntryBody::Notice { notice: Notice::Error { message } } => {
            message.contains("cannot write the raw log")
        }
        _ => false,
    });
    assert_eq!(told.count(), 1, "once");
    soon(session.stop()).await;
}

#[tokio::test]
async fn a_failed_required_log_ends_the_run_with_that_reason() {
    let place = Place::new();
    let session = Session::new(options(&place, true));
    soon(session.ask(script(&json!([{"text": "one"}])))).await.unwrap();
    let process: ProcessId = cli(&session).await;
    break_log(&place);
    let error = soon(session.ask(script(&json!([{"text": "two"}])))).await.unwrap_err();
    assert!(matches!(error, SessionError::Log(_)), "{error}");
    assert!(error.to_string().contains("cannot write the raw log"), "{error}");
    until("the end of the process", || is_reaped(process)).await;
    soon(session.stop()).await;
}

#[tokio::test]
async fn a_log_that_cannot_be_created_is_reported() {
    let place = Place::new();
    std::fs::write(place.path("fragile"), "a file").unwrap();
    let session = Session::new(options(&place, false));
    soon(session.ask(script(&json!([{"text": "one"}])))).await.unwrap();
    assert!(session.facts().await.unwrap().log_error.is_some());
    soon(session.stop()).await;
    let session = Session::new(options(&place, true));
    let error = soon(session.ask(script(&json!([{"text": "one"}])))).await.unwrap_err();
    assert!(matches!(error, SessionError::NotStarted(_)), "{error}");
    soon(session.stop()).await;
}
