//! The time from the CLI's write to a viewer's frame.

use std::sync::Arc;

use tokio::sync::Barrier;
use weir_host::{Format, Frame, Host, NewMessage, SessionId, WatchEvent, WatchQuery};
use weir_transcript::{Change, EntryBody};

use super::{host, me, session};
use crate::live::latency::bare_loop;
use crate::live::{cli, percentiles, runtime};
use crate::report::print_line;
use crate::workload::Size;

/// 200 events a second.
const PAUSE_MICROS: u64 = 5000;
const MANY: usize = 500;

pub(super) fn rows(size: Size) -> anyhow::Result<()> {
    let count = if size == Size::Full { 1000 } else { 100 };
    let previews = format!("ticks {count} {PAUSE_MICROS}");
    let logged = format!("messages {count} {PAUSE_MICROS}");
    for (name, prompt, viewers) in [
        ("previews at 200/s, one viewer", &previews, 1),
        ("logged events at 200/s, one viewer", &logged, 1),
        ("previews at 200/s, 500 viewers", &previews, MANY),
        ("logged events at 200/s, 500 viewers", &logged, MANY),
    ] {
        // Alternating, so that a noisy moment does not affect only one of them.
        let (mut bare, mut seen) = (Vec::new(), Vec::new());
        for _ in 0..2 {
            bare.extend(runtime()?.block_on(bare_loop(prompt))?);
            seen.extend(runtime()?.block_on(watched(prompt, viewers))?);
        }
        let lost = 2 * count * viewers - seen.len();
        let ((bare_50, bare_99), (p50, p99)) = (percentiles(&mut bare), percentiles(&mut seen));
        for (part, bare, ours) in [("p50", bare_50, p50), ("p99", bare_99, p99)] {
            print_line(&format!("| {name}, {part} | {bare:.0} µs | {ours:.0} µs | {:.2} |", ours / bare))?;
        }
        print_line(&format!("| {name}, lost | | {lost} | |"))?;
    }
    Ok(())
}

/// The age of each piece of text when each viewer gets it.
async fn watched(prompt: &str, viewers: usize) -> anyhow::Result<Vec<u64>> {
    let folder = tempfile::tempdir()?;
    let host = host(folder.path()).await?;
    let id = session(&host, folder.path()).await?;
    let ready = Arc::new(Barrier::new(viewers + 1));
    let mut watching = Vec::new();
    for _ in 0..viewers {
        watching.push(tokio::spawn(watch(host.clone(), id.clone(), Arc::clone(&ready))));
    }
    ready.wait().await;
    let sent = host.send(&id, NewMessage::text(prompt), &me()).await?;
    host.finished(&id, &sent.message_id).await?;
    host.shut_down(std::time::Duration::ZERO).await;
    let mut ages = Vec::new();
    for watching in watching {
        for (at, frame) in watching.await?? {
            ages.extend(stamps(&frame).into_iter().map(|stamp| at.saturating_sub(stamp)));
        }
    }
    Ok(ages)
}

/// Records frames and when they arrive. They are parsed afterwards.
async fn watch(host: Host, id: SessionId, ready: Arc<Barrier>) -> anyhow::Result<Vec<(u64, Frame)>> {
    let mut watch = host.watch(&id, WatchQuery { format: Format::View, ..WatchQuery::default() }).await?;
    drop(host);
    watch.next().await;
    watch.next().await;
    ready.wait().await;
    let mut frames = Vec::new();
    while let Some(frame) = watch.next().await {
        if matches!(frame.event(), WatchEvent::Changes(_)) {
            frames.push((cli::nanoseconds(), frame));
        }
    }
    Ok(frames)
}

/// The times at which the text in a frame was written.
fn stamps(frame: &Frame) -> Vec<u64> {
    let WatchEvent::Changes(event) = frame.event() else { return Vec::new() };
    let texts = event.changes.iter().filter_map(|change| match change {
        Change::TextAppended { text, .. } => Some(&**text),
        Change::EntryAdded(entry) => match &entry.body {
            EntryBody::Text(text) => Some(text.text.as_str()),
            _ => None,
        },
        _ => None,
    });
    texts.filter_map(|text| text.trim().parse().ok()).collect()
}
