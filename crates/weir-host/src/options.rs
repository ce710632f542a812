//! What a host works with. Programs, environments and folders come from here and never from a request.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use weir_session::{PoolOptions, SessionOptions};
use weir_store::Store;
use weir_trust::TrustFile;

use crate::retention::Retention;
use crate::settings::SessionSettings;

/// Makes the options of a session: which program, with which environment, logs and limits. What the settings say
/// (folder, model, tools, prompts) is put on top by the host.
pub type Recipe = Arc<dyn Fn(&SessionSettings) -> SessionOptions + Send + Sync>;

/// What a host works with.
#[derive(Clone)]
#[non_exhaustive]
pub struct HostOptions {
    /// The log. For low latency open it with `Durability::Process`: what was acknowledged then survives the end of
    /// this program, however it ends, and a loss of power may cost the newest events.
    pub store: Arc<dyn Store>,
    /// Who may have a process.
    pub pool: PoolOptions,
    /// Makes the options of a session.
    pub recipe: Recipe,
    /// Working directories must lie below one of these. Without any, no session can be created.
    pub roots: Vec<PathBuf>,
    /// Which folders a person has trusted. Without it, the settings that lie in a folder never count.
    pub trust: Option<Arc<TrustFile>>,
    /// The home folder of the person whose CLI it is: settings there are the person's own.
    pub home: Option<PathBuf>,
    /// A folder for locks and for the list of live processes. With one, processes that an earlier host left are ended
    /// when this one opens, and a second host on the same folder is refused.
    pub state_directory: Option<PathBuf>,
    /// How long a person may take to answer; after that it is denied. None waits for ever. A session may have a
    /// shorter time of its own, see [`crate::NewSession::ask_timeout_s`].
    pub ask_timeout: Option<Duration>,
    /// If more sessions wait for a person than `pool.max_awaiting` and others wait for a process: how long the one that
    /// has waited longest may keep its process. After that what it asked is denied and its turn ends. With none it
    /// keeps the process for ever, and the others wait for ever.
    pub crowded_wait: Option<Duration>,
    /// Most messages of a session that wait.
    pub most_queued: usize,
    /// Longest message with its pictures, in bytes.
    pub most_message_bytes: usize,
    /// Most sessions that wait for a process.
    pub most_waiting: usize,
    /// Most bytes that wait for one viewer. One that is slower is closed.
    pub viewer_bytes: usize,
    /// Most viewers of one session.
    pub most_viewers: usize,
    /// How many entries a view holds; the rest is paged from the log.
    pub keep_entries: usize,
    /// After how many events of a log a checkpoint is kept, from which it is read faster the next time.
    pub checkpoint_every: u64,
    /// Which sessions are removed by themselves, and when. None are, unless something is set.
    pub retention: Retention,
    /// What the agent is told when a turn that was interrupted by a restart is resumed.
    pub resume_prompt: String,
}

impl HostOptions {
    /// A host on this log whose sessions are made by this recipe.
    pub fn new(
        store: Arc<dyn Store>,
        recipe: impl Fn(&SessionSettings) -> SessionOptions + Send + Sync + 'static,
    ) -> Self {
        Self {
            store,
            pool: PoolOptions::default(),
            recipe: Arc::new(recipe),
            roots: Vec::new(),
            trust: None,
            home: std::env::home_dir().and_then(|home| home.canonicalize().ok()),
            state_directory: None,
            ask_timeout: None,
            crowded_wait: Some(Duration::from_secs(10 * 60)),
            most_queued: 100,
            most_message_bytes: 32 << 20,
            most_waiting: 64,
            viewer_bytes: 8 << 20,
            most_viewers: 2000,
            keep_entries: 200,
            checkpoint_every: 4096,
            retention: Retention::default(),
            resume_prompt: "The program that runs you was restarted while you worked. Look at what is done \
                            already and continue where you left off."
                .to_owned(),
        }
    }

    /// Allows working directories below this one.
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
