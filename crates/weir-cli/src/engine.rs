//! The engine behind `weir serve`, `weir demo`, `weir acp`, `weir bridge run` and `weir loop run --listen`: a log on disk
//! and a host on top of it.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use weir_host::{Host, HostOptions, Retention, SessionSettings};
use weir_process::{Environment, LogOptions, ProbeCache, Secrets, Transport};
use weir_session::{PoolOptions, SessionOptions};
use weir_store::{DEFAULT_RESERVE, Durability, SqliteOptions, SqliteStore};
use weir_trust::TrustFile;

use crate::fence::Fence;
use crate::{folders, trust, worktree};

/// Name of the event log's file in a data folder.
pub(crate) const DATABASE: &str = "weir.db";

/// Settings of the engine. No request can change them.
#[derive(Debug, Clone)]
pub(crate) struct Engine {
    pub(crate) data_directory: PathBuf,
    pub(crate) roots: Vec<PathBuf>,
    /// Which folders are trusted.
    pub(crate) trust: Option<Arc<TrustFile>>,
    /// The sandbox around the CLI.
    pub(crate) fence: Option<Fence>,
    /// The tools that sessions have.
    pub(crate) tools: Option<Vec<String>>,
    pub(crate) program: Option<PathBuf>,
    /// Arguments placed before all others if the program is Weir itself.
    pub(crate) leading_args: Vec<OsString>,
    pub(crate) environment: Environment,
    pub(crate) secrets: Secrets,
    pub(crate) log_directory: Option<PathBuf>,
    pub(crate) transport: Transport,
    pub(crate) probe_cache: Option<Arc<ProbeCache>>,
    pub(crate) pool: PoolOptions,
    /// How many CLIs wait for new sessions.
    pub(crate) spares: usize,
    pub(crate) crowded_wait: Option<Duration>,
    pub(crate) ask_timeout: Option<Duration>,
    pub(crate) retention: Retention,
}

impl Engine {
    /// An engine with the usual limits and the CLI of this machine.
    pub(crate) fn new(data_directory: PathBuf, roots: Vec<PathBuf>, environment: Environment) -> Self {
        Self {
            trust: Some(trust::file_in(&data_directory)),
            data_directory,
            roots,
            fence: None,
            tools: None,
            program: None,
            leading_args: Vec::new(),
            environment,
            secrets: Secrets::new(),
            log_directory: None,
            transport: Transport::Pipe,
            probe_cache: folders::probe_cache(),
            pool: PoolOptions::default(),
            spares: 0,
            crowded_wait: Some(Duration::from_secs(10 * 60)),
            ask_timeout: None,
            retention: Retention::default(),
        }
    }

    /// Opens the log and the host. The caller must hold the lock of the data folder.
    pub(crate) async fn open(&self) -> anyhow::Result<Host> {
        self.open_with(|_| None).await
    }

    /// Like [`Self::open`]; `first` may provide the options of a session.
    pub(crate) async fn open_with(
        &self,
        first: impl Fn(&SessionSettings) -> Option<SessionOptions> + Send + Sync + 'static,
    ) -> anyhow::Result<Host> {
        weir_base::file::create_private_folder(&self.data_directory)
            .with_context(|| format!("cannot create {}", self.data_directory.display()))?;
        if let Some(fence) = &self.fence {
            // If the requested sandbox is not available, nothing starts without it.
            fence.check().await?;
        }
        let sqlite = SqliteOptions {
            durability: Durability::Process,
            reserve: DEFAULT_RESERVE,
            ..SqliteOptions::default()
        };
        let store = SqliteStore::open(self.data_directory.join(DATABASE), &sqlite)?;
        let recipe = self.clone();
        let mut options = HostOptions::new(Arc::new(store), move |settings| {
            first(settings).unwrap_or_else(|| recipe.session(settings))
        });
        options.roots.clone_from(&self.roots);
        options.trust.clone_from(&self.trust);
        options.worktree_setups = Some(worktree::setups_in(&self.data_directory));
        options.pool = self.pool.clone();
        options.spares = self.spares;
        options.crowded_wait = self.crowded_wait;
        options.state_directory = Some(self.state());
        options.cli_config = self.cli_config();
        options.ask_timeout = self.ask_timeout;
        options.retention = self.retention;
        Ok(Host::open(options).await?)
    }

    /// Where the CLI keeps its sessions. In a sandbox it has a home of its own and finds none of them.
    fn cli_config(&self) -> Option<PathBuf> {
        if self.fence.is_some() {
            return None;
        }
        let variables = self.environment.resolve(std::env::vars_os());
        let folder =
            |name: &str| variables.get(OsStr::new(name)).filter(|value| !value.is_empty()).map(PathBuf::from);
        folder("CLAUDE_CONFIG_DIR").or_else(|| folder("HOME").map(|home| home.join(".claude")))
    }

    fn state(&self) -> PathBuf {
        self.data_directory.join("state")
    }

    /// The options that all sessions have in common.
    pub(crate) fn session(&self, settings: &SessionSettings) -> SessionOptions {
        let id = settings.id.to_string();
        let mut options = SessionOptions::new();
        options.sandbox = self.fence.as_ref().map(|fence| fence.around_root_of(&settings.cwd, &self.roots));
        options.spec.tools.clone_from(&self.tools);
        options.program.clone_from(&self.program);
        options.leading_args.clone_from(&self.leading_args);
        options.environment = self.environment.clone();
        options.secrets = self.secrets.clone();
        // A session without persistence keeps no raw log either.
        let folder = self.log_directory.as_ref().filter(|_| !settings.kept.spec.no_session_persistence);
        options.log = folder.map(|folder| LogOptions::new(folder, "serve", &id));
        options.transport = self.transport;
        options.probe_cache.clone_from(&self.probe_cache);
        options.state_directory = Some(self.state());
        options
    }
}
