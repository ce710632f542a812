//! The host: what programs use.

mod browse;
mod cli;
mod client_tools;
mod control;
mod folders;
mod limits;
mod messages;
mod opening;
mod panels;
mod past;
mod queue;
mod reading;
mod reviews;
mod rewind;
mod sessions;
mod watching;
mod worktrees;

pub use browse::{FolderEntry, FolderListing, GitState};
pub(crate) use cli::LastReport;
pub use cli::{CliReport, CliState};
pub use folders::FolderReport;
pub(crate) use folders::trusted_seal;
pub use limits::ChangeLimits;
pub(crate) use opening::FORKING;
pub use past::{Adoption, PastSession, PastWork};
pub use queue::ChangeMessage;
pub use reviews::{revert, review};
pub use worktrees::{NewWorktree, RemovedWorktree, WorktreeInfo};

use std::sync::Arc;
use std::time::Duration;

use weir_store::{SessionId, SessionUpdate, Space, Usage};

use crate::billing::Billing;
use crate::core::{Core, Keeper};
use crate::error::HostError;
use crate::hub::WatchAll;
use crate::info::SessionStatus;
use crate::item::{Item, Note};
use crate::metrics::HostMetrics;
use crate::options::HostOptions;
use crate::policy::Policy;
use crate::viewer::Bye;

/// Sessions that outlive their processes. Cloning it gives another handle to the same host.
///
/// [`Host::shut_down`] is the orderly end. If the last handle is dropped without it, processes are ended at once.
///
/// ```no_run
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use std::sync::Arc;
/// use weir_host::{Actor, Host, HostOptions, NewMessage, NewSession};
/// use weir_session::SessionOptions;
/// use weir_store::{SqliteOptions, SqliteStore};
///
/// let store = SqliteStore::open("weir.db", &SqliteOptions::default())?;
/// let host = Host::open(HostOptions::new(Arc::new(store), |_| SessionOptions::new()).root("/projects")).await?;
/// let me = Actor::new("me");
/// let session = host.create(NewSession::new("/projects/demo"), &me).await?.session;
/// let id = session.id.parse()?;
/// let accepted = host.send(&id, NewMessage::text("What is a weir?"), &me).await?;
/// let answer = host.finished(&id, &accepted.message_id).await?;
/// println!("{}", answer.text);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Host {
    core: Arc<Core>,
    _keeper: Arc<Keeper>,
}

impl Host {
    /// The options that it was opened with.
    pub fn options(&self) -> &HostOptions {
        &self.core.options
    }

    /// Lets this billing pay for messages whose sender has an account, see [`crate::Actor::account`]. The first one
    /// counts; says whether it was this one. Without one, such messages are refused when they are handed over.
    pub fn set_billing(&self, billing: Arc<dyn Billing>) -> bool {
        self.core.billing.set(billing).is_ok()
    }

    /// Lets this policy narrow sessions before they get a process. The first one counts; says whether it was this one.
    pub fn set_policy(&self, policy: Arc<dyn Policy>) -> bool {
        self.core.policy.set(policy).is_ok()
    }

    /// Identifies the log. Cursors of another log are not valid here.
    pub fn epoch(&self) -> &str {
        self.core.options.store.epoch()
    }

    /// Whether the log has space to grow.
    pub fn space(&self) -> Space {
        self.core.options.store.space()
    }

    /// What the log takes.
    ///
    /// # Errors
    /// If it cannot be read.
    pub async fn usage(&self) -> Result<Usage, HostError> {
        Ok(self.core.options.store.usage().await?)
    }

    /// Watches all sessions. Subscribe first, then list.
    pub fn watch_all(&self) -> WatchAll {
        self.core.hub.watch()
    }

    /// Metrics of the host.
    pub fn metrics(&self) -> HostMetrics {
        let mut numbers = self.core.counters.numbers();
        numbers.sessions = SessionStatus::ALL.map(|status| (status, 0)).into();
        for live in self.core.all_present() {
            let info = live.info();
            numbers.viewers += live.viewers() as u64;
            numbers.processes += u64::from(info.has_process);
            numbers.awaiting_person += u64::from(info.has_process && info.status == SessionStatus::Waiting);
            if let Some((_, count)) = numbers.sessions.iter_mut().find(|(status, _)| *status == info.status) {
                *count += 1;
            }
        }
        numbers.max_processes = self.core.options.pool.max_processes as u64;
        numbers.max_awaiting_person = self.core.options.pool.max_awaiting as u64;
        numbers.spare_processes = (self.core.pool.live_spares() + self.core.spares.ready()) as u64;
        numbers.sessions_from_spares = self.core.spares.taken();
        (numbers.checkpoints_running, numbers.checkpoints) = self.core.checkpoints.numbers();
        numbers.list_viewers = self.core.hub.watchers() as u64;
        numbers
    }

    /// How many sessions wait for a process. Cheap, unlike all the numbers together.
    pub fn waiting_for_process(&self) -> u64 {
        self.core.counters.waiting_for_process.load(std::sync::atomic::Ordering::Relaxed)
    }

    /// Whether it is being shut down.
    pub fn is_shutting_down(&self) -> bool {
        self.core.is_shutting_down()
    }

    /// Takes no more messages, lets running turns end until `patience` is over, ends all processes, and tells viewers.
    /// Messages that wait are held for the next start.
    pub async fn shut_down(&self, patience: Duration) {
        self.core.shut_down();
        let deadline = tokio::time::Instant::now() + patience;
        for live in self.core.all_present() {
            let at_rest = live.until(|state| (!state.log.is_at_work(&state.view)).then_some(()));
            if tokio::time::timeout_at(deadline, at_rest).await.is_err() {
                // What is cut off can be resumed.
                let note = Item::Note(Note::Restarted { turn: true });
                drop(live.recorder.record(vec![note], SessionUpdate::default()));
            }
        }
        self.core.pool.shut_down(Duration::ZERO).await;
        for live in self.core.all_present() {
            // The last output of the processes must be in the log. If the log fails, all callers have been told.
            let _ = live.recorder.recorded(Vec::new(), SessionUpdate::default()).await;
            live.say_bye(Bye::Shutdown);
        }
        self.core.hub.close();
        self.core.close();
    }

    /// Runs work to its end, even if the caller goes away.
    async fn to_the_end<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, HostError>> + Send + 'static,
    ) -> Result<T, HostError> {
        tokio::spawn(work).await.map_err(|error| HostError::Failed(error.to_string()))?
    }

    /// Runs blocking work.
    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Core) -> Result<T, HostError> + Send + 'static,
    ) -> Result<T, HostError> {
        let core = Arc::clone(&self.core);
        let work = tokio::task::spawn_blocking(move || work(&core));
        work.await.map_err(|error| HostError::Failed(error.to_string()))?
    }

    fn check_open(&self) -> Result<(), HostError> {
        if self.core.is_shutting_down() { Err(HostError::ShuttingDown) } else { Ok(()) }
    }

    async fn row(&self, id: &SessionId) -> Result<weir_store::StoredSession, HostError> {
        let found = self.core.options.store.find(weir_store::Lookup::Id(id.clone())).await?;
        found.ok_or_else(|| HostError::NotFound(id.clone()))
    }
}
