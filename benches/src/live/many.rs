//! Many sessions that stream concurrently.

use serde::{Deserialize, Serialize};
use weir_session::Session;

use super::{ask, options, runtime};
use crate::measure::cpu_seconds;
use crate::report::{print_line, run_part};
use crate::workload::Size;

#[derive(Debug, Serialize, Deserialize)]
struct Measured {
    micros_per_event: f64,
}

pub(super) fn rows(size: Size) -> anyhow::Result<()> {
    let (count, events) = if size == Size::Full { (200, 2000) } else { (20, 100) };
    let alone = (count * events).to_string();
    let one: Measured = run_part(&["many", "1", &alone])?;
    let many: Measured = run_part(&["many", &count.to_string(), &events.to_string()])?;
    let (one, many) = (one.micros_per_event, many.micros_per_event);
    print_line(&format!(
        "| CPU time per event, {count} sessions at once compared with one | {one:.2} µs | {many:.2} µs | {:.2} |",
        many / one
    ))
}

/// Each session gets its events at the same pace: 200 per second and session, or as fast as possible for a single
/// one.
pub(super) fn measure(count: usize, events: usize) -> anyhow::Result<()> {
    let runtime = runtime()?;
    let cpu = runtime.block_on(async {
        let mut sessions = Vec::new();
        for _ in 0..count {
            let session = Session::new(options()?);
            session.start().await?;
            sessions.push(session);
        }
        let before = cpu_seconds();
        let mut turns = tokio::task::JoinSet::new();
        for session in sessions.clone() {
            turns.spawn(async move { ask(&session, &format!("ticks {events} 0")).await });
        }
        while let Some(turn) = turns.join_next().await {
            turn??;
        }
        let cpu = cpu_seconds() - before;
        for session in sessions {
            session.stop().await;
        }
        anyhow::Ok(cpu)
    })?;
    let micros_per_event = cpu * 1e6 / (count * events) as f64;
    print_line(&serde_json::to_string(&Measured { micros_per_event })?)
}
