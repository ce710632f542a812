//! The time from the CLI's write to our callback.

use std::sync::{Arc, Mutex};

use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use weir_session::{Observer, Session, Update};
use weir_transcript::{Change, View};

use super::{ask, cli, cli_program, options, percentiles, runtime};
use crate::report::print_line;
use crate::workload::Size;

/// 200 events a second.
const PAUSE_MICROS: u64 = 5000;

pub(super) fn rows(size: Size) -> anyhow::Result<()> {
    let count = if size == Size::Full { 1000 } else { 60 };
    let prompt = format!("ticks {count} {PAUSE_MICROS}");
    // Twice, alternating, so that a noisy moment does not affect only one of them.
    let (mut bare, mut seen, mut followed) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..2 {
        bare.extend(runtime()?.block_on(bare_loop(&prompt))?);
        seen.extend(runtime()?.block_on(observed(&prompt))?);
        followed.extend(runtime()?.block_on(follow(&prompt))?);
    }
    let (bare_50, bare_99) = percentiles(&mut bare);
    for (name, samples) in [("observer", &mut seen), ("viewer", &mut followed)] {
        let (p50, p99) = percentiles(samples);
        let row = |part: &str, bare: f64, ours: f64| {
            format!(
                "| latency at 200 events/s, {name}, {part} | {bare:.0} µs | {ours:.0} µs | {:.2} |",
                ours / bare
            )
        };
        print_line(&row("p50", bare_50, p50))?;
        print_line(&row("p99", bare_99, p99))?;
    }
    Ok(())
}

pub(crate) fn age(stamp: &str) -> Option<u64> {
    let written: u64 = stamp.trim().parse().ok()?;
    Some(cli::nanoseconds().saturating_sub(written))
}

/// What a program would do without a library: read lines, and parse JSON if it looks like text.
#[expect(clippy::disallowed_methods, reason = "the bare loop starts its process itself")]
pub(crate) async fn bare_loop(prompt: &str) -> anyhow::Result<Vec<u64>> {
    let mut child = tokio::process::Command::new(cli_program()?)
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()?;
    let (Some(mut stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
        anyhow::bail!("the child has no pipes");
    };
    let message =
        serde_json::json!({"type": "user", "uuid": "u", "message": {"role": "user", "content": prompt}});
    stdin.write_all(format!("{message}\n").as_bytes()).await?;
    let mut lines = BufReader::new(stdout).lines();
    let mut ages = Vec::new();
    while let Some(line) = lines.next_line().await? {
        let value: serde_json::Value = serde_json::from_str(&line)?;
        let text = value.pointer("/event/delta/text").or_else(|| value.pointer("/message/content/0/text"));
        if let Some(text) = text.and_then(serde_json::Value::as_str) {
            ages.extend(age(text));
        }
        if value.pointer("/type").is_some_and(|kind| kind == "result") {
            break;
        }
    }
    drop(stdin);
    child.wait().await?;
    Ok(ages)
}

struct Ages(Arc<Mutex<Vec<u64>>>);

impl Observer for Ages {
    fn change(&mut self, _: &View, change: &Change<'_>) {
        if let Change::TextAppended { text, .. } = change
            && let Ok(mut ages) = self.0.lock()
        {
            ages.extend(age(text));
        }
    }
}

async fn observed(prompt: &str) -> anyhow::Result<Vec<u64>> {
    let ages = Arc::new(Mutex::new(Vec::new()));
    let session = Session::new(options()?.observer(Ages(Arc::clone(&ages))));
    ask(&session, prompt).await?;
    session.stop().await;
    Ok(ages.lock().map(|ages| ages.clone()).unwrap_or_default())
}

async fn follow(prompt: &str) -> anyhow::Result<Vec<u64>> {
    let session = Session::new(options()?);
    let mut updates = session.follow().await?;
    let following = tokio::spawn(async move {
        let mut ages = Vec::new();
        while let Some(update) = updates.next().await {
            if let Update::Changes(changes) = update {
                for change in changes.iter() {
                    if let Change::TextAppended { text, .. } = change {
                        ages.extend(age(text));
                    }
                }
            }
        }
        ages
    });
    ask(&session, prompt).await?;
    session.stop().await;
    Ok(following.await?)
}
