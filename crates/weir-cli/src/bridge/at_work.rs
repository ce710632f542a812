//! A bridge at work, on a host of its own or on a server's.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use weir_bridge::BridgeError;
use weir_bridge::channel::ChannelName;
use weir_bridge::config::Config;
use weir_bridge::driver::{BesideAnswer, BesideHandle, Driver};
use weir_bridge::host::HostEngine;
use weir_bridge::machine::Settings;
use weir_bridge::store::BridgeStore;
use weir_host::Host;
use weir_process::{Environment, Lock};

use super::channels::{Channels, channels};
use super::{engine, health};
use crate::exit::{UsageError, tell};

/// The lock's file, beside the inbox.
pub(super) const LOCK: &str = "bridge.lock";
/// How long the last words of turns may take to get into their chats, once no turn runs any more.
const LAST_WORDS: Duration = Duration::from_secs(3);

/// A bridge that can be started: its configuration makes sense, and its secrets can be read.
pub(crate) struct Prepared {
    config: Config,
    settings: Settings,
    channels: Channels,
}

/// A bridge that nobody else is with the same inbox.
pub(crate) struct Locked {
    prepared: Prepared,
    folder: PathBuf,
    lock: Lock,
}

/// A door into the chats, and what is answered there.
pub(crate) type Beside = (BesideHandle, mpsc::UnboundedReceiver<BesideAnswer>);

/// A bridge that works.
pub(crate) struct AtWork {
    stop: oneshot::Sender<()>,
    task: JoinHandle<Result<(), BridgeError>>,
    _lock: Lock,
}

impl Prepared {
    /// Reads a configuration. Nothing is opened, and nobody is called.
    pub(crate) fn read(file: &Path) -> anyhow::Result<Self> {
        let config = Config::read(file)?;
        let settings = config.settings()?;
        if let Some(missing) = config.all_roots().iter().find(|folder| !folder.is_dir()) {
            let text = format!("the folder {} is not there: make it first", missing.display());
            return Err(UsageError(text).into());
        }
        let channels = channels(&config, &engine::data_dir_name(&config)?)?;
        Ok(Self { config, settings, channels })
    }

    /// The folders that its conversations may work in.
    pub(crate) fn roots(&self) -> Vec<PathBuf> {
        self.config.all_roots()
    }

    /// The environment without the secrets of the chats.
    pub(crate) fn without_secrets(&self, environment: Environment) -> Environment {
        self.config.secret_variables().into_iter().fold(environment, Environment::exclude)
    }

    /// Whether there is a channel of this name.
    pub(crate) fn has_channel(&self, name: &ChannelName) -> bool {
        self.channels.contains_key(name)
    }

    /// Whether the configuration names a CLI of its own, which a server does not use.
    pub(crate) fn names_a_cli(&self) -> bool {
        self.config.claude.is_some()
    }

    /// Sees to it that there is one bridge with this inbox, and so one poller.
    pub(crate) fn lock(self) -> anyhow::Result<Locked> {
        let folder = engine::data_dir(&self.config)?;
        let lock = Lock::acquire(&folder.join(LOCK), "weir bridge").with_context(|| {
            format!("another bridge works with {}; end it, or choose another data_dir", folder.display())
        })?;
        Ok(Locked { prepared: self, folder, lock })
    }
}

impl Locked {
    /// The folder with the inbox.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// How long a person has for an answer.
    pub(super) fn ask_timeout(&self) -> Duration {
        Duration::from_millis(u64::try_from(self.prepared.settings.ask_timeout_ms).unwrap_or_default())
    }

    /// What the CLI finds in its environment.
    pub(super) fn environment(&self) -> Environment {
        self.prepared.without_secrets(Environment::inherit())
    }

    pub(super) fn config(&self) -> &Config {
        &self.prepared.config
    }

    /// Starts to work on a host.
    pub(crate) fn start(self, host: Host) -> anyhow::Result<AtWork> {
        Ok(self.start_beside(host)?.0)
    }

    /// The same, with a door for somebody who says and asks something in its chats.
    pub(crate) fn start_beside(self, host: Host) -> anyhow::Result<(AtWork, Beside)> {
        let Self { prepared: Prepared { settings, channels, .. }, folder, lock } = self;
        let names: Vec<String> = channels.keys().map(ToString::to_string).collect();
        let store = Arc::new(BridgeStore::open(&folder.join("bridge.db"))?);
        let (notes, heard) = mpsc::unbounded_channel();
        let engine = Arc::new(HostEngine::new(host));
        let mut driver = Driver::new(settings, channels, engine, store, notes)?;
        let beside = driver.beside();
        tell(&format!("weir bridge: at work on {}", names.join(", ")));
        let (stop, stopped) = oneshot::channel();
        let task = tokio::spawn(work(driver, folder, stopped, heard));
        Ok((AtWork { stop, task, _lock: lock }, beside))
    }
}

impl AtWork {
    /// Waits until it breaks. Cancel safe.
    pub(super) async fn broken(&mut self) -> Result<(), BridgeError> {
        (&mut self.task).await.unwrap_or_else(|error| Err(BridgeError::Failed(error.to_string())))
    }

    /// Ends it. What is not said yet is said at the next start.
    pub(crate) async fn end(self) -> Result<(), BridgeError> {
        // One that broke has nobody who listens.
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
    let telling = tokio::spawn(health::keep_telling(folder.clone(), driver.health()));
    let idle = driver.idle();
    let stop = async {
        let _ = stopped.await;
        let _ = tokio::time::timeout(LAST_WORDS, idle.wait()).await;
    };
    let worked = driver.run(stop).await;
    if let Err(error) = &worked {
        tell(&format!("weir bridge: it has ended: {}", with_causes(error)));
    }
    logging.abort();
    telling.abort();
    health::remove(&folder);
    worked
}

/// An error with what led to it, in a line.
fn with_causes(error: &BridgeError) -> String {
    let causes = std::iter::successors(std::error::Error::source(error), |cause| cause.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}
