//! `weir bridge status`: whether a bridge is running, and the health of its channels.

use std::io::Write as _;

use serde_json::json;
use weir_base::time::now_ms;
use weir_bridge::channel::HealthReport;
use weir_bridge::config::Config;
use weir_bridge::machine::Kind;
use weir_bridge::store::BridgeStore;
use weir_process::Lock;

use super::running::LOCK;
use super::{engine, health};
use crate::exit::Exit;
use crate::opts::BridgeStatusOpts;
use crate::screen::{ago, date, plural};

/// Prints the status of the bridge. The exit code is 1 if none is running or a channel cannot be reached.
pub(super) fn status(opts: &BridgeStatusOpts) -> anyhow::Result<Exit> {
    let config = Config::read(&opts.config)?;
    let folder = engine::data_dir(&config)?;
    let owner = Lock::owner(&folder.join(LOCK));
    let channels = owner.as_ref().and_then(|_| health::read(&folder)).unwrap_or_default().channels;
    let kept = BridgeStore::open(&folder.join("bridge.db"))?.load()?;
    let count = |kind: Kind| kept.iter().filter(|record| record.kind == kind).count();
    let (waiting, paired) = (count(Kind::Inbox), count(Kind::Person));
    let is_healthy = owner.is_some() && channels.values().all(|channel| channel.connected);
    let text = if opts.json {
        let status = json!({
            "running": owner.is_some(),
            "pid": owner.as_ref().map(|owner| owner.process.pid),
            "channels": channels,
            "messages_without_outcome": waiting,
        });
        format!("{status}\n")
    } else {
        let mut lines = vec![match &owner {
            Some(owner) => format!("running: process {}, since {}", owner.process.pid, date(owner.since)),
            None => "not running; `weir bridge run` starts it".to_owned(),
        }];
        lines.extend(channels.iter().map(|(name, channel)| format!("{name}: {}", in_words(channel))));
        lines.push(format!("{} without an outcome", plural(waiting as u64, "message")));
        lines.push(format!(
            "{} known in addition to those in the configuration",
            plural(paired as u64, "sender")
        ));
        lines.join("\n") + "\n"
    };
    std::io::stdout().write_all(text.as_bytes())?;
    Ok(if is_healthy { Exit::Success } else { Exit::ErrorResult })
}

fn in_words(channel: &HealthReport) -> String {
    let reached = if channel.connected { "connected" } else { "not connected, or not yet" };
    let heard = channel.last_inbound.map_or_else(
        || "no messages since the start".to_owned(),
        |at| {
            let seconds = u64::try_from(now_ms().saturating_sub(at) / 1_000).unwrap_or(0);
            format!("last message {}", ago(seconds))
        },
    );
    format!("{reached}; {heard}")
}
