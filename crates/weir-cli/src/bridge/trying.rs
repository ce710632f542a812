//! A chat on this terminal, without any setup.

use std::collections::BTreeMap;
use std::io::{BufRead as _, IsTerminal as _};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use tokio::sync::mpsc;
use weir_bridge::channel::{Channel, ChannelName};
use weir_bridge::driver::Driver;
use weir_bridge::host::HostEngine;
use weir_bridge::machine::{QueueMode, Role, ScopeSettings, Settings};
use weir_bridge::store::BridgeStore;
use weir_bridge::terminal::{PERSON, TerminalChannel};
use weir_host::Host;
use weir_process::Environment;

use super::engine::engine;
use crate::exit::{Exit, UsageError, tell};
use crate::opts::{BridgeTryOpts, QueueOpt};
use crate::screen::size;
use crate::signals::Signals;
use crate::simulated;

const CHANNEL: &str = "terminal";
/// How long running turns may take to end by themselves.
const PATIENCE: Duration = Duration::from_secs(5);

/// Runs until the input ends and everything is answered, or until it is stopped.
pub(super) async fn try_out(opts: BridgeTryOpts) -> anyhow::Result<Exit> {
    let cwd = std::fs::canonicalize(&opts.cwd)
        .map_err(|error| UsageError(format!("--cwd {}: {error}", opts.cwd.display())))?;
    let folder = tempfile::tempdir().context("cannot create a temporary folder")?;
    let claude = if opts.simulated {
        Some(simulated::link_in(folder.path()).context("cannot link the simulated CLI")?)
    } else {
        opts.claude.clone()
    };
    let settings = settings(&opts, &cwd);
    let patience = Duration::from_millis(u64::try_from(settings.ask_timeout_ms).unwrap_or_default());
    let environment = Environment::inherit();
    let host = engine(folder.path(), claude, vec![cwd.clone()], patience, environment).open().await?;
    let is_terminal = std::io::stdout().is_terminal();
    let (sender, lines) = mpsc::channel(16);
    let columns = is_terminal.then(|| size().0);
    let pictures = std::env::temp_dir().join(format!("weir-pictures-{}", std::process::id()));
    let terminal =
        Arc::new(TerminalChannel::new(lines, Box::new(std::io::stdout()), columns).pictures(pictures));
    let channels: BTreeMap<ChannelName, Arc<dyn Channel>> =
        BTreeMap::from([(CHANNEL.into(), Arc::clone(&terminal) as Arc<dyn Channel>)]);
    let (notes, _) = mpsc::unbounded_channel();
    let store = Arc::new(BridgeStore::in_memory()?);
    let driver = Driver::new(settings, channels, Arc::new(HostEngine::new(host.clone())), store, notes)?;
    if is_terminal {
        tell("A chat with the bridge. /help lists the commands; Ctrl-D ends it.");
    }
    let idle = driver.idle();
    read_lines(sender);
    let mut signals = Signals::new();
    let mut exit = Exit::Success;
    let stop = async {
        tokio::select! {
            _ = signals.next() => {}
            () = async {
                terminal.ended().await;
                tokio::select! {
                    () = idle.wait() => {}
                    () = person_is_awaited(&host) => {
                        tell("weir: the input has ended, so open requests cannot be answered");
                        exit = Exit::PermissionDenied;
                    }
                }
            } => {}
        }
    };
    let worked = driver.run(stop).await;
    host.shut_down(PATIENCE).await;
    worked?;
    Ok(exit)
}

/// Completes when a session waits for a person's decision.
async fn person_is_awaited(host: &Host) {
    let mut changes = host.watch_all();
    while host.metrics().awaiting_person == 0 {
        if changes.next().await.is_none() {
            // The host is being shut down.
            std::future::pending::<()>().await;
        }
    }
}

fn settings(opts: &BridgeTryOpts, cwd: &Path) -> Settings {
    let queue = match opts.queue {
        QueueOpt::Collect => QueueMode::Collect,
        QueueOpt::Steer => QueueMode::Steer,
        QueueOpt::Followup => QueueMode::Followup,
        QueueOpt::Interrupt => QueueMode::Interrupt,
    };
    Settings {
        people: BTreeMap::from([((CHANNEL.into(), PERSON.into()), Role::Admin)]),
        default_scope: ScopeSettings {
            queue,
            workspace: cwd.to_string_lossy().into_owned(),
            footer: opts.footer,
            ..ScopeSettings::default()
        },
        ..Settings::default()
    }
}

/// Reads lines in a separate thread, because a blocking read of the standard input cannot be cancelled.
fn read_lines(sender: mpsc::Sender<String>) {
    std::thread::spawn(move || {
        let mut input = std::io::stdin().lock();
        let mut line = Vec::new();
        while input.read_until(b'\n', &mut line).is_ok_and(|count| count > 0) {
            // Invalid UTF-8 is replaced: a line in another encoding is still a line.
            let text = String::from_utf8_lossy(&line);
            let text = text.strip_suffix('\n').unwrap_or(&text);
            let text = text.strip_suffix('\r').unwrap_or(text);
            if sender.blocking_send(text.to_owned()).is_err() {
                return;
            }
            line.clear();
        }
    });
}
