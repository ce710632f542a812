//! The life of a process: waiting for its end, and bringing it about.

use std::sync::Arc;

use tokio::task::AbortHandle;

use crate::child::ChildLife;
use crate::exit::{Exit, StopOptions, StopReport};
use crate::memory::MemoryLife;
use crate::stderr;
use crate::tree::{ProcessId, Signal};

/// The life of a process.
///
/// Dropping it kills the process and all its descendants at once, unless [`Handle::stop`] has ended them before.
#[derive(Debug)]
pub struct Handle {
    life: Life,
    stderr: Arc<stderr::Shared>,
    drain: Option<AbortHandle>,
}

#[derive(Debug)]
enum Life {
    Child(Box<ChildLife>),
    Memory(MemoryLife),
}

impl Handle {
    pub(crate) fn child(life: ChildLife, stderr: Arc<stderr::Shared>) -> Self {
        let drain = tokio::spawn(Arc::clone(&stderr).drain()).abort_handle();
        Self { life: Life::Child(Box::new(life)), stderr, drain: Some(drain) }
    }

    pub(crate) fn memory(life: MemoryLife, stderr: Arc<stderr::Shared>) -> Self {
        Self { life: Life::Memory(life), stderr, drain: None }
    }

    /// The process, for as long as it is certain that the pid is still its own and also later. `None` for one that
    /// is played by a test.
    pub fn id(&self) -> Option<ProcessId> {
        match &self.life {
            Life::Child(life) => life.id(),
            Life::Memory(_) => None,
        }
    }

    /// Its pid. `None` for a process that is played by a test.
    pub fn pid(&self) -> Option<u32> {
        self.id().map(|id| id.pid)
    }

    /// Waits for the end. Cancel safe, and can be called again: the answer stays the same.
    ///
    /// The output need not have ended then: a tool that the CLI has left behind can hold it open. Call
    /// [`Handle::stop`], and then read the output to its end.
    pub async fn wait(&mut self) -> Exit {
        match &mut self.life {
            Life::Child(life) => life.wait().await,
            // Boxed, so that what only tests need makes no real session larger.
            Life::Memory(life) => Box::pin(life.wait()).await,
        }
    }

    /// How it ended, if it has.
    pub fn try_wait(&mut self) -> Option<Exit> {
        match &mut self.life {
            Life::Child(life) => life.try_wait(),
            Life::Memory(life) => life.exit(),
        }
    }

    /// The last 64 KiB of its diagnostics, with everything that it had written by now.
    pub fn stderr_tail(&self) -> String {
        self.stderr.tail()
    }

    /// Sends SIGINT to the CLI alone. `false` if it has ended.
    pub fn interrupt_signal(&mut self) -> bool {
        self.signal(Signal::Interrupt)
    }

    /// Sends SIGTERM to the CLI alone, which then ends its tools itself. `false` if it has ended.
    pub fn terminate(&mut self) -> bool {
        self.signal(Signal::Terminate)
    }

    /// Sends SIGKILL to the CLI alone. `false` if it has ended. Its tools live on until [`Handle::stop`] or
    /// [`Handle::kill_tree`].
    pub fn kill(&mut self) -> bool {
        self.signal(Signal::Kill)
    }

    fn signal(&mut self, signal: Signal) -> bool {
        match &mut self.life {
            Life::Child(life) => life.signal(signal),
            Life::Memory(life) => life.signal(signal),
        }
    }

    /// Ends the process and everything it started, step by step: waits `grace` for it to end by itself (close its
    /// input before), then SIGTERM, then SIGKILL; then the same, in short, for descendants that are left.
    ///
    /// When this returns, the process is reaped and no descendant is alive, unless the report names survivors.
    /// Can be called for a process that has ended already, and should be: its descendants may have not. If the
    /// future is dropped, call it again or drop the handle.
    pub async fn stop(&mut self, options: &StopOptions) -> StopReport {
        match &mut self.life {
            Life::Child(life) => life.stop(options).await,
            Life::Memory(life) => life.stop(options).await,
        }
    }

    /// Kills the process and all its descendants, at once and without waiting. Reaping is left to [`Handle::wait`],
    /// [`Handle::stop`] or drop.
    pub fn kill_tree(&mut self) {
        match &mut self.life {
            Life::Child(life) => life.kill_tree(),
            Life::Memory(life) => {
                life.signal(Signal::Kill);
            }
        }
    }

    /// Whether the process and all its descendants have ended, as far as the last look says.
    pub fn is_clean(&self) -> bool {
        match &self.life {
            Life::Child(life) => life.is_clean(),
            Life::Memory(life) => life.exit().is_some(),
        }
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        if let Life::Child(life) = &mut self.life {
            life.abandon();
        }
        // What was written before the end is in the pipe.
        self.stderr.read_available();
        if let Some(drain) = &self.drain {
            drain.abort();
        }
    }
}
