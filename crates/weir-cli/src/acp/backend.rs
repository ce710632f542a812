//! Who has the sessions: a program that runs already, or this one.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use tokio::sync::Mutex;
use weir_acp::{AcpAgent, AgentStreams, Owner};
use weir_host::Host;
use weir_process::Lock;

use super::settings::Settings;
use super::{Door, extras, open_door, with_extras};
use crate::exit::tell;
use crate::serve::lock;

/// How long a program that has the data folder may take to open its socket.
const PATIENCE: Duration = Duration::from_secs(10);
/// The pause between two looks.
const PAUSE: Duration = Duration::from_millis(50);
/// Bytes between the editor and a host in this program.
const BUFFER: usize = 1 << 16;

/// Finds who has the sessions.
pub(super) struct Backend {
    settings: Settings,
    hosting: Mutex<Option<Hosting>>,
}

/// A host in this program.
struct Hosting {
    agent: AcpAgent,
    host: Host,
    /// None where the system has no such socket, or its path is too long.
    door: Option<Door>,
    _lock: Lock,
}

impl Backend {
    pub(super) fn new(settings: Settings) -> Self {
        Self { settings, hosting: Mutex::new(None) }
    }

    /// Connects to the program that has the sessions.
    ///
    /// # Errors
    /// Why there is none, for the person.
    pub(super) async fn connect(&self) -> Result<AgentStreams, String> {
        let connected = self.connected().await;
        connected.map_err(|error| {
            let reason = format!("{error:#}");
            tell(&format!("weir: {reason}"));
            reason
        })
    }

    async fn connected(&self) -> anyhow::Result<AgentStreams> {
        if let Some(server) = &self.settings.server {
            return Ok(server.connect());
        }
        let mut hosting = self.hosting.lock().await;
        let started = tokio::time::Instant::now();
        loop {
            if let Some(hosting) = &*hosting {
                return Ok(hosting.connect());
            }
            let data = &self.settings.engine.data_directory;
            #[cfg(unix)]
            if let Ok(stream) = super::door::enter(data).await {
                let (input, output) = stream.into_split();
                return Ok((Box::new(input), Box::new(output)));
            }
            weir_base::file::create_private_folder(data)
                .with_context(|| format!("cannot create {}", data.display()))?;
            match lock(data) {
                Ok(lock) => *hosting = Some(self.host(lock).await?),
                // The program that has it is starting or ending.
                Err(error) if started.elapsed() < PATIENCE => {
                    drop(error);
                    tokio::time::sleep(PAUSE).await;
                }
                Err(error) => return Err(error),
            }
        }
    }

    async fn host(&self, lock: Lock) -> anyhow::Result<Hosting> {
        let Settings { engine, offer, .. } = &self.settings;
        let extras = extras(engine).context("cannot keep the editor's MCP servers")?;
        let host = engine.open_with(with_extras(engine.clone(), extras.clone())).await?;
        let owner = Owner::new(offer.clone());
        let agent = |owner: Owner| AcpAgent::new(host.clone(), Arc::new(owner)).extras(extras.clone());
        let door = open_door(&engine.data_directory, agent(owner.clone().among_others()));
        let agent = agent(match &door {
            Some(door) => owner.among_editors(door.visitors()),
            None => owner,
        });
        Ok(Hosting { agent, host, door, _lock: lock })
    }

    /// Ends a host in this program, once the editors that came through its socket have gone.
    pub(super) async fn end(&self) {
        let visitors =
            self.hosting.lock().await.as_ref().and_then(|hosting| Some(hosting.door.as_ref()?.visitors()));
        if let Some(mut visitors) = visitors {
            // It ends with the socket.
            let _ = visitors.wait_for(|count| *count == 0).await;
        }
        self.end_now().await;
    }

    /// Ends a host in this program. Turns that run can be resumed.
    pub(super) async fn end_now(&self) {
        if let Some(Hosting { host, door, .. }) = self.hosting.lock().await.take() {
            drop(door);
            host.shut_down(Duration::ZERO).await;
        }
    }
}

impl Hosting {
    fn connect(&self) -> AgentStreams {
        let (near, far) = tokio::io::duplex(BUFFER);
        let (input, output) = tokio::io::split(far);
        tokio::spawn(self.agent.clone().serve(input, output));
        let (input, output) = tokio::io::split(near);
        (Box::new(input), Box::new(output))
    }
}
