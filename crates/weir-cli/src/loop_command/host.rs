//! The host of `weir loop run`, with its tasks as sessions: in memory, or with the server's page (`--listen`) and the
//! bridge's chats (`--bridge`) in the loop's own process.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use weir_acp::{AcpAgent, Owner};
use weir_bridge::channel::Place as ChatPlace;
use weir_bridge::driver::ExternalAnswer;
use weir_bridge::loop_chat::{self, LoopChat};
use weir_host::Host;
use weir_loop::agent::{HostAgent, LoopSessions};
use weir_loop::shell::{Folders, Handles};
use weir_process::Lock;
use weir_server::{Loops, ServeOptions, Server, ServerSettings, listening_is_remote};
use weir_session::PoolOptions;

use super::process::Process;
use crate::acp::{self, Door};
use crate::bridge::{Prepared, RunningBridge};
use crate::engine::Engine;
use crate::exit::{UsageError, tell};
use crate::opts::LoopListenOpts;
use crate::serve;

/// When the server stops, the run is over and no turn has to finish.
const DRAIN: Duration = Duration::ZERO;

/// Extra processes, for sessions that people start on the page.
const EXTRA_PROCESSES: usize = 4;

/// The host with the sessions of the loop, and the server and the bridge if there are any.
pub(super) struct LoopHost {
    host: Host,
    bridge: Option<RunningBridge>,
    /// The chat that gets the loop's notifications and questions.
    pub(super) chat: Option<LoopChat>,
    /// The answers given there.
    answers: Option<mpsc::UnboundedReceiver<ExternalAnswer>>,
    server: Option<Serving>,
    /// Where editors of this user come in.
    editors: Option<Door>,
    _lock: Option<Lock>,
}

/// A server that runs.
struct Serving {
    stop: mpsc::Sender<()>,
    task: JoinHandle<Result<(), weir_server::ServeError>>,
    /// The file with its address.
    address: PathBuf,
    /// Where the page shows the loop.
    loops: Loops,
}

/// Opens the host: in memory if no one but the loop uses it. Starts the server and the bridge if requested.
pub(super) async fn open(
    opts: &LoopListenOpts,
    places: &Folders,
    process: &Process,
    parallel: usize,
    chat: Option<&str>,
) -> anyhow::Result<(HostAgent, LoopHost)> {
    if opts.listen.is_some_and(listening_is_remote) {
        let text = "--listen: other machines could connect, and the loop does not encrypt; listen on 127.0.0.1 and put a \
                    proxy in front of it";
        return Err(UsageError(text.to_owned()).into());
    }
    let (bridge, chat) = bridge(opts, chat)?;
    if !opts.is_wanted() {
        let agent = process.agent(places, parallel).await?;
        let host = agent.host().clone();
        return Ok((
            agent,
            LoopHost {
                host,
                bridge: None,
                chat: None,
                answers: None,
                server: None,
                editors: None,
                _lock: None,
            },
        ));
    }
    let data = serve::data_directory(opts.data.clone())?;
    weir_base::file::create_private_folder(&data)
        .with_context(|| format!("cannot create {}", data.display()))?;
    let lock = serve::lock(&data)?;
    let roots = bridge.as_ref().map(Prepared::roots).unwrap_or_default();
    let roots = std::iter::once(places.workspace.clone()).chain(roots).collect();
    let bridge = bridge.map(serve::lock_bridge).transpose()?;
    let sessions = LoopSessions::default();
    let mut pool = PoolOptions::default();
    pool.max_processes = parallel + EXTRA_PROCESSES;
    let engine = Engine {
        fence: process.fence.clone(),
        program: process.program.clone(),
        secrets: process.secrets.clone(),
        probe_cache: process.probe_cache.clone(),
        pool,
        ..Engine::new(data.clone(), roots, process.environment.clone())
    };
    let loop_sessions = sessions.clone();
    let host = engine.open_with(move |settings| loop_sessions.options(settings)).await?;
    let agent = HostAgent::new(host.clone(), sessions, Arc::clone(&process.factory));
    let settings = ServerSettings { roots: engine.roots.clone(), ..ServerSettings::default() };
    let owner = Arc::new(Owner::new(acp::settings::offer(&settings)).among_others());
    let editors = acp::open_door(&data, AcpAgent::new(host.clone(), owner));
    let mut opened =
        LoopHost { host, bridge: None, chat: None, answers: None, server: None, editors, _lock: Some(lock) };
    if let Some(listen) = opts.listen {
        let address = data.join(serve::ADDRESS_FILE);
        let options = ServeOptions {
            listen,
            allow_remote: false,
            certificate: None,
            public: Vec::new(),
            data_directory: data,
            ready_file: opts.ready_file.clone(),
            drain: DRAIN,
            settings,
        };
        opened.serve(options, address).await?;
    }
    if let Some(bridge) = bridge {
        let (running, (handle, answers)) = bridge.start_with_external(opened.host.clone())?;
        opened.bridge = Some(running);
        opened.chat = chat.map(|place| LoopChat::new(place, handle));
        opened.answers = Some(answers);
    }
    Ok((agent, opened))
}

/// The requested bridge and chat. Opens no files or connections.
fn bridge(
    opts: &LoopListenOpts,
    chat: Option<&str>,
) -> anyhow::Result<(Option<Prepared>, Option<ChatPlace>)> {
    let prepared = opts.bridge.as_deref().map(Prepared::read).transpose()?;
    let wrong = |text: String| Err(UsageError(text).into());
    let place = match (chat, &prepared) {
        (None, _) => None,
        (Some(name), None) => {
            return wrong(format!(
                "notifications should go to the chat {name}, but there is no bridge; add --bridge FILE"
            ));
        }
        (Some(name), Some(prepared)) => match loop_chat::place(name) {
            None => {
                return wrong(format!(
                    "{name} is not a valid chat; use CHANNEL:CHAT, such as telegram:12345"
                ));
            }
            Some(place) if !prepared.has_channel(&place.channel) => {
                return wrong(format!("the bridge has no channel {}; see its configuration", place.channel));
            }
            place => place,
        },
    };
    Ok((prepared, place))
}

impl LoopHost {
    async fn serve(&mut self, options: ServeOptions, address: PathBuf) -> anyhow::Result<()> {
        let server = Server::start(self.host.clone(), options).await?;
        weir_base::file::replace(&address, server.url().as_bytes())
            .with_context(|| format!("cannot write {}", address.display()))?;
        serve::say_where(&server, false)?;
        let (stop, stopped) = mpsc::channel(1);
        let loops = server.app().loops().clone();
        self.server = Some(Serving { stop, task: tokio::spawn(server.run(stopped)), address, loops });
        Ok(())
    }

    /// Where the page shows the loop, if there is a page.
    pub(super) fn loops(&self) -> Option<Loops> {
        self.server.as_ref().map(|serving| serving.loops.clone())
    }

    /// Gives the answers from the chat to the run.
    pub(super) fn connect(&mut self, run: Handles) {
        if let (Some(chat), Some(answers)) = (&self.chat, self.answers.take()) {
            tokio::spawn(chat.clone().carry(answers, run));
        }
    }

    /// Ends the chat, the server, the bridge and the host. Viewers are told.
    pub(super) async fn end(self) {
        drop(self.editors);
        if let Some(chat) = &self.chat {
            chat.end();
        }
        match self.server {
            None => self.host.shut_down(DRAIN).await,
            Some(Serving { stop, task, address, .. }) => {
                drop(stop);
                let failure = match task.await {
                    Ok(served) => served.err().map(|error| error.to_string()),
                    Err(error) => Some(error.to_string()),
                };
                if let Some(error) = failure {
                    tell(&format!("weir: the server failed: {error}"));
                }
                let _ = std::fs::remove_file(address);
            }
        }
        if let Some(bridge) = self.bridge {
            // If it failed, the reason has been reported.
            let _ = bridge.end().await;
        }
    }
}
