//! `weir serve` and `weir demo` as they are typed.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use weir_server::{OpenAiSettings, PublicUrl};

use super::{SandboxOpts, TransportOpt, values};

/// Serves conversations over HTTP, with a page to watch, answer and stop agents
///
/// The first start prints a link with a token; `weir token` makes more. Only this machine can connect unless you say
/// otherwise. Ctrl-C lets running turns end, a second one ends them.
#[derive(Debug, Args)]
pub(crate) struct ServeOpts {
    // Headings hold until the next one: what has none comes first.
    /// Print the OpenAPI document and end
    #[arg(long)]
    pub(crate) print_openapi: bool,

    #[command(flatten)]
    pub(crate) listen: ListenOpts,

    #[command(flatten, next_help_heading = "Sessions")]
    pub(crate) data: DataOpts,

    /// A folder below which sessions may work; may be repeated; the current one where none is given
    #[arg(long, value_name = "DIR")]
    pub(crate) root: Vec<PathBuf>,

    /// The claude CLI; WEIR_CLAUDE names it, too, and else it is looked for
    #[arg(long, value_name = "PATH")]
    pub(crate) claude: Option<PathBuf>,

    /// Set a variable in the CLI's environment; may be repeated
    #[arg(long, value_name = "NAME=VALUE", value_parser = values::variable)]
    pub(crate) env: Vec<(String, String)>,

    /// Keep what the CLI writes and is sent, verbatim, in files in this folder
    #[arg(long, value_name = "DIR")]
    pub(crate) log_dir: Option<PathBuf>,

    /// What the output of each CLI is connected to
    ///
    /// A terminal is for programs that hold their output back without one; the CLI itself does not. Its diagnostics then
    /// stand between its lines.
    #[arg(long, value_enum, default_value_t = TransportOpt::Pipe)]
    pub(crate) transport: TransportOpt,

    /// A model that the page offers; may be repeated
    #[arg(long, value_name = "MODEL")]
    pub(crate) offer_model: Vec<String>,

    /// A slash command that drivers may run apart from the usual ones; may be repeated
    ///
    /// The CLI has commands that change its owner's settings, and a folder may bring commands of its own. Texts never run
    /// one.
    #[arg(long, value_name = "NAME")]
    pub(crate) slash_command: Vec<String>,

    /// The tools that sessions have, with commas; without it all that the CLI has
    ///
    /// A session can ask for fewer of them. What is not here does not exist for anyone, whatever is allowed.
    #[arg(long, value_name = "TOOLS", value_delimiter = ',')]
    pub(crate) tools: Option<Vec<String>>,

    /// A tool or rule, such as `Bash(git status:*)`, that drivers may allow in advance; may be repeated
    ///
    /// Reading and searching inside the folder of a session always may; `*` stands for everything.
    #[arg(long, value_name = "RULE")]
    pub(crate) allow_tools: Vec<String>,

    #[command(flatten)]
    pub(crate) sandbox: SandboxOpts,

    /// Let sessions run every tool without asking, where somebody chooses that
    #[arg(long, help_heading = "Sessions")]
    pub(crate) allow_bypass_permissions: bool,

    /// Most processes of the CLI that work at a time; those that wait for a person are not counted
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..), help_heading = "Limits")]
    pub(crate) max_processes: u16,

    /// Most sessions that keep their process while they wait for a person, without counting as one that works
    #[arg(long, value_name = "N", default_value_t = 16, help_heading = "Limits")]
    pub(crate) max_awaiting: u16,

    /// How long a session may wait for a person while others wait for its process; then it is denied
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = values::time, help_heading = "Limits")]
    pub(crate) crowded_wait: Duration,

    /// How long a process with nothing to do stays
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = values::time, help_heading = "Limits")]
    pub(crate) idle: Duration,

    /// How long a person may take to answer before it counts as no; for ever where nothing is said
    #[arg(long, value_name = "TIME", value_parser = values::time, help_heading = "Limits")]
    pub(crate) ask_timeout: Option<Duration>,

    /// Remove sessions in which nothing happened for this long, such as 90d; never those that run, wait or are pinned
    #[arg(long, value_name = "TIME", value_parser = values::time, help_heading = "Limits")]
    pub(crate) keep_for: Option<Duration>,

    /// Remove the oldest sessions, archived ones first, while the log is larger than this, such as 10GB
    #[arg(long, value_name = "SIZE", value_parser = values::size, help_heading = "Limits")]
    pub(crate) keep_size: Option<u64>,

    /// The same for sessions of OpenAI's clients, which cannot answer themselves
    #[arg(long, value_name = "TIME", default_value = "2m", value_parser = values::time, help_heading = "Limits")]
    pub(crate) unattended_ask_timeout: Duration,

    /// Most requests of one token in a minute
    #[arg(long, value_name = "N", default_value_t = 6000, value_parser = clap::value_parser!(u32).range(1..), help_heading = "Limits")]
    pub(crate) requests_per_minute: u32,

    /// Most streams of events that one token may have open; a share link may have 16
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u16).range(1..), help_heading = "Limits")]
    pub(crate) streams_per_token: u16,

    /// Most connections at a time; where there are more, one on which nothing is asked is closed
    #[arg(long, value_name = "N", default_value_t = 4096, value_parser = clap::value_parser!(u16).range(1..), help_heading = "Limits")]
    pub(crate) max_connections: u16,

    /// Also carry messages of chats, as this configuration of `weir bridge` says; its workspaces become roots
    #[arg(long, value_name = "FILE", help_heading = "Sessions")]
    pub(crate) bridge: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) openai: OpenAiOpts,
}

/// How OpenAI's clients are answered.
#[derive(Debug, Args)]
#[command(next_help_heading = "OpenAI's clients")]
pub(crate) struct OpenAiOpts {
    /// Refuse parameters that cannot be honoured, such as temperature, instead of ignoring them with a warning
    #[arg(long)]
    pub(crate) openai_strict: bool,

    /// Parameters to ignore in any case: those that are refused by default, such as tools, or with --openai-strict
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) openai_ignore: Vec<String>,

    /// How long a turn runs on after its client has gone, so that a retry finds it
    #[arg(long, value_name = "TIME", default_value = "15s", value_parser = values::time)]
    pub(crate) openai_grace: Duration,

    /// How long a turn may take before it is interrupted and its client gets an error
    #[arg(long, value_name = "TIME", default_value = "1h", value_parser = values::time)]
    pub(crate) openai_timeout: Duration,
}

impl OpenAiOpts {
    /// What was typed, as the server takes it.
    pub(crate) fn into_settings(self) -> OpenAiSettings {
        OpenAiSettings {
            strict: self.openai_strict,
            ignores: self.openai_ignore,
            grace: self.openai_grace,
            timeout: self.openai_timeout,
        }
    }
}

/// Where and how to listen.
#[derive(Debug, Args)]
#[command(next_help_heading = "Listening")]
pub(crate) struct ListenOpts {
    /// Where to listen; port 0 for one that is free
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:4747", env = "WEIR_LISTEN", value_parser = values::address)]
    pub(crate) listen: SocketAddr,

    /// Let other machines connect: whoever has a token can run commands on this one
    #[arg(long)]
    pub(crate) allow_remote: bool,

    /// An address under which a proxy makes the server known, such as https://example.org/weir; may be repeated
    #[arg(long, value_name = "URL")]
    pub(crate) public_url: Vec<PublicUrl>,

    /// What stands before every path, such as /weir; that of the first --public-url where nothing is said
    #[arg(long, value_name = "PATH", value_parser = weir_server::base_path)]
    pub(crate) base_path: Option<String>,

    /// A certificate in PEM, with those that lead to its issuer
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub(crate) tls_cert: Option<PathBuf>,

    /// Its key in PEM
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub(crate) tls_key: Option<PathBuf>,

    /// Encrypt with a certificate of our own, about which browsers warn once
    #[arg(long, conflicts_with = "tls_cert")]
    pub(crate) tls_self_signed: bool,

    /// Write {"url","token"} to this file, for its owner only, as soon as the server listens
    #[arg(long, value_name = "FILE")]
    pub(crate) ready_file: Option<PathBuf>,

    /// How long running turns may take to end after Ctrl-C
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = values::time, overrides_with = "drain")]
    pub(crate) drain: Duration,

    #[command(flatten)]
    pub(crate) log: LogOpts,
}

/// What is logged.
#[derive(Debug, Args)]
#[command(next_help_heading = "Log")]
pub(crate) struct LogOpts {
    /// What is logged: error, warn, info, debug, trace, or a filter such as weir_server=debug
    #[arg(long, value_name = "FILTER", default_value = "warn", env = "WEIR_LOG")]
    pub(crate) log: String,

    /// What logs look like
    #[arg(long, value_enum, default_value_t = LogFormatOpt::Text)]
    pub(crate) log_format: LogFormatOpt,

    /// Send spans to this OpenTelemetry collector, such as http://127.0.0.1:4318/v1/traces
    #[arg(long, value_name = "URL")]
    pub(crate) otlp: Option<String>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum LogFormatOpt {
    /// Lines for people
    Text,
    /// One JSON object a line
    Json,
}

/// Where the server keeps what it keeps.
#[derive(Debug, Clone, Args)]
pub(crate) struct DataOpts {
    /// Where sessions, tokens and the audit log are kept
    #[arg(long, value_name = "DIR", env = "WEIR_DATA_DIR", hide_env_values = true)]
    pub(crate) data_dir: Option<PathBuf>,
}

/// Shows all of it on a simulated CLI, in a folder of its own: no account, no cost
///
/// Begins a session that shows a little of everything, opens it in the browser or prints the link to it. What was made is
/// gone at the end.
#[derive(Debug, Args)]
pub(crate) struct DemoOpts {
    /// Where to listen; port 0 for one that is free
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:0", value_parser = values::address)]
    pub(crate) listen: SocketAddr,

    /// Do not open the page in a browser; only a desktop session has one that is opened
    #[arg(long)]
    pub(crate) no_open: bool,

    /// Run the tour without a person, print how it went, and end; so it is without a terminal
    #[arg(long, env = "DEMO_ONCE", value_parser = clap::builder::FalseyValueParser::new(), action = clap::ArgAction::SetTrue)]
    pub(crate) once: bool,

    /// Write {"url","token"} to this file, for its owner only, as soon as the server listens
    #[arg(long, value_name = "FILE")]
    pub(crate) ready_file: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) log: LogOpts,
}
