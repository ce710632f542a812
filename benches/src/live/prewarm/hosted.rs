//! The same through a host, which is what the server does: from accepting the message to the first text that a viewer gets,
//! for a session in a folder that no process was started in before.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use weir_host::{Actor, Format, Host, HostOptions, NewMessage, NewSession, WatchEvent, WatchQuery};
use weir_store::{Durability, SqliteOptions, SqliteStore};
use weir_testkit::Place;
use weir_testkit::api::ScriptedApi;
use weir_testkit::real::RealCli;
use weir_transcript::{AgentEvent, AgentEventKind};

use super::{DEADLINE, POLL, PROMPT, options};

/// Alternating, so that both see the same machine.
pub(super) async fn measure(cli: &RealCli, rounds: usize) -> anyhow::Result<(Vec<Duration>, Vec<Duration>)> {
    let (mut cold, mut warm) = (Hosted::new(cli, 0).await?, Hosted::new(cli, 1).await?);
    // The first session of a host also opens what the others find open.
    cold.first_content().await?;
    warm.first_content().await?;
    let (mut without, mut with) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        without.push(cold.first_content().await?);
        with.push(warm.first_content().await?);
    }
    let (used, wanted) = (warm.host.metrics().sessions_from_spares, rounds as u64);
    anyhow::ensure!(used >= wanted, "only {used} of {wanted} sessions got a spare");
    cold.host.shut_down(Duration::ZERO).await;
    warm.host.shut_down(Duration::ZERO).await;
    Ok((without, with))
}

struct Hosted {
    host: Host,
    spares: usize,
    folders: usize,
    place: Arc<Place>,
    _api: Arc<ScriptedApi>,
}

impl Hosted {
    async fn new(cli: &RealCli, spares: usize) -> anyhow::Result<Self> {
        let (place, api) = (Arc::new(Place::new()?), Arc::new(ScriptedApi::start()?));
        let sqlite = SqliteOptions { durability: Durability::Process, ..SqliteOptions::default() };
        let store = SqliteStore::open(place.path("weir.db"), &sqlite)?;
        let recipe = {
            let (cli, place, api) = (cli.clone(), Arc::clone(&place), Arc::clone(&api));
            move |_: &weir_host::SessionSettings| options(&cli, &place, &api)
        };
        let mut options = HostOptions::new(Arc::new(store), recipe).root(place.directory());
        options.spares = spares;
        options.state_directory = Some(place.path("state"));
        Ok(Self { host: Host::open(options).await?, spares, folders: 0, place, _api: api })
    }

    /// A folder of its own for each session.
    fn folder(&mut self) -> anyhow::Result<PathBuf> {
        self.folders += 1;
        let folder = self.place.directory().join(format!("project-{}", self.folders));
        std::fs::create_dir_all(&folder)?;
        Ok(folder)
    }

    async fn first_content(&mut self) -> anyhow::Result<Duration> {
        let ready = async {
            while self.host.metrics().spare_processes < self.spares as u64 {
                tokio::time::sleep(POLL).await;
            }
        };
        tokio::time::timeout(DEADLINE, ready).await.context("the spare CLI does not start")?;
        let (me, folder) = (Actor::new("bench"), self.folder()?);
        let new = NewSession::new(folder.to_string_lossy());
        let id = self.host.create(new, &me).await?.session.id.parse()?;
        let query = WatchQuery { format: Format::Agent, cursor: None, heartbeat: None };
        let started = Instant::now();
        let (_, watch) = self.host.send_and_watch(&id, NewMessage::text(PROMPT), &me, query).await?;
        let mut watch = watch.context("nothing to watch")?;
        let first = tokio::time::timeout(DEADLINE, async {
            while let Some(frame) = watch.next().await {
                let is_text = |event: &AgentEvent| matches!(event.kind, AgentEventKind::TextDelta { .. });
                if matches!(frame.event(), WatchEvent::Agent(event) if is_text(event)) {
                    return Some(started.elapsed());
                }
            }
            None
        });
        let first =
            first.await.context("nothing arrived")?.context("the stream ended before anything arrived")?;
        // A host looks after its spares when a session has nothing to do.
        let ended = tokio::time::timeout(DEADLINE, async {
            while let Some(frame) = watch.next().await {
                let is_end = |event: &AgentEvent| matches!(event.kind, AgentEventKind::MessageEnd { .. });
                if matches!(frame.event(), WatchEvent::Agent(event) if is_end(event)) {
                    return;
                }
            }
        });
        ended.await.context("the turn does not end")?;
        self.host.stop(&id, &me).await?;
        Ok(first)
    }
}
