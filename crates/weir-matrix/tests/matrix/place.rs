//! A bridge with a real homeserver on one side and the simulated CLI on the other.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use matrix_sdk::ruma::{OwnedUserId, UserId};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use weir_bridge::BridgeError;
use weir_bridge::channel::{Channel, ChannelName};
use weir_bridge::config::{MatrixLogin, Secret};
use weir_bridge::driver::Driver;
use weir_bridge::host::HostEngine;
use weir_bridge::machine::{Role, Settings};
use weir_bridge::store::BridgeStore;
use weir_host::{Host, HostOptions};
use weir_matrix::{MatrixChannel, MatrixOptions};
use weir_session::SessionOptions;
use weir_store::{Durability, SqliteOptions, SqliteStore};
use weir_testkit::{quick_stop, simulated_claude};

use crate::person::{PASSWORD, fresh_name, register};
use crate::synapse::synapse;

/// The settings of a bridge. They can be passed to a bridge in another process.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub(crate) folder: PathBuf,
    pub(crate) homeserver: String,
    pub(crate) bot: OwnedUserId,
    pub(crate) password: String,
    pub(crate) settings: Settings,
}

impl Plan {
    pub(crate) fn new(folder: &Path, homeserver: &str, bot: &UserId, people: &[&str]) -> Self {
        let people = people.iter().map(|person| (("matrix".into(), (*person).into()), Role::Admin)).collect();
        let mut settings = Settings { people, messages_per_minute: 1_000, ..Settings::default() };
        settings.default_scope.workspace = folder.join("work").to_string_lossy().into_owned();
        settings.default_scope.debounce_ms = 50;
        let (folder, homeserver) = (folder.to_owned(), homeserver.to_owned());
        Self { folder, homeserver, bot: bot.to_owned(), password: PASSWORD.to_owned(), settings }
    }

    pub(crate) fn options(&self) -> MatrixOptions {
        MatrixOptions {
            homeserver: self.homeserver.clone(),
            login: MatrixLogin::Password {
                user: self.bot.to_string(),
                password: Secret::new(&self.password),
            },
            folder: self.folder.join("matrix"),
            passphrase: Some(Secret::new("a passphrase")),
        }
    }

    async fn host(&self) -> Host {
        let sqlite = SqliteOptions { durability: Durability::Process, ..SqliteOptions::default() };
        let store = SqliteStore::open(self.folder.join("weir.db"), &sqlite).unwrap();
        let place = weir_testkit::Place::at(&self.folder).unwrap();
        let (program, environment) =
            (simulated_claude(env!("CARGO_PKG_NAME")), place.simulated_environment());
        let recipe = move |_: &weir_host::SessionSettings| {
            let mut options = SessionOptions::new().program(&program).environment(environment.clone());
            options.limits.interrupt = Duration::from_secs(1);
            options.stop = quick_stop();
            options
        };
        // Without a lock folder: after a kill, leftovers of the killed process may hold the lock for a while.
        Host::open(HostOptions::new(Arc::new(store), recipe).root(place.directory())).await.unwrap()
    }

    pub(crate) async fn start(&self) -> Running {
        self.start_with(Arc::new(MatrixChannel::new(self.options()))).await
    }

    pub(crate) async fn start_with(&self, matrix: Arc<dyn Channel>) -> Running {
        let host = self.host().await;
        let channels: BTreeMap<ChannelName, _> = BTreeMap::from([("matrix".into(), matrix)]);
        let store = Arc::new(BridgeStore::open(&self.folder.join("bridge.db")).unwrap());
        let (notes, heard) = mpsc::unbounded_channel();
        let engine = Arc::new(HostEngine::new(host.clone()));
        let driver = Driver::new(self.settings.clone(), channels, engine, Arc::clone(&store), notes).unwrap();
        let (stop, stopped) = oneshot::channel();
        let driver = tokio::spawn(async move {
            let stopped = async {
                let _ = stopped.await;
            };
            driver.run(stopped).await
        });
        Running { stop, driver, host, store, notes: heard }
    }
}

/// The place for a bridge: an account and a folder.
pub(crate) struct Place {
    _place: weir_testkit::Place,
    pub(crate) plan: Plan,
}

/// A running bridge.
pub(crate) struct Running {
    stop: oneshot::Sender<()>,
    driver: JoinHandle<Result<(), BridgeError>>,
    host: Host,
    pub(crate) store: Arc<BridgeStore>,
    notes: mpsc::UnboundedReceiver<String>,
}

impl Place {
    pub(crate) async fn new(people: &[&UserId]) -> Self {
        let place = weir_testkit::Place::new().unwrap();
        let bot = register(&fresh_name("weir")).await;
        let people: Vec<&str> = people.iter().map(|person| person.as_str()).collect();
        let plan = Plan::new(place.root(), &synapse().await.url, &bot, &people);
        Self { _place: place, plan }
    }

    pub(crate) fn bot(&self) -> &UserId {
        &self.plan.bot
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.plan.folder.join(name)
    }
}

impl Running {
    /// Waits until the log has a line with these words.
    pub(crate) async fn notes(&mut self, words: &str) -> String {
        let waiting = async {
            loop {
                let note = self.notes.recv().await.unwrap();
                if note.contains(words) {
                    return note;
                }
            }
        };
        tokio::time::timeout(Duration::from_secs(300), waiting).await.unwrap()
    }

    /// Waits until this many messages have their outcome and none is open, and returns the outcomes.
    pub(crate) async fn settles(&self, count: usize) -> Vec<String> {
        let started = std::time::Instant::now();
        loop {
            let kept = self.store.load().unwrap();
            let of = |kind: &'static str| kept.iter().filter(move |kept| kept.kind.as_str() == kind);
            let outcomes: Vec<String> = of("done")
                .map(|kept| kept.value["outcome"].as_str().unwrap_or_default().to_owned())
                .collect();
            if outcomes.len() == count && of("inbox").next().is_none() {
                return outcomes;
            }
            let waiting: Vec<_> = of("inbox").chain(of("reply")).collect();
            assert!(started.elapsed() < Duration::from_secs(300), "{outcomes:?}\n{waiting:#?}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Waits until it ends by itself, and returns the error.
    pub(crate) async fn fails(self) -> String {
        let ended = tokio::time::timeout(Duration::from_secs(300), self.driver).await.unwrap();
        self.host.shut_down(Duration::from_secs(5)).await;
        ended.unwrap().unwrap_err().to_string()
    }

    pub(crate) async fn end(self) {
        let _ = self.stop.send(());
        self.driver.await.unwrap().unwrap();
        self.host.shut_down(Duration::from_secs(5)).await;
    }
}
