//! A bridge with a fake Telegram on one side and the simulated CLI on the other.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use weir_bridge::channel::{Channel, ChannelName};
use weir_bridge::config::Secret;
use weir_bridge::driver::{Driver, Engine as _};
use weir_bridge::engine::WantedPictures;
use weir_bridge::host::HostEngine;
use weir_bridge::machine::{Role, Settings};
use weir_bridge::store::BridgeStore;
use weir_host::{Host, HostOptions, ListSessions, MessageState};
use weir_session::SessionOptions;
use weir_store::{Durability, SqliteOptions, SqliteStore};
use weir_telegram::{TelegramChannel, TelegramOptions};
use weir_testkit::{DEADLINE, quick_stop, simulated_claude};

use crate::double::{Double, TOKEN};

/// The person who may talk to the agent by configuration.
pub(crate) const ANNA: i64 = 100;

pub(crate) struct Place {
    place: weir_testkit::Place,
    pub(crate) double: Double,
    pub(crate) settings: Settings,
    /// The CLI, if it is not the simulated one, with its environment variables.
    pub(crate) cli: Option<(PathBuf, Vec<(OsString, OsString)>)>,
}

/// A running bridge.
pub(crate) struct Running {
    stop: oneshot::Sender<()>,
    driver: JoinHandle<()>,
    host: Host,
    pub(crate) store: Arc<BridgeStore>,
}

impl Place {
    pub(crate) async fn new() -> Self {
        let place = weir_testkit::Place::new().unwrap();
        let mut settings = Settings::default();
        settings.people.insert(("telegram".into(), ANNA.to_string().into()), Role::Admin);
        settings.default_scope.workspace = place.directory().to_string_lossy().into_owned();
        settings.default_scope.debounce_ms = 50;
        Self { place, double: Double::start().await, settings, cli: None }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.place.path(name)
    }

    async fn host(&self) -> Host {
        let sqlite = SqliteOptions { durability: Durability::Process, ..SqliteOptions::default() };
        let store = SqliteStore::open(self.path("weir.db"), &sqlite).unwrap();
        let mut environment = self.place.simulated_environment();
        let simulated = || (simulated_claude(env!("CARGO_PKG_NAME")), Vec::new());
        let (program, more) = self.cli.clone().unwrap_or_else(simulated);
        for (name, value) in more {
            environment = environment.set(name, value);
        }
        let recipe = move |_: &weir_host::SessionSettings| {
            let mut options = SessionOptions::new().program(program.clone()).environment(environment.clone());
            options.limits.interrupt = Duration::from_secs(1);
            options.stop = quick_stop();
            options
        };
        // Without a lock folder: after a kill, leftovers of the killed process may hold the lock for a while.
        Host::open(HostOptions::new(Arc::new(store), recipe).root(self.place.directory())).await.unwrap()
    }

    pub(crate) async fn start(&self) -> Running {
        let host = self.host().await;
        let options = TelegramOptions { token: Secret::new(TOKEN), api_url: Some(self.double.url.clone()) };
        let telegram: Arc<dyn Channel> = Arc::new(TelegramChannel::new(options).unwrap());
        let channels: BTreeMap<ChannelName, _> = BTreeMap::from([("telegram".into(), telegram)]);
        let store = Arc::new(BridgeStore::open(&self.path("bridge.db")).unwrap());
        let (notes, _) = mpsc::unbounded_channel();
        let engine = Arc::new(HostEngine::new(host.clone()));
        let driver = Driver::new(self.settings.clone(), channels, engine, Arc::clone(&store), notes).unwrap();
        let (stop, stopped) = oneshot::channel();
        let driver = tokio::spawn(async move {
            let stopped = async {
                let _ = stopped.await;
            };
            driver.run(stopped).await.unwrap();
        });
        Running { stop, driver, host, store }
    }
}

impl Running {
    /// The outcomes of the messages, in the order in which they were accepted.
    pub(crate) fn outcomes(&self) -> Vec<String> {
        let kept = self.store.load().unwrap();
        let done = kept.iter().filter(|kept| kept.kind.as_str() == "done");
        done.map(|kept| kept.value["outcome"].as_str().unwrap_or_default().to_owned()).collect()
    }

    /// The pictures of the first turn that the engine reports to a viewer that missed them, as after a restart.
    pub(crate) async fn pictures_of_the_first_turn(&self) -> Vec<Vec<u8>> {
        let session = self.host.list(ListSessions::default()).await.unwrap().sessions[0].id.clone();
        let messages = self.host.messages(&session.parse().unwrap(), None).await.unwrap();
        let engine = HostEngine::new(self.host.clone());
        let mut files = Vec::new();
        for tool in engine.calls_with_pictures(&session, messages[0].message_id.as_str()).await {
            files.extend(engine.pictures(&session, &WantedPictures::OfTool { tool }).await);
        }
        files.into_iter().map(|file| file.data).collect()
    }

    /// The prompts of the first session, with the number of their pictures.
    pub(crate) async fn prompts(&self) -> Vec<(String, u32)> {
        let session = self.host.list(ListSessions::default()).await.unwrap().sessions[0].id.clone();
        let messages = self.host.messages(&session.parse().unwrap(), None).await.unwrap();
        messages.into_iter().map(|message| (message.text, message.images)).collect()
    }

    /// Waits until this many messages have their outcomes.
    pub(crate) async fn settled(&self, count: usize) {
        self.until("outcomes", || self.outcomes().len() >= count).await;
    }

    /// Waits until the host has sent this many messages to the CLI.
    pub(crate) async fn sent(&self, count: usize) {
        let sessions = self.host.list(ListSessions::default()).await.unwrap().sessions;
        let id = sessions[0].id.parse().unwrap();
        let started = Instant::now();
        loop {
            let messages = self.host.messages(&id, None).await.unwrap();
            if messages.iter().filter(|message| message.state != MessageState::Queued).count() >= count {
                return;
            }
            assert!(started.elapsed() < DEADLINE, "timed out: {messages:#?}");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    async fn until(&self, what: &str, condition: impl Fn() -> bool) {
        let started = Instant::now();
        while !condition() {
            assert!(started.elapsed() < DEADLINE, "timed out waiting for {what}: {:?}", self.outcomes());
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Ends the bridge, and checks that it followed Telegram's rules.
    pub(crate) async fn end(self, place: &Place) {
        let _ = self.stop.send(());
        self.driver.await.unwrap();
        self.host.shut_down(Duration::from_secs(5)).await;
        assert_eq!(place.double.lock().breaches, Vec::<String>::new());
    }
}
