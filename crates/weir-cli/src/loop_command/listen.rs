//! `weir loop run --listen` and `--bridge`: the page of the server and the chats of a bridge in the loop's own process,
//! with its tasks as sessions.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use weir_bridge::channel::Place as ChatPlace;
use weir_host::Host;
use weir_loop::agent::{HostAgent, LoopSessions};
use weir_loop::shell::{Folders, Mailbox};
use weir_process::Lock;
use weir_server::{ServeOptions, Server, ServerSettings, listening_is_remote};

use super::chat::{self, Chat};
use super::process::Process;
use crate::bridge::{AtWork, Prepared};
use crate::engine::{CROWDED_WAIT, Engine, MAX_AWAITING};
use crate::exit::{UsageError, tell};
use crate::folders;
use crate::opts::LoopListenOpts;
use crate::serve;

/// The run is over then, so nothing has to end by itself.
const DRAIN: Duration = Duration::ZERO;

/// How long a process stays that somebody else than the loop uses.
const IDLE: Duration = Duration::from_secs(600);

/// Processes besides those of the loop, for people who begin sessions on the page.
const BESIDES: usize = 4;

/// A host with the sessions of the loop, and the server and the bridge if there are any.
pub(super) struct Watched {
    host: Host,
    bridge: Option<AtWork>,
    /// The chat that is told of the loop, and where its questions are answered.
    pub(super) chat: Option<Chat>,
    server: Option<(mpsc::Sender<()>, JoinHandle<()>)>,
    address: PathBuf,
    _lock: Lock,
}

/// Opens the host, and serves it where that is wanted.
pub(super) async fn watch(
    opts: &LoopListenOpts,
    places: &Folders,
    process: &Process,
    parallel: usize,
    chat: Option<&str>,
) -> anyhow::Result<(HostAgent, Watched)> {
    if opts.listen.is_some_and(listening_is_remote) {
        let text = "--listen: others could connect, and the loop does not encrypt; listen on 127.0.0.1 and put a \
                    proxy before it";
        return Err(UsageError(text.to_owned()).into());
    }
    let (bridge, chat) = bridge(opts, chat)?;
    let data = serve::data_directory(opts.data.clone())?;
    folders::create_private(&data).with_context(|| format!("cannot make {}", data.display()))?;
    let lock = serve::lock(&data)?;
    let roots = bridge.as_ref().map(Prepared::roots).unwrap_or_default();
    let roots = std::iter::once(places.workspace.clone()).chain(roots).collect();
    let bridge = bridge.map(serve::lock_bridge).transpose()?;
    let sessions = LoopSessions::default();
    let engine = Engine {
        data_directory: data.clone(),
        roots,
        trust: Some(crate::trust::file_in(&data)),
        fence: process.fence.clone(),
        tools: None,
        program: process.program.clone(),
        leading_args: Vec::new(),
        environment: process.environment.clone(),
        secrets: process.secrets.clone(),
        log_directory: None,
        transport: weir_process::Transport::Pipe,
        probe_cache: process.probe_cache.clone(),
        most_processes: parallel + BESIDES,
        max_awaiting: MAX_AWAITING,
        crowded_wait: CROWDED_WAIT,
        idle: IDLE,
        ask_timeout: None,
        retention: weir_host::Retention::default(),
    };
    let of_the_loop = sessions.clone();
    let host = engine.open_with(move |settings| of_the_loop.take(settings)).await?;
    let agent = HostAgent::new(host.clone(), sessions, Arc::clone(&process.factory), places.logs());
    let address = data.join(serve::ADDRESS_FILE);
    let mut watched = Watched { host, bridge: None, chat: None, server: None, address, _lock: lock };
    if let Some(listen) = opts.listen {
        let options = ServeOptions {
            listen,
            allow_remote: false,
            certificate: None,
            public: Vec::new(),
            data_directory: data,
            ready_file: opts.ready_file.clone(),
            drain: DRAIN,
            settings: ServerSettings { roots: engine.roots.clone(), ..ServerSettings::default() },
        };
        watched.serve(options).await?;
    }
    if let Some(bridge) = bridge {
        let (at_work, (handle, answers)) = bridge.start_beside(watched.host.clone())?;
        watched.bridge = Some(at_work);
        watched.chat = chat.map(|chat| Chat::new(chat, handle, answers, Mailbox::new(places.mailbox())));
    }
    Ok((agent, watched))
}

/// The bridge and the chat that were asked for. Nothing is opened, and nobody is called.
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
                "the chat {name} is to be told, and there is no bridge; say --bridge FILE"
            ));
        }
        (Some(name), Some(prepared)) => match chat::place(name) {
            None => return wrong(format!("{name} is no chat: write CHANNEL:CHAT, as in telegram:12345")),
            Some(place) if !prepared.has_channel(&place.channel) => {
                return wrong(format!("the bridge has no channel {}; see its configuration", place.channel));
            }
            place => place,
        },
    };
    Ok((prepared, place))
}

impl Watched {
    async fn serve(&mut self, options: ServeOptions) -> anyhow::Result<()> {
        let server = Server::start(self.host.clone(), options).await?;
        folders::write_private(&self.address, server.url())
            .with_context(|| format!("cannot write {}", self.address.display()))?;
        serve::say_where(&server, false)?;
        let (stop, stopped) = mpsc::channel(1);
        self.server = Some((stop, tokio::spawn(server.run(stopped))));
        Ok(())
    }

    /// Ends it all. Whoever watches is told.
    pub(super) async fn end(self) {
        if let Some(chat) = &self.chat {
            chat.end();
        }
        match self.server {
            None => self.host.shut_down(DRAIN).await,
            Some((stop, serving)) => {
                drop(stop);
                if let Err(error) = serving.await {
                    tell(&format!("weir: the server failed: {error}"));
                }
                let _ = std::fs::remove_file(self.address);
            }
        }
        if let Some(bridge) = self.bridge {
            // Why it ended, if it did, has been told.
            let _ = bridge.end().await;
        }
    }
}
