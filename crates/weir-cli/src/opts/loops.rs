//! `weir loop` as it is typed.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{DataOpts, SandboxOpts, values};

/// Works through a task list unattended: fresh sessions, its own checks, limits, a report
#[derive(Debug, Args)]
pub(crate) struct LoopOpts {
    #[command(subcommand)]
    pub(crate) command: LoopCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum LoopCommand {
    /// Writes a configuration, with the checks that the project has
    Init {
        #[command(flatten)]
        place: LoopPlaceOpts,

        /// Write over what is there
        #[arg(long)]
        force: bool,
    },
    Plan(LoopPlanOpts),
    Run(Box<LoopRunOpts>),
    /// Shows how far the run is
    Status {
        #[command(flatten)]
        place: LoopPlaceOpts,

        /// Show it until the run ends
        #[arg(long)]
        watch: bool,

        /// Print the state as JSON
        #[arg(long, conflicts_with = "watch")]
        json: bool,
    },
    /// Answers a question of the run; without arguments, lists them
    Answer {
        #[command(flatten)]
        place: LoopPlaceOpts,

        /// Which question: its id, the beginning of it, or its task. May be left out if there is one
        #[arg(long, value_name = "ID")]
        question: Option<String>,

        /// The number or the label of a choice, or words; one for each question. yes or no for a permission
        answers: Vec<String>,
    },
    /// Leaves a task out
    Skip {
        #[command(flatten)]
        place: LoopPlaceOpts,

        /// The task
        task: String,
    },
    /// Tries a task again that failed
    Retry {
        #[command(flatten)]
        place: LoopPlaceOpts,

        /// The task
        task: String,
    },
    /// Writes the report of the run
    Report {
        #[command(flatten)]
        place: LoopPlaceOpts,

        /// Print the page instead of the Markdown
        #[arg(long)]
        html: bool,

        /// The run, or the beginning of its name; the last one where none is given
        #[arg(long, value_name = "RUN")]
        run: Option<String>,
    },
    /// Tells a run again from its logs, without the CLI, and checks what was written down
    Replay {
        #[command(flatten)]
        place: LoopPlaceOpts,

        /// The run, or the beginning of its name; the last one where none is given
        run: Option<String>,

        /// Print what came of each session, one JSON object a line
        #[arg(long)]
        json: bool,
    },
    /// Looks at the configuration
    Config {
        #[command(subcommand)]
        command: LoopConfigCommand,
    },
}

#[derive(Debug, Clone, Copy, Subcommand)]
pub(crate) enum LoopConfigCommand {
    /// Checks the configuration of this folder, and the list of allowed tools
    Check {
        /// Print what was found as JSON
        #[arg(long)]
        json: bool,
    },
    /// Prints the JSON schema, for editors
    Schema,
    /// Prints what holds, with all defaults
    Show,
}

/// Where a loop works.
#[derive(Debug, Args)]
pub(crate) struct LoopPlaceOpts {
    /// The workspace: the top of a git repository
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) cwd: PathBuf,

    /// The configuration; else weir.toml or .ralph/config.toml
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
}

/// How the CLI of a loop is run.
#[derive(Debug, Args)]
#[command(next_help_heading = "Process")]
pub(crate) struct LoopProcessOpts {
    /// Let the settings, hooks, MCP servers and instructions of the folder count, whatever they are; see `weir trust`
    #[arg(long)]
    pub(crate) trust_folder: bool,

    /// The claude CLI; WEIR_CLAUDE names it, too, and else it is looked for
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

/// Makes a task list from a document
///
/// The planner reads the document and the repository and answers with a checklist, which is written to the task list.
/// If it asks something instead, answer on the terminal, or with --continue in another call.
#[derive(Debug, Args)]
pub(crate) struct LoopPlanOpts {
    #[command(flatten)]
    pub(crate) place: LoopPlaceOpts,

    /// The document, such as PRD.md; `-` for the standard input
    #[arg(required_unless_present = "continue")]
    pub(crate) document: Option<PathBuf>,

    /// Answer the planner's questions of the last call, in the same session
    #[arg(long, value_name = "ANSWER", conflicts_with = "document")]
    pub(crate) r#continue: Option<String>,

    /// Write over the task list that is there
    #[arg(long)]
    pub(crate) force: bool,

    #[command(flatten)]
    pub(crate) process: LoopProcessOpts,
}

/// Works through the task list
///
/// Goes on where the last run was stopped or killed. Ctrl-C interrupts the turn, writes the state and ends; a second
/// one ends at once.
#[derive(Debug, Args)]
#[command(after_help = EXIT_CODES)]
pub(crate) struct LoopRunOpts {
    #[command(flatten)]
    pub(crate) place: LoopPlaceOpts,

    /// End after one task
    #[arg(long)]
    pub(crate) once: bool,

    /// End when this task is done or given up
    #[arg(long, value_name = "TASK")]
    pub(crate) until: Option<String>,

    /// Print what would be done, and spend nothing
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// Work on so many tasks at a time, each in a worktree of its own
    #[arg(long, value_name = "N")]
    pub(crate) parallel: Option<usize>,

    /// Begin another run, also if there is one to go on with
    #[arg(long)]
    pub(crate) new: bool,

    /// Commit what is not committed first, in a commit of its own
    #[arg(long)]
    pub(crate) allow_dirty: bool,

    /// Print events, one JSON object a line
    #[arg(long)]
    pub(crate) json: bool,

    /// Print plain lines, also on a terminal
    #[arg(long, conflicts_with = "json")]
    pub(crate) plain: bool,

    /// What the run may cost, in dollars
    #[arg(long, value_name = "USD", value_parser = values::cost, help_heading = "Limits")]
    pub(crate) max_cost: Option<f64>,

    /// Most sessions with the model
    #[arg(long, value_name = "N", help_heading = "Limits")]
    pub(crate) max_iterations: Option<u32>,

    /// Skip all permission checks of the CLI. For containers only
    #[arg(long, help_heading = "Permissions")]
    pub(crate) dangerously_skip_permissions: bool,

    /// Skip them also outside of a container
    #[arg(long, requires = "dangerously_skip_permissions", help_heading = "Permissions")]
    pub(crate) outside_container: bool,

    #[command(flatten)]
    pub(crate) listen: LoopListenOpts,

    #[command(flatten)]
    pub(crate) process: LoopProcessOpts,
}

/// How people see the sessions of a loop.
#[derive(Debug, Args)]
#[command(next_help_heading = "Page")]
pub(crate) struct LoopListenOpts {
    /// Serve the page while the loop runs, to watch its sessions, answer them and stop them, with the tokens of weir serve
    #[arg(long, value_name = "ADDRESS:PORT", num_args = 0..=1, default_missing_value = "127.0.0.1:4747", value_parser = values::address)]
    pub(crate) listen: Option<SocketAddr>,

    /// Write {"url","token"} to this file, for its owner only, as soon as the page can be had
    #[arg(long, value_name = "FILE", requires = "listen")]
    pub(crate) ready_file: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) data: DataOpts,

    /// Keep the sessions where weir serve finds them later, also without --listen
    #[arg(long)]
    pub(crate) keep_sessions: bool,

    /// Also carry messages of chats, as this configuration of `weir bridge` says
    #[arg(long, value_name = "FILE", help_heading = "Chat")]
    pub(crate) bridge: Option<PathBuf>,

    /// Post news into this chat of the bridge, and answer questions there: CHANNEL:CHAT, as in telegram:12345
    #[arg(long, value_name = "CHAT", requires = "bridge", help_heading = "Chat")]
    pub(crate) notify_chat: Option<String>,
}

impl LoopListenOpts {
    /// Whether the sessions are those of a host.
    pub(crate) fn is_wanted(&self) -> bool {
        self.listen.is_some() || self.keep_sessions || self.bridge.is_some()
    }
}

const EXIT_CODES: &str = "\
Exit codes:
    0  all tasks are done, or what was asked for is
    1  tasks are left, or the loop could not go on
    2  wrong usage
    3  the CLI could not be started
    6  a tool was not allowed
    8  a limit was reached
    9  the account's limit would have to be waited for too long
  130  interrupted";
