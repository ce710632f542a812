//! How long it takes until somebody who opens a long session has its snapshot, and an older page of it.

use std::path::Path;
use std::time::Instant;

use serde_json::json;
use weir_host::{ConversationId, Host, WatchQuery};
use weir_store::{Append, Durability, NewEvent, ReadQuery, SqliteOptions, SqliteStore, Store};

use super::{host, session};
use crate::live::runtime;
use crate::report::print_line;
use crate::workload::Size;

pub(super) fn rows(size: Size) -> anyhow::Result<()> {
    let events = if size == Size::Full { 100_000 } else { 10_000 };
    let folder = tempfile::tempdir()?;
    let id = runtime()?.block_on(async {
        let host = host(folder.path()).await?;
        session(&host, folder.path()).await
    })?;
    fill(folder.path(), &id, events)?;
    let mut best = [f64::INFINITY; 3];
    for _ in 0..3 {
        let [bare, open, page] = &mut best;
        *bare = bare.min(read(folder.path(), &id)?);
        runtime()?.block_on(async {
            let host = host(folder.path()).await?;
            *open = open.min(snapshot(&host, &id).await?);
            let start = Instant::now();
            host.transcript(&id, Some(2000), 200).await?;
            *page = page.min(start.elapsed().as_secs_f64());
            anyhow::Ok(())
        })?;
    }
    let [bare, open, page] = best.map(|seconds| seconds * 1000.0);
    let row = |what: &str, ours: f64| {
        format!("| {what}, log of {events} events | {bare:.0} ms | {ours:.0} ms | {:.2} |", ours / bare)
    };
    print_line(&row("read the log, and open it to the snapshot", open))?;
    print_line(&row("read the log, and an old page of the transcript", page))
}

async fn snapshot(host: &Host, id: &ConversationId) -> anyhow::Result<f64> {
    let start = Instant::now();
    let mut watch = host.watch(id, WatchQuery::default()).await?;
    watch.next().await;
    anyhow::ensure!(watch.next().await.is_some_and(|frame| frame.event() == "snapshot"));
    Ok(start.elapsed().as_secs_f64())
}

fn open(folder: &Path) -> anyhow::Result<SqliteStore> {
    let sqlite = SqliteOptions { durability: Durability::Process, ..SqliteOptions::default() };
    Ok(SqliteStore::open(folder.join("weir.db"), &sqlite)?)
}

/// A conversation of tool calls and texts.
fn fill(folder: &Path, id: &ConversationId, events: usize) -> anyhow::Result<()> {
    let store = open(folder)?;
    let mut batch = Vec::new();
    for number in 0..events {
        let turn = number / 50;
        let line = match number % 50 {
            0 => json!({"type": "system", "subtype": "init", "session_id": "s", "model": "m", "tools": []}),
            49 => {
                json!({"type": "result", "subtype": "success", "is_error": false, "result": "done", "num_turns": 1,
                "session_id": "s", "total_cost_usd": 0.0, "usage": {}, "modelUsage": {}, "permission_denials": []})
            }
            n if n % 3 == 0 => {
                json!({"type": "assistant", "session_id": "s", "message": {"id": format!("t{number}"),
                "content": [{"type": "text", "text": "Some words about what was found there. ".repeat(6)}]}})
            }
            n if n % 3 == 1 => {
                json!({"type": "assistant", "session_id": "s", "message": {"id": format!("m{number}"),
                "content": [{"type": "tool_use", "id": format!("toolu_{number}"), "name": "Bash",
                    "input": {"command": format!("ls -la folder-{turn}")}}]}})
            }
            _ => {
                json!({"type": "user", "session_id": "s", "message": {"role": "user", "content": [{"type": "tool_result",
                "tool_use_id": format!("toolu_{}", number - 1), "content": "a line of output\n".repeat(30)}]}})
            }
        };
        batch.push(NewEvent::new(1_700_000_000_000 + number as i64, "line", line.to_string().into_bytes()));
        if batch.len() == 1000 || number + 1 == events {
            store.append(Append::new(id.clone(), std::mem::take(&mut batch))).wait()?;
        }
    }
    Ok(())
}

/// What reading alone costs.
fn read(folder: &Path, id: &ConversationId) -> anyhow::Result<f64> {
    let store = open(folder)?;
    let start = Instant::now();
    let mut after = 0;
    loop {
        let page = store.read(ReadQuery::after(id.clone(), after)).wait()?;
        after = page.events.last().map_or(after, |event| event.seq);
        if !page.more {
            return Ok(start.elapsed().as_secs_f64());
        }
    }
}
