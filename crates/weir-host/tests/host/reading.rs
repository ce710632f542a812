//! Reading what has happened: pages, the log, changes to files, exports, search.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use weir_host::{ExportFormat, Host, HostError, SearchQuery, SessionId};
use weir_session::SessionSpec;
use weir_store::{Append, CheckpointQuery, NewEvent, ReadQuery, Store};
use weir_transcript::{EntryBody, MessageState, ToolState};

use crate::place::{Place, ask, id_of, me, says, script, soon, until, with};

async fn exported(host: &Host, id: &SessionId, format: ExportFormat) -> String {
    let mut export = soon(host.export(id, format)).await.unwrap();
    let mut all = Vec::new();
    while let Some(piece) = soon(export.next()).await {
        all.extend_from_slice(&piece.unwrap());
    }
    String::from_utf8(all).unwrap()
}

#[tokio::test]
async fn pages_of_the_transcript_are_the_whole_without_gaps() {
    let place = Place::new();
    let mut options = place.options();
    options.keep_entries = 8;
    let host = Host::open(options).await.unwrap();
    let id = place.session(&host).await;
    for number in 0..30 {
        ask(&host, &id, says(&format!("answer number {number}"))).await;
    }
    soon(host.stop(&id, &me())).await.unwrap();
    let mut seen = Vec::new();
    let mut before = None;
    loop {
        let page = soon(host.transcript(&id, before, 7)).await.unwrap();
        seen.extend(page.entries.iter().map(|entry| entry.id.0));
        before = page.next_before;
        if before.is_none() {
            break;
        }
    }
    let newest = seen[0];
    assert_eq!(seen, (1..=newest).rev().collect::<Vec<u64>>());
    let text = exported(&host, &id, ExportFormat::Markdown).await;
    for number in 0..30 {
        assert!(text.contains(&format!("answer number {number}")));
    }
    let page = soon(host.transcript(&id, Some(3), 100)).await.unwrap();
    assert_eq!((page.entries.len(), page.next_before), (2, None));
    soon(host.shut_down(Duration::ZERO)).await;
}

/// A log of recorded sessions, one after another, as long as wanted.
async fn fill(store: &dyn Store, id: &SessionId, events: usize) {
    let mut lines = Vec::new();
    for name in ["tools", "two-turns", "subagents-parallel", "write-overwrite-edit", "ask-user-question"] {
        let recorded = weir_testkit::Capture::new("2.1.325", name).read().unwrap();
        lines.extend(recorded.split(|byte| *byte == b'\n').map(<[u8]>::to_vec));
    }
    lines.retain(|line| !line.is_empty());
    let all = lines.iter().cycle().take(events).enumerate();
    let all: Vec<_> = all.map(|(at, line)| NewEvent::new(at as i64, "line", line.clone())).collect();
    store.append(Append::new(id.clone(), all)).await.unwrap();
}

#[tokio::test]
async fn pages_that_begin_at_a_checkpoint_are_those_of_the_whole_log() {
    let place = Place::new();
    let mut options = place.options();
    options.keep_entries = 20;
    options.checkpoint_every = u64::MAX;
    let store = Arc::clone(&options.store);
    let whole = Host::open(options.clone()).await.unwrap();
    let id = place.session(&whole).await;
    fill(&*store, &id, 1500).await;
    let newest = soon(whole.transcript(&id, None, 1)).await.unwrap().entries[0].id.0;
    let mut pages = Vec::new();
    for (before, limit) in (1..newest + 40).step_by(37).zip([1, 7, 30, 64].into_iter().cycle()) {
        pages.push((before, limit, soon(whole.transcript(&id, Some(before), limit)).await.unwrap()));
    }
    let view = soon(whole.view(&id)).await.unwrap();
    let newest_page = soon(whole.transcript(&id, None, 90)).await.unwrap();
    let exports = [ExportFormat::Html, ExportFormat::Markdown];
    let exports = [exported(&whole, &id, exports[0]).await, exported(&whole, &id, exports[1]).await];
    soon(whole.shut_down(Duration::ZERO)).await;

    options.checkpoint_every = 50;
    let host = Host::open(options).await.unwrap();
    // The first time all of it is read, the second time only what comes after the last checkpoint.
    for _ in 0..2 {
        assert_eq!(*soon(host.view(&id)).await.unwrap(), *view);
        assert_eq!(soon(host.transcript(&id, None, 90)).await.unwrap(), newest_page);
        for (before, limit, page) in &pages {
            assert_eq!(soon(host.transcript(&id, Some(*before), *limit)).await.unwrap(), *page, "{before}");
        }
    }
    let kept = CheckpointQuery::newest(id.clone(), format!("{}/5/20", env!("CARGO_PKG_VERSION")));
    assert!(store.checkpoint(kept).await.unwrap().is_some_and(|kept| kept.seq >= 1450));
    assert_eq!(exported(&host, &id, ExportFormat::Html).await, exports[0]);
    assert_eq!(exported(&host, &id, ExportFormat::Markdown).await, exports[1]);
    soon(host.shut_down(Duration::ZERO)).await;
}

#[tokio::test]
async fn an_old_page_tells_how_a_long_turn_ended() {
    let place = Place::new();
    let mut options = place.options();
    options.keep_entries = 4;
    let host = Host::open(options).await.unwrap();
    let id = place.session(&host).await;
    let mut steps: Vec<_> =
        (0..40).map(|_| json!({"text": "on it", "tool": "Bash", "input": {"command": "true"}})).collect();
    steps.push(json!({"text": "done"}));
    ask(&host, &id, script(&json!(steps))).await;
    let page = soon(host.transcript(&id, Some(3), 2)).await.unwrap();
    let first = page.entries.last().unwrap();
    let EntryBody::User(message) = &first.body else { panic!("{first:?}") };
    // Its entry was dropped from the view long before the turn came to its end.
    assert_eq!(message.delivery, MessageState::Answered);
    assert!(first.turn.is_some());
    soon(host.shut_down(Duration::ZERO)).await;
}

/// A call that runs while other things happen, until its entry is dropped; then its result, or none.
fn long_call(result: Option<&str>) -> Vec<NewEvent> {
    let said = |id: &str, block: serde_json::Value| json!({"type": "assistant", "session_id": "s", "message": {"id": id, "role": "assistant", "content": [block]}});
    let mut lines =
        vec![json!({"type": "system", "subtype": "init", "session_id": "s", "model": "m", "tools": []})];
    let call = json!({"type": "tool_use", "id": "slow", "name": "Bash", "input": {"command": "make"}});
    lines.push(said("m", call));
    lines.extend((0..60).map(|number| {
        said(&format!("m{number}"), json!({"type": "text", "text": format!("text {number}")}))
    }));
    lines.extend(result.map(|output| {
        let block = json!({"type": "tool_result", "tool_use_id": "slow", "content": output});
        json!({"type": "user", "session_id": "s", "message": {"role": "user", "content": [block]}})
    }));
    lines.push(
        json!({"type": "result", "subtype": "success", "is_error": false, "result": "done", "num_turns": 1,
        "session_id": "s", "total_cost_usd": 0.0, "usage": {}, "modelUsage": {}, "permission_denials": []}),
    );
    lines.iter().map(|line| NewEvent::new(1, "line", line.to_string().into_bytes())).collect()
}

#[tokio::test]
async fn an_old_page_has_the_result_of_a_call_that_took_long() {
    for (result, state) in [(Some("built"), ToolState::Succeeded), (None, ToolState::Interrupted)] {
        let place = Place::new();
        let mut options = place.options();
        options.keep_entries = 4;
        let store = Arc::clone(&options.store);
        let host = Host::open(options).await.unwrap();
        let id = place.session(&host).await;
        store.append(Append::new(id.clone(), long_call(result))).await.unwrap();
        let page = soon(host.transcript(&id, Some(4), 3)).await.unwrap();
        let call = page.entries.iter().find_map(|entry| match &entry.body {
            EntryBody::Tool(tool) => Some(tool),
            _ => None,
        });
        let call = call.unwrap();
        assert_eq!(call.state, state);
        assert_eq!(call.output.as_ref().map(|output| output.text.to_str()).as_deref(), result);
        assert!(String::from_utf8_lossy(call.input.as_raw().bytes()).contains("make"));
        soon(host.shut_down(Duration::ZERO)).await;
    }
}

#[tokio::test]
async fn a_session_at_work_keeps_checkpoints() {
    let place = Place::new();
    let mut options = place.options();
    options.checkpoint_every = 4;
    let store = Arc::clone(&options.store);
    let host = Host::open(options).await.unwrap();
    let id = place.session(&host).await;
    let version = format!("{}/5/{}", env!("CARGO_PKG_VERSION"), host.options().keep_entries);
    for number in 0..4 {
        ask(&host, &id, says(&format!("answer {number}"))).await;
    }
    until("there is a checkpoint", || {
        let kept = store.checkpoint(CheckpointQuery::newest(id.clone(), version.clone())).wait();
        kept.unwrap().is_some()
    })
    .await;
    soon(host.shut_down(Duration::ZERO)).await;
}

#[tokio::test]
async fn changes_to_files_are_collected_over_the_whole_log() {
    let place = Place::new();
    let mut options = place.options();
    options.keep_entries = 4;
    let store = Arc::clone(&options.store);
    let host = Host::open(options).await.unwrap();
    let new =
        with(&place, SessionSpec { permission_mode: Some("acceptEdits".into()), ..SessionSpec::default() });
    let id = id_of(&host.create(new, &me()).await.unwrap().session);
    let file = place.path("work").join("a.txt");
    let write = json!([{"tool": "Write", "input": {"file_path": file, "content": "one\ntwo\n"}}, {"text": "written"}]);
    ask(&host, &id, script(&write)).await;
    let edit = json!([
        {"tool": "Edit", "input": {"file_path": file, "old_string": "two", "new_string": "three"}},
        {"text": "edited"},
    ]);
    ask(&host, &id, script(&edit)).await;
    for _ in 0..10 {
        ask(&host, &id, says("something else")).await;
    }
    let files = soon(host.diff(&id)).await.unwrap();
    assert_eq!(files.len(), 1);
    assert_eq!((files[0].additions, files[0].deletions), (3, 1), "{:?}", files[0]);
    assert!(files[0].unified.contains("+one") && files[0].unified.contains("+three"));
    // No more is read for it than the calls and their results, also in a fork.
    let read = ReadQuery { label: Some("files".into()), ..ReadQuery::after(id.clone(), 0) };
    assert_eq!(store.read(read).await.unwrap().events.len(), 4);
    let fork = id_of(&soon(host.fork(&id, None, &me())).await.unwrap());
    assert_eq!(soon(host.diff(&fork)).await.unwrap(), files);
    let read = ReadQuery { label: Some("files".into()), ..ReadQuery::after(fork, 0) };
    assert_eq!(store.read(read).await.unwrap().events.len(), 4);
    soon(host.shut_down(Duration::ZERO)).await;
}

#[tokio::test]
async fn the_log_and_exports_have_everything() {
    let place = Place::new();
    let host = place.host().await;
    let id = place.session(&host).await;
    let steps = json!([
        {"tool": "Bash", "input": {"command": "seq 1 5000"}},
        {"misbehave": "sandbox_debug", "text": "that was <b>long</b> and unmistakable"},
    ]);
    ask(&host, &id, script(&steps)).await;
    soon(host.stop(&id, &me())).await.unwrap();
    let log = exported(&host, &id, ExportFormat::Ndjson).await;
    let lines: Vec<serde_json::Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let numbers: Vec<u64> = lines.iter().map(|line| line["seq"].as_u64().unwrap()).collect();
    assert_eq!(numbers, (1..=numbers.len() as u64).collect::<Vec<_>>());
    assert!(lines.iter().any(|line| line["payload"].is_string()), "what is not JSON is a string");
    let page = soon(host.log(&id, 0)).await.unwrap();
    assert_eq!(page.newest as usize, lines.len());
    assert!(exported(&host, &id, ExportFormat::Html).await.contains("unmistakable"));
    let used = lines.iter().find_map(|line| {
        let block = &line["payload"]["message"]["content"][0];
        (block["type"] == "tool_use").then(|| block["id"].as_str().unwrap().to_owned())
    });
    let output = soon(host.tool_output(&id, &used.unwrap().as_str().into())).await.unwrap();
    assert!(output.starts_with("1\n2\n") && output.contains("4999"), "all of it");
    let none = host.tool_output(&id, &"toolu_none".into()).await;
    assert!(matches!(none, Err(HostError::NoSuchTool)));
    let hits = host.search(SearchQuery::new("unmistakable")).await.unwrap();
    assert!(hits.iter().any(|hit| hit.session == id && hit.kind == "line"), "{hits:?}");
    soon(host.shut_down(Duration::ZERO)).await;
}
