//! Reaps children whose handle was dropped, and says when nothing of them is left.
//!
//! Tokio reaps dropped children only when it happens to be notified of some child's end, and not at all once
//! its runtime is gone. This thread does it instead, and ends when nothing is left to reap.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use tokio::process::Child;
use tokio::sync::Notify;

use crate::tree::Tree;

/// A process that was sent SIGKILL.
enum Dying {
    /// A child of ours.
    Child(Child),
    /// Its descendants, also killed. Some may become our children, see [`crate::adopt_orphans`].
    Descendants(Tree),
}

impl Dying {
    /// Reaps it if it has ended. Returns whether it is gone.
    fn try_reap(&mut self) -> bool {
        match self {
            Self::Child(child) => !matches!(child.try_wait(), Ok(None)),
            Self::Descendants(tree) => {
                let scan = tree.scan_now();
                scan.alive.is_empty() && scan.adopted_zombies.is_empty()
            }
        }
    }
}

struct Waiting {
    dying: Vec<(u64, Dying)>,
    is_running: bool,
    /// The number of the next one.
    next: u64,
    /// The numbers of those that are not known to be gone.
    left: BTreeSet<u64>,
}

static WAITING: Mutex<Waiting> =
    Mutex::new(Waiting { dying: Vec::new(), is_running: false, next: 0, left: BTreeSet::new() });

/// Notified whenever one is gone.
static GONE: Notify = Notify::const_new();

fn lock() -> MutexGuard<'static, Waiting> {
    // No statement under the lock can panic halfway.
    WAITING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Reaps a killed child, now or as soon as it has ended, and its killed descendants.
pub(crate) fn bury(child: Option<Child>, descendants: Option<Tree>) {
    let descendants = descendants.map(Dying::Descendants);
    let mut dying: Vec<Dying> = child.map(Dying::Child).into_iter().chain(descendants).collect();
    dying.retain_mut(|dying| !dying.try_reap());
    if dying.is_empty() {
        return;
    }
    let must_start = {
        let mut waiting = lock();
        for dying in dying {
            let number = waiting.next;
            waiting.next += 1;
            waiting.left.insert(number);
            waiting.dying.push((number, dying));
        }
        !std::mem::replace(&mut waiting.is_running, true)
    };
    if must_start && thread::Builder::new().name("weir-reaper".to_owned()).spawn(reap).is_err() {
        // Without a thread, the next child to be buried starts one. Meanwhile tokio may reap as well.
        lock().is_running = false;
    }
}

/// Waits until everything is gone that was killed because its handle was dropped before this call: a process that was sent
/// SIGKILL is there until it has run once more, which takes a while on a busy machine. Gives up after `patience`, and
/// returns whether everything is gone.
pub async fn buried(patience: Duration) -> bool {
    let end = lock().next;
    let gone = async {
        loop {
            let mut next = std::pin::pin!(GONE.notified());
            // Registered before the check, so that nothing in between is missed.
            next.as_mut().enable();
            if lock().left.range(..end).next().is_none() {
                return;
            }
            next.await;
        }
    };
    tokio::time::timeout(patience, gone).await.is_ok()
}

fn reap() {
    let mut dying: Vec<(u64, Dying)> = Vec::new();
    let mut pause = Duration::from_millis(1);
    loop {
        {
            let mut waiting = lock();
            if !waiting.dying.is_empty() {
                pause = Duration::from_millis(1);
            }
            dying.append(&mut waiting.dying);
            if dying.is_empty() {
                waiting.is_running = false;
                return;
            }
        }
        dying.retain_mut(|(number, dying)| {
            let is_gone = dying.try_reap();
            if is_gone {
                lock().left.remove(number);
                GONE.notify_waiters();
            }
            !is_gone
        });
        if dying.is_empty() {
            continue;
        }
        // They were sent SIGKILL, so this takes milliseconds, or as long as the kernel holds one of them.
        thread::park_timeout(pause);
        pause = (pause * 2).min(Duration::from_secs(1));
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use std::process::Stdio;

    use super::*;
    use crate::mark::Mark;
    use crate::tree::ProcessId;

    #[tokio::test]
    async fn a_slow_child_is_still_reaped() {
        #[expect(clippy::disallowed_methods, reason = "the test needs a child that is not ours")]
        let mut command = tokio::process::Command::new("/bin/cat");
        let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
        let stdin = child.stdin.take();
        let id = child.id().and_then(ProcessId::of).unwrap();
        bury(Some(child), Some(Tree::new(Some(id), Mark::random())));
        assert!(!buried(Duration::from_millis(20)).await && id.is_alive());
        drop(stdin);
        assert!(buried(Duration::from_secs(60)).await);
        assert_eq!(ProcessId::of(id.pid), None);
        assert!(buried(Duration::ZERO).await, "nothing is left");
    }
}
