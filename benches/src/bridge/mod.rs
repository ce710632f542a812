//! Measures the bridge: the latency it adds between a chat and the engine, and the memory for a hundred
//! conversations.
//!
//! Chat and engine are in memory, so that only the bridge is measured. Its file is on disk, as usual.

mod chat;
mod engine;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use tokio::sync::mpsc;
use weir_bridge::channel::{Channel, ChannelName};
use weir_bridge::driver::Driver;
use weir_bridge::machine::{QueueMode, Role, Settings};
use weir_bridge::store::BridgeStore;

use crate::report::print_line;
use crate::workload::Size;
use chat::MemoryChat;
use engine::MemoryEngine;

/// Concurrent conversations.
const CONVERSATIONS: usize = 100;

/// All measurements of the bridge.
pub(crate) fn table(size: Size) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(measure(match size {
        Size::Quick => 2,
        Size::Full => 100,
    }))
}

async fn measure(rounds: usize) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let chat = Arc::new(MemoryChat::default());
    let engine = Arc::new(MemoryEngine::default());
    let driver = driver(folder.path(), &chat, &engine)?;
    let running = tokio::spawn(driver.run(std::future::pending()));
    print_line("\nbridge")?;
    print_line("| what | median ms | worst ms |\n|---|---:|---:|")?;
    for _ in 0..rounds {
        round(&chat, &engine, 1).await?;
    }
    row("one session: message to prompt", &mut engine.take_delays())?;
    row("one session: first text to the chat", &mut chat.take_delays())?;
    round(&chat, &engine, CONVERSATIONS).await?;
    let mut memory = vec![(CONVERSATIONS, heap(), resident()?)];
    for half in 1..=2 {
        for _ in 0..rounds / 2 {
            round(&chat, &engine, CONVERSATIONS).await?;
        }
        if half == 1 {
            row("100 sessions: message to prompt", &mut engine.take_delays())?;
            row("100 sessions: first text to the chat", &mut chat.take_delays())?;
        }
        // The samples should not count as memory.
        drop((engine.take_delays(), chat.take_delays()));
        memory.push((CONVERSATIONS + half * (rounds / 2) * CONVERSATIONS, heap(), resident()?));
    }
    print_line("\n| turns in 100 sessions | heap | resident |\n|---:|---:|---:|")?;
    for (turns, heap, resident) in memory {
        print_line(&format!("| {turns} | {heap:.2} MB | {resident:.1} MB |"))?;
    }
    running.abort();
    Ok(())
}

fn driver(folder: &Path, chat: &Arc<MemoryChat>, engine: &Arc<MemoryEngine>) -> anyhow::Result<Driver> {
    let mut settings =
        Settings { messages_per_minute: u32::MAX, messages_per_ten_minutes: u32::MAX, ..Settings::default() };
    settings.people.insert(("memory".into(), "me".into()), Role::User);
    // The time for collecting messages is a setting, not work of the bridge.
    settings.default_scope.queue = QueueMode::Followup;
    let channel: Arc<dyn Channel> = Arc::<MemoryChat>::clone(chat);
    let channels: BTreeMap<ChannelName, _> = BTreeMap::from([("memory".into(), channel)]);
    let store = Arc::new(BridgeStore::open(&folder.join("bridge.db"))?);
    let (notes, _) = mpsc::unbounded_channel();
    Ok(Driver::new(settings, channels, Arc::<MemoryEngine>::clone(engine), store, notes)?)
}

/// All people send a message, and all get a reply.
async fn round(chat: &Arc<MemoryChat>, engine: &MemoryEngine, people: usize) -> anyhow::Result<()> {
    let all = (0..people).map(|number| {
        let chat = Arc::clone(chat);
        engine.expect(number);
        tokio::spawn(async move { chat.says(number).await })
    });
    for said in all.collect::<Vec<_>>() {
        let answered = tokio::time::timeout(Duration::from_secs(60), said).await;
        answered.context("a reply did not arrive")??;
    }
    Ok(())
}

fn row(what: &str, delays: &mut [Duration]) -> anyhow::Result<()> {
    delays.sort();
    let ms = |delay: Option<&Duration>| delay.map_or(0.0, |delay| delay.as_secs_f64() * 1_000.0);
    let median = ms(delays.get(delays.len() / 2));
    print_line(&format!("| {what} | {median:.1} | {:.1} |", ms(delays.last())))
}

/// Allocated memory, in MB.
fn heap() -> f64 {
    crate::allocations::live_bytes() as f64 / 1e6
}

/// Resident memory of this process, in MB.
fn resident() -> anyhow::Result<f64> {
    let text = std::fs::read_to_string("/proc/self/statm")?;
    let pages: f64 = text.split_whitespace().nth(1).context("statm has no second number")?.parse()?;
    Ok(pages * 4096.0 / 1e6)
}
