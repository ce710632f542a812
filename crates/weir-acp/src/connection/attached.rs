//! A session that an editor has opened: the task that follows it, and the prompts that the editor waits for.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use tokio::sync::{Notify, mpsc, oneshot};
use tokio::task::AbortHandle;
use weir_host::SessionId;
use weir_wire::MessageId;

/// A session that an editor has opened.
#[derive(Debug)]
pub(crate) struct Attached {
    pub(crate) id: SessionId,
    /// Messages of this editor, which shows them by itself. Locked while one is being sent, so that the task that
    /// follows the session does not tell of it before it is in here.
    pub(crate) own: tokio::sync::Mutex<HashSet<MessageId>>,
    prompts: Mutex<Vec<Arc<Prompt>>>,
    flushes: mpsc::UnboundedSender<oneshot::Sender<()>>,
    task: OnceLock<AbortHandle>,
}

/// A prompt that the editor waits for.
#[derive(Debug, Default)]
pub(crate) struct Prompt {
    is_cancelled: AtomicBool,
    cancelled: Notify,
}

impl Prompt {
    /// Notes that the editor wants it to end.
    pub(crate) fn cancel(&self) {
        self.is_cancelled.store(true, Ordering::SeqCst);
        self.cancelled.notify_one();
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.is_cancelled.load(Ordering::SeqCst)
    }

    /// Waits for the cancellation. Cancel safe.
    pub(crate) async fn cancelled(&self) {
        while !self.is_cancelled() {
            self.cancelled.notified().await;
        }
    }
}

impl Attached {
    /// A session without its task, and what the task gets.
    pub(crate) fn new(id: SessionId) -> (Arc<Self>, mpsc::UnboundedReceiver<oneshot::Sender<()>>) {
        let (flushes, receiver) = mpsc::unbounded_channel();
        let attached = Self {
            id,
            own: tokio::sync::Mutex::default(),
            prompts: Mutex::default(),
            flushes,
            task: OnceLock::new(),
        };
        (Arc::new(attached), receiver)
    }

    /// Remembers the task that follows the session.
    pub(crate) fn followed_by(&self, task: AbortHandle) {
        // There is only one.
        let _ = self.task.set(task);
    }

    /// Whether the task still runs.
    pub(crate) fn is_followed(&self) -> bool {
        self.task.get().is_some_and(|task| !task.is_finished())
    }

    /// Ends the task.
    pub(crate) fn end(&self) {
        if let Some(task) = self.task.get() {
            task.abort();
        }
    }

    fn prompts(&self) -> MutexGuard<'_, Vec<Arc<Prompt>>> {
        // No statement under the lock can panic halfway through.
        self.prompts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that a prompt has come.
    pub(crate) fn expect_prompt(&self) -> Arc<Prompt> {
        let prompt = Arc::new(Prompt::default());
        self.prompts().push(Arc::clone(&prompt));
        prompt
    }

    /// Notes that a prompt was answered.
    pub(crate) fn forget_prompt(&self, prompt: &Arc<Prompt>) {
        self.prompts().retain(|other| !Arc::ptr_eq(other, prompt));
    }

    /// Cancels all prompts that the editor waits for; whether there were any.
    pub(crate) fn cancel_prompts(&self) -> bool {
        let prompts = self.prompts();
        prompts.iter().for_each(|prompt| prompt.cancel());
        !prompts.is_empty()
    }

    /// Whether the editor waits for nothing.
    pub(crate) fn has_no_prompt(&self) -> bool {
        self.prompts().is_empty()
    }

    /// Waits until the editor was sent everything that has happened so far.
    pub(crate) async fn flushed(&self) {
        let (done, is_done) = oneshot::channel();
        if self.flushes.send(done).is_ok() {
            // If the task has ended, there is nothing more to send.
            let _ = is_done.await;
        }
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        self.end();
    }
}
