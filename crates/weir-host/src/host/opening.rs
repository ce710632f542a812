//! Opening a host: what an earlier one left behind is put in order.

use std::path::Path;
use std::sync::Arc;

use weir_process::{Lock, StopOptions};
use weir_store::{Archived, ListOrder, ListQuery, Store};

use super::Host;
use crate::core::{Core, Keeper};
use crate::error::HostError;
use crate::info::SessionStatus;
use crate::options::HostOptions;

/// The status of a session whose history is still being copied.
pub(crate) const FORKING: &str = "forking";

impl Host {
    /// Opens a host. Processes that an earlier one left are ended, turns that ran are marked as interrupted, messages
    /// that were accepted and not given to the CLI are held.
    ///
    /// # Errors
    /// If another host works with the same state folder, or the log cannot be used.
    pub async fn open(mut options: HostOptions) -> Result<Self, HostError> {
        let lock = match &options.state_directory {
            Some(folder) => {
                let lock = Lock::acquire(&folder.join("locks").join("host.lock"), "this data folder")?;
                end_leftovers(folder).await?;
                Some(lock)
            }
            None => None,
        };
        let mut roots = Vec::new();
        for root in std::mem::take(&mut options.roots) {
            roots.push(
                resolved(&root)
                    .map_err(|error| HostError::Folder { cwd: root, reason: error.to_string() })?,
            );
        }
        options.roots = roots;
        let core = Arc::new(Core::new(options, lock));
        let host = Self { _keeper: Arc::new(Keeper(Arc::clone(&core))), core };
        host.close_what_was_open().await?;
        crate::retention::start(&host.core);
        crate::work::prepare_spares(&host.core);
        Ok(host)
    }

    /// Bringing a session into memory closes what its log leaves open; then it can go again.
    async fn close_what_was_open(&self) -> Result<(), HostError> {
        let store = &self.core.options.store;
        for session in with_status(&**store, FORKING).await? {
            store.delete(session).await?;
        }
        for status in SessionStatus::ALL.into_iter().filter(|status| status.is_busy()) {
            for id in with_status(&**store, status.as_str()).await? {
                match self.core.live(&id).await {
                    // Deleted in between, by another program.
                    Ok(_) | Err(HostError::NotFound(_)) => {}
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(())
    }
}

/// All sessions with this status. Collected first: looking at one changes the order.
async fn with_status(store: &dyn Store, status: &str) -> Result<Vec<weir_store::SessionId>, HostError> {
    let mut found = Vec::new();
    let mut order = ListOrder::Newest;
    loop {
        let query = ListQuery {
            archived: Archived::With,
            status: Some(status.to_owned()),
            order,
            ..ListQuery::default()
        };
        let page = store.list(query).await?;
        found.extend(page.sessions.iter().map(|session| session.id.clone()));
        match page.sessions.last() {
            Some(last) if page.more => order = ListOrder::NewestBefore(last.revision),
            _ => return Ok(found),
        }
    }
}

async fn end_leftovers(folder: &Path) -> Result<(), HostError> {
    let left = weir_process::leftovers(folder).map_err(|error| HostError::Leftovers(error.to_string()))?;
    let survivors = weir_process::end_leftovers(left, &StopOptions::default()).await;
    if survivors.is_empty() {
        return Ok(());
    }
    let pids: Vec<String> = survivors.iter().map(|process| process.pid.to_string()).collect();
    Err(HostError::Leftovers(format!("processes {} are still alive; end them by hand", pids.join(", "))))
}

/// The folder without links. Blocks for a moment.
pub(super) fn resolved(folder: &Path) -> std::io::Result<std::path::PathBuf> {
    let folder = folder.canonicalize()?;
    if !folder.is_dir() {
        return Err(std::io::Error::other("it is not a folder"));
    }
    Ok(folder)
}
