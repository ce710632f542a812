//! The time from the CLI's write to the bytes at a client of the server, compared with a bare relay in the same run.

use std::path::Path;
use std::sync::Arc;

use anyhow::Context as _;
use tokio::sync::{Barrier, mpsc};
use weir_host::{Host, NewMessage, SessionId};
use weir_server::{ServeOptions, Server, ServerSettings};

use super::relay::Relay;
use super::sse::{Client, Place};
use super::{host_with, me, session};
use crate::live::{percentiles, runtime};
use crate::report::print_line;
use crate::workload::Size;

/// 200 events a second.
const PAUSE_MICROS: u64 = 5000;

pub(super) fn rows(size: Size) -> anyhow::Result<()> {
    let count = if size == Size::Full { 1000 } else { 100 };
    delays(count)?;
    let viewers = if size == Size::Full { 500 } else { 50 };
    let prompt = format!("ticks {count} {PAUSE_MICROS}");
    let (mut bare, mut ours) = (relayed(&prompt, viewers)?, served(&prompt, 1, viewers, 0)?);
    compare(&format!("pieces at 200/s, {viewers} clients"), count * viewers, (&mut bare, &mut ours))?;
    many_sessions(size)?;
    slow_viewer(size)
}

/// How late one client gets what the CLI wrote.
pub(super) fn delays(count: usize) -> anyhow::Result<()> {
    let streams =
        [("pieces", "ticks"), ("pieces and whole messages", "mixed"), ("whole messages", "messages")];
    for (name, kind) in streams {
        let prompt = format!("{kind} {count} {PAUSE_MICROS}");
        // Alternating, so that a noisy moment does not affect only one of them.
        let (mut bare, mut ours) = (Vec::new(), Vec::new());
        for _ in 0..3 {
            bare.extend(relayed(&prompt, 1)?);
            ours.extend(served(&prompt, 1, 1, 0)?);
        }
        let what = format!("{name} at 200/s, to a client of the server");
        compare(&what, 3 * count, (&mut bare, &mut ours))?;
    }
    Ok(())
}

fn compare(what: &str, sent: usize, (bare, ours): (&mut [u64], &mut [u64])) -> anyhow::Result<()> {
    let (lost_bare, lost) = (sent - bare.len().min(sent), sent - ours.len().min(sent));
    let ((bare_50, bare_99), (p50, p99)) = (percentiles(bare), percentiles(ours));
    for (part, bare, ours) in [("p50", bare_50, p50), ("p99", bare_99, p99)] {
        print_line(&format!("| {what}, {part} | {bare:.0} µs | {ours:.0} µs | {:.2} |", ours / bare))?;
    }
    print_line(&format!("| {what}, lost of {sent} | {lost_bare} | {lost} | |"))
}

/// Many sessions with one viewer each.
fn many_sessions(size: Size) -> anyhow::Result<()> {
    let (sessions, count) = if size == Size::Full { (200, 100) } else { (20, 40) };
    // 20 events a second each.
    let mut ages = served(&format!("ticks {count} 50000"), sessions, 1, 0)?;
    let lost = sessions * count - ages.len();
    let (p50, p99) = percentiles(&mut ages);
    let what = format!("{sessions} sessions with a client each, 20 pieces/s each");
    print_line(&format!("| {what}, p50 and p99 | | {p50:.0} and {p99:.0} µs | |"))?;
    print_line(&format!("| {what}, lost of {} | | {lost} | |", sessions * count))
}

/// The effect on others of a client that does not read.
fn slow_viewer(size: Size) -> anyhow::Result<()> {
    let (count, bytes) = if size == Size::Full { (1000, 40_000) } else { (200, 100_000) };
    let prompt = format!("large {count} {PAUSE_MICROS} {bytes}");
    let (mut alone, mut with_slow) = (Vec::new(), Vec::new());
    for _ in 0..2 {
        alone.extend(served(&prompt, 1, 10, 0)?);
        with_slow.extend(served(&prompt, 1, 10, 1)?);
    }
    let sent = 2 * count * 10;
    let lost = sent - with_slow.len();
    let ((alone_50, alone_99), (p50, p99)) = (percentiles(&mut alone), percentiles(&mut with_slow));
    let what = format!(
        "{} KB events at 200/s to ten clients, without and with one that does not read",
        bytes / 1000
    );
    for (part, alone, with_slow) in [("p50", alone_50, p50), ("p99", alone_99, p99)] {
        print_line(&format!(
            "| {what}, {part} | {alone:.0} µs | {with_slow:.0} µs | {:.2} |",
            with_slow / alone
        ))?;
    }
    print_line(&format!("| {what}, lost of {sent} | | {lost} | |"))
}

/// Clients run on a separate thread, so that they do not take turns with the server.
fn listening(
    places: Vec<Place>,
    deaf: usize,
    ready: Arc<Barrier>,
) -> std::thread::JoinHandle<anyhow::Result<Vec<u64>>> {
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(async move {
            let mut deaf_clients = Vec::new();
            if let Some(place) = places.first() {
                for _ in 0..deaf {
                    deaf_clients.push(Client::connect(place).await?);
                }
            }
            let mut clients = tokio::task::JoinSet::new();
            for place in places {
                let client = Client::connect(&place).await?;
                clients.spawn(client.ages());
            }
            ready.wait().await;
            let mut ages = Vec::new();
            while let Some(client) = clients.join_next().await {
                ages.extend(client??);
            }
            drop(deaf_clients);
            Ok(ages)
        })
    })
}

fn joined(listening: std::thread::JoinHandle<anyhow::Result<Vec<u64>>>) -> anyhow::Result<Vec<u64>> {
    listening.join().map_err(|_| anyhow::anyhow!("the clients have panicked"))?
}

fn relayed(prompt: &str, viewers: usize) -> anyhow::Result<Vec<u64>> {
    runtime()?.block_on(async {
        let relay = Relay::start().await?;
        let ready = Arc::new(Barrier::new(2));
        let clients = listening(vec![relay.place.clone(); viewers], 0, Arc::clone(&ready));
        ready.wait().await;
        relay.play(prompt).await?;
        tokio::task::spawn_blocking(move || joined(clients)).await?
    })
}

/// Every session plays the prompt; each has this many viewers, and the first has some that do not read.
fn served(prompt: &str, sessions: usize, viewers: usize, deaf: usize) -> anyhow::Result<Vec<u64>> {
    let folder = tempfile::tempdir()?;
    runtime()?.block_on(async {
        let host = host_with(folder.path(), sessions.max(8)).await?;
        let (place, stop, serving) = serve(&host, folder.path()).await?;
        let mut ids: Vec<SessionId> = Vec::new();
        let mut places = Vec::new();
        for _ in 0..sessions {
            let id = session(&host, folder.path()).await?;
            let path = format!("/v1/sessions/{id}/events?format=view");
            places.extend(std::iter::repeat_n(Place { path, ..place.clone() }, viewers));
            ids.push(id);
        }
        // The processes run before the clock starts.
        turns(&host, &ids, "nothing").await?;
        let ready = Arc::new(Barrier::new(2));
        let clients = listening(places, deaf, Arc::clone(&ready));
        ready.wait().await;
        turns(&host, &ids, prompt).await?;
        drop((host, stop));
        serving.await??;
        tokio::task::spawn_blocking(move || joined(clients)).await?
    })
}

/// All sessions play a turn at the same time.
async fn turns(host: &Host, ids: &[SessionId], prompt: &str) -> anyhow::Result<()> {
    let mut turns = tokio::task::JoinSet::new();
    for id in ids {
        let (host, id, message) = (host.clone(), id.clone(), NewMessage::text(prompt));
        turns.spawn(async move {
            let sent = host.send(&id, message, &me()).await?;
            host.finished(&id, &sent.message_id).await
        });
    }
    while let Some(turn) = turns.join_next().await {
        turn??;
    }
    Ok(())
}

/// A server on a free port.
pub(super) async fn serve(
    host: &Host,
    folder: &Path,
) -> anyhow::Result<(Place, mpsc::Sender<()>, tokio::task::JoinHandle<Result<(), weir_server::ServeError>>)> {
    let ready_file = folder.join("ready.json");
    let options = ServeOptions {
        listen: "127.0.0.1:0".parse()?,
        allow_remote: false,
        certificate: None,
        public: Vec::new(),
        data_directory: folder.to_owned(),
        ready_file: Some(ready_file.clone()),
        drain: std::time::Duration::ZERO,
        settings: ServerSettings { roots: vec![folder.to_owned()], ..ServerSettings::default() },
    };
    let server = Server::start(host.clone(), options).await?;
    let address = server.url().trim_start_matches("http://").to_owned();
    let (stop, stopped) = mpsc::channel(1);
    let serving = tokio::spawn(server.run(stopped));
    // It is written when the server runs.
    let ready = loop {
        match std::fs::read(&ready_file) {
            Ok(ready) => break ready,
            Err(error) if serving.is_finished() => return Err(error.into()),
            Err(_) => tokio::time::sleep(std::time::Duration::from_millis(1)).await,
        }
    };
    let ready: serde_json::Value = serde_json::from_slice(&ready)?;
    let token =
        ready.get("token").and_then(serde_json::Value::as_str).context("the ready file has no token")?;
    let token = token.to_owned();
    Ok((Place { address, path: String::new(), token, begins_with: "event: snapshot" }, stop, serving))
}
