//! However it ends, nothing is left: no descendant, no zombie, no lock, and the raw log is complete.

use std::time::Duration;

use serde_json::{Value, json};
use weir_process::{ProcessId, StopOptions};
use weir_session::{Ask, Decision, Phase, Session, SessionError, SessionOptions};
use weir_transcript::{EntryBody, TurnState};

use crate::place::{Place, cli, is_reaped, script, soon, until};

/// A long-running tool, with a background process that detaches as far as it can.
fn long_tool() -> Value {
    let command = "setsid sh -c 'trap \"\" HUP TERM INT; echo $$ > daemon.pid; while :; do sleep 0.05; done' \
        > /dev/null 2>&1 & echo $$ > tool.pid; sleep 300";
    json!({"text": "Running.", "tool": "Bash", "input": {"command": command}})
}

/// A session running such a tool, and all of its processes.
struct Working {
    place: Place,
    session: Session,
    asked: tokio::task::JoinHandle<crate::turns::Answer>,
    processes: Vec<ProcessId>,
}

async fn working(options: impl FnOnce(&Place) -> SessionOptions, prompt: Value) -> Working {
    let place = Place::new();
    let session = Session::new(options(&place));
    let asked = tokio::spawn({
        let (session, prompt) = (session.clone(), script(&prompt));
        async move { session.ask(prompt).await }
    });
    let mut processes = vec![place.process("tool.pid").await, place.process("daemon.pid").await];
    processes.push(cli(&session).await);
    Working { place, session, asked, processes }
}

impl Working {
    /// Stops the session, if it is still running, and checks what is left.
    async fn ends_clean(self) {
        soon(self.session.stop()).await;
        for process in &self.processes {
            until("the end of a process", || is_reaped(*process)).await;
        }
        self.place.assert_clean().await;
    }
}

#[tokio::test]
async fn after_a_normal_end() {
    let place = Place::new();
    let session = Session::new(place.options());
    let answer = soon(session.ask(script(&json!([{"text": "hello"}])))).await.unwrap();
    assert_eq!(answer.text, "hello");
    let process = cli(&session).await;
    soon(session.stop()).await;
    assert!(is_reaped(process));
    place.assert_clean().await;
}

#[tokio::test]
async fn after_a_stop_in_mid_turn() {
    let working = working(Place::options, json!([long_tool(), {"text": "done"}])).await;
    soon(working.session.stop()).await;
    assert!(working.processes.iter().all(|process| !process.is_alive()), "a process survived the stop");
    working.ends_clean().await;
}

#[tokio::test]
async fn after_an_interrupt() {
    let mut working = working(Place::options, json!([long_tool(), {"text": "done"}])).await;
    assert!(soon(working.session.interrupt()).await.unwrap());
    let answer = soon(&mut working.asked).await.unwrap().unwrap();
    assert_eq!(answer.turn.state, TurnState::Interrupted);
    let again = soon(working.session.ask(script(&json!([{"text": "still here"}])))).await.unwrap();
    assert_eq!(again.text, "still here");
    working.ends_clean().await;
}

#[tokio::test]
async fn after_a_timeout() {
    let options = |place: &Place| {
        let mut options = place.misbehaving("ignore_interrupt");
        options.limits.tool = Some(Duration::from_secs(1));
        options
    };
    let mut working = working(options, json!([long_tool(), {"text": "done"}])).await;
    let error = soon(&mut working.asked).await.unwrap().unwrap_err();
    assert!(matches!(error, SessionError::TimedOut { phase: Phase::Tool, .. }), "{error}");
    working.ends_clean().await;
}

#[tokio::test]
async fn after_a_panic_in_a_handler() {
    let options = |place: &Place| {
        let mut options = place.options().handler(|ask: Ask| async move {
            assert!(matches!(ask, Ask::Hook(_)), "a panic on purpose");
            Decision::Value(json!({}))
        });
        options.spec.allowed_tools = vec!["Bash(setsid:*)".into(), "Bash(echo:*)".into()];
        options
    };
    let place = Place::new();
    let session = Session::new(options(&place));
    let steps = json!([{"tool": "Bash", "input": {"command": "touch forbidden"}}, {"text": "it was denied"}]);
    let answer = soon(session.ask(script(&steps))).await.unwrap();
    assert_eq!(answer.text, "it was denied");
    assert!(!place.path("work").join("forbidden").exists(), "no permission is granted by accident");
    let process = cli(&session).await;
    soon(session.stop()).await;
    assert!(is_reaped(process));
    place.assert_clean().await;
}

#[tokio::test]
async fn after_every_waiting_caller_was_dropped() {
    let working = working(Place::options, json!([long_tool(), {"text": "done"}])).await;
    let Working { place, session, asked, processes } = working;
    asked.abort();
    assert!(asked.await.unwrap_err().is_cancelled());
    drop(session);
    for process in processes {
        until("the end of a process", || is_reaped(process)).await;
    }
    let is_free =
        || place.living().is_empty() && weir_process::leftovers(&place.path("state")).unwrap().is_empty();
    until("the end of the session", is_free).await;
    let locks = place.path("state").join("locks");
    until("free locks", || {
        let mut files = std::fs::read_dir(&locks).unwrap().flatten();
        files.all(|lock| weir_process::Lock::owner(&lock.path()).is_none())
    })
    .await;
    place.assert_clean().await;
}

#[tokio::test]
async fn after_sigkill_of_the_cli() {
    let mut tool = long_tool();
    let command = tool["input"]["command"].as_str().unwrap();
    let command =
        command.replace("sleep 300", "while [ ! -e now ]; do sleep 0.02; done; kill -9 $PPID; sleep 300");
    tool["input"]["command"] = json!(command);
    let mut working = working(Place::options, json!([tool, {"text": "done"}])).await;
    std::fs::write(working.place.path("work").join("now"), "").unwrap();
    let error = soon(&mut working.asked).await.unwrap().unwrap_err();
    let SessionError::Died { exit, .. } = &error else { panic!("{error}") };
    assert_eq!(exit.signal, Some(9), "{error}");
    // The tools ended with it, without a stop.
    let Working { processes, .. } = &working;
    for process in processes {
        until("the end of a process", || !process.is_alive()).await;
    }
    // The next message gets its own process, which resumes the same session.
    let answer = soon(working.session.ask(script(&json!([{"text": "back again"}])))).await.unwrap();
    assert_eq!(answer.text, "back again");
    assert!(!working.session.view().await.unwrap().session.forked);
    working.ends_clean().await;
}

#[tokio::test]
async fn after_a_cli_that_ignores_everything_but_sigkill() {
    let options =
        |place: &Place| place.misbehaving("ignore_sigterm,ignore_sigint,ignore_interrupt,ignore_eof");
    let working = working(options, json!([long_tool(), {"text": "done"}])).await;
    working.ends_clean().await;
}

#[tokio::test]
async fn after_a_kill_during_a_slow_stop() {
    let an_hour = Duration::from_secs(3600);
    let options = |place: &Place| {
        let mut options = place.misbehaving("ignore_sigterm,ignore_sigint,ignore_interrupt,ignore_eof");
        options.stop = StopOptions { grace: an_hour, terminate: an_hour, ..StopOptions::default() };
        options.limits.interrupt = an_hour;
        options
    };
    let mut working = working(options, json!([long_tool(), {"text": "done"}])).await;
    let patient = tokio::spawn({
        let session = working.session.clone();
        async move { session.stop().await }
    });
    soon(working.session.kill()).await;
    assert!(working.processes.iter().all(|process| !process.is_alive()), "a process survived the kill");
    soon(patient).await.unwrap();
    let error = soon(&mut working.asked).await.unwrap().unwrap_err();
    assert!(matches!(error, SessionError::Stopped), "{error}");
    working.ends_clean().await;
}

#[tokio::test]
async fn after_a_tool_that_left_an_orphan_and_ended() {
    let place = Place::new();
    let session = Session::new(place.options());
    let steps = json!([{"misbehave": {"orphan": 300}, "text": "done"}]);
    soon(session.ask(script(&steps))).await.unwrap();
    let view = session.view().await.unwrap();
    let said = view.entries.iter().find_map(|entry| match &entry.body {
        EntryBody::Text(text) => text.text.strip_prefix("left behind: ").map(str::to_owned),
        _ => None,
    });
    let orphan = ProcessId::of(said.unwrap().parse().unwrap()).expect("the orphan is alive");
    soon(session.stop()).await;
    assert!(!orphan.is_alive());
    until("the end of the orphan", || is_reaped(orphan)).await;
    place.assert_clean().await;
}

#[tokio::test]
async fn after_a_death_at_every_point() {
    for (number, at) in ["start", "initialize", "turn", "mid", "result"].into_iter().enumerate() {
        let place = Place::new();
        let crash = json!({"crash": {"at": at, "exit": 3 + number}}).to_string();
        let session = Session::new(place.misbehaving(&crash));
        let error = soon(session.ask(script(&json!([{"text": "some words of a text"}])))).await.unwrap_err();
        let SessionError::Died { exit, .. } = &error else { panic!("{at}: {error}") };
        assert_eq!(exit.code, Some(3 + number as i32), "{at}: {error}");
        soon(session.stop()).await;
        place.assert_clean().await;
    }
}

#[tokio::test]
async fn stop_while_it_starts() {
    let place = Place::new();
    let session = Session::new(place.misbehaving(r#"{"slow_start": 30}"#));
    let sent = session.send("hello").await.unwrap();
    soon(session.stop()).await;
    drop(sent);
    place.assert_clean().await;
}
