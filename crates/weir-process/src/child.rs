//! Lifetime of a real process: the stop ladder, and ending its descendants.

use std::time::Duration;

use tokio::process::Child;
use tokio::time::timeout;

use crate::exit::{Exit, StopOptions, StopReport, StopStep};
use crate::reaper;
use crate::registry::Record;
use crate::tree::{self, ProcessId, Signal, Tree};

#[cfg(unix)]
use crate::unix as platform;
#[cfg(windows)]
use crate::windows as platform;

/// Lifetime of a real process. Dropping it ends the process and all its descendants.
#[derive(Debug)]
pub(crate) struct ChildLife {
    /// `None` once abandoned.
    child: Option<Child>,
    id: Option<ProcessId>,
    group: platform::Group,
    tree: Tree,
    exit: Option<Exit>,
    /// Whether all descendants are known to have ended.
    is_clean: bool,
    /// Removed once nothing is left, or everything was killed.
    record: Option<Record>,
}

impl Drop for ChildLife {
    fn drop(&mut self) {
        self.abandon();
    }
}

impl ChildLife {
    pub(crate) fn new(
        child: Child,
        id: Option<ProcessId>,
        group: platform::Group,
        tree: Tree,
        record: Option<Record>,
    ) -> Self {
        Self { child: Some(child), id, group, tree, exit: None, is_clean: false, record }
    }

    pub(crate) fn id(&self) -> Option<ProcessId> {
        self.id
    }

    pub(crate) fn is_clean(&self) -> bool {
        self.is_clean
    }

    /// Records that the process is known to leave nothing behind, if it has ended.
    pub(crate) fn set_clean(&mut self) {
        if self.exit.is_some() {
            self.is_clean = true;
            self.record = None;
        }
    }

    pub(crate) async fn wait(&mut self) -> Exit {
        if let Some(exit) = self.exit {
            return exit;
        }
        let exit = match &mut self.child {
            // An error means that the child was reaped elsewhere, so it has ended too.
            Some(child) => child.wait().await.map_or_else(|_| Exit::default(), Exit::from),
            None => Exit::default(),
        };
        self.exit = Some(exit);
        exit
    }

    pub(crate) fn try_wait(&mut self) -> Option<Exit> {
        if self.exit.is_none()
            && let Some(child) = &mut self.child
        {
            self.exit = match child.try_wait() {
                Ok(status) => status.map(Exit::from),
                Err(_) => Some(Exit::default()),
            };
        }
        self.exit
    }

    pub(crate) fn signal(&mut self, signal: Signal) -> bool {
        if self.try_wait().is_some() {
            return false;
        }
        let Some(child) = &mut self.child else { return false };
        match (signal, child.id()) {
            (Signal::Kill, _) => child.start_kill().is_ok(),
            // Not reaped yet, so the pid is still its own.
            (Signal::Interrupt | Signal::Terminate, Some(pid)) => platform::signal(pid, signal),
            (Signal::Interrupt | Signal::Terminate, None) => false,
        }
    }

    pub(crate) async fn stop(&mut self, options: &StopOptions) -> StopReport {
        let (exit, step) = self.end(options).await;
        let (descendants, survivors) = self.end_descendants(options).await;
        if survivors.is_empty() && self.exit.is_some() {
            self.is_clean = true;
            self.record = None;
        }
        StopReport { exit, step, descendants, survivors }
    }

    /// The steps of the ladder that concern the CLI itself.
    async fn end(&mut self, options: &StopOptions) -> (Exit, StopStep) {
        if let Some(exit) = self.try_wait() {
            return (exit, StopStep::Ended);
        }
        // Find descendants while their parents are alive: afterwards ancestry reveals nothing.
        self.tree.look().await;
        if let Some(exit) = self.wait_for(options.grace).await {
            return (exit, StopStep::Ended);
        }
        if !options.terminate.is_zero() {
            self.tree.look().await;
            self.signal(Signal::Terminate);
            if let Some(exit) = self.wait_for(options.terminate).await {
                return (exit, StopStep::Terminated);
            }
        }
        self.tree.look().await;
        self.kill();
        // A process that hangs in the kernel is reported as a survivor.
        let exit = self.wait_for(options.kill).await.unwrap_or_default();
        (exit, StopStep::Killed)
    }

    async fn wait_for(&mut self, patience: Duration) -> Option<Exit> {
        timeout(patience, self.wait()).await.ok()
    }

    /// Ends what the CLI has left behind. Returns how many processes there were, and which survived.
    async fn end_descendants(&mut self, options: &StopOptions) -> (usize, Vec<ProcessId>) {
        let (met, mut survivors) = self.tree.end(options.descendants, options.kill).await;
        if self.exit.is_none() {
            survivors.extend(self.id);
        }
        (met, survivors)
    }

    /// Returns whether any descendant was killed.
    pub(crate) fn kill_tree(&mut self) -> bool {
        self.tree.scan_now();
        self.kill();
        !self.tree.kill_now().is_empty()
    }

    /// Kills the process and its group.
    fn kill(&mut self) {
        if self.try_wait().is_none() {
            self.group.kill();
            self.signal(Signal::Kill);
        }
    }

    /// Kills everything that is left, and hands reaping over to the reaper thread.
    pub(crate) fn abandon(&mut self) {
        if self.is_clean {
            return;
        }
        let has_descendants = self.kill_tree();
        let child = self.child.take().filter(|_| self.exit.is_none());
        // Zombies may become our children, see `adopt_orphans`.
        let must_look = has_descendants || tree::is_adopting();
        reaper::bury(child, must_look.then(|| self.tree.clone()));
        self.record = None;
    }
}
