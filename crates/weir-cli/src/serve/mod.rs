//! `weir serve`: sessions over HTTP.

mod settings;

use std::io::{IsTerminal as _, Write as _};
use std::path::Path;
use std::sync::Arc;

use anyhow::Context as _;
use tokio::sync::mpsc;
use weir_acp::{AcpAgent, Owner};
use weir_host::Space;
use weir_process::{Lock, LockError};
use weir_server::{Server, listening_is_remote};
use weir_store::SqliteStore;

use crate::acp;
use crate::bridge::{Locked, Prepared};
use crate::engine::DATABASE;
use crate::exit::{Exit, tell};
use crate::signals::Signals;
pub(crate) use settings::{Settings, data_directory, telemetry};

/// The file from which `weir token` reads the server's address, for links. Not secret.
pub(crate) const ADDRESS_FILE: &str = "address";

pub(crate) fn run(settings: Settings) -> anyhow::Result<Exit> {
    if settings.print_openapi {
        let document = weir_server::openapi(&settings.serve.settings.base_path);
        writeln!(std::io::stdout(), "{document}")?;
        return Ok(Exit::Success);
    }
    // Outside the runtime: the span exporter has its own.
    let _telemetry = weir_server::start_telemetry(&settings.telemetry)?;
    crate::runtime::block_on(serve(settings))
}

async fn serve(settings: Settings) -> anyhow::Result<Exit> {
    let data = &settings.engine.data_directory;
    weir_base::file::create_private_folder(data)
        .with_context(|| format!("cannot create {}", data.display()))?;
    let _lock = lock(data)?;
    let bridge = settings.bridge.map(lock_bridge).transpose()?;
    let signals = stop_requests();
    let extras = acp::extras(&settings.engine)?;
    let recipe = acp::with_extras(settings.engine.clone(), extras.clone());
    let host = settings.engine.open_with(recipe).await?;
    if let Space::Full { advice } | Space::Unusable { advice } = host.space() {
        tell(&format!("weir: {advice}"));
    }
    let listens_to_all = listening_is_remote(settings.serve.listen);
    let offer = acp::settings::offer(&settings.serve.settings);
    let server = Server::start(host.clone(), settings.serve).await?;
    let address = data.join(ADDRESS_FILE);
    if let Err(error) = weir_base::file::replace(&address, server.url().as_bytes()) {
        // Not fatal: only `weir token` reads it, for a link.
        tell(&format!(
            "weir: cannot write {} ({error}); `weir token add` will print no link",
            address.display()
        ));
    }
    say_where(&server, listens_to_all)?;
    // Editors of this user need no token.
    let owner = Arc::new(Owner::new(offer).among_others());
    let editors = acp::open_door(data, AcpAgent::new(host.clone(), owner).extras(extras));
    // The bridge's sessions run in this host, so the page shows them too.
    let bridge = bridge.map(|bridge| bridge.start(host)).transpose()?;
    let served = server.run(signals).await;
    drop(editors);
    if let Some(bridge) = bridge {
        // If it failed, the reason has been reported.
        let _ = bridge.end().await;
    }
    let _ = std::fs::remove_file(address);
    served?;
    Ok(Exit::Success)
}

/// Locks a bridge that runs in a host of this process.
pub(crate) fn lock_bridge(bridge: Prepared) -> anyhow::Result<Locked> {
    if bridge.names_a_cli() {
        tell("weir: `claude` in the bridge's configuration is ignored; --claude of this command applies");
    }
    bridge.lock()
}

/// Locks the data folder: only one server may use it.
pub(crate) fn lock(data: &Path) -> anyhow::Result<Lock> {
    acquire(data, &data.join("server.lock"), "weir serve").map_err(|error| {
        if error.downcast_ref::<LockError>().is_some_and(LockError::is_full) {
            return error;
        }
        error.context("another server uses this data folder; choose another folder with --data-dir")
    })
}

/// Takes a lock in a data folder, even on a full disk.
pub(crate) fn acquire(data: &Path, path: &Path, purpose: &str) -> anyhow::Result<Lock> {
    loop {
        match Lock::acquire(path, purpose) {
            // The disk is too full for the lock, so the reserved space is released.
            Err(error) if error.is_full() => {
                if !SqliteStore::give_up_reserve(&data.join(DATABASE)) {
                    return Err(error).with_context(|| full(data));
                }
            }
            done => return Ok(done?),
        }
    }
}

/// Advice for a full disk without reserved space.
fn full(data: &Path) -> String {
    format!(
        "the disk of {} is full, and no reserved space is left: free at least 1 MiB (and files, if `df -i` shows no free \
         inodes), then start again and delete sessions, or run `weir store compact`",
        data.display()
    )
}

/// Sends a message for each termination signal.
pub(crate) fn stop_requests() -> mpsc::Receiver<()> {
    let (sender, receiver) = mpsc::channel(4);
    let mut signals = Signals::new();
    tokio::spawn(async move {
        loop {
            signals.next().await;
            if sender.send(()).await.is_err() {
                return;
            }
        }
    });
    receiver
}

pub(crate) fn say_where(server: &Server, listens_to_all: bool) -> anyhow::Result<()> {
    tell(&format!("weir: serving on {}", server.url()));
    if listens_to_all {
        tell("weir: other machines can connect; anyone with a token can run commands on this one");
        if server.fingerprint().is_none() {
            tell("weir: connections are not encrypted: tokens and sessions can be read in transit");
        }
    }
    if let Some(fingerprint) = server.fingerprint() {
        tell(&format!("weir: the certificate's SHA-256 is {fingerprint}"));
    }
    if !weir_server::page_is_built() {
        tell("weir: this program was built without the page; run `make web` and build again to include it");
    }
    if !server.is_first_start() {
        tell("weir: `weir token add NAME` creates a link to the page");
    } else if !std::io::stderr().is_terminal() {
        // This output may end up in a log, and a link with a token is as good as a password.
        tell(
            "weir: no link is printed because this is not a terminal; `weir token add NAME` creates one (with the \
             server's --data-dir), and --ready-file writes a token for programs",
        );
    } else if let Some(link) = server.first_link()? {
        tell(&format!("weir: open this link; it is shown only once:\n\n    {link}\n"));
    }
    Ok(())
}
