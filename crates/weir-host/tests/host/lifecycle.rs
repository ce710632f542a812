//! Sessions as such.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::json;
use weir_host::{
    AllEvent, Branch, ChangeLimits, CliState, Host, HostError, ListSessions, MessageState, NewMessage,
    NewSession, SessionId, SessionInfo, SessionStatus,
};
use weir_session::{SessionOptions, SessionSpec};
use weir_transcript::{EntryBody, Notice, Status, TurnState};

use crate::place::{Onlooker, Place, ask, id_of, me, says, script, send, soon, status, until, with};

#[tokio::test]
async fn a_key_names_one_session() {
    let place = Place::new();
    let host = place.host().await;
    let new = || NewSession { key: Some("k".into()), ..NewSession::new(place.work()) };
    let first = host.create(new(), &me()).await.unwrap();
    let second = host.create(new(), &me()).await.unwrap();
    assert!(first.new && !second.new);
    assert_eq!(first.session, second.session);
    host.archive(&id_of(&first.session), true).await.unwrap();
    assert!(host.create(new(), &me()).await.unwrap().new, "an archived one has no key any more");
    let back = host.archive(&id_of(&first.session), false).await;
    assert!(matches!(back, Err(HostError::KeyInUse { .. })), "{back:?}");
}

#[tokio::test]
async fn folders_lie_below_a_root_after_links_are_resolved() {
    let place = Place::new();
    let host = place.host().await;
    std::os::unix::fs::symlink(place.path("home"), place.path("work").join("link")).unwrap();
    std::fs::create_dir(place.path("work").join("inside")).unwrap();
    std::fs::write(place.path("work").join("file"), "").unwrap();
    let work = place.work();
    for folder in
        ["", "work", "/", "/nowhere", &format!("{work}/link"), &format!("{work}/.."), &format!("{work}/file")]
    {
        let refused = host.create(NewSession::new(folder), &me()).await;
        assert!(matches!(refused, Err(HostError::Folder { .. })), "{folder}: {refused:?}");
    }
    let inside = host.create(NewSession::new(format!("{work}/inside/../inside")), &me()).await.unwrap();
    assert_eq!(
        inside.session.cwd,
        format!("{}/inside", place.path("work").canonicalize().unwrap().display())
    );
}

#[tokio::test]
async fn flags_cannot_be_smuggled_in() {
    let place = Place::new();
    let host = place.host().await;
    let bad = [
        with(
            &place,
            SessionSpec { model: Some("--dangerously-skip-permissions".into()), ..SessionSpec::default() },
        ),
        with(&place, SessionSpec { permission_mode: Some("-x".into()), ..SessionSpec::default() }),
        with(&place, SessionSpec { allowed_tools: vec!["--settings".into()], ..SessionSpec::default() }),
        with(&place, SessionSpec { disallowed_tools: vec!["a\nb".into()], ..SessionSpec::default() }),
        with(&place, SessionSpec { max_cost_usd: Some(f64::NAN), ..SessionSpec::default() }),
        with(&place, SessionSpec { max_turns: Some(0), ..SessionSpec::default() }),
    ];
    for new in bad {
        let refused = host.create(new, &me()).await;
        assert!(matches!(refused, Err(HostError::Invalid(_))), "{refused:?}");
    }
}

#[tokio::test]
async fn sessions_are_listed_and_watched() {
    let place = Place::new();
    let host = place.host().await;
    let mut all = host.watch_all();
    let mut ids = Vec::new();
    for number in 0..5 {
        let new = NewSession { name: Some(format!("number {number}")), ..NewSession::new(place.work()) };
        ids.push(id_of(&host.create(new, &me()).await.unwrap().session));
    }
    let first = host.list(ListSessions { limit: Some(3), ..ListSessions::default() }).await.unwrap();
    let second =
        ListSessions { limit: Some(3), cursor: first.next_cursor.clone(), ..ListSessions::default() };
    let second = host.list(second).await.unwrap();
    assert_eq!((first.sessions.len(), second.sessions.len(), second.next_cursor), (3, 2, None));
    let found =
        host.list(ListSessions { search: Some("NUMBER 3".into()), ..Default::default() }).await.unwrap();
    assert_eq!(found.sessions.len(), 1);
    let renamed = host.rename(&ids[0], Some("another".into())).await.unwrap();
    assert_eq!(renamed.name.as_deref(), Some("another"));
    host.delete(&ids[1]).await.unwrap();
    assert!(matches!(host.delete(&ids[1]).await, Err(HostError::NotFound(_))));
    assert!(matches!(host.info(&ids[1]).await, Err(HostError::NotFound(_))));
    host.archive(&ids[2], true).await.unwrap();
    let live = host.list(ListSessions { archived: Some(false), ..ListSessions::default() }).await.unwrap();
    assert_eq!(live.sessions.len(), 3);
    let refused = host.send(&ids[2], NewMessage::text("x"), &me()).await;
    assert!(matches!(refused, Err(HostError::Archived)), "{refused:?}");
    // Each session once, with its newest state, however much has happened to it.
    let mut seen = Vec::new();
    for _ in 0..5 {
        match soon(all.next()).await.unwrap() {
            AllEvent::Session(info) => seen.push((info.id.clone(), info.name.clone(), info.archived)),
            AllEvent::Removed { id } => seen.push((id, None, false)),
            _ => {}
        }
    }
    assert_eq!(seen[0].1.as_deref(), Some("another"));
    assert_eq!(seen[1], (ids[1].to_string(), None, false));
    assert!(seen[2].2);
    host.shut_down(Duration::ZERO).await;
    assert_eq!(soon(all.next()).await, None);
}

#[tokio::test]
async fn the_cost_is_counted_once_over_restarts() {
    let place = Place::new();
    let host = place.host().await;
    let id = place.session(&host).await;
    ask(&host, &id, says("one")).await;
    let once = status(&host, &id, SessionStatus::Idle).await.cost_usd.unwrap();
    soon(host.stop(&id, &me())).await.unwrap();
    ask(&host, &id, says("two")).await;
    let twice = status(&host, &id, SessionStatus::Idle).await;
    soon(host.shut_down(Duration::ZERO)).await;
    drop(host);
    let host = place.host().await;
    assert_eq!(host.info(&id).await.unwrap().cost_usd, twice.cost_usd);
    ask(&host, &id, says("three")).await;
    let thrice = status(&host, &id, SessionStatus::Idle).await;
    assert_eq!(thrice.cli_session_id, twice.cli_session_id, "the same conversation");
    let (twice, thrice) = (twice.cost_usd.unwrap(), thrice.cost_usd.unwrap());
    assert!((twice - 2.0 * once).abs() < 1e-9, "{once} {twice}");
    assert!((thrice - 3.0 * once).abs() < 1e-9, "{once} {thrice}");
    soon(host.shut_down(Duration::ZERO)).await;
}

#[tokio::test]
async fn the_limit_of_cost_can_be_raised_lowered_and_removed() {
    let place = Place::new();
    let host = place.host().await;
    let id = place.session(&host).await;
    ask(&host, &id, says("one")).await;
    let spent = status(&host, &id, SessionStatus::Idle).await.cost_usd.unwrap();
    let cost = |cost| ChangeLimits { max_cost_usd: Some(cost), ..ChangeLimits::default() };
    for wrong in [-1.0, f64::NAN] {
        assert!(matches!(host.set_limits(&id, cost(wrong)).await, Err(HostError::Invalid(_))), "{wrong}");
    }
    let info = host.set_limits(&id, cost(spent / 2.0)).await.unwrap();
    assert_eq!(info.max_cost_usd, Some(spent / 2.0));
    let refused = host.send(&id, NewMessage::text(says("two")), &me()).await;
    assert!(matches!(refused, Err(HostError::BudgetExhausted { .. })), "{refused:?}");
    host.set_limits(&id, cost(spent * 10.0)).await.unwrap();
    assert_eq!(ask(&host, &id, says("two")).await, "two");
    soon(host.shut_down(Duration::ZERO)).await;
    drop(host);
    let host = place.host().await;
    assert_eq!(host.info(&id).await.unwrap().max_cost_usd, Some(spent * 10.0), "it survives a restart");
    assert_eq!(host.set_limits(&id, cost(0.0)).await.unwrap().max_cost_usd, None);
    assert_eq!(ask(&host, &id, says("three")).await, "three");
    soon(host.shut_down(Duration::ZERO)).await;
}

#[tokio::test]
async fn the_cli_is_examined_before_the_first_message() {
    let place = Place::new();
    let host = place.host().await;
    let report = soon(host.cli()).await.unwrap();
    // The simulated CLI has neither a login nor a key.
    assert_eq!(report.state, CliState::NoLogin);
    assert!(report.problem.unwrap().contains("log in with /login"));
    assert_eq!(place.living(), Vec::<u32>::new(), "what was started for it has ended");
    assert!(host.list(ListSessions::default()).await.unwrap().sessions.is_empty(), "it is not a session");
    soon(host.shut_down(Duration::ZERO)).await;
    drop(host);

    let mut options = place.options();
    let (recipe, starts) = (options.recipe.clone(), Arc::new(AtomicUsize::new(0)));
    let counted = Arc::clone(&starts);
    options.recipe = Arc::new(move |settings| {
        counted.fetch_add(1, Ordering::Relaxed);
        let mut options = recipe(settings);
        options.environment = options.environment.set("ANTHROPIC_API_KEY", "dummy");
        options
    });
    let host = Host::open(options).await.unwrap();
    let (one, other) = soon(async { tokio::join!(host.cli(), host.cli()) }).await;
    assert_eq!(one.unwrap().state, CliState::Ready);
    assert_eq!(other.unwrap().state, CliState::Ready);
    assert_eq!(starts.load(Ordering::Relaxed), 1, "callers at the same time get the same report");
    soon(host.shut_down(Duration::ZERO)).await;
    drop(host);

    let mut options = place.options();
    options.recipe = Arc::new(|_| SessionOptions::new().program("/nonexistent/claude"));
    let host = Host::open(options).await.unwrap();
    let report = soon(host.cli()).await.unwrap();
    assert_eq!(report.state, CliState::Missing);
    assert!(report.problem.unwrap().contains("/nonexistent/claude"));
    soon(host.shut_down(Duration::ZERO)).await;
}

/// What the session is like once this is true of it.
async fn info_when(host: &Host, id: &SessionId, is_true: impl Fn(&SessionInfo) -> bool) -> SessionInfo {
    let mut watch = host.watch_all();
    soon(async {
        loop {
            let info = host.info(id).await.unwrap();
            if is_true(&info) {
                return info;
            }
            watch.next().await.unwrap();
        }
    })
    .await
}

#[tokio::test]
async fn a_session_with_only_background_work_says_so() {
    let place = Place::new();
    let host = place.host().await;
    let id = place.session(&host).await;
    let input = json!({"command": "sleep 600", "run_in_background": true, "description": "wait"});
    ask(&host, &id, script(&json!([{"tool": "Bash", "input": input}, {"text": "It runs."}]))).await;
    let info = info_when(&host, &id, |info| info.background).await;
    assert_eq!(info.status, SessionStatus::Running);
    let turn = send(&host, &id, script(&json!([{"sleep": 60, "text": "never"}]))).await;
    info_when(&host, &id, |info| info.status == SessionStatus::Running && !info.background).await;
    soon(host.stop(&id, &me())).await.unwrap();
    assert!(soon(host.finished(&id, &turn.message_id)).await.unwrap().error.is_some());
    assert!(!host.info(&id).await.unwrap().background);
    soon(host.shut_down(Duration::ZERO)).await;
}

#[tokio::test]
async fn a_fork_has_the_history_and_a_life_of_its_own() {
    let place = Place::new();
    let host = place.host().await;
    let id = place.session(&host).await;
    ask(&host, &id, says("shared history")).await;
    let parent = status(&host, &id, SessionStatus::Idle).await;
    let fork = host.fork(&id, Some("a fork".into()), &me()).await.unwrap();
    assert_eq!(fork.parent.as_ref().unwrap().id, parent.id);
    assert_eq!((fork.status, fork.cli_session_id.clone(), fork.cost_usd), (SessionStatus::Idle, None, None));
    let child = id_of(&fork);
    assert_eq!(ask(&host, &child, says("on its own")).await, "on its own");
    let fork = status(&host, &child, SessionStatus::Idle).await;
    assert!(fork.cli_session_id.is_some() && fork.cli_session_id != parent.cli_session_id, "{fork:?}");
    assert!((fork.cost_usd.unwrap() - parent.cost_usd.unwrap()).abs() < 1e-9, "only what it cost itself");
    let entries = host.transcript(&child, None, 100).await.unwrap().entries;
    let text = serde_json::to_string(&entries).unwrap();
    assert!(text.contains("shared history") && text.contains("on its own"));
    let again = serde_json::to_string(&host.transcript(&id, None, 100).await.unwrap().entries).unwrap();
    assert!(!again.contains("on its own"));
    host.delete(&id).await.unwrap();
    assert_eq!(ask(&host, &child, says("still there")).await, "still there");
    soon(host.shut_down(Duration::ZERO)).await;
}

#[tokio::test]
async fn a_branch_has_the_history_up_to_an_answer() {
    let place = Place::new();
    let host = place.host().await;
    let id = place.session(&host).await;
    let first = send(&host, &id, says("the first")).await;
    soon(host.finished(&id, &first.message_id)).await.unwrap();
    let once = status(&host, &id, SessionStatus::Idle).await.cost_usd.unwrap();
    ask(&host, &id, says("the second")).await;
    // The session may be at work meanwhile.
    let slow = send(&host, &id, script(&json!([{"sleep": 60, "text": "never"}]))).await;
    status(&host, &id, SessionStatus::Running).await;
    let branch = |message| Branch {
        message,
        name: Some("a branch".into()),
        model: None,
        append_system_prompt: Some("Be brief.".into()),
        output_schema: None,
    };
    let info = soon(host.branch(&id, branch(first.message_id.clone()), &me())).await.unwrap();
    assert_eq!(
        (info.name.as_deref(), info.parent.as_ref().unwrap().id.as_str()),
        (Some("a branch"), id.as_str())
    );
    let child = id_of(&info);
    assert_eq!(ask(&host, &child, says("instead")).await, "instead");
    let text = serde_json::to_string(&host.transcript(&child, None, 100).await.unwrap().entries).unwrap();
    assert!(text.contains("the first") && text.contains("instead") && !text.contains("the second"), "{text}");
    // What the original spent later is not spent by the branch, although the CLI's total has it.
    let spent = status(&host, &child, SessionStatus::Idle).await.cost_usd.unwrap();
    assert!((spent - once).abs() < 1e-9, "{spent} {once}");
    // A branch of a branch, at what both have and at what only the branch has.
    let copy = soon(host.branch(&child, branch(first.message_id.clone()), &me())).await;
    assert_eq!(ask(&host, &id_of(&copy.unwrap()), says("deeper")).await, "deeper");
    // There is no answer to copy up to.
    for message in [slow.message_id, "nothing".into()] {
        let refused = soon(host.branch(&id, branch(message), &me())).await;
        assert!(matches!(refused, Err(HostError::NoSuchMessage)), "{refused:?}");
    }
    soon(host.shut_down(Duration::ZERO)).await;
}

#[tokio::test]
async fn deleting_stops_first_and_tells_viewers() {
    let place = Place::new();
    let host = place.host().await;
    let id = place.session(&host).await;
    send(&host, &id, script(&json!([{"sleep": 60, "text": "never"}]))).await;
    status(&host, &id, SessionStatus::Running).await;
    let mut onlooker = Onlooker::new(&host, &id, None).await;
    soon(host.delete(&id)).await.unwrap();
    assert_eq!(place.living(), Vec::<u32>::new());
    while onlooker.step().await {}
    assert_eq!(soon(onlooker.watch.next()).await.map(|_| ()), None);
    soon(host.shut_down(Duration::ZERO)).await;
}

#[tokio::test]
async fn what_waits_at_a_shutdown_is_held_for_the_next_start() {
    let place = Place::new();
    let host = place.host().await;
    let id = place.session(&host).await;
    let running = send(&host, &id, script(&json!([{"sleep": 60, "text": "never"}]))).await;
    status(&host, &id, SessionStatus::Running).await;
    let waiting = send(&host, &id, says("afterwards")).await;
    let mut onlooker = Onlooker::new(&host, &id, None).await;
    soon(host.shut_down(Duration::ZERO)).await;
    assert_eq!(place.living(), Vec::<u32>::new());
    assert!(matches!(host.send(&id, NewMessage::text("x"), &me()).await, Err(HostError::ShuttingDown)));
    while onlooker.step().await {}
    drop((onlooker, host));
    let host = place.host().await;
    let info = host.info(&id).await.unwrap();
    assert_eq!((info.status, info.queued), (SessionStatus::Interrupted, 1));
    let messages = host.messages(&id, None).await.unwrap();
    let state = |id| messages.iter().find(|message| message.message_id == id).map(|m| (m.state, m.held));
    assert_eq!(state(waiting.message_id.clone()), Some((MessageState::Queued, true)));
    assert!(state(running.message_id).unwrap().0.is_final());
    let report = soon(host.resume(&id, &me())).await.unwrap();
    assert_eq!(report.released, 1);
    let resumed = report.message_id.unwrap();
    let on = soon(host.finished(&id, &resumed)).await.unwrap();
    assert_eq!(on.text, "I go on.", "the interrupted turn is continued first");
    let page = host.transcript(&id, None, 100).await.unwrap();
    let composed: Vec<_> = page
        .entries
        .iter()
        .filter_map(|entry| match &entry.body {
            EntryBody::User(user) if user.automatic => user.message.clone(),
            _ => None,
        })
        .collect();
    assert_eq!(composed, [resumed], "no one wrote this one, and people wrote the others");
    assert_eq!(soon(host.finished(&id, &waiting.message_id)).await.unwrap().text, "afterwards");
    let nothing = host.resume(&id, &me()).await;
    assert!(matches!(nothing, Err(HostError::NothingToResume)), "{nothing:?}");
    soon(host.shut_down(Duration::ZERO)).await;
}

/// Also while the process is being started: nothing of it may come to life after the end.
#[tokio::test]
async fn a_shutdown_at_any_instant_ends_everything() {
    for instant in [0, 1, 2, 4, 8, 16, 32, 64, 128, 256] {
        let place = Place::new();
        let host = place.host().await;
        let id = place.session(&host).await;
        let cut = send(&host, &id, script(&json!([{"sleep": 60, "text": "never"}]))).await;
        tokio::time::sleep(Duration::from_millis(instant)).await;
        soon(host.shut_down(Duration::from_millis(instant / 2))).await;
        assert_eq!(place.living(), Vec::<u32>::new(), "{instant} ms after the message");
        // A remaining handle keeps neither the folder nor the session.
        let again = place.host().await;
        let sent = send(&again, &id, says("afterwards")).await;
        let known = again.messages(&id, None).await.unwrap();
        let first = known.iter().find(|message| message.message_id == cut.message_id).unwrap();
        if !first.state.is_final() {
            // It was never given to the CLI, so it goes first.
            status(&again, &id, SessionStatus::Running).await;
            soon(again.interrupt(&id, &me())).await.unwrap();
        }
        let finished = soon(again.finished(&id, &sent.message_id)).await.unwrap();
        assert_eq!(finished.text, "afterwards", "{instant} ms after the message");
        soon(again.shut_down(Duration::ZERO)).await;
        assert_eq!(place.living(), Vec::<u32>::new());
        drop(host);
    }
}

#[tokio::test]
async fn held_messages_can_be_released_without_the_turn_that_was_cut_off() {
    let place = Place::new();
    let host = place.host().await;
    let id = place.session(&host).await;
    send(&host, &id, script(&json!([{"sleep": 60, "text": "never"}]))).await;
    status(&host, &id, SessionStatus::Running).await;
    let waiting = send(&host, &id, says("afterwards")).await;
    soon(host.shut_down(Duration::ZERO)).await;
    let host = place.host().await;
    let report = soon(host.release(&id, &me())).await.unwrap();
    assert_eq!((report.released, report.message_id), (1, None));
    assert_eq!(soon(host.finished(&id, &waiting.message_id)).await.unwrap().text, "afterwards");
    assert_eq!(host.messages(&id, None).await.unwrap().len(), 2, "nothing else was said to the agent");
    soon(host.shut_down(Duration::ZERO)).await;
}

#[tokio::test]
async fn a_new_message_lets_go_on_what_was_held_and_comes_after_it() {
    let place = Place::new();
    let host = place.host().await;
    let id = place.session(&host).await;
    send(&host, &id, script(&json!([{"sleep": 60, "text": "never"}]))).await;
    status(&host, &id, SessionStatus::Running).await;
    let held = send(&host, &id, says("held")).await;
    soon(host.shut_down(Duration::ZERO)).await;
    drop(host);
    let host = place.host().await;
    assert_eq!(host.info(&id).await.unwrap().status, SessionStatus::Interrupted);
    let new = send(&host, &id, says("new")).await;
    assert_eq!(soon(host.finished(&id, &new.message_id)).await.unwrap().text, "new");
    let earlier = soon(host.finished(&id, &held.message_id)).await.unwrap();
    assert_eq!(earlier.text, "held");
    let turns = host.view(&id).await.unwrap().turns.clone();
    let turn_of = |message| turns.iter().position(|turn| turn.messages.contains(message)).unwrap();
    assert!(turn_of(&held.message_id) < turn_of(&new.message_id));
    soon(host.shut_down(Duration::ZERO)).await;
}

#[tokio::test]
async fn a_conversation_that_the_cli_does_not_keep_is_not_closed_for_others() {
    let place = Place::new();
    let mut options = place.options();
    options.pool.max_processes = 1;
    options.pool.idle = Some(Duration::from_millis(1));
    let recipe = Arc::clone(&options.recipe);
    options.recipe = Arc::new(move |settings| {
        let mut session = recipe(settings);
        session.spec.no_session_persistence = true;
        session
    });
    let host = Host::open(options).await.unwrap();
    let (first, second) = (place.session(&host).await, place.session(&host).await);
    ask(&host, &first, says("one")).await;
    let name = host.info(&first).await.unwrap().cli_session_id;
    let waiting = send(&host, &second, says("other")).await;
    until("the other one waits", || host.metrics().waiting_for_process == 1).await;
    ask(&host, &first, says("two")).await;
    assert_eq!(host.info(&first).await.unwrap().cli_session_id, name, "it is the same conversation");
    soon(host.stop(&first, &me())).await.unwrap();
    assert_eq!(soon(host.finished(&second, &waiting.message_id)).await.unwrap().text, "other");
    soon(host.shut_down(Duration::ZERO)).await;
}

#[tokio::test]
async fn a_second_host_on_the_same_folder_is_refused() {
    let place = Place::new();
    let host = place.host().await;
    assert!(matches!(Host::open(place.options()).await, Err(HostError::Locked(_))));
    soon(host.shut_down(Duration::ZERO)).await;
    place.host().await;
}

#[tokio::test]
async fn more_sessions_than_processes_wait_for_each_other() {
    let place = Place::new();
    let mut options = place.options();
    options.pool.max_processes = 2;
    let host = Host::open(options).await.unwrap();
    let mut sent = Vec::new();
    for number in 0..5 {
        let id = place.session(&host).await;
        let steps = json!([{"sleep": 0.2, "text": format!("answer {number}")}]);
        sent.push((id.clone(), send(&host, &id, script(&steps)).await));
    }
    for (number, (id, message)) in sent.iter().enumerate() {
        let ended = soon(host.finished(id, &message.message_id)).await.unwrap();
        assert_eq!(ended.text, format!("answer {number}"));
        assert!(place.living().len() <= 2);
    }
    soon(host.shut_down(Duration::ZERO)).await;
}

#[tokio::test]
async fn an_unused_session_is_not_in_memory() {
    let place = Place::new();
    let mut options = place.options();
    options.pool.idle = Some(Duration::from_millis(50));
    let host = Host::open(options).await.unwrap();
    let id = place.session(&host).await;
    ask(&host, &id, says("one")).await;
    let in_memory = || host.metrics().sessions.iter().map(|(_, count)| count).sum::<u64>();
    until("the process goes when it has nothing to do", || place.living().is_empty()).await;
    until("the session goes with it", || in_memory() == 0).await;
    let onlooker = Onlooker::new(&host, &id, None).await;
    assert_eq!((in_memory(), onlooker.view.turns.len()), (1, 1));
    drop(onlooker);
    until("a viewer that goes takes it along", || in_memory() == 0).await;
    assert_eq!(ask(&host, &id, says("two")).await, "two");
    soon(host.shut_down(Duration::ZERO)).await;
}

#[tokio::test]
async fn a_session_that_is_not_kept_ends_with_its_process() {
    let place = Place::new();
    let host = place.host().await;
    let new = with(&place, SessionSpec { no_session_persistence: true, ..SessionSpec::default() });
    let info = host.create(new, &me()).await.unwrap().session;
    assert!(info.no_session_persistence);
    let id = id_of(&info);
    assert_eq!(ask(&host, &id, says("one")).await, "one");
    // The process has it, so it continues.
    assert_eq!(ask(&host, &id, says("two")).await, "two");
    let projects = place.path("home/.claude/projects");
    let kept = std::fs::read_dir(projects).into_iter().flatten().flatten().flat_map(|folder| {
        std::fs::read_dir(folder.path()).into_iter().flatten().flatten().map(|file| file.path())
    });
    assert_eq!(kept.collect::<Vec<_>>(), Vec::<std::path::PathBuf>::new());
    let fork = soon(host.fork(&id, None, &me())).await;
    assert!(matches!(fork, Err(HostError::NotKept)), "{fork:?}");
    soon(host.stop(&id, &me())).await.unwrap();
    let refused = soon(host.send(&id, NewMessage::text(says("three")), &me())).await;
    assert!(matches!(refused, Err(HostError::NotKept)), "{refused:?}");
    // What was said can still be read.
    let info = host.info(&id).await.unwrap();
    assert!(!info.has_process && info.last_error.is_none(), "{info:?}");
    soon(host.shut_down(Duration::ZERO)).await;
}

#[tokio::test]
async fn a_stop_that_was_wanted_is_not_a_failure() {
    let place = Place::new();
    let host = place.host().await;
    let id = place.session(&host).await;
    let mut onlooker = Onlooker::new(&host, &id, None).await;
    send(&host, &id, script(&json!([{"text": "one two three", "wdelay": 60}]))).await;
    let says_one = |entry: &weir_transcript::Entry| matches!(&entry.body, EntryBody::Text(text) if text.text.starts_with("one"));
    onlooker.until("a word", |seen| seen.view.entries.iter().any(|entry| says_one(entry))).await;
    soon(host.stop(&id, &me())).await.unwrap();
    onlooker.until("the end", |seen| seen.view.status == Status::Ended).await;
    assert_eq!(onlooker.view.turns[0].state, TurnState::Interrupted);
    let is_error = |entry: &weir_transcript::Entry| {
        matches!(
            &entry.body,
            EntryBody::Notice { notice: Notice::ProcessEnded { .. } | Notice::Error { .. } }
        )
    };
    assert!(!onlooker.view.entries.iter().any(|entry| is_error(entry)), "{:#?}", onlooker.view.entries);
    let info = status(&host, &id, SessionStatus::Idle).await;
    assert_eq!(info.last_error, None);
    soon(host.shut_down(Duration::ZERO)).await;
}

#[tokio::test]
async fn a_session_without_a_name_is_called_after_its_first_message() {
    let place = Place::new();
    let host = place.host().await;
    let id = place.session(&host).await;
    assert_eq!(host.info(&id).await.unwrap().title, None);
    let long = format!("\n  Speed up the search {}\nIt is slow.\n{}", "x".repeat(80), says("Done."));
    ask(&host, &id, long).await;
    ask(&host, &id, format!("Now the tests {}", says("Done."))).await;
    let title = format!("Speed up the search {}…", "x".repeat(60));
    assert_eq!(host.info(&id).await.unwrap().title.as_deref(), Some(title.as_str()));
    soon(host.shut_down(Duration::ZERO)).await;
    drop(host);
    // The list does not read the log.
    let host = place.host().await;
    let listed = host.list(ListSessions::default()).await.unwrap().sessions;
    assert_eq!(listed[0].title.as_deref(), Some(title.as_str()));
    assert_eq!(listed[0].name, None);
}

/// The keys of chats can be guessed, and who has a key first decides what its session is like.
#[tokio::test]
async fn no_client_prepares_the_session_of_a_chat() {
    let place = Place::new();
    let host = place.host().await;
    let keyed = |key: &str, origin: &str, tools: &[&str]| NewSession {
        key: Some(key.to_owned()),
        origin: origin.to_owned(),
        spec: SessionSpec {
            tools: Some(tools.iter().map(ToString::to_string).collect()),
            ..Default::default()
        },
        ..NewSession::new(place.work())
    };
    for key in ["bridge/telegram/7/1", "loop/x"] {
        let refused = host.create(keyed(key, "api", &[]), &me()).await;
        assert!(matches!(refused, Err(HostError::Invalid(_))), "{refused:?}");
    }
    // Nor does a session from before that was refused become one of a chat.
    host.create(keyed("bridges", "api", &[]), &me()).await.unwrap();
    let refused = host.create(keyed("bridges", "bridge", &[]), &me()).await;
    assert!(matches!(refused, Err(HostError::KeyInUse { .. })), "{refused:?}");
    // A chat has the tools of its configuration as it is now.
    let first = host.create(keyed("bridge/telegram/7/1", "bridge", &["Read", "Bash"]), &me()).await.unwrap();
    let again = host.create(keyed("bridge/telegram/7/1", "bridge", &["Read"]), &me()).await.unwrap();
    assert!(first.new && !again.new && first.session.id == again.session.id);
    let id = id_of(&again.session);
    ask(&host, &id, says("hello")).await;
    let tools = host.view(&id).await.unwrap().session.tools.clone();
    assert!(tools.iter().any(|tool| tool == "Read") && !tools.iter().any(|tool| tool == "Bash"), "{tools:?}");
    soon(host.shut_down(Duration::ZERO)).await;
}
