//! The bridge by itself: what works of it, and its work.

use std::io::Write as _;
use std::time::Duration;

use weir_bridge::config::Config;

use super::at_work::Prepared;
use super::{channels, engine};
use crate::exit::Exit;
use crate::fence::Fence;
use crate::opts::{BridgeConfigOpts, BridgeRunOpts};
use crate::signals::Signals;

/// How long what runs has to end by itself.
const PATIENCE: Duration = Duration::from_secs(10);

/// Logs in to each channel and says what works.
pub(super) async fn check(opts: BridgeConfigOpts) -> anyhow::Result<Exit> {
    let config = Config::read(&opts.config)?;
    let settings = config.settings()?;
    let mut all_work = true;
    let say = |mark: &str, text: &str| std::io::stdout().write_all(format!("{mark:<5} {text}\n").as_bytes());
    say("ok", &format!("{} can be read", opts.config.display()))?;
    for workspace in config.all_roots() {
        let is_there = workspace.is_dir();
        all_work &= is_there;
        let (mark, what) = if is_there { ("ok", "is there") } else { ("wrong", "is no folder: make it") };
        say(mark, &format!("the folder {} {what}", workspace.display()))?;
    }
    if settings.people.is_empty() {
        say("note", "nobody is allowed by name; `weir bridge pair` lets people in")?;
    }
    match engine::cli_in_words(opts.claude.as_deref().or(config.claude.as_deref())).await {
        Ok(found) => say("ok", &found)?,
        Err(error) => {
            all_work = false;
            say("wrong", &format!("{error:#}"))?;
        }
    }
    for (name, channel) in channels::each(&config, &engine::data_dir_name(&config)?)? {
        let checked = match channel {
            Ok(channel) => channel.check().await.map_err(anyhow::Error::from),
            Err(error) => Err(error),
        };
        match checked {
            Ok(lines) => {
                for line in lines {
                    say("ok", &format!("{name}: {line}"))?;
                }
            }
            Err(error) => {
                all_work = false;
                say("wrong", &format!("{error:#}"))?;
            }
        }
    }
    Ok(if all_work { Exit::Success } else { Exit::ErrorResult })
}

/// Carries messages until it is told to end.
pub(super) async fn work(opts: BridgeRunOpts) -> anyhow::Result<Exit> {
    let BridgeRunOpts { config: opts, sandbox } = opts;
    let bridge = Prepared::read(&opts.config)?.lock()?;
    let claude = opts.claude.or_else(|| bridge.config().claude.clone());
    let (roots, environment) = (bridge.config().all_roots(), bridge.environment());
    let fence = Fence::resolve(sandbox, bridge.folder());
    if let Some(fence) = &fence {
        // The configuration may hold the secrets of the chats.
        fence.keep_out(&roots, [opts.config.as_path()])?;
    }
    let patience = bridge.ask_timeout();
    let host = engine::open(bridge.folder(), claude, roots, patience, environment, fence).await?;
    let mut signals = Signals::new();
    let mut bridge = bridge.start(host.clone())?;
    let broken = tokio::select! {
        _ = signals.next() => None,
        broken = bridge.broken() => Some(broken),
    };
    // While turns end, their last words still get into the chats. A second signal ends them.
    tokio::select! {
        () = host.shut_down(PATIENCE) => {}
        _ = signals.next() => host.shut_down(Duration::ZERO).await,
    }
    match broken {
        Some(broken) => broken?,
        None => bridge.end().await?,
    }
    Ok(Exit::Success)
}
