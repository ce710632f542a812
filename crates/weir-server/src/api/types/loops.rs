//! The unattended loop that runs in the server's process.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// The loop of this server, if one runs in it.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct LoopAnswer {
    /// The run.
    pub(crate) run: Option<LoopView>,
}

/// A run of the loop, without its list.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct LoopView {
    /// Its id.
    pub run_id: String,
    /// The folder.
    pub workspace: String,
    /// The branch that gets its commits.
    pub branch: Option<String>,
    /// What it is doing.
    pub status: LoopStatus,
    /// How it ended, or why it waits.
    pub text: Option<String>,
    /// When a wait ends.
    pub until: Option<i64>,
    /// Who has paused it.
    pub paused_by: Option<String>,
    /// When it began.
    pub started_at: i64,
    /// The numbers of its tasks.
    pub counts: LoopCounts,
    /// Its limits, and how much of each is used.
    pub limits: Vec<LoopLimit>,
    /// The tasks that are being worked on.
    pub current: Vec<LoopTask>,
    /// What waits for a person.
    pub questions: Vec<LoopQuestion>,
    /// What a person has to look at first.
    pub needs_you: Vec<String>,
}

/// What a run is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum LoopStatus {
    /// It works.
    Running,
    /// It waits for a time.
    Waiting,
    /// A person has paused it. Sessions that were running may still be at work.
    Paused,
    /// It has ended.
    Ended,
}

/// The numbers of tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, ToSchema)]
pub struct LoopCounts {
    /// All of them.
    pub all: usize,
    /// Done and committed.
    pub done: usize,
    /// Of these, without any gate that has checked them.
    pub unchecked: usize,
    /// Given up.
    pub failed: usize,
    /// Skipped by a person.
    pub skipped: usize,
    /// Being worked on.
    pub active: usize,
    /// Not begun.
    pub pending: usize,
}

/// A limit of the run.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct LoopLimit {
    /// What is limited.
    pub name: String,
    /// How much is used, in words.
    pub used: String,
    /// The limit, in words.
    pub max: String,
    /// The part that is used, from 0 to 1.
    pub part: f64,
}

/// A task of the list.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct LoopTask {
    /// Its name.
    pub id: String,
    /// Its title.
    pub title: String,
    /// Its state.
    pub state: LoopTaskState,
    /// What is being done, in words, if it is being worked on.
    pub step: Option<String>,
    /// What its session is doing, in one line.
    pub activity: Option<String>,
    /// The number of sessions that count as attempts so far.
    pub attempts: u32,
    /// The gates: of the check that runs, or of the last one.
    pub gates: Vec<LoopGate>,
    /// Dollars, as far as known.
    pub cost_usd: f64,
    /// Time of its sessions, in milliseconds.
    pub took_ms: u64,
    /// The commit, if it is done.
    pub commit: Option<String>,
    /// The branch that has its commit, or where its work is kept.
    pub branch: Option<String>,
    /// Why it was given up.
    pub reason: Option<String>,
    /// Whether a person may skip it now.
    pub can_skip: bool,
    /// Whether a person may have it retried now.
    pub can_retry: bool,
}

/// The state of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum LoopTaskState {
    /// Not begun.
    Pending,
    /// Being worked on.
    Active,
    /// Done and committed.
    Done,
    /// Given up.
    Failed,
    /// Skipped by a person.
    Skipped,
}

/// A gate of a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct LoopGate {
    /// Its name.
    pub name: String,
    /// Whether it runs, and what came of it.
    pub state: LoopGateState,
    /// How long it took, in milliseconds.
    pub took_ms: Option<u64>,
    /// The end of what it printed, if it failed.
    pub output: Option<String>,
}

/// What a gate is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum LoopGateState {
    /// It has not begun.
    Waiting,
    /// It runs.
    Running,
    /// It passed.
    Passed,
    /// It failed.
    Failed,
}

/// What a session of the loop asks a person.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct LoopQuestion {
    /// Its id.
    pub id: String,
    /// The task that waits.
    pub task: String,
    /// Since when it waits.
    pub since: i64,
    /// The questions; none for a permission.
    pub questions: Vec<LoopQuestionPart>,
    /// The tool to be permitted, with its main argument. Answered with `yes`, or with the reason why not.
    pub permission: Option<String>,
}

/// One of the questions that were asked together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct LoopQuestionPart {
    /// The question.
    pub question: String,
    /// The labels of the choices.
    pub options: Vec<String>,
    /// Whether several may be chosen.
    pub several: bool,
}

/// Tasks of the list.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct LoopTaskList {
    /// The tasks, in the order of the list.
    pub tasks: Vec<LoopTask>,
    /// How many there are in all.
    pub all: usize,
}

/// Which tasks.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct LoopTasksParams {
    /// Only tasks in this state.
    pub(crate) state: Option<LoopTaskState>,
    /// How many to leave out.
    #[serde(default)]
    #[param(maximum = 1_000_000)]
    pub(crate) offset: usize,
    /// How many at most; 100 if left out.
    #[param(minimum = 1, maximum = 500)]
    pub(crate) limit: Option<usize>,
}

/// The form of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum LoopReportForm {
    /// For programs.
    #[default]
    Json,
    /// Markdown.
    Markdown,
    /// A page.
    Html,
}

/// Which report.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct LoopReportParams {
    /// The form; JSON if left out.
    #[serde(default)]
    pub(crate) form: LoopReportForm,
}

/// Whether sessions may begin.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PauseLoop {
    /// Whether the run is to be paused.
    pub(crate) paused: bool,
}

/// Answers to what a session of the loop asks.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AnswerLoop {
    /// One for each question, in their order: the number or the label of a choice, or free text. For a permission `yes`, or
    /// the reason why not.
    pub(crate) answers: Vec<String>,
}
