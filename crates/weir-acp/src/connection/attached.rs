//! A session that an editor has opened: the task that follows it, and the prompts that the editor waits for.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use tokio::sync::{Notify, mpsc, oneshot, watch};
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
    begun: Notify,
    told: watch::Receiver<bool>,
    task: OnceLock<AbortHandle>,
}

/// What the task of a session gets.
#[derive(Debug)]
pub(crate) struct Work {
    /// Each is answered when the editor was sent everything that has happened so far.
    pub(crate) flushes: mpsc::UnboundedReceiver<oneshot::Sender<()>>,
    /// Becomes true when the editor was sent what there was at first.
    pub(crate) told: watch::Sender<bool>,
}

/// A prompt that the editor waits for.
#[derive(Debug, Default)]
pub(crate) struct Prompt(Mutex<Progress>);

/// How far a prompt has come.
#[derive(Debug, Default)]
struct Progress {
    is_cancelled: bool,
    message: Option<MessageId>,
}

impl Prompt {
    fn progress(&self) -> MutexGuard<'_, Progress> {
        // No statement under the lock can panic halfway through.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that the editor wants it to end; its message, if that was sent.
    pub(crate) fn cancel(&self) -> Option<MessageId> {
        let mut progress = self.progress();
        progress.is_cancelled = true;
        progress.message.clone()
    }

    /// Notes that its message was sent; whether the editor wants it to end, which nobody has brought about then.
    pub(crate) fn sent(&self, message: MessageId) -> bool {
        let mut progress = self.progress();
        progress.message = Some(message);
        progress.is_cancelled
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.progress().is_cancelled
    }
}

impl Attached {
    /// A session without its task, and what the task gets.
    pub(crate) fn new(id: SessionId) -> (Arc<Self>, Work) {
        let (flushes, to_flush) = mpsc::unbounded_channel();
        let (told, is_told) = watch::channel(false);
        let attached = Self {
            id,
            own: tokio::sync::Mutex::default(),
            prompts: Mutex::default(),
            flushes,
            begun: Notify::new(),
            told: is_told,
            task: OnceLock::new(),
        };
        (Arc::new(attached), Work { flushes: to_flush, told })
    }

    /// Lets the task begin: the editor knows of the session.
    pub(crate) fn begin(&self) {
        self.begun.notify_one();
    }

    /// Waits until the task may begin.
    pub(crate) async fn begun(&self) {
        self.begun.notified().await;
    }

    /// Waits until the editor was sent what there was at first: what comes afterwards is not missed.
    pub(crate) async fn told(&self) {
        // If the task ends early, there is nothing more to send.
        let _ = self.told.clone().wait_for(|told| *told).await;
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

    /// Cancels all prompts that the editor waits for. The messages of those that were sent, the newest first; none if it
    /// waits for nothing.
    pub(crate) fn cancel_prompts(&self) -> Option<Vec<MessageId>> {
        let prompts = self.prompts();
        let messages = prompts.iter().rev().filter_map(|prompt| prompt.cancel());
        (!prompts.is_empty()).then(|| messages.collect())
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
