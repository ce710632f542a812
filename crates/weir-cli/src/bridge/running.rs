//! A running bridge, in its own host or in a server's.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use weir_base::error::with_causes;
use weir_bridge::BridgeError;
use weir_bridge::channel::ChannelName;
use weir_bridge::config::Config;
use weir_bridge::driver::{Driver, ExternalAnswer, ExternalHandle};
use weir_bridge::host::HostEngine;
use weir_bridge::machine::Settings;
use weir_bridge::store::BridgeStore;
use weir_host::Host;
use weir_process::{Environment, Lock};

use super::channels::{Channels, channels};
use super::{engine, health};
use crate::exit::{UsageError, tell};

/// The lock file, next to the inbox.
pub(super) const LOCK: &str = "bridge.lock";
/// How long the last messages may take to reach their chats after all turns have ended.
const LAST_MESSAGES: Duration = Duration::from_secs(3);

/// A bridge that can be started: its configuration is valid, and its secrets are readable.
pub(crate) struct Prepared {
    config: Config,
    settings: Settings,
    channels: Channels,
}

/// A bridge with exclusive use of its inbox.
pub(crate) struct Locked {
    prepared: Prepared,
    folder: PathBuf,
    lock: Lock,
}

/// A handle to send to the chats, and the answers given there.
pub(crate) type External = (ExternalHandle, mpsc::UnboundedReceiver<ExternalAnswer>);

/// A running bridge.
pub(crate) struct RunningBridge {
    stop: oneshot::Sender<()>,
    task: JoinHandle<Result<(), BridgeError>>,
    _lock: Lock,
}

impl Prepared {
    /// Reads a configuration. Opens no files or connections.
    pub(crate) fn read(file: &Path) -> anyhow::Result<Self> {
        let config = Config::read(file)?;
        let settings = config.settings()?;
        if let Some(missing) = config.all_roots().iter().find(|folder| !folder.is_dir()) {
            let text = format!("the folder {} does not exist; create it first", missing.display());
            return Err(UsageError(text).into());
        }
        let channels = channels(&config, &engine::data_dir_name(&config)?)?;
        Ok(Self { config, settings, channels })
    }

    /// The folders in which its sessions may work.
    pub(crate) fn roots(&self) -> Vec<PathBuf> {
        self.config.all_roots()
    }

    /// The environment without the secrets of the chats.
    pub(crate) fn without_secrets(&self, environment: Environment) -> Environment {
        self.config.secret_variables().into_iter().fold(environment, Environment::exclude)
    }

    /// Whether there is a channel with this name.
    pub(crate) fn has_channel(&self, name: &ChannelName) -> bool {
        self.channels.contains_key(name)
    }

    /// Whether the configuration names a CLI, which a server ignores.
    pub(crate) fn names_a_cli(&self) -> bool {
        self.config.claude.is_some()
    }

    /// Takes the lock that ensures a single bridge, and so a single poller, for this inbox.
    pub(crate) fn lock(self) -> anyhow::Result<Locked> {
        let folder = engine::data_dir(&self.config)?;
        let lock = Lock::acquire(&folder.join(LOCK), "weir bridge").with_context(|| {
            format!("another bridge uses {}; stop it, or choose another data_dir", folder.display())
        })?;
        Ok(Locked { prepared: self, folder, lock })
    }
}

impl Locked {
    /// The folder with the inbox.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// How long a person may take to answer.
    pub(super) fn ask_timeout(&self) -> Duration {
        Duration::from_millis(u64::try_from(self.prepared.settings.ask_timeout_ms).unwrap_or_default())
    }

    /// The CLI's environment.
    pub(super) fn environment(&self) -> Environment {
        self.prepared.without_secrets(Environment::inherit())
    }

    pub(super) fn config(&self) -> &Config {
        &self.prepared.config
    }

    /// Starts the bridge in a host.
    pub(crate) fn start(self, host: Host) -> anyhow::Result<RunningBridge> {
        Ok(self.start_with_external(host)?.0)
    }

    /// Starts the bridge with a handle for another component that posts and asks in its chats.
    pub(crate) fn start_with_external(self, host: Host) -> anyhow::Result<(RunningBridge, External)> {
        let Self { prepared: Prepared { settings, channels, .. }, folder, lock } = self;
        let names: Vec<String> = channels.keys().map(ToString::to_string).collect();
        let store = Arc::new(BridgeStore::open(&folder.join("bridge.db"))?);
        let (notes, heard) = mpsc::unbounded_channel();
        let engine = Arc::new(HostEngine::new(host));
        let mut driver = Driver::new(settings, channels, engine, store, notes)?;
        let external = driver.external();
        tell(&format!("weir bridge: running on {}", names.join(", ")));
        let (stop, stopped) = oneshot::channel();
        let task = tokio::spawn(work(driver, folder, stopped, heard));
        Ok((RunningBridge { stop, task, _lock: lock }, external))
    }
}

impl RunningBridge {
    /// Waits until it fails. Cancel safe.
    pub(super) async fn failed(&mut self) -> Result<(), BridgeError> {
        (&mut self.task).await.unwrap_or_else(|error| Err(BridgeError::Failed(error.to_string())))
    }

    /// Ends the bridge. Unsent messages are sent at the next start.
    pub(crate) async fn end(self) -> Result<(), BridgeError> {
        // If it has failed, the receiver is gone.
        let _ = self.stop.send(());
        self.task.await.unwrap_or_else(|error| Err(BridgeError::Failed(error.to_string())))
    }
}

async fn work(
    driver: Driver,
    folder: PathBuf,
    stopped: oneshot::Receiver<()>,
    mut notes: mpsc::UnboundedReceiver<String>,
) -> Result<(), BridgeError> {
    let logging = tokio::spawn(async move {
        while let Some(note) = notes.recv().await {
            tell(&format!("weir bridge: {note}"));
        }
    });
    let reporting = tokio::spawn(health::keep_written(folder.clone(), driver.health()));
    let idle = driver.idle();
    let stop = async {
        let _ = stopped.await;
        let _ = tokio::time::timeout(LAST_MESSAGES, idle.wait()).await;
    };
    let worked = driver.run(stop).await;
    if let Err(error) = &worked {
        tell(&format!("weir bridge: failed: {}", with_causes(error)));
    }
    logging.abort();
    reporting.abort();
    health::remove(&folder);
    worked
}
