//! Options of `weir loop`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{DataOpts, LoopLimitOpts, SandboxOpts, values};

/// Works through a task list unattended: fresh sessions, its own checks, limits, a report
#[derive(Debug, Args)]
pub(crate) struct LoopOpts {
    #[command(subcommand)]
    pub(crate) command: LoopCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum LoopCommand {
    /// Writes a configuration with the project's checks
    Init {
        #[command(flatten)]
        place: LoopPlaceOpts,

        /// Overwrite an existing configuration
        #[arg(long)]
        force: bool,
    },
    Plan(LoopPlanOpts),
    Run(Box<LoopRunOpts>),
    /// Shows the progress of the run
    Status {
        #[command(flatten)]
        place: LoopPlaceOpts,

        /// Keep showing it until the run ends
        #[arg(long)]
        watch: bool,

        /// Print the state as JSON
        #[arg(long, conflicts_with = "watch")]
        json: bool,
    },
    /// Follows a run in the background; Ctrl-C leaves it running
    Attach {
        #[command(flatten)]
        place: LoopPlaceOpts,
    },
    /// Answers a question of the run; without arguments, lists open questions
    Answer {
        #[command(flatten)]
        place: LoopPlaceOpts,

        /// The question: its id, the beginning of it, or its task. Not needed if only one is open
        #[arg(long, value_name = "ID")]
        question: Option<String>,

        /// The number or label of a choice, or free text, one for each question; yes or no for a permission
        answers: Vec<String>,
    },
    /// Skips a task
    Skip {
        #[command(flatten)]
        place: LoopPlaceOpts,

        /// The task
        task: String,
    },
    /// Retries a failed task
    Retry {
        #[command(flatten)]
        place: LoopPlaceOpts,

        /// The task
        task: String,
    },
    /// Pauses the run: what is in progress is judged, and no session begins until `weir loop unpause`
    Pause {
        #[command(flatten)]
        place: LoopPlaceOpts,
    },
    /// Ends a pause
    Unpause {
        #[command(flatten)]
        place: LoopPlaceOpts,
    },
    /// Brings the commits of a run to your branch, if they wait because of your own edits or commits
    Merge {
        #[command(flatten)]
        place: LoopPlaceOpts,
    },
    /// Prints a title and a text for a pull request with the commits of the run, or of one task
    PullRequest {
        #[command(flatten)]
        place: LoopPlaceOpts,

        /// The task; all tasks that are done by default
        task: Option<String>,

        /// One for each task that is done
        #[arg(long, conflicts_with = "task")]
        each: bool,

        /// Print title, text, branch and commit as JSON
        #[arg(long)]
        json: bool,
    },
    /// Writes the report of the run
    Report {
        #[command(flatten)]
        place: LoopPlaceOpts,

        /// Print HTML instead of Markdown
        #[arg(long)]
        html: bool,

        /// Print JSON instead of Markdown
        #[arg(long, conflicts_with = "html")]
        json: bool,

        /// Print the JSON schema of the report
        #[arg(long, conflicts_with_all = ["html", "json", "run"])]
        schema: bool,

        /// The run's id, or the beginning of it; the last run by default
        #[arg(long, value_name = "RUN")]
        run: Option<String>,
    },
    /// Replays a run from its logs, without the CLI, and checks the recorded costs
    Replay {
        #[command(flatten)]
        place: LoopPlaceOpts,

        /// The run's id, or the beginning of it; the last run by default
        run: Option<String>,

        /// Print the result of each session, one JSON object per line
        #[arg(long)]
        json: bool,
    },
    /// Checks or prints the configuration
    Config {
        #[command(subcommand)]
        command: LoopConfigCommand,
    },
}

#[derive(Debug, Clone, Copy, Subcommand)]
pub(crate) enum LoopConfigCommand {
    /// Checks the configuration of this folder, and the list of allowed tools
    Check {
        /// Print the findings as JSON
        #[arg(long)]
        json: bool,
    },
    /// Prints the JSON schema, for editors
    Schema,
    /// Prints the effective configuration, with all defaults
    Show,
}

/// Where a loop works.
#[derive(Debug, Args)]
pub(crate) struct LoopPlaceOpts {
    /// The workspace: the top of a git repository
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) cwd: PathBuf,

    /// The configuration; by default weir.toml or .ralph/config.toml
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
}

/// Process options of a loop.
#[derive(Debug, Args)]
#[command(next_help_heading = "Process")]
pub(crate) struct LoopProcessOpts {
    /// Apply the folder's settings, hooks, MCP servers and instructions, whatever they are; see `weir trust`
    #[arg(long)]
    pub(crate) trust_folder: bool,

    /// The claude CLI; by default WEIR_CLAUDE, or else the first one found
    #[arg(long, value_name = "PATH")]
    pub(crate) claude: Option<PathBuf>,

    /// Set a variable in the CLI's environment; may be repeated
    #[arg(long, value_name = "NAME=VALUE", value_parser = values::variable)]
    pub(crate) env: Vec<(String, String)>,

    /// Mask the value of this environment variable in logs and messages; may be repeated
    #[arg(long, value_name = "NAME")]
    pub(crate) secret: Vec<String>,

    #[command(flatten)]
    pub(crate) sandbox: SandboxOpts,
}

/// Creates a task list from a document
///
/// The planner reads the document and the repository and answers with a checklist, which is written to the task list.
/// If it asks questions instead, answer on the terminal, or later with --continue.
#[derive(Debug, Args)]
pub(crate) struct LoopPlanOpts {
    #[command(flatten)]
    pub(crate) place: LoopPlaceOpts,

    /// The document, such as PRD.md; `-` for the standard input
    #[arg(required_unless_present = "continue")]
    pub(crate) document: Option<PathBuf>,

    /// Answer the questions from the last call of the planner, in the same session
    #[arg(long, value_name = "ANSWER", conflicts_with = "document")]
    pub(crate) r#continue: Option<String>,

    /// Overwrite an existing task list
    #[arg(long)]
    pub(crate) force: bool,

    #[command(flatten)]
    pub(crate) process: LoopProcessOpts,
}

/// Works through the task list
///
/// Resumes where the last run was stopped or killed. Ctrl-C interrupts the turn, writes the state and exits; a second
/// Ctrl-C exits immediately.
#[derive(Debug, Args)]
#[command(after_help = EXIT_CODES)]
pub(crate) struct LoopRunOpts {
    #[command(flatten)]
    pub(crate) place: LoopPlaceOpts,

    /// Stop after one task
    #[arg(long)]
    pub(crate) once: bool,

    /// Stop when this task is done or has failed
    #[arg(long, value_name = "TASK")]
    pub(crate) until: Option<String>,

    /// Print what would be done, without spending anything
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// Work on this many tasks at a time, each in its own worktree
    #[arg(long, value_name = "N")]
    pub(crate) parallel: Option<usize>,

    /// Start a new run, even if there is one to resume
    #[arg(long)]
    pub(crate) new: bool,

    /// Run in the background, with the output in .ralph/logs/loop.log; `weir loop attach` follows it
    #[arg(long, conflicts_with = "dry_run")]
    pub(crate) detach: bool,

    /// Begin no session before this time: 2026-01-02T22:00+01:00, or from now: 2h
    #[arg(long, value_name = "TIME", value_parser = values::point_in_time)]
    pub(crate) start_at: Option<i64>,

    /// Begin no session after this time; a session that is running ends by itself
    #[arg(long, value_name = "TIME", value_parser = values::point_in_time)]
    pub(crate) stop_at: Option<i64>,

    /// Commit uncommitted changes first, in a separate commit
    #[arg(long)]
    pub(crate) allow_dirty: bool,

    /// Print events, one JSON object per line
    #[arg(long)]
    pub(crate) json: bool,

    /// Print plain lines, even on a terminal
    #[arg(long, conflicts_with = "json")]
    pub(crate) plain: bool,

    #[command(flatten)]
    pub(crate) limits: LoopLimitOpts,

    /// Skip all permission checks of the CLI; for containers only
    #[arg(long, help_heading = "Permissions")]
    pub(crate) dangerously_skip_permissions: bool,

    /// Skip them even outside of a container
    #[arg(long, requires = "dangerously_skip_permissions", help_heading = "Permissions")]
    pub(crate) outside_container: bool,

    #[command(flatten)]
    pub(crate) listen: LoopListenOpts,

    #[command(flatten)]
    pub(crate) process: LoopProcessOpts,
}

/// Options for the page and the chats of a loop.
#[derive(Debug, Args)]
#[command(next_help_heading = "Page")]
pub(crate) struct LoopListenOpts {
    /// Serve the page while the loop runs, to watch, answer and stop its sessions, with the tokens of weir serve
    #[arg(long, value_name = "ADDRESS:PORT", num_args = 0..=1, default_missing_value = "127.0.0.1:4747", value_parser = values::address)]
    pub(crate) listen: Option<SocketAddr>,

    /// Write {"url","token"} to this file, readable only by its owner, as soon as the page is available
    #[arg(long, value_name = "FILE", requires = "listen")]
    pub(crate) ready_file: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) data: DataOpts,

    /// Keep the sessions where weir serve finds them later, even without --listen
    #[arg(long)]
    pub(crate) keep_sessions: bool,

    /// Also run the chat bridge with this `weir bridge` configuration
    #[arg(long, value_name = "FILE", help_heading = "Chat")]
    pub(crate) bridge: Option<PathBuf>,

    /// Post notifications and ask questions in this chat of the bridge: CHANNEL:CHAT, such as telegram:12345
    #[arg(long, value_name = "CHAT", requires = "bridge", help_heading = "Chat")]
    pub(crate) notify_chat: Option<String>,
}

impl LoopListenOpts {
    /// Whether the sessions have to run in a host.
    pub(crate) fn is_wanted(&self) -> bool {
        self.listen.is_some() || self.keep_sessions || self.bridge.is_some()
    }
}

const EXIT_CODES: &str = "\
Exit codes:
    0  all tasks are done, or as much as was requested
    1  tasks are left, or the loop could not continue
    2  wrong usage
    3  the CLI could not be started
    6  a tool was not allowed
    8  a limit was reached
    9  the wait for the account's limit would be too long
  130  interrupted";
