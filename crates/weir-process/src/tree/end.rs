//! Ends the members of a tree, giving them time to end by themselves.

use std::collections::BTreeSet;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::{ProcessId, Scan, Signal, Tree, UNCERTAIN_SCANS, send, sweep};

impl Tree {
    /// Scans the system, off the runtime's threads.
    pub(crate) async fn look(&mut self) -> Scan {
        // Works on a copy, so that known members are not lost if this future is dropped.
        let (tree, scan) = sweep::scan(self.clone()).await;
        *self = tree;
        scan
    }

    /// Ends all members: SIGTERM, after `terminate` SIGKILL, then waits up to `kill`. Returns how many there
    /// were, and which are still there.
    pub(crate) async fn end(&mut self, terminate: Duration, kill: Duration) -> (usize, Vec<ProcessId>) {
        let mut met = BTreeSet::new();
        if !terminate.is_zero()
            && self.signal_until_gone(Signal::Terminate, terminate, &mut met).await.is_empty()
        {
            return (met.len(), Vec::new());
        }
        let survivors = self.signal_until_gone(Signal::Kill, kill, &mut met).await;
        (met.len(), survivors)
    }

    /// Signals each member once and waits until none is left.
    async fn signal_until_gone(
        &mut self,
        signal: Signal,
        patience: Duration,
        met: &mut BTreeSet<ProcessId>,
    ) -> Vec<ProcessId> {
        let deadline = Instant::now() + patience;
        let mut pause = Duration::from_millis(2);
        let mut uncertain = 0;
        let mut signalled = BTreeSet::new();
        loop {
            let scan = self.look().await;
            let is_settled = !scan.is_uncertain || uncertain >= UNCERTAIN_SCANS;
            if scan.alive.is_empty() && is_settled {
                return Vec::new();
            }
            uncertain += usize::from(scan.alive.is_empty());
            for &id in &scan.alive {
                if signalled.insert(id) {
                    send(id, signal);
                }
                met.insert(id);
            }
            if Instant::now() >= deadline {
                return scan.alive;
            }
            sleep(pause).await;
            pause = (pause * 2).min(Duration::from_millis(50));
        }
    }
}
