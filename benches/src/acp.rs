//! Measures what the Agent Client Protocol adds: an editor over memory, next to the plain library in the same run.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use serde_json::{Value, json};
use tokio::io::{
    AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf,
};
use weir_acp::{AcpAgent, Offer, Owner};
use weir_host::Host;
use weir_session::{Session, Update};
use weir_transcript::Change;

use crate::live::{cli, options, percentiles, runtime};
use crate::report::print_line;
use crate::workload::Size;

/// 200 pieces a second.
const PAUSE_MICROS: u64 = 5000;
/// Bytes between the editor and the agent, as in `weir acp`.
const BUFFER: usize = 1 << 16;

/// How long nothing more may come after the end of a turn until everything has come.
const QUIET: Duration = Duration::from_millis(50);

/// What a turn took.
struct Turn {
    /// From the prompt to the first piece.
    first: Duration,
    /// The age of each piece when it arrived, in nanoseconds.
    ages: Vec<u64>,
    whole: Duration,
}

pub(crate) fn table(size: Size) -> anyhow::Result<()> {
    print_line("\neditors")?;
    print_line("| what | library | ACP | ratio |\n|---|---:|---:|---:|")?;
    let rounds = if size == Size::Full { 50 } else { 8 };
    let (mut plain, mut editor) = (Vec::new(), Vec::new());
    // Alternating, so that a noisy moment does not affect only one of them.
    for _ in 0..2 {
        plain.extend(runtime()?.block_on(library(&vec!["ticks 1 0".to_owned(); rounds]))?);
        editor.extend(runtime()?.block_on(acp(&vec!["ticks 1 0".to_owned(); rounds]))?);
    }
    let first = |turns: &[Turn]| -> Vec<u64> {
        turns.iter().map(|turn| u64::try_from(turn.first.as_nanos()).unwrap_or(u64::MAX)).collect()
    };
    compare("first text after a prompt", &mut first(&plain), &mut first(&editor))?;

    let count = if size == Size::Full { 1000 } else { 100 };
    let steady = [format!("ticks {count} {PAUSE_MICROS}")];
    let (plain, editor) = (runtime()?.block_on(library(&steady))?, runtime()?.block_on(acp(&steady))?);
    let ages = |turns: Vec<Turn>| -> Vec<u64> { turns.into_iter().flat_map(|turn| turn.ages).collect() };
    compare("pieces at 200/s", &mut ages(plain), &mut ages(editor))?;

    let flood = ["ticks 10000 0".to_owned()];
    let (plain, editor) = (runtime()?.block_on(library(&flood))?, runtime()?.block_on(acp(&flood))?);
    let of = |turns: &[Turn]| -> anyhow::Result<(f64, usize)> {
        let turn = turns.first().context("no turn")?;
        Ok((turn.whole.as_secs_f64() * 1000.0, 10_000 - turn.ages.len()))
    };
    let ((bare, bare_lost), (ours, lost)) = (of(&plain)?, of(&editor)?);
    print_line(&format!(
        "| a turn of 10,000 pieces at once | {bare:.0} ms | {ours:.0} ms | {:.2} |",
        ours / bare
    ))?;
    print_line(&format!("| the same, lost | {bare_lost} | {lost} | |"))
}

fn compare(what: &str, plain: &mut [u64], editor: &mut [u64]) -> anyhow::Result<()> {
    let ((bare_50, bare_99), (p50, p99)) = (percentiles(plain), percentiles(editor));
    for (part, bare, ours) in [("p50", bare_50, p50), ("p99", bare_99, p99)] {
        print_line(&format!("| {what}, {part} | {bare:.0} µs | {ours:.0} µs | {:.2} |", ours / bare))?;
    }
    Ok(())
}

/// The ages of the pieces in a text, which may be several.
fn ages(text: &str) -> impl Iterator<Item = u64> {
    let now = cli::nanoseconds();
    text.split_whitespace().filter_map(move |stamp| Some(now.saturating_sub(stamp.parse().ok()?)))
}

/// Turns of a session, one after another. The first one, which starts the process, is not counted.
async fn library(prompts: &[String]) -> anyhow::Result<Vec<Turn>> {
    let session = Session::new(options()?);
    session.ask("nothing").await?;
    let mut turns = Vec::new();
    for prompt in prompts {
        let mut updates = session.follow().await?;
        let begun = Instant::now();
        let asked = session.ask(prompt.clone());
        tokio::pin!(asked);
        let (mut first, mut found) = (None, Vec::new());
        let mut take = |update: &Update| {
            let Update::Changes(changes) = update else { return };
            for change in changes.iter() {
                if let Change::TextAppended { text, .. } = change {
                    first.get_or_insert_with(|| begun.elapsed());
                    found.extend(ages(text));
                }
            }
        };
        loop {
            tokio::select! {
                biased;
                update = updates.next() => take(&update.context("the session ended")?),
                done = &mut asked => break drop(done?),
            }
        }
        let whole = begun.elapsed();
        // What was said before the end may still be on its way to us.
        while let Ok(Some(update)) = tokio::time::timeout(QUIET, updates.next()).await {
            take(&update);
        }
        turns.push(Turn { first: first.context("no text")?, ages: found, whole });
    }
    session.stop().await;
    Ok(turns)
}

/// Whether this is the answer to the request with this id.
fn is_answer(message: &Value, id: u64) -> bool {
    message.get("id").and_then(Value::as_u64) == Some(id)
}

/// An editor that speaks JSON-RPC over memory.
struct Editor {
    input: WriteHalf<DuplexStream>,
    output: Lines<BufReader<ReadHalf<DuplexStream>>>,
    next_id: u64,
}

impl Editor {
    fn new(host: &Host) -> Self {
        let agent = AcpAgent::new(host.clone(), Arc::new(Owner::new(Offer::default())));
        let (near, far) = tokio::io::duplex(BUFFER);
        let (input, output) = tokio::io::split(far);
        tokio::spawn(agent.serve(input, output));
        let (output, input) = tokio::io::split(near);
        Self { input, output: BufReader::new(output).lines(), next_id: 0 }
    }

    async fn request(&mut self, method: &str, params: Value) -> anyhow::Result<u64> {
        self.next_id += 1;
        let request = json!({"jsonrpc": "2.0", "id": self.next_id, "method": method, "params": params});
        self.input.write_all(format!("{request}\n").as_bytes()).await?;
        Ok(self.next_id)
    }

    async fn next(&mut self) -> anyhow::Result<Value> {
        let line = self.output.next_line().await?.context("the agent ended")?;
        Ok(serde_json::from_str(&line)?)
    }

    async fn call(&mut self, method: &str, params: Value) -> anyhow::Result<Value> {
        let id = self.request(method, params).await?;
        loop {
            let mut message = self.next().await?;
            if is_answer(&message, id) {
                return Ok(message.get_mut("result").map(Value::take).unwrap_or_default());
            }
        }
    }

    async fn prompt(&mut self, session: &str, text: &str) -> anyhow::Result<Turn> {
        let begun = Instant::now();
        let params = json!({"sessionId": session, "prompt": [{"type": "text", "text": text}]});
        let id = self.request("session/prompt", params).await?;
        let (mut first, mut found) = (None, Vec::new());
        loop {
            let message = self.next().await?;
            let text_at = |path: &str| message.pointer(path).and_then(Value::as_str).unwrap_or_default();
            if text_at("/params/update/sessionUpdate") == "agent_message_chunk" {
                first.get_or_insert_with(|| begun.elapsed());
                found.extend(ages(text_at("/params/update/content/text")));
            }
            if is_answer(&message, id) {
                anyhow::ensure!(text_at("/result/stopReason") == "end_turn", "{message}");
                break;
            }
        }
        Ok(Turn { first: first.unwrap_or_default(), ages: found, whole: begun.elapsed() })
    }
}

async fn acp(prompts: &[String]) -> anyhow::Result<Vec<Turn>> {
    let folder = tempfile::tempdir()?;
    let host = crate::host::host(folder.path()).await?;
    let turns = play(&host, folder.path(), prompts).await;
    host.shut_down(Duration::ZERO).await;
    turns
}

async fn play(host: &Host, folder: &Path, prompts: &[String]) -> anyhow::Result<Vec<Turn>> {
    let mut editor = Editor::new(host);
    editor.call("initialize", json!({"protocolVersion": 1})).await?;
    let opened = editor.call("session/new", json!({"cwd": folder, "mcpServers": []})).await?;
    let session = opened.get("sessionId").and_then(Value::as_str).context("no session")?.to_owned();
    editor.prompt(&session, "nothing").await?;
    let mut turns = Vec::new();
    for prompt in prompts {
        turns.push(editor.prompt(&session, prompt).await?);
    }
    Ok(turns)
}
