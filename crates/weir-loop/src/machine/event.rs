//! The events that the machine receives.

use crate::agent::AgentRun;
use crate::outcome::{GateResult, Inspection};
use crate::state::{Line, OpenQuestion};
use crate::tasks::{Task, TaskId};

/// Something that happened.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// The program was started: begin or resume the run.
    Start,
    /// Time has passed.
    Tick,
    /// The current task list.
    Tasks(Vec<Task>),
    /// The task list has not changed since it was last read, apart from tasks that were completed since.
    TasksUnchanged,
    /// The workspace of a task is ready.
    Prepared {
        /// The task.
        task: TaskId,
        /// The commit that it is based on.
        head: String,
        /// The tree that the task starts from.
        tree: String,
        /// The run's commits and the branch, as they are now.
        line: Option<Line>,
        /// What a person should know.
        notes: Vec<String>,
    },
    /// The last commit was checked. If something is wrong, this is what.
    LastChecked {
        /// What is wrong.
        problem: Option<String>,
    },
    /// The workspace was restored.
    Restored {
        /// The task.
        task: TaskId,
    },
    /// Gates have run.
    Gates {
        /// The task.
        task: TaskId,
        /// The result of each gate.
        results: Vec<GateResult>,
    },
    /// A session has ended.
    AgentEnded {
        /// The task.
        task: TaskId,
        /// How it went.
        run: Box<AgentRun>,
    },
    /// The log of a session that was running when the program was killed has been read.
    Recovered {
        /// The task.
        task: TaskId,
        /// How the session went, if it ended.
        run: Option<Box<AgentRun>>,
    },
    /// A session has reviewed the work of a task.
    Reviewed {
        /// The task.
        task: TaskId,
        /// How it went.
        run: Box<AgentRun>,
    },
    /// Something in the work has to be restored.
    Seen {
        /// The task.
        task: TaskId,
        /// The tree that the session left.
        tree: String,
    },
    /// The work was inspected.
    Inspected {
        /// The task.
        task: TaskId,
        /// The changes to the files.
        work: Inspection,
    },
    /// A commit was made that is not on a branch yet.
    CommitMade {
        /// The task.
        task: TaskId,
        /// The commit.
        commit: String,
        /// The commit that the branch is at.
        parent: String,
    },
    /// The work of a task cannot be merged, or the gates do not pass with it.
    NotMerged {
        /// The task.
        task: TaskId,
        /// Why it was not merged.
        why: String,
        /// The output of git or of the gates.
        output: String,
    },
    /// The branch is set to the commit.
    Advanced {
        /// The task.
        task: TaskId,
        /// The run's commits and the branch, as they are now.
        line: Option<Line>,
        /// Whether the box of the task is checked in the person's list.
        ticked: bool,
        /// The branch of its own that the task has, if each has one.
        branch: Option<String>,
        /// What a person should know.
        notes: Vec<String>,
    },
    /// The work of a task that was given up has been kept.
    Shelved {
        /// The task.
        task: TaskId,
        /// Where it is kept, if there was any.
        kept: Option<String>,
    },
    /// The workspace of a task that was given up is clean.
    Cleared {
        /// The task.
        task: TaskId,
    },
    /// A question waits for a person.
    Asked(OpenQuestion),
    /// A question was answered or withdrawn.
    AskEnded {
        /// Id of the question.
        id: String,
        /// Who answered it, if it was answered.
        by: Option<String>,
        /// Pairs of question and answer.
        answers: Vec<(String, String)>,
    },
    /// A notification was sent, or could not be.
    Notified {
        /// Id of the notification.
        id: String,
    },
    /// A person wants a task skipped.
    Skip(TaskId),
    /// A person wants a task retried.
    Retry(TaskId),
    /// A person wants no more sessions to begin.
    Pause {
        /// Who wants it.
        by: String,
    },
    /// A person wants sessions to begin again.
    Unpause {
        /// Who wants it.
        by: String,
    },
    /// The time of the run is to be saved.
    Clock,
    /// The machine was asleep for this many milliseconds, which do not count as time at work.
    Slept(u64),
    /// A person interrupts the run.
    Interrupt,
    /// The driver cannot perform an action.
    Broken {
        /// The error.
        why: String,
    },
}
