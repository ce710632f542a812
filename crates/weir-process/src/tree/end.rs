//! Ends the members of a tree, with a little patience.

use std::collections::BTreeSet;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::{ProcessId, Scan, Signal, Tree, UNCERTAIN_LOOKS, send, sweep};

impl Tree {
    /// Looks at the system, off the runtime's threads.
    pub(crate) async fn look(&mut self) -> Scan {
        // A copy, so that nothing that is known gets lost when this future is dropped.
        let (tree, scan) = sweep::scan(self.clone()).await;
        *self = tree;
        scan
    }

    /// Ends all members: SIGTERM, `terminate` later SIGKILL, and then waits for `kill` at most. Gives how many there
    /// were, and who is still there.
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

    /// Signals each member once and waits until there is none.
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
            let is_settled = !scan.is_uncertain || uncertain >= UNCERTAIN_LOOKS;
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
