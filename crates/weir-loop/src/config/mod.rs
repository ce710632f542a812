//! The configuration of the loop: what was written, what it means, and what is wrong with it.
//!
//! It stands in the table `[loop]` of `weir.toml` or `.ralph/config.toml`. There is no unbounded mode: each limit has
//! a default, and none can be switched off.

mod check;
mod load;
mod time;

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use check::{Finding, Level, check};
pub use load::{ConfigError, ConfigFile, find, load, parse, schema};
pub use time::Time;

/// The table `[loop]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// The task list: a Markdown checklist, a `prd.json`, or a folder of Markdown files.
    pub tasks: PathBuf,
    /// Where state, logs and reports are kept.
    pub folder: PathBuf,
    /// What was learned, which the next prompt repeats.
    pub progress: PathBuf,
    /// How many tasks are worked on at a time, each in a worktree of its own if more than one.
    pub parallel: usize,
    /// The checks that the loop runs itself.
    pub gates: Vec<Gate>,
    /// What becomes of a task after which a gate fails that had failed before it.
    pub already_broken: AlreadyBroken,
    /// Files and folders that no task may change, besides the configuration and the files of the gates.
    pub protected: Vec<PathBuf>,
    /// Limits of the whole run.
    pub limits: Limits,
    /// Limits of each task.
    pub task_limits: TaskLimits,
    /// How the coder is run.
    pub coder: Mode,
    /// How the planner is run.
    pub planner: Mode,
    /// What happens to tools that are not allowed.
    pub permissions: Permissions,
    /// What happens to questions.
    pub questions: Questions,
    /// What happens at a rate limit.
    pub rate_limit: RateLimitPolicy,
    /// How prompts are packed.
    pub prompt: PromptLimits,
    /// How work is kept.
    pub git: GitPolicy,
    /// Who is told.
    pub notify: Notify,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            tasks: PathBuf::from("TASKS.md"),
            folder: PathBuf::from(".ralph"),
            progress: PathBuf::from(".ralph/progress.md"),
            parallel: 1,
            gates: Vec::new(),
            already_broken: AlreadyBroken::default(),
            protected: Vec::new(),
            limits: Limits::default(),
            task_limits: TaskLimits::default(),
            coder: Mode::coder(),
            planner: Mode::planner(),
            permissions: Permissions::default(),
            questions: Questions::default(),
            rate_limit: RateLimitPolicy::default(),
            prompt: PromptLimits::default(),
            git: GitPolicy::default(),
            notify: Notify::default(),
        }
    }
}

/// A check: a program and its arguments. There is no shell.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Gate {
    /// What it is called.
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

impl Gate {
    fn default_timeout() -> Time {
        Time::minutes(15)
    }
}

/// What becomes of a task after which a gate fails that had failed before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AlreadyBroken {
    /// It fails: all gates must pass.
    #[default]
    Fail,
    /// It is not the task's fault.
    Accept,
}

/// Limits of the whole run. What is reached first ends it, after the task at hand was judged.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Dollars, by the CLI's estimate.
    pub cost_usd: f64,
    /// Sessions with the model.
    pub iterations: u32,
    /// Tokens, read and written, caches included.
    pub tokens: u64,
    /// Time at work. Waiting for a rate limit or for a person does not count.
    pub wall_time: Time,
    /// How much of the account's window may be used, where the CLI tells: 1 is all of it. Above it the loop waits for
    /// the next window.
    pub plan_utilization: f64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            cost_usd: 10.0,
            iterations: 50,
            tokens: 200_000_000,
            wall_time: Time::hours(8),
            plan_utilization: 0.95,
        }
    }
}

/// Limits of each task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TaskLimits {
    /// How often it is tried: a failed gate goes back into the next attempt's prompt.
    pub attempts: u32,
    /// Dollars.
    pub cost_usd: f64,
    /// Tokens.
    pub tokens: u64,
    /// Time at work, over all its sessions and checks. Waiting for a rate limit or for a person does not count.
    pub wall_time: Time,
    /// Rounds with the model in one session.
    pub turns: Option<u32>,
    /// How often the same failure may come before the task is given up.
    pub same_failure: u32,
}

impl Default for TaskLimits {
    fn default() -> Self {
        Self {
            attempts: 3,
            cost_usd: 3.0,
            tokens: 50_000_000,
            wall_time: Time::minutes(90),
            turns: None,
            same_failure: 3,
        }
    }
}

/// How the CLI is run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Mode {
    /// The model; the CLI's own choice where none is given.
    pub model: Option<String>,
    /// Replaces the CLI's own system prompt. The loop's rules for planner or coder come after it.
    pub system_prompt: Option<String>,
    /// Is added to the system prompt, after the loop's rules for planner or coder.
    pub append_system_prompt: Option<String>,
    /// The tools that there are, and rules such as `Bash(git log:*)` for the part of a tool that needs no permission.
    pub allowed_tools: Vec<String>,
    /// Tools that must not be used.
    pub disallowed_tools: Vec<String>,
    /// What is allowed without asking: `default`, `acceptEdits`, `plan`.
    pub permission_mode: Option<String>,
    /// More arguments for the CLI.
    pub extra_args: Vec<String>,
}

impl Mode {
    fn coder() -> Self {
        Self::with_tools(&["Read", "Edit", "Write", "Bash", "Glob", "Grep"])
    }

    fn planner() -> Self {
        Self::with_tools(&["Read", "Bash"])
    }

    fn with_tools(tools: &[&str]) -> Self {
        Self {
            model: None,
            system_prompt: None,
            append_system_prompt: None,
            allowed_tools: tools.iter().map(ToString::to_string).collect(),
            disallowed_tools: Vec::new(),
            permission_mode: None,
            extra_args: Vec::new(),
        }
    }
}

impl Default for Mode {
    fn default() -> Self {
        Self::coder()
    }
}

/// What happens to tools that are not allowed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Permissions {
    /// Who decides about a tool that no rule allows.
    pub policy: PermissionPolicy,
    /// What happens to the run when a tool was not allowed.
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
    /// A person is asked, as for questions.
    Ask,
}

/// What happens to the run when a tool was not allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnDenial {
    /// It stops: the next task would most likely be denied, too.
    Halt,
    /// It goes on with the next task.
    NextTask,
}

/// What happens to questions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Questions {
    /// Whether somebody is waited for.
    pub policy: QuestionPolicy,
    /// How long; after that the task ends as "question".
    pub longest_wait: Time,
}

impl Default for Questions {
    fn default() -> Self {
        Self { policy: QuestionPolicy::Wait, longest_wait: Time::hours(12) }
    }
}

/// Whether somebody is waited for.
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
    /// How long to wait beyond the time that the account's limit is lifted.
    pub margin: Time,
    /// The longest wait; one that would be longer ends the run.
    pub longest_wait: Time,
    /// How long to wait where the API refuses and does not say until when.
    pub unknown_wait: Time,
}

impl Default for RateLimitPolicy {
    fn default() -> Self {
        Self { margin: Time::seconds(30), longest_wait: Time::hours(6), unknown_wait: Time::minutes(5) }
    }
}

/// How prompts are packed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PromptLimits {
    /// The longest prompt, in bytes.
    pub max_bytes: usize,
    /// The longest output of a failed gate in it.
    pub failure_bytes: usize,
    /// The most of what was learned.
    pub progress_bytes: usize,
}

impl Default for PromptLimits {
    fn default() -> Self {
        Self { max_bytes: 64 << 10, failure_bytes: 8 << 10, progress_bytes: 12 << 10 }
    }
}

/// How work is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct GitPolicy {
    /// Where the work of a failed task goes.
    pub keep_failed: KeepFailed,
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

/// Who is told of what.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Notify {
    /// A program and its arguments; it gets the news as JSON on its standard input.
    pub command: Vec<String>,
    /// Gets the news as JSON by POST. Sent with `curl`, so that proxies and certificates are as in the shell.
    pub webhook: Option<String>,
    /// A chat of the bridge of `weir loop run --bridge FILE`, as `channel:chat` or `channel:chat/thread`. It is also
    /// where questions can be answered.
    pub chat: Option<String>,
    /// What is told.
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
    /// Whether there is anybody to tell.
    pub fn has_anybody(&self) -> bool {
        !self.command.is_empty() || self.webhook.is_some() || self.chat.is_some()
    }
}

/// What can be told.
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
}

impl Config {
    /// What no task may change: the configuration, what defines the gates, and what was listed. Relative to the
    /// workspace.
    pub fn protected_paths(&self, config_file: Option<&Path>) -> Vec<PathBuf> {
        let gates = self.gates.iter().flat_map(|gate| gate.files.iter().cloned());
        let mut paths: Vec<PathBuf> = config_file
            .map(Path::to_owned)
            .into_iter()
            .chain(gates)
            .chain(self.protected.iter().cloned())
            .collect();
        // A gate that is a program of the workspace is defined by that program.
        paths.extend(self.gates.iter().filter_map(|gate| gate.command.first()).filter_map(|program| {
            let path = Path::new(program);
            (path.components().count() > 1 && path.is_relative()).then(|| normal(path))
        }));
        paths.sort();
        paths.dedup();
        paths
    }
}

/// The path without `.` in it.
fn normal(path: &Path) -> PathBuf {
    path.components().filter(|part| !matches!(part, std::path::Component::CurDir)).collect()
}
