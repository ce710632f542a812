//! One session on the real CLIs: a tool with its permission, an end, a resume, a fork. They have to be installed:
//! `scripts/setup-real-cli.sh`. `WEIR_SKIP_REAL_CLI=1` leaves this out, and says so.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use weir_host::{Decision, Host, HostError, HostOptions, NewMessage, NewSession, SessionStatus};
use weir_process::Environment;
use weir_session::{SessionOptions, SessionSpec};
use weir_store::{SqliteOptions, SqliteStore};
use weir_testkit::Place;
use weir_testkit::api::ScriptedApi;
use weir_testkit::real::RealCli;
use weir_transcript::{EntryBody, Notice, RequestState, TurnState};

use crate::place::{ask, id_of, me, says, script, send, soon, status};

/// A host on a real CLI, with its place and the API that it talks to.
pub(crate) async fn host_on(
    cli: RealCli,
    change: impl FnOnce(&mut HostOptions),
) -> (Host, Place, ScriptedApi) {
    let api = ScriptedApi::start().unwrap();
    let place = Place::new().unwrap();
    let mut environment = Environment::only(Vec::<String>::new());
    for (name, value) in place.environment(&api.url()) {
        environment = environment.set(name, value);
    }
    let store = SqliteStore::open(place.root().join("weir.db"), &SqliteOptions::default()).unwrap();
    let recipe = move |_: &weir_host::SessionSettings| {
        SessionOptions::new().program(&cli.program).environment(environment.clone())
    };
    let mut options = HostOptions::new(Arc::new(store), recipe).root(place.directory());
    options.state_directory = Some(place.root().join("state"));
    change(&mut options);
    (Host::open(options).await.unwrap(), place, api)
}

/// A real CLI that waits for a person gives its place to others; where too many wait, its turn ends and its process
/// goes; and a caller without a person is not kept waiting.
#[tokio::test]
async fn a_real_cli_that_waits_for_a_person_blocks_no_other_session() {
    let mut clis = RealCli::required();
    clis.sort_by_key(|cli| cli.version);
    let Some(newest) = clis.pop() else { return };
    let (host, place, _api) = host_on(newest, |options| {
        (options.pool.max_processes, options.pool.max_awaiting) = (1, 1);
        options.crowded_wait = Some(Duration::ZERO);
    })
    .await;
    let new = || NewSession::new(place.directory().to_string_lossy());
    let file = |name: &str| place.directory().join(name);
    let asks = |name: &str| {
        script(
            &json!([{"tool": "Write", "input": {"file_path": file(name), "content": "x"}}, {"text": "went on"}]),
        )
    };
    let mut waiting = Vec::new();
    for name in ["a", "b"] {
        let id = id_of(&host.create(new(), &me()).await.unwrap().session);
        let sent = send(&host, &id, asks(name)).await;
        status(&host, &id, SessionStatus::Waiting).await;
        waiting.push((id, sent.message_id));
    }
    let other = id_of(&host.create(new(), &me()).await.unwrap().session);
    assert_eq!(ask(&host, &other, says("served")).await, "served");
    // The first one had to go, the second one still waits.
    let (first, message) = &waiting[0];
    soon(host.finished(first, message)).await.unwrap();
    let view = host.view(first).await.unwrap();
    assert!(
        matches!(&view.requests[0].state, RequestState::Denied { by, .. } if by.as_deref() == Some("weir")),
        "{:?}",
        view.requests
    );
    assert_eq!(host.info(&waiting[1].0).await.unwrap().status, SessionStatus::Waiting);
    assert!(!file("a").exists() && !file("b").exists());
    // Stopped, so that there is a place.
    soon(host.stop(&waiting[1].0, &me())).await.unwrap();
    let unattended = NewSession { ask_timeout_s: Some(1), ..new() };
    let id = id_of(&host.create(unattended, &me()).await.unwrap().session);
    let sent = send(&host, &id, asks("c")).await;
    assert_eq!(soon(host.finished(&id, &sent.message_id)).await.unwrap().text, "went on");
    let log = host.log(&id, 0).await.unwrap();
    let told =
        log.events.iter().any(|event| event.payload.to_string().contains("No one answered within 1 s"));
    assert!(told && !file("c").exists());
    soon(host.shut_down(Duration::ZERO)).await;
}

/// The real CLI keeps nothing of such a session, tells what each message used, and a stop in mid-turn is not a failure.
#[tokio::test]
async fn a_real_cli_keeps_nothing_of_a_session_that_is_not_to_be_kept() {
    let mut clis = RealCli::required();
    clis.sort_by_key(|cli| cli.version);
    for cli in clis {
        let version = cli.version;
        let (host, place, _api) = host_on(cli, |_| {}).await;
        let cwd = place.directory().to_string_lossy().into_owned();
        let spec = SessionSpec {
            no_session_persistence: true,
            allowed_tools: vec!["Bash".into()],
            ..SessionSpec::default()
        };
        let new = NewSession { spec, ..NewSession::new(cwd) };
        let id = id_of(&host.create(new, &me()).await.unwrap().session);
        assert_eq!(ask(&host, &id, says("one")).await, "one", "{version}");
        let view = host.view(&id).await.unwrap();
        let used = &view.usages.last().unwrap_or_else(|| panic!("{version}: no usage")).usage;
        assert_eq!((used.input_tokens, used.output_tokens), (100, 50), "{version}");
        let started = place.directory().join("started");
        let command = format!("touch '{}'; sleep 60", started.display());
        send(&host, &id, script(&json!([{"tool": "Bash", "input": {"command": command}}]))).await;
        crate::place::until("the tool runs", || started.exists()).await;
        soon(host.stop(&id, &me())).await.unwrap();
        let view = host.view(&id).await.unwrap();
        assert_eq!(view.turns.last().map(|turn| turn.state), Some(TurnState::Interrupted), "{version}");
        let is_error = |entry: &weir_transcript::Entry| {
            matches!(
                &entry.body,
                EntryBody::Notice { notice: Notice::ProcessEnded { .. } | Notice::Error { .. } }
            )
        };
        assert!(!view.entries.iter().any(|entry| is_error(entry)), "{version}: {:#?}", view.entries);
        let refused = host.send(&id, NewMessage::text(says("two")), &me()).await;
        assert!(matches!(refused, Err(HostError::NotKept)), "{version}: {refused:?}");
        let kept = transcripts(place.root());
        assert!(kept.is_empty(), "{version}: {kept:?}");
        soon(host.shut_down(Duration::ZERO)).await;
    }
}

/// The CLI's transcripts below a folder.
fn transcripts(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        match entry.path() {
            path if path.is_dir() => found.extend(transcripts(&path)),
            path if path.extension().is_some_and(|extension| extension == "jsonl") => found.push(path),
            _ => {}
        }
    }
    // Not a session: what the CLI's own history of prompts is called.
    found.retain(|path| path.file_name().is_some_and(|name| name != "history.jsonl"));
    found
}

#[tokio::test]
async fn a_conversation_outlives_the_processes_of_a_real_cli() {
    // All of them pass; the oldest and the newest differ most, and each takes its time to start.
    let mut clis = RealCli::required();
    clis.sort_by_key(|cli| cli.version);
    let newest = clis.len().saturating_sub(1);
    for (_, cli) in clis.into_iter().enumerate().filter(|(place, _)| *place == 0 || *place == newest) {
        let version = cli.version;
        let (host, place, _api) = host_on(cli, |_| {}).await;
        let new = NewSession::new(place.directory().to_string_lossy());
        let id = id_of(&host.create(new, &me()).await.unwrap().session);

        let file = place.directory().join("written.txt");
        let write = json!([{"tool": "Write", "input": {"file_path": file, "content": "hello\n"}}, {"text": "written"}]);
        let sent = send(&host, &id, script(&write)).await;
        status(&host, &id, SessionStatus::Waiting).await;
        let request = host.open_requests(&id).await.unwrap()[0].id.clone();
        soon(host.answer(&id, &request, Decision::allow(), &me())).await.unwrap();
        let ended = soon(host.finished(&id, &sent.message_id)).await.unwrap();
        assert_eq!((ended.text.as_str(), ended.error), ("written", None), "{version}");
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "hello\n");
        let before = status(&host, &id, SessionStatus::Idle).await;
        let diff = soon(host.diff(&id)).await.unwrap();
        assert_eq!((diff.len(), diff[0].additions), (1, 1), "{version}");

        soon(host.stop(&id, &me())).await.unwrap();
        assert_eq!(ask(&host, &id, says("another process")).await, "another process", "{version}");
        let after = status(&host, &id, SessionStatus::Idle).await;
        assert_eq!(after.cli_session_id, before.cli_session_id, "{version}: the same conversation");
        assert!(after.cost_usd > before.cost_usd, "{version}: {:?} {:?}", before.cost_usd, after.cost_usd);

        let fork = id_of(&soon(host.fork(&id, None, &me())).await.unwrap());
        assert_eq!(ask(&host, &fork, says("a fork")).await, "a fork", "{version}");
        let forked = status(&host, &fork, SessionStatus::Idle).await;
        assert_ne!(forked.cli_session_id, after.cli_session_id, "{version}");
        let view = host.view(&fork).await.unwrap();
        let texts = view.entries.iter().filter(|entry| matches!(entry.body, EntryBody::Text(_))).count();
        assert_eq!(texts, 3, "{version}: the history, and what is new");
        soon(host.shut_down(Duration::ZERO)).await;
        drop(host);
    }
}
