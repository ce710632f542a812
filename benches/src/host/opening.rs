//! How long it takes until a client that opens a long session has its snapshot, and an older page of it.

use std::path::Path;
use std::time::Instant;

use serde_json::json;
use weir_host::{Host, SessionId, WatchEvent, WatchQuery};
use weir_store::{Append, Durability, Log, NewEvent, ReadQuery, SqliteOptions, SqliteStore};

use super::served::serve;
use super::sse::{Client, Place};
use super::{host, session};
use crate::allocations;
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
    let mut best = [f64::INFINITY; 5];
    let mut memory = [0.0; 2];
    for _ in 0..3 {
        let [bare, first, again, page, served] = &mut best;
        *bare = bare.min(read(folder.path(), &id)?);
        forget(folder.path())?;
        runtime()?.block_on(async {
            let host = host(folder.path()).await?;
            *first = first.min(snapshot(&host, &id).await?);
            gone(&host).await;
            let before = allocations::live_bytes();
            *again = again.min(snapshot(&host, &id).await?);
            let start = Instant::now();
            host.transcript(&id, Some(events as u64 / 2), 200).await?;
            *page = page.min(start.elapsed().as_secs_f64());
            let (place, stop, serving) = serve(&host, folder.path()).await?;
            let place = Place { path: format!("/v1/sessions/{id}/events?format=view"), ..place };
            let start = Instant::now();
            let mut client = Client::connect(&place).await?;
            client.first_event().await?;
            *served = served.min(start.elapsed().as_secs_f64());
            let kib = |bytes: i64| (allocations::live_bytes() - bytes) as f64 / 1024.0;
            let watched = kib(before);
            drop(client);
            gone(&host).await;
            memory = [watched, kib(before)];
            drop((host, stop));
            serving.await??;
            anyhow::Ok(())
        })?;
    }
    let [bare, first, again, page, served] = best.map(|seconds| seconds * 1000.0);
    let row = |what: &str, ours: f64| {
        format!("| {what}, log of {events} events | {bare:.0} ms | {ours:.0} ms | {:.2} |", ours / bare)
    };
    print_line(&row("read the log, and open it to the snapshot for the first time", first))?;
    print_line(&row("read the log, and open it again", again))?;
    print_line(&row("read the log, and open it again at a client of the server", served))?;
    print_line(&row("read the log, and a page from the middle of the transcript", page))?;
    let [watched, left] = memory;
    print_line(&format!(
        "| heap for a log of {events} events, with a viewer and after that | | {watched:.0} and {left:.0} KiB | |"
    ))
}

/// Deletes all checkpoints, as if the session had never been opened.
fn forget(folder: &Path) -> anyhow::Result<()> {
    drop(open(folder)?);
    let file = rusqlite::Connection::open(folder.join("weir.db"))?;
    file.execute("DELETE FROM checkpoint", [])?;
    Ok(())
}

/// Waits until nothing of the session is in memory.
async fn gone(host: &Host) {
    while host.metrics().sessions.iter().any(|(_, count)| *count > 0) {
        tokio::time::sleep(std::time::Duration::from_millis(1)).await;
    }
}

async fn snapshot(host: &Host, id: &SessionId) -> anyhow::Result<f64> {
    let start = Instant::now();
    let mut watch = host.watch(id, WatchQuery::default()).await?;
    watch.next().await;
    anyhow::ensure!(watch.next().await.is_some_and(|frame| matches!(frame.event(), WatchEvent::Snapshot(_))));
    Ok(start.elapsed().as_secs_f64())
}

fn open(folder: &Path) -> anyhow::Result<SqliteStore> {
    let sqlite = SqliteOptions { durability: Durability::Process, ..SqliteOptions::default() };
    Ok(SqliteStore::open(folder.join("weir.db"), &sqlite)?)
}

/// Fills a session with tool calls and texts.
fn fill(folder: &Path, id: &SessionId, events: usize) -> anyhow::Result<()> {
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

/// The cost of reading alone.
fn read(folder: &Path, id: &SessionId) -> anyhow::Result<f64> {
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
