//! What the machine is told.

use crate::agent::AgentRun;
use crate::outcome::{GateResult, Inspection};
use crate::state::OpenQuestion;
use crate::tasks::{Task, TaskId};

/// Something happened.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// The program was started: begin, or go on.
    Start,
    /// Time has passed.
    Tick,
    /// The task list, as it is now.
    Tasks(Vec<Task>),
    /// The workspace of a task is ready.
    Prepared {
        /// The task.
        task: TaskId,
        /// The commit that it is based on.
        head: String,
        /// The tree that it begins with.
        tree: String,
    },
    /// The workspace was put back.
    Restored {
        /// The task.
        task: TaskId,
    },
    /// Gates have run.
    Gates {
        /// The task.
        task: TaskId,
        /// What they said.
        results: Vec<GateResult>,
    },
    /// A session has ended.
    AgentEnded {
        /// The task.
        task: TaskId,
        /// What came of it.
        run: Box<AgentRun>,
    },
    /// What the log of a session says that was running when the program was killed.
    Recovered {
        /// The task.
        task: TaskId,
        /// What came of it, if it came to an end.
        run: Option<Box<AgentRun>>,
    },
    /// Something in the work has to be put back.
    Seen {
        /// The task.
        task: TaskId,
        /// The tree that the session left.
        tree: String,
    },
    /// The work was looked at.
    Inspected {
        /// The task.
        task: TaskId,
        /// What was done to the files.
        work: Inspection,
    },
    /// A commit was made that no branch has yet.
    CommitMade {
        /// The task.
        task: TaskId,
        /// The commit.
        commit: String,
        /// What the branch is now.
        parent: String,
    },
    /// The work of a task cannot be merged, or the gates do not pass with it.
    NotMerged {
        /// The task.
        task: TaskId,
        /// Why.
        why: String,
        /// What was printed.
        output: String,
    },
    /// The branch is set to the commit.
    Advanced {
        /// The task.
        task: TaskId,
    },
    /// The work of a task that was given up is put away.
    Shelved {
        /// The task.
        task: TaskId,
        /// Where it is, if there was any.
        kept: Option<String>,
    },
    /// The workspace of a task that was given up is clean.
    Cleared {
        /// The task.
        task: TaskId,
    },
    /// A question waits for a person.
    Asked(OpenQuestion),
    /// A question was answered, or is no longer asked.
    AskEnded {
        /// Names it.
        id: String,
        /// By whom, if it was answered.
        by: Option<String>,
        /// The answers: question to answer.
        answers: Vec<(String, String)>,
    },
    /// News were told, or could not be.
    Notified {
        /// Names them.
        id: String,
    },
    /// A person wants a task left out.
    Skip(TaskId),
    /// A person wants a task tried again.
    Retry(TaskId),
    /// Somebody wants the run to end.
    Interrupt,
    /// Something that the driver was to do cannot be done.
    Broken {
        /// Why.
        why: String,
    },
}
