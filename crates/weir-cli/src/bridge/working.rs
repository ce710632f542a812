//! `weir bridge check` and `weir bridge run`.

use std::io::Write as _;
use std::time::Duration;

use weir_bridge::config::Config;

use super::running::Prepared;
use super::{channels, engine};
use crate::engine::Engine;
use crate::exit::Exit;
use crate::fence::Fence;
use crate::opts::{BridgeConfigOpts, BridgeRunOpts};
use crate::signals::Signals;

/// How long running turns may take to end by themselves.
const PATIENCE: Duration = Duration::from_secs(10);

/// Logs in to each channel and reports what works.
pub(super) async fn check(opts: BridgeConfigOpts) -> anyhow::Result<Exit> {
    let config = Config::read(&opts.config)?;
    let settings = config.settings()?;
    let mut all_work = true;
    let say = |mark: &str, text: &str| std::io::stdout().write_all(format!("{mark:<5} {text}\n").as_bytes());
    say("ok", &format!("{} is valid", opts.config.display()))?;
    for workspace in config.all_roots() {
        let exists = workspace.is_dir();
        all_work &= exists;
        let (mark, what) = if exists { ("ok", "exists") } else { ("wrong", "does not exist; create it") };
        say(mark, &format!("the folder {} {what}", workspace.display()))?;
    }
    if settings.people.is_empty() {
        say("note", "no users are configured; `weir bridge pair` admits users")?;
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

/// Runs the bridge until it is stopped.
pub(super) async fn work(opts: BridgeRunOpts) -> anyhow::Result<Exit> {
    let BridgeRunOpts { config: opts, sandbox } = opts;
    let bridge = Prepared::read(&opts.config)?.lock()?;
    let claude = opts.claude.or_else(|| bridge.config().claude.clone());
    let (roots, environment) = (bridge.config().all_roots(), bridge.environment());
    let fence = Fence::resolve(sandbox, bridge.folder());
    if let Some(fence) = &fence {
        // The configuration may contain the secrets of the chats.
        fence.keep_out(&roots, [opts.config.as_path()])?;
    }
    let patience = bridge.ask_timeout();
    let engine = engine::engine(bridge.folder(), claude, roots, patience, environment);
    let host = Engine { fence, ..engine }.open().await?;
    let mut signals = Signals::new();
    let mut bridge = bridge.start(host.clone())?;
    let failed = tokio::select! {
        _ = signals.next() => None,
        failed = bridge.failed() => Some(failed),
    };
    // While turns end, their last messages still reach the chats. A second signal ends them.
    tokio::select! {
        () = host.shut_down(PATIENCE) => {}
        _ = signals.next() => host.shut_down(Duration::ZERO).await,
    }
    match failed {
        Some(failed) => failed?,
        None => bridge.end().await?,
    }
    Ok(Exit::Success)
}
