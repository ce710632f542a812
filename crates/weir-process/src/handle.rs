//! Lifetime of a process: waiting for it to end, and stopping it.

use std::sync::Arc;

use tokio::task::AbortHandle;

use crate::child::ChildLife;
use crate::exit::{Exit, StopOptions, StopReport};
use crate::memory::MemoryLife;
use crate::stderr;
use crate::tree::{ProcessId, Signal};

/// Controls the lifetime of a process.
///
/// Dropping it kills the process and all its descendants at once, unless [`Handle::stop`] has already ended
/// them. [`crate::buried`] waits until they are gone.
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

    /// Identity of the process, still valid after it has ended. `None` for a process played by a test.
    pub fn id(&self) -> Option<ProcessId> {
        match &self.life {
            Life::Child(life) => life.id(),
            Life::Memory(_) => None,
        }
    }

    /// The pid. `None` for a process played by a test.
    pub fn pid(&self) -> Option<u32> {
        self.id().map(|id| id.pid)
    }

    /// Waits for the process to end. Cancel safe, and can be called again with the same result.
    ///
    /// The output may still be open at that point: a tool that the CLI left behind can hold it. Call
    /// [`Handle::stop`], then read the output to its end.
    pub async fn wait(&mut self) -> Exit {
        match &mut self.life {
            Life::Child(life) => life.wait().await,
            // Boxed, so that code only tests need does not make real sessions larger.
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

    /// The last 64 KiB of its diagnostics, including everything written so far.
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

    /// Sends SIGKILL to the CLI alone. `false` if it has ended. Its tools keep running until [`Handle::stop`]
    /// or [`Handle::kill_tree`].
    pub fn kill(&mut self) -> bool {
        self.signal(Signal::Kill)
    }

    fn signal(&mut self, signal: Signal) -> bool {
        match &mut self.life {
            Life::Child(life) => life.signal(signal),
            Life::Memory(life) => life.signal(signal),
        }
    }

    /// Ends the process and everything it started, step by step: waits `grace` for it to end by itself (close
    /// its input first), then SIGTERM, then SIGKILL; then does the same, with shorter waits, for remaining
    /// descendants.
    ///
    /// When this returns, the process is reaped and no descendant is alive, unless the report lists survivors.
    /// It can and should also be called for a process that has already ended, since its descendants may not
    /// have. If the future is dropped, call it again or drop the handle.
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
            Life::Child(life) => {
                life.kill_tree();
            }
            Life::Memory(life) => {
                life.signal(Signal::Kill);
            }
        }
    }

    /// Whether the process and all its descendants had ended at the last check.
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
        // Everything written before the end is still in the pipe.
        self.stderr.read_available();
        if let Some(drain) = &self.drain {
            drain.abort();
        }
    }
}
