//! Reading what has happened: pages, the log, changes to files, exports, search.

use std::time::Duration;

use serde_json::json;
use weir_host::{ConversationId, ExportFormat, Host, HostError, NewSession, SearchQuery};

use crate::place::{Place, ask, id_of, me, says, script, soon};

async fn exported(host: &Host, id: &ConversationId, format: ExportFormat) -> String {
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

#[tokio::test]
async fn changes_to_files_are_collected_over_the_whole_log() {
    let place = Place::new();
    let mut options = place.options();
    options.keep_entries = 4;
    let host = Host::open(options).await.unwrap();
    let new = NewSession { permission_mode: Some("acceptEdits".into()), ..NewSession::new(place.work()) };
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
    assert!(hits.iter().any(|hit| hit.conversation == id && hit.kind == "line"), "{hits:?}");
    soon(host.shut_down(Duration::ZERO)).await;
}
