//! The unattended loop that runs in the same process, as the server sees it. The server knows nothing of how it works.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::watch;

use crate::api::types::{LoopReportForm, LoopTaskList, LoopTaskState, LoopView};

/// A command of a person to the loop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoopOrder {
    /// Pauses it, or ends a pause.
    Pause(bool),
    /// Skips a task.
    Skip(String),
    /// Retries a task.
    Retry(String),
    /// Answers a question.
    Answer {
        /// The question.
        question: String,
        /// The answers.
        answers: Vec<String>,
    },
}

/// What comes of a command: it is in the saved state, or it was refused for this reason.
pub type Ordered<'a> = Pin<Box<dyn Future<Output = Result<(), String>> + Send + 'a>>;

/// A loop.
pub trait LoopPort: Send + Sync {
    /// What it is doing.
    fn view(&self) -> LoopView;
    /// A part of its list.
    fn tasks(&self, state: Option<LoopTaskState>, offset: usize, limit: usize) -> LoopTaskList;
    /// Its report. Reads files.
    ///
    /// # Errors
    /// If the state of the run cannot be read.
    fn report(&self, form: LoopReportForm) -> Result<String, String>;
    /// Gives it a command.
    fn order(&self, order: LoopOrder, by: String) -> Ordered<'_>;
}

/// The loop of a server.
pub(crate) type LoopRun = Arc<dyn LoopPort>;

/// The loop of a server, if there is one. Cloning gives another handle to it.
#[derive(Clone, Default)]
pub struct Loops {
    run: Arc<Mutex<Option<LoopRun>>>,
    changes: watch::Sender<u64>,
}

impl Loops {
    /// Shows this loop from now on.
    pub fn attach(&self, run: Arc<dyn LoopPort>) {
        *self.run.lock().unwrap_or_else(PoisonError::into_inner) = Some(run);
        self.changed();
    }

    /// Tells viewers that something has changed.
    pub fn changed(&self) {
        self.changes.send_modify(|count| *count = count.wrapping_add(1));
    }

    pub(crate) fn run(&self) -> Option<LoopRun> {
        self.run.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }
}

impl fmt::Debug for Loops {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Loops").finish_non_exhaustive()
    }
}
