//! Reaps children whose handle was dropped.
//!
//! Tokio reaps dropped children only when it happens to be notified of some child's end, and not at all once
//! its runtime is gone. This thread does it instead, and ends when nothing is left to reap.

use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use tokio::process::Child;

use crate::tree::{self, Tree};

/// A process that was sent SIGKILL.
enum Dying {
    /// A child of ours.
    Child(Child),
    /// Its descendants, some of which may become our children, see [`crate::adopt_orphans`].
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
    dying: Vec<Dying>,
    is_running: bool,
}

static WAITING: Mutex<Waiting> = Mutex::new(Waiting { dying: Vec::new(), is_running: false });

/// Reaps a killed child and its descendants, now or as soon as they have ended.
pub(crate) fn bury(child: Option<Child>, tree: &Tree) {
    let descendants = tree::is_adopting().then(|| Dying::Descendants(tree.clone()));
    let mut dying: Vec<Dying> = child.map(Dying::Child).into_iter().chain(descendants).collect();
    dying.retain_mut(|dying| !dying.try_reap());
    if dying.is_empty() {
        return;
    }
    let must_start = {
        let mut waiting = WAITING.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.dying.append(&mut dying);
        !std::mem::replace(&mut waiting.is_running, true)
    };
    if must_start && thread::Builder::new().name("weir-reaper".to_owned()).spawn(reap).is_err() {
        // Without a thread, the next child to be buried starts one. Meanwhile tokio may reap as well.
        WAITING.lock().unwrap_or_else(PoisonError::into_inner).is_running = false;
    }
}

fn reap() {
    let mut dying: Vec<Dying> = Vec::new();
    let mut pause = Duration::from_millis(1);
    loop {
        {
            let mut waiting = WAITING.lock().unwrap_or_else(PoisonError::into_inner);
            if !waiting.dying.is_empty() {
                pause = Duration::from_millis(1);
            }
            dying.append(&mut waiting.dying);
            if dying.is_empty() {
                waiting.is_running = false;
                return;
            }
        }
        dying.retain_mut(|dying| !dying.try_reap());
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
        bury(Some(child), &Tree::new(Some(id), Mark::random()));
        assert!(id.is_alive());
        drop(stdin);
        let reaped = async {
            while ProcessId::of(id.pid) == Some(id) {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(60), reaped).await.unwrap();
    }
}
