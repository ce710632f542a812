//! What we add to the second turn of a live process.

use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use weir_session::Session;

use super::{ask, cli, cli_program, options, percentiles, runtime};
use crate::report::print_line;
use crate::workload::Size;

pub(super) fn rows(size: Size) -> anyhow::Result<()> {
    let count = if size == Size::Full { 500 } else { 30 };
    let mut bare = runtime()?.block_on(bare_turns(count))?;
    let mut ours = runtime()?.block_on(turns(count))?;
    let ((bare, _), (ours, _)) = (percentiles(&mut bare), percentiles(&mut ours));
    print_line(&format!(
        "| a later turn, from send to result, p50 | {bare:.0} µs | {ours:.0} µs | {:.2} |",
        ours / bare
    ))
}

#[expect(clippy::disallowed_methods, reason = "the bare loop starts its process itself")]
async fn bare_turns(count: usize) -> anyhow::Result<Vec<u64>> {
    let mut child = tokio::process::Command::new(cli_program()?)
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()?;
    let (Some(mut stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
        anyhow::bail!("the child has no pipes");
    };
    let mut lines = BufReader::new(stdout).lines();
    let mut times = Vec::new();
    for _ in 0..=count {
        let started = cli::nanoseconds();
        let message = serde_json::json!({"type": "user", "uuid": "u", "message": {"content": "nothing"}});
        stdin.write_all(format!("{message}\n").as_bytes()).await?;
        while let Some(line) = lines.next_line().await? {
            let value: serde_json::Value = serde_json::from_str(&line)?;
            if value.pointer("/type").is_some_and(|kind| kind == "result") {
                break;
            }
        }
        times.push(cli::nanoseconds() - started);
    }
    drop(stdin);
    child.wait().await?;
    Ok(times.split_off(1))
}

async fn turns(count: usize) -> anyhow::Result<Vec<u64>> {
    let session = Session::new(options()?);
    let mut times = Vec::new();
    for _ in 0..=count {
        let started = cli::nanoseconds();
        ask(&session, "nothing").await?;
        times.push(cli::nanoseconds() - started);
    }
    session.stop().await;
    Ok(times.split_off(1))
}
