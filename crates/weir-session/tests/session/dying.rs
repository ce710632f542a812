//! A process that ends by itself, and what arrives meanwhile.

use std::time::Duration;

use serde_json::json;
use weir_session::{SessionError, SessionOptions, StartError};
use weir_transcript::{EntryBody, MessageState, View};

use crate::played::{SESSION, asking, quiet, session, soon};

/// The delivery of each of our messages, in order.
fn deliveries(view: &View) -> Vec<MessageState> {
    let of = |body: &EntryBody| match body {
        EntryBody::User(user) => Some(user.delivery),
        _ => None,
    };
    view.entries.iter().filter_map(|entry| of(&entry.body)).collect()
}

/// Long waits for a process that should end.
fn patient() -> weir_process::StopOptions {
    weir_process::StopOptions { grace: Duration::from_secs(3600), ..weir_process::StopOptions::now() }
}

#[tokio::test(start_paused = true)]
async fn a_message_sent_while_a_process_dies_goes_to_the_next() {
    let (session, stage) = session(SessionOptions::new());
    // Set after the stage has made the waits short.
    let mut options = SessionOptions::new();
    options.stop = patient();
    session.reconfigure(options);
    let asked = asking(&session, "one");
    let mut cli = stage.ready().await;
    cli.turn("one", "1").await;
    soon(asked).await.unwrap().unwrap();
    let dying = cli.goes_deaf();
    quiet().await;
    // The end of the process was noticed, but it has not ended yet.
    let asked = asking(&session, "two");
    let started = tokio::spawn({
        let session = session.clone();
        async move { session.start().await }
    });
    quiet().await;
    dying.exits(1);
    stage.ready().await.turn("two", "2").await;
    assert_eq!(soon(asked).await.unwrap().unwrap().text, "2");
    soon(started).await.unwrap().unwrap();
    assert_eq!(deliveries(&session.view().await.unwrap()), [MessageState::Answered, MessageState::Answered]);
    session.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_message_sent_while_an_unused_process_dies_goes_to_the_next() {
    let (session, stage) = session(SessionOptions::new());
    let mut options = SessionOptions::new();
    options.stop = patient();
    session.reconfigure(options);
    let dying = stage.started(&session).await.goes_deaf();
    quiet().await;
    let asked = asking(&session, "one");
    quiet().await;
    dying.exits(1);
    stage.ready().await.turn("one", "1").await;
    assert_eq!(soon(asked).await.unwrap().unwrap().text, "1");
    session.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_message_that_was_never_written_goes_to_the_next_process() {
    let (session, stage) = session(SessionOptions::new());
    let asked = asking(&session, "one");
    let mut cli = stage.ready().await;
    cli.turn("one", "1").await;
    soon(asked).await.unwrap().unwrap();
    // The message is accepted before it is noticed that the process is dead.
    cli.exits(1);
    let asked = asking(&session, "two");
    stage.ready().await.turn("two", "2").await;
    assert_eq!(soon(asked).await.unwrap().unwrap().text, "2");
    assert_eq!(deliveries(&session.view().await.unwrap()), [MessageState::Answered, MessageState::Answered]);
    session.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_cli_that_never_reads_is_not_tried_forever() {
    let (session, stage) = session(SessionOptions::new());
    // Any number of processes, each ready and dead before the message can be written.
    let dying = async {
        loop {
            let mut cli = stage.next();
            let request = cli.hears_request("initialize").await;
            cli.answers(&request, json!({})).await;
            cli.exits(1);
            quiet().await;
        }
    };
    let asked = asking(&session, "one");
    let answer = tokio::select! {
        answer = soon(asked) => answer.unwrap(),
        () = dying => unreachable!("it never ends"),
    };
    let error = answer.unwrap_err();
    assert!(matches!(error, SessionError::Died { .. }), "{error}");
    assert!(session.facts().await.unwrap().processes <= 2);
    session.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_message_is_noticed_even_if_the_view_has_dropped_it() {
    let mut options = SessionOptions::new();
    options.fold.keep_entries = Some(4);
    let (session, stage) = session(options);
    let first = asking(&session, "one");
    let mut cli = stage.ready().await;
    let one = cli.begins("one").await;
    cli.lifecycle(&one, "started").await;
    let steered = session.steer("two").await.unwrap();
    let two = cli.hears_message("two").await;
    for number in 0..100 {
        cli.text(&format!("{number}")).await;
    }
    quiet().await;
    cli.lifecycle(&two, "cancelled").await;
    let mut steered = steered;
    let error = soon(steered.answer()).await.unwrap_err();
    assert!(matches!(error, SessionError::Cancelled), "{error}");
    cli.result("done", &[&one]).await;
    soon(first).await.unwrap().unwrap();
    session.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_cli_that_is_too_old_gets_no_handshake() {
    let mut options = SessionOptions::new();
    options.handshake = false;
    let (session, stage) = session(options);
    let asked = asking(&session, "one");
    let mut cli = stage.next();
    cli.turn("one", "1").await;
    assert_eq!(soon(asked).await.unwrap().unwrap().text, "1");
    session.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_session_that_is_not_kept_starts_over_and_says_so() {
    let mut options = SessionOptions::new();
    options.spec.no_session_persistence = true;
    let seen = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let options = options.observer(Starts(std::sync::Arc::clone(&seen)));
    let (session, stage) = session(options);
    let asked = asking(&session, "one");
    let mut cli = stage.ready().await;
    cli.turn("one", "1").await;
    soon(asked).await.unwrap().unwrap();
    assert!(!session.view().await.unwrap().session.forked);
    cli.exits(1);
    let asked = asking(&session, "two");
    let mut cli = stage.ready().await;
    let id = cli.hears_message("two").await;
    cli.init_as("another").await;
    cli.result("2", &[&id]).await;
    soon(asked).await.unwrap().unwrap();
    assert!(session.view().await.unwrap().session.forked);
    // There was nothing to resume.
    assert_eq!(*seen.lock().unwrap(), [None, None]);
    session.stop().await;
}

/// Remembers which session each process resumed.
struct Starts(std::sync::Arc<std::sync::Mutex<Vec<Option<String>>>>);

impl weir_session::Observer for Starts {
    fn host(&mut self, event: &weir_transcript::HostEvent) {
        if let weir_transcript::HostEvent::ProcessStarted { resumes } = event {
            let resumes = resumes.as_ref().map(|id| id.as_str().to_owned());
            self.0.lock().unwrap().push(resumes);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_process_for_each_message_needs_persistence() {
    let mut options = SessionOptions::new().keep_process(false);
    options.spec.no_session_persistence = true;
    let (session, _stage) = session(options);
    let error = soon(session.ask("one")).await.unwrap_err();
    assert!(error.to_string().contains("keep either the process or the session"), "{error}");
    session.stop().await;
}

#[tokio::test(start_paused = true)]
async fn the_session_that_the_cli_names_is_locked() {
    let folder = tempfile::tempdir().unwrap();
    let options = || {
        let mut options = SessionOptions::new().state_directory(folder.path());
        options.origin = weir_session::Origin::Continue;
        options
    };
    let (first, first_stage) = session(options());
    let asked = asking(&first, "one");
    let mut cli = first_stage.ready().await;
    cli.turn("one", "1").await;
    soon(asked).await.unwrap().unwrap();
    // Another one continues what turns out to be the same session.
    let (second, second_stage) = session(options());
    let asked = asking(&second, "two");
    let mut other = second_stage.ready().await;
    other.hears_message("two").await;
    other.init_as(SESSION).await;
    other.hears_nothing_more().await;
    let error = soon(asked).await.unwrap().unwrap_err();
    let SessionError::NotStarted(why) = &error else { panic!("{error}") };
    assert!(matches!(**why, StartError::Locked(_)), "{error}");
    // Once the first is gone, the session is free.
    first.stop().await;
    let asked = asking(&second, "three");
    second_stage.ready().await.turn("three", "3").await;
    soon(asked).await.unwrap().unwrap();
    second.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_cleared_session_releases_its_old_id() {
    let folder = tempfile::tempdir().unwrap();
    let (session, stage) = session(SessionOptions::new().state_directory(folder.path()));
    let asked = asking(&session, "one");
    let mut cli = stage.ready().await;
    cli.turn("one", "1").await;
    soon(asked).await.unwrap().unwrap();
    let lock = |id: &str| folder.path().join(format!("locks/session-{id}.lock"));
    assert!(weir_process::Lock::owner(&lock(SESSION)).is_some());
    let asked = asking(&session, weir_session::Message::command("clear", "").unwrap());
    let id = cli.hears_message("/clear").await;
    cli.says(&json!({"type": "conversation_reset"})).await;
    cli.init_as("cleared").await;
    cli.result("", &[&id]).await;
    soon(asked).await.unwrap().unwrap();
    assert!(weir_process::Lock::owner(&lock("cleared")).is_some());
    assert!(weir_process::Lock::owner(&lock(SESSION)).is_none());
    session.stop().await;
    assert!(weir_process::Lock::owner(&lock("cleared")).is_none());
}

#[tokio::test(start_paused = true)]
async fn output_just_before_the_end_is_seen() {
    let seen = std::sync::Arc::new(std::sync::Mutex::new(String::new()));
    let (session, stage) = session(SessionOptions::new().observer(Diagnostics(std::sync::Arc::clone(&seen))));
    let asked = asking(&session, "one");
    let mut cli = stage.ready().await;
    cli.begins("one").await;
    cli.peer_mut().write_stderr("fatal: a line\nand half a line");
    cli.exits(1);
    soon(asked).await.unwrap().unwrap_err();
    assert_eq!(*seen.lock().unwrap(), "fatal: a line\nand half a line");
    session.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_later_observer_sees_earlier_diagnostics() {
    let (session, stage) = session(SessionOptions::new());
    let mut cli = stage.started(&session).await;
    cli.peer_mut().write_stderr("a warning\n");
    quiet().await;
    let seen = std::sync::Arc::new(std::sync::Mutex::new(String::new()));
    session.reconfigure(SessionOptions::new().observer(Diagnostics(std::sync::Arc::clone(&seen))));
    quiet().await;
    cli.peer_mut().write_stderr("another\n");
    quiet().await;
    assert_eq!(*seen.lock().unwrap(), "a warning\nanother\n");
    session.stop().await;
}

/// Remembers diagnostics.
struct Diagnostics(std::sync::Arc<std::sync::Mutex<String>>);

impl weir_session::Observer for Diagnostics {
    fn host(&mut self, event: &weir_transcript::HostEvent) {
        if let weir_transcript::HostEvent::Stderr { text } = event {
            self.0.lock().unwrap().push_str(text);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_error_in_an_unsolicited_result_explains_the_exit() {
    // As 2.1.9 does for a session that it does not find: nothing on standard error.
    let (session, stage) = session(SessionOptions::new().resume("missing"));
    let asked = asking(&session, "one");
    let mut cli = stage.next();
    cli.hears_request("initialize").await;
    cli.says(
        &json!({"type": "result", "subtype": "error_during_execution", "is_error": true, "num_turns": 0,
        "errors": ["No conversation found with session ID: missing"]}),
    )
    .await;
    cli.exits(1);
    let error = soon(asked).await.unwrap().unwrap_err();
    assert!(matches!(error, SessionError::Died { .. }), "{error}");
    assert!(error.to_string().contains("No conversation found"), "{error}");
    session.stop().await;
}
