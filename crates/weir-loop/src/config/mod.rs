//! The configuration of the loop: its keys and defaults, how it is read, and how it is checked.
//!
//! It is the table `[loop]` of `weir.toml` or `.ralph/config.toml`. Its limits are in the table of [`crate::limits`].

mod check;
mod load;
mod mode;
mod time;

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use check::{Finding, Level, check};
pub use load::{ConfigError, ConfigFile, find, load, parse, schema};
pub use mode::Mode;
pub use time::Time;
use weir_session::Effort;

pub use crate::limits::{Limits, TaskLimits};
pub use crate::protection::Ecosystem;

/// The table `[loop]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// The task list: a Markdown checklist, a `prd.json`, or a folder of Markdown files.
    pub tasks: PathBuf,
    /// A program that prints the tasks, instead of a list.
    pub source: Option<TaskSource>,
    /// Where state, logs and reports are kept.
    pub folder: PathBuf,
    /// The file with what sessions learned, which the next prompt repeats.
    pub progress: PathBuf,
    /// How many tasks are worked on at a time. With more than one, each has its own worktree.
    pub parallel: usize,
    /// The checks that the loop runs itself.
    pub gates: Vec<Gate>,
    /// What happens to a task if a gate fails after it that had already failed before it.
    pub already_broken: AlreadyBroken,
    /// Files and folders that no task may change, in addition to the configuration, the files of the gates, and what
    /// decides about the checks of the project's ecosystems. Patterns: `*` and `?` within a name, `**` over folders.
    pub protected: Vec<PathBuf>,
    /// The ecosystems whose tests, manifests, lock files and runner configurations are protected. Without it, those of
    /// the gates' programs.
    pub ecosystems: Option<Vec<Ecosystem>>,
    /// Programs that prepare a folder before anything runs there, such as `npm ci`.
    pub setup: Vec<Setup>,
    /// Folders that gates may keep from one check to the next, such as `target`. The last check of a run starts without
    /// them.
    pub caches: Vec<PathBuf>,
    /// Files of your tree that git ignores, and that sessions and gates need, such as `.env`.
    pub copies: Vec<PathBuf>,
    /// Limits of the whole run.
    pub limits: Limits,
    /// Limits of each task.
    pub task_limits: TaskLimits,
    /// The sessions that work on tasks.
    #[serde(deserialize_with = "Mode::read_coder")]
    pub coder: Mode,
    /// The sessions of `weir loop plan`.
    #[serde(deserialize_with = "Mode::read_planner")]
    pub planner: Mode,
    /// A second session that reviews work which has passed the gates, before it is committed. It can only read.
    pub review: Option<Review>,
    /// What happens when a tool is not allowed.
    pub permissions: Permissions,
    /// What happens when a session asks a question.
    pub questions: Questions,
    /// What happens at a rate limit.
    pub rate_limit: RateLimitPolicy,
    /// How long prompts may be.
    pub prompt: PromptLimits,
    /// What goes to which branch.
    pub git: GitPolicy,
    /// Who is notified.
    pub notify: Notify,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            tasks: PathBuf::from("TASKS.md"),
            source: None,
            folder: PathBuf::from(".ralph"),
            progress: PathBuf::from(".ralph/progress.md"),
            parallel: 1,
            gates: Vec::new(),
            already_broken: AlreadyBroken::default(),
            protected: Vec::new(),
            ecosystems: None,
            setup: Vec::new(),
            caches: Vec::new(),
            copies: Vec::new(),
            limits: Limits::default(),
            task_limits: TaskLimits::default(),
            coder: Mode::coder(),
            planner: Mode::planner(),
            review: None,
            permissions: Permissions::default(),
            questions: Questions::default(),
            rate_limit: RateLimitPolicy::default(),
            prompt: PromptLimits::default(),
            git: GitPolicy::default(),
            notify: Notify::default(),
        }
    }
}

/// A check: a program and its arguments, run without a shell.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Gate {
    /// The name of the gate.
    pub name: String,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// How long it may take.
    #[serde(default = "Gate::default_timeout")]
    pub timeout: Time,
    /// Files and folders that define it, which no task may change.
    #[serde(default)]
    pub files: Vec<PathBuf>,
}

/// A session that reviews the work of another.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Review {
    /// The model; that of the coder by default.
    pub model: Option<String>,
    /// How much it thinks; as the coder by default.
    pub effort: Option<Effort>,
    /// What to look for, in addition to the task.
    pub instructions: String,
    /// How long it may take.
    pub timeout: Time,
}

impl Default for Review {
    fn default() -> Self {
        Self { model: None, effort: None, instructions: String::new(), timeout: Time::minutes(15) }
    }
}

/// A program that prints the tasks as JSON, such as the issues of a tracker. It runs when a run begins or resumes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TaskSource {
    /// The program and its arguments, run without a shell.
    pub command: Vec<String>,
    /// How long it may take.
    #[serde(default = "TaskSource::default_timeout")]
    pub timeout: Time,
}

impl TaskSource {
    fn default_timeout() -> Time {
        Time::minutes(2)
    }
}

/// A program that prepares a folder before sessions and gates run there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Setup {
    /// The program and its arguments, run without a shell.
    pub command: Vec<String>,
    /// How long it may take.
    #[serde(default = "Gate::default_timeout")]
    pub timeout: Time,
    /// It runs again when one of these files has changed, such as a lock file.
    #[serde(default)]
    pub files: Vec<PathBuf>,
    /// The folders that it makes, which are kept until it runs again, such as `node_modules`.
    #[serde(default)]
    pub caches: Vec<PathBuf>,
}

impl Gate {
    fn default_timeout() -> Time {
        Time::minutes(15)
    }
}

/// What happens to a task if a gate fails after it that had already failed before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AlreadyBroken {
    /// The task fails: all gates must pass.
    #[default]
    Fail,
    /// The gate is ignored: it is not the task's fault.
    Accept,
}

/// What happens when a tool is not allowed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Permissions {
    /// Who decides about a tool that no rule allows.
    pub policy: PermissionPolicy,
    /// What happens to the run when a tool was denied.
    pub on_denial: OnDenial,
}

impl Default for Permissions {
    fn default() -> Self {
        Self { policy: PermissionPolicy::Deny, on_denial: OnDenial::Halt }
    }
}

/// Who decides about a tool that no rule allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PermissionPolicy {
    /// It is denied, and the turn ends.
    Deny,
    /// A person decides, as with questions.
    Ask,
}

/// What happens to the run when a tool was denied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnDenial {
    /// The run stops: the next task would most likely be denied, too.
    Halt,
    /// The run continues with the next task.
    NextTask,
}

/// What happens when a session asks a question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Questions {
    /// Whether to wait for a person.
    pub policy: QuestionPolicy,
    /// How long to wait; after that the task ends as "question".
    pub longest_wait: Time,
}

impl Default for Questions {
    fn default() -> Self {
        Self { policy: QuestionPolicy::Wait, longest_wait: Time::hours(12) }
    }
}

/// Whether to wait for a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum QuestionPolicy {
    /// The task waits for an answer.
    Wait,
    /// The task ends as "question", and the next one begins.
    Skip,
}

/// What happens at a rate limit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RateLimitPolicy {
    /// How long to wait after the account's limit resets.
    pub margin: Time,
    /// The longest wait; if it would take longer, the run ends.
    pub longest_wait: Time,
    /// How long to wait if the API refuses without saying until when.
    pub unknown_wait: Time,
}

impl Default for RateLimitPolicy {
    fn default() -> Self {
        Self { margin: Time::seconds(30), longest_wait: Time::hours(6), unknown_wait: Time::minutes(5) }
    }
}

/// How long prompts may be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PromptLimits {
    /// Maximum size of a prompt, in bytes.
    pub max_bytes: usize,
    /// Maximum output of a failed gate in a prompt, in bytes.
    pub failure_bytes: usize,
    /// Maximum text from earlier sessions in a prompt, in bytes.
    pub progress_bytes: usize,
}

impl Default for PromptLimits {
    fn default() -> Self {
        Self { max_bytes: 64 << 10, failure_bytes: 8 << 10, progress_bytes: 12 << 10 }
    }
}

/// What goes to which branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct GitPolicy {
    /// Where the work of a failed task goes.
    pub keep_failed: KeepFailed,
    /// Where the commits of tasks that are done go.
    pub results: Results,
}

/// Where the commits of tasks that are done go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Results {
    /// To the branch that was checked out when the run began.
    #[default]
    Branch,
    /// To a branch `weir/task/<run>/<task>` for each task, which has the commits of the tasks before it as well. The branch
    /// that is checked out stays where it is, until you merge them.
    Branches,
}

/// Where the work of a failed task goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum KeepFailed {
    /// To a branch `weir/failed/<run>/<task>`.
    #[default]
    Branch,
    /// To the stash.
    Stash,
}

/// Who is notified, and about what.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Notify {
    /// A program and its arguments; it receives the notification as JSON on its standard input.
    pub command: Vec<String>,
    /// A URL that receives the notification as JSON by POST, through the proxy that `HTTPS_PROXY`, `HTTP_PROXY` and
    /// `NO_PROXY` name. Redirects are not followed.
    pub webhook: Option<String>,
    /// A chat of the bridge of `weir loop run --bridge FILE`, as `channel:chat` or `channel:chat/thread`. Questions can
    /// also be answered there.
    pub chat: Option<String>,
    /// What to notify about.
    pub on: Vec<NotifyOn>,
    /// How long a notification may take.
    pub timeout: Time,
}

impl Default for Notify {
    fn default() -> Self {
        Self {
            command: Vec::new(),
            webhook: None,
            chat: None,
            on: vec![NotifyOn::End, NotifyOn::Question, NotifyOn::Limit, NotifyOn::Failure],
            timeout: Time::seconds(30),
        }
    }
}

impl Notify {
    /// Whether there is anyone to notify.
    pub fn has_recipient(&self) -> bool {
        !self.command.is_empty() || self.webhook.is_some() || self.chat.is_some()
    }
}

/// What a notification can be about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NotifyOn {
    /// The run has ended.
    End,
    /// A question waits for a person.
    Question,
    /// A limit was reached, or a wait began.
    Limit,
    /// A task has failed.
    Failure,
    /// A task is done.
    Done,
}

impl Config {
    /// The ecosystems whose files are protected: those that are configured, or those of the gates' programs.
    pub fn ecosystems(&self) -> Vec<Ecosystem> {
        if let Some(given) = &self.ecosystems {
            return given.clone();
        }
        let mut found: Vec<Ecosystem> =
            self.gates.iter().filter_map(|gate| Ecosystem::of_command(&gate.command)).collect();
        found.sort();
        found.dedup();
        found
    }

    /// The programs that prepare a folder, run as gates are.
    pub fn setup_as_gates(&self) -> Vec<Gate> {
        let gate = |setup: &Setup| Gate {
            name: format!("setup: {}", setup.command.join(" ")),
            command: setup.command.clone(),
            timeout: setup.timeout,
            files: setup.files.clone(),
        };
        self.setup.iter().map(gate).collect()
    }

    /// The folders that stay in a checkout from one check to the next.
    pub fn kept_folders(&self) -> Vec<PathBuf> {
        let made = self.setup.iter().flat_map(|setup| setup.caches.iter());
        made.chain(&self.caches).chain(&self.copies).map(|path| normalize(path)).collect()
    }

    /// The paths that no task may change: the configuration, the files of the gates, and `protected`. Relative to the
    /// workspace.
    pub fn protected_paths(&self, config_file: Option<&Path>) -> Vec<PathBuf> {
        let gates = self.gates.iter().flat_map(|gate| gate.files.iter().cloned());
        let mut paths: Vec<PathBuf> = config_file
            .map(Path::to_owned)
            .into_iter()
            .chain(gates)
            .chain(self.protected.iter().cloned())
            .collect();
        // A gate that runs a program of the workspace is defined by that program.
        paths.extend(self.gates.iter().filter_map(|gate| gate.command.first()).filter_map(|program| {
            let path = Path::new(program);
            (path.components().count() > 1 && path.is_relative()).then(|| normalize(path))
        }));
        paths.sort();
        paths.dedup();
        paths
    }
}

/// The path without `.` components.
fn normalize(path: &Path) -> PathBuf {
    path.components().filter(|part| !matches!(part, std::path::Component::CurDir)).collect()
}
