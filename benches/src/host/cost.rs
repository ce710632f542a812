//! The CPU time that an event of a hosted session costs, from the pipe to a viewer's frame, compared with the same event of
//! a session that is only driven.

use weir_host::{Format, NewMessage, WatchQuery};
use weir_session::Session;

use super::{host, me, session};
use crate::live::runtime;
use crate::measure::cpu_seconds;
use crate::report::print_line;
use crate::workload::Size;

pub(super) fn rows(size: Size) -> anyhow::Result<()> {
    let (many, few) = if size == Size::Full { (50_000, 4_000) } else { (1_000, 200) };
    for (name, prompt, events) in [
        ("pieces, as fast as they come", format!("ticks {many} 0"), many),
        ("pieces and whole messages, as fast as they come", format!("mixed {many} 0"), many),
        ("whole messages, as fast as they come", format!("messages {many} 0"), many),
        ("pieces and whole messages at 2000/s", format!("mixed {few} 500"), few),
    ] {
        // Alternating, and the best of three: other programs only ever add to it.
        let (mut driven, mut hosted) = (f64::INFINITY, f64::INFINITY);
        for _ in 0..3 {
            driven = driven.min(runtime()?.block_on(drive(&prompt))?);
            hosted = hosted.min(runtime()?.block_on(host_and_watch(&prompt))?);
        }
        let each = |seconds: f64| seconds * 1e6 / f64::from(events);
        let (driven, hosted) = (each(driven), each(hosted));
        let ratio = hosted / driven;
        print_line(&format!("| CPU per event: {name} | {driven:.2} µs | {hosted:.2} µs | {ratio:.2} |"))?;
    }
    Ok(())
}

/// Hosts one session that plays this, with one viewer.
pub(super) fn play(prompt: &str) -> anyhow::Result<()> {
    runtime()?.block_on(host_and_watch(prompt)).map(drop)
}

/// The CPU time of a session, in seconds.
async fn drive(prompt: &str) -> anyhow::Result<f64> {
    let session = Session::new(crate::live::options()?);
    session.start().await?;
    let before = cpu_seconds();
    session.ask(prompt).await?;
    let taken = cpu_seconds() - before;
    session.stop().await;
    Ok(taken)
}

/// The CPU time of a hosted session with one viewer, in seconds.
async fn host_and_watch(prompt: &str) -> anyhow::Result<f64> {
    let folder = tempfile::tempdir()?;
    let host = host(folder.path()).await?;
    let id = session(&host, folder.path()).await?;
    let first = host.send(&id, NewMessage::text("ticks 1 0"), &me()).await?;
    host.finished(&id, &first.message_id).await?;
    let mut watch = host.watch(&id, WatchQuery { format: Format::View, ..WatchQuery::default() }).await?;
    let watching = tokio::spawn(async move { while watch.next().await.is_some() {} });
    let before = cpu_seconds();
    let sent = host.send(&id, NewMessage::text(prompt), &me()).await?;
    host.finished(&id, &sent.message_id).await?;
    let taken = cpu_seconds() - before;
    host.shut_down(std::time::Duration::ZERO).await;
    watching.await?;
    Ok(taken)
}
