//! Options of a host. Programs, environments and folders come from here and never from a request.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use weir_session::{PoolOptions, SessionOptions};
use weir_store::Store;
use weir_trust::TrustFile;

use crate::retention::Retention;
use crate::settings::SessionSettings;
use crate::worktree_setup::WorktreeSetups;

/// Makes the options of a session: which program, with which environment, logs and limits. The host then applies the
/// session's settings (folder, model, tools, prompts) on top.
pub type Recipe = Arc<dyn Fn(&SessionSettings) -> SessionOptions + Send + Sync>;

/// Options of a host.
#[derive(Clone)]
#[non_exhaustive]
pub struct HostOptions {
    /// The log. For low latency open it with `Durability::Process`: acknowledged events then survive any end of this
    /// program, but a power loss may cost the newest ones.
    pub store: Arc<dyn Store>,
    /// Limits for processes.
    pub pool: PoolOptions,
    /// How many started CLIs wait for new sessions in any folder, so that their first answer comes sooner; each takes
    /// about 160 MB. They are not counted in `pool.max_processes`. None by default.
    pub spares: usize,
    /// Makes the options of a session.
    pub recipe: Recipe,
    /// Working directories must be inside one of these. If empty, no session can be created.
    pub roots: Vec<PathBuf>,
    /// The folders that a person has trusted. Without it, settings inside a folder are always ignored.
    pub trust: Option<Arc<TrustFile>>,
    /// What new worktrees of projects get.
    pub worktree_setups: Option<Arc<WorktreeSetups>>,
    /// The home folder of the CLI's owner: settings there are that person's own.
    pub home: Option<PathBuf>,
    /// The CLI's own folder, with the transcripts of its sessions. Without it, none of them can be continued here.
    pub cli_config: Option<PathBuf>,
    /// A folder for locks and for the list of live processes. If set, processes left by an earlier host are ended when
    /// this one opens, and a second host on the same folder is refused.
    pub state_directory: Option<PathBuf>,
    /// How long a person may take to answer a request before it is denied. None waits for ever. A session may have a
    /// shorter time of its own, see [`crate::NewSession::ask_timeout_s`].
    pub ask_timeout: Option<Duration>,
    /// If more sessions wait for a person than `pool.max_awaiting` and others wait for a process: how long the session
    /// that has waited longest may keep its process. After that its requests are denied and its turn ends. With none
    /// it keeps the process for ever, and the others wait for ever.
    pub crowded_wait: Option<Duration>,
    /// Maximum number of queued messages of a session.
    pub max_queued: usize,
    /// Maximum size of a message with what is attached to it, in bytes.
    pub max_message_bytes: usize,
    /// Maximum number of sessions that wait for a process.
    pub max_waiting: usize,
    /// Maximum number of bytes queued for one viewer. A viewer that falls further behind is closed.
    pub viewer_bytes: usize,
    /// Maximum number of viewers of one session.
    pub max_viewers: usize,
    /// How many entries a view holds; the rest is paged from the log.
    pub keep_entries: usize,
    /// Number of events between two checkpoints of a log. A log is read faster from a checkpoint.
    pub checkpoint_every: u64,
    /// Which sessions are removed automatically, and when. By default none are.
    pub retention: Retention,
    /// The message to the agent when a turn that was interrupted by a restart is resumed.
    pub resume_prompt: String,
}

impl HostOptions {
    /// Default options for a host with this log and this recipe.
    pub fn new(
        store: Arc<dyn Store>,
        recipe: impl Fn(&SessionSettings) -> SessionOptions + Send + Sync + 'static,
    ) -> Self {
        Self {
            store,
            pool: PoolOptions::default(),
            spares: 0,
            recipe: Arc::new(recipe),
            roots: Vec::new(),
            trust: None,
            worktree_setups: None,
            home: std::env::home_dir().and_then(|home| home.canonicalize().ok()),
            cli_config: None,
            state_directory: None,
            ask_timeout: None,
            crowded_wait: Some(Duration::from_secs(10 * 60)),
            max_queued: 100,
            max_message_bytes: 32 << 20,
            max_waiting: 64,
            viewer_bytes: 8 << 20,
            max_viewers: 2000,
            keep_entries: 200,
            checkpoint_every: 4096,
            retention: Retention::default(),
            resume_prompt: "The program that runs you was restarted while you worked. Look at what is done \
                            already and continue where you left off."
                .to_owned(),
        }
    }

    weir_base::setters! {
        /// Limits the processes.
        pool: PoolOptions = std::convert::identity;
        /// Sets how many started CLIs wait for new sessions in any folder.
        spares: usize = std::convert::identity;
        /// Loads the settings of folders that a person has trusted.
        trust: Arc<TrustFile> = Some;
        /// Sets what new worktrees of projects get.
        worktree_setups: Arc<WorktreeSetups> = Some;
        /// Sets the home folder of the CLI's owner.
        home: Option<PathBuf> = std::convert::identity;
        /// Sets the CLI's own folder, whose sessions can be continued here.
        cli_config: PathBuf = Some;
        /// Keeps locks and the list of live processes here.
        state_directory: PathBuf = Some;
        /// Sets how long a person may take to answer a request; for ever with `None`.
        ask_timeout: Option<Duration> = std::convert::identity;
        /// Sets how long the session that has waited longest for a person keeps its process while others need one.
        crowded_wait: Option<Duration> = std::convert::identity;
        /// Limits the queued messages of a session.
        max_queued: usize = std::convert::identity;
        /// Limits the size of a message with what is attached to it, in bytes.
        max_message_bytes: usize = std::convert::identity;
        /// Limits the sessions that wait for a process.
        max_waiting: usize = std::convert::identity;
        /// Limits the bytes queued for one viewer.
        viewer_bytes: usize = std::convert::identity;
        /// Limits the viewers of one session.
        max_viewers: usize = std::convert::identity;
        /// Sets how many entries a view holds.
        keep_entries: usize = std::convert::identity;
        /// Sets the number of events between two checkpoints of a log.
        checkpoint_every: u64 = std::convert::identity;
        /// Sets which sessions are removed automatically.
        retention: Retention = std::convert::identity;
        /// Sets the message that resumes a turn after a restart.
        resume_prompt: String = std::convert::identity;
    }

    /// Allows working directories inside this one.
    #[must_use]
    pub fn root(mut self, root: impl Into<PathBuf>) -> Self {
        self.roots.push(root.into());
        self
    }
}

impl std::fmt::Debug for HostOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HostOptions")
            .field("pool", &self.pool)
            .field("roots", &self.roots)
            .field("state_directory", &self.state_directory)
            .finish_non_exhaustive()
    }
}
