//! The bridge at work, and what works of it.

use std::io::Write as _;
use std::sync::Arc;
use std::time::Duration;

use weir_bridge::config::Config;
use weir_bridge::driver::Driver;
use weir_bridge::host::HostEngine;
use weir_bridge::store::BridgeStore;

use super::{channels, engine};
use crate::exit::{Exit, UsageError, tell};
use crate::opts::BridgeConfigOpts;
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
    for (name, channel) in channels::channels(&config, &engine::data_dir(&config)?)? {
        match channel.check().await {
            Ok(lines) => {
                for line in lines {
                    say("ok", &format!("{name}: {line}"))?;
                }
            }
            Err(error) => {
                all_work = false;
                say("wrong", &error.to_string())?;
            }
        }
    }
    Ok(if all_work { Exit::Success } else { Exit::ErrorResult })
}

/// Carries messages until it is told to end.
pub(super) async fn work(opts: BridgeConfigOpts) -> anyhow::Result<Exit> {
    let config = Config::read(&opts.config)?;
    let settings = config.settings()?;
    if let Some(missing) = config.all_roots().iter().find(|folder| !folder.is_dir()) {
        return Err(
            UsageError(format!("the folder {} is not there: make it first", missing.display())).into()
        );
    }
    let folder = engine::data_dir(&config)?;
    let channels = channels::channels(&config, &folder)?;
    let names: Vec<String> = channels.keys().map(ToString::to_string).collect();
    let claude = opts.claude.or_else(|| config.claude.clone());
    // The host's lock sees to it that there is one bridge in this folder, and so one poller.
    let host = engine::open(&folder, claude, config.all_roots()).await?;
    let store = Arc::new(BridgeStore::open(&folder.join("bridge.db"))?);
    let (notes, mut heard) = tokio::sync::mpsc::unbounded_channel();
    let driver = Driver::new(settings, channels, Arc::new(HostEngine::new(host.clone())), store, notes)?;
    tell(&format!("weir bridge: at work on {}; Ctrl-C ends it", names.join(", ")));
    let logging = tokio::spawn(async move {
        while let Some(note) = heard.recv().await {
            tell(&format!("weir bridge: {note}"));
        }
    });
    let mut signals = Signals::new();
    let stop = async move {
        signals.next().await;
    };
    let worked = driver.run(stop).await;
    logging.abort();
    host.shut_down(PATIENCE).await;
    worked?;
    Ok(Exit::Success)
}
