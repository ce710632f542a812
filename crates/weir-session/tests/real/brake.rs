//! The brake on real CLIs: a tool interrupted before it began never runs, and the next message is answered.

use std::time::Duration;

use serde_json::json;
use weir_session::{Message, Session, SessionError, SessionOptions};
use weir_testkit::Place;
use weir_testkit::api::ScriptedApi;
use weir_testkit::real::Version;
use weir_testkit::scenario::{Cli, Process};
use weir_transcript::{Status, TurnState};

use crate::host::Host;
use crate::options::options;
use crate::recorder::Recorder;

/// When the interrupt is sent.
#[derive(Debug, Clone, Copy)]
enum When {
    /// The process is being started.
    Starting,
    /// The first message was just written to it.
    Written,
    /// A later message was just written to it.
    WrittenLater,
    /// A moment later: its turn begins, or has begun.
    Begun,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_real_cli_runs_nothing_that_was_interrupted() {
    for cli in crate::real_clis() {
        let cli = Cli::from(cli);
        for when in [When::Starting, When::Written, When::WrittenLater, When::Begun] {
            brake(&cli, when).await;
        }
    }
}

fn made(cli: &Cli, place: &Place, api: &ScriptedApi) -> SessionOptions {
    let process = Process { unattended: true, ..Process::default() };
    let recorder = Recorder::default();
    options((cli, place, api), &process, "", &Host::new(&process), &recorder).allowed_tools(["Bash"])
}

async fn brake(cli: &Cli, when: When) {
    let (place, api) = (Place::new().unwrap(), ScriptedApi::start().unwrap());
    let session = Session::new(made(cli, &place, &api));
    let ran = place.directory().join("ran");
    let tool = format!(
        "@@{}",
        json!([{"tool": "Bash", "input": {"command": format!("touch {}", ran.display())}},
        {"text": "done"}])
    );
    let says = |text: &str| format!("@@{}", json!([{"text": text}]));
    match when {
        When::Starting => {}
        When::Written | When::Begun => session.start().await.unwrap(),
        When::WrittenLater => assert_eq!(session.ask(says("first")).await.unwrap().text, "first"),
    }
    let mut sent = session.send(tool).await.unwrap();
    if matches!(when, When::Begun) {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert!(session.interrupt().await.unwrap(), "{cli} {when:?}");
    let is_interrupted = match sent.answer().await {
        Err(SessionError::Interrupted) => true,
        Ok(end) => end.turn.state == TurnState::Interrupted,
        Err(error) => panic!("{cli} {when:?}: {error}"),
    };
    assert!(is_interrupted, "{cli} {when:?}");
    assert_eq!(session.ask(says("next")).await.unwrap().text, "next", "{cli} {when:?}");
    assert!(!ran.exists(), "{cli} {when:?}: the tool ran");
    session.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_compaction_is_interrupted_and_the_next_message_is_answered() {
    for cli in crate::real_clis() {
        let cli = Cli::from(cli);
        let (place, api) = (Place::new().unwrap(), ScriptedApi::start().unwrap());
        let session = Session::new(made(&cli, &place, &api));
        let says = |text: &str| format!("@@{}", json!([{"text": text}]));
        for text in ["first", "second"] {
            // One exchange is not enough for all versions.
            assert_eq!(session.ask(says(text)).await.unwrap().text, text);
        }
        let mut updates = session.follow().await.unwrap();
        // Interpreted, because the script would be changed as the argument of a command.
        let slowly = format!("/compact @@{}", json!([{"sleep": 120}]));
        let mut sent = session.send(Message::from(slowly).interpreted()).await.unwrap();
        while session.view().await.unwrap().status != Status::Compacting {
            updates.next().await.unwrap();
        }
        assert!(session.interrupt().await.unwrap(), "{cli}");
        // It is reported as a success, with or without text.
        let end = sent.answer().await.unwrap();
        assert!(!end.text.contains("summary"), "{cli}: {}", end.text);
        assert_ne!(end.turn.state, TurnState::Failed, "{cli}");
        assert_eq!(session.ask(says("next")).await.unwrap().text, "next", "{cli}");
        session.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_interrupt_spares_background_agents_and_each_can_be_stopped() {
    for cli in crate::real_clis() {
        let cli = Cli::from(cli);
        // Older ones do not report what runs in the background.
        if cli.version < Version::new(2, 1, 197) {
            continue;
        }
        let (place, api) = (Place::new().unwrap(), ScriptedApi::start().unwrap());
        let session = Session::new(made(&cli, &place, &api).allowed_tools(["Task", "Agent"]));
        let inner = format!("go @@{}", json!([{"sleep": 120, "text": "never"}]));
        let task = json!({"description": "in the background", "prompt": inner,
            "subagent_type": "general-purpose", "run_in_background": true});
        let steps = json!([{"tool": "Task", "input": task}, {"sleep": 120, "text": "never"}]);
        let mut updates = session.follow().await.unwrap();
        let mut sent = session.send(format!("@@{steps}")).await.unwrap();
        while session.view().await.unwrap().tasks.is_empty() {
            updates.next().await.unwrap();
        }
        assert!(session.interrupt().await.unwrap());
        assert_eq!(sent.answer().await.unwrap().turn.state, TurnState::Interrupted, "{cli}");
        let task = session.view().await.unwrap().tasks.first().map(|task| task.id.clone());
        let task = task.unwrap_or_else(|| panic!("{cli}: the interrupt ended the agent"));
        session.stop_task(&task).await.unwrap();
        while !session.view().await.unwrap().tasks.is_empty() {
            updates.next().await.unwrap();
        }
        session.stop().await;
    }
}
