//! Options of `weir serve` and `weir demo`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use weir_server::{OpenAiSettings, PublicUrl};

use super::{SandboxOpts, TransportOpt, values};

/// Serves sessions over HTTP, with a page to watch, answer and stop agents
///
/// The first start prints a link with a token; `weir token` creates more. Only this machine can connect unless you allow
/// others. Ctrl-C lets running turns finish; a second Ctrl-C ends them.
#[derive(Debug, Args)]
pub(crate) struct ServeOpts {
    // A heading applies until the next one, so options without a heading come first.
    /// Print the OpenAPI document and exit
    #[arg(long)]
    pub(crate) print_openapi: bool,

    #[command(flatten)]
    pub(crate) listen: ListenOpts,

    #[command(flatten, next_help_heading = "Sessions")]
    pub(crate) data: DataOpts,

    /// A folder in which sessions may work; may be repeated; the current folder by default
    #[arg(long, value_name = "DIR")]
    pub(crate) root: Vec<PathBuf>,

    /// The claude CLI; by default WEIR_CLAUDE, or else the first one found
    #[arg(long, value_name = "PATH")]
    pub(crate) claude: Option<PathBuf>,

    /// Set a variable in the CLI's environment; may be repeated
    #[arg(long, value_name = "NAME=VALUE", value_parser = values::variable)]
    pub(crate) env: Vec<(String, String)>,

    /// Log the CLI's input and output, verbatim, to files in this folder
    #[arg(long, value_name = "DIR")]
    pub(crate) log_dir: Option<PathBuf>,

    /// What the output of each CLI is connected to
    ///
    /// A terminal is for programs that buffer their output without one, which the CLI itself does not. With a terminal,
    /// its diagnostics are mixed into its output.
    #[arg(long, value_enum, default_value_t = TransportOpt::Pipe)]
    pub(crate) transport: TransportOpt,

    /// A model that the page offers; may be repeated
    #[arg(long, value_name = "MODEL")]
    pub(crate) offer_model: Vec<String>,

    /// A slash command that drivers may run in addition to the usual ones; may be repeated
    ///
    /// The CLI has commands that change its owner's settings, and a folder may add its own commands. Text in a message
    /// never runs a command.
    #[arg(long, value_name = "NAME")]
    pub(crate) slash_command: Vec<String>,

    /// The tools that sessions have, separated by commas; all tools of the CLI by default
    ///
    /// A session can use fewer of them. Tools not listed here are not available, whatever else is allowed.
    #[arg(long, value_name = "TOOLS", value_delimiter = ',')]
    pub(crate) tools: Option<Vec<String>>,

    /// A tool or rule, such as `Bash(git status:*)`, that drivers may allow in advance; may be repeated
    ///
    /// Reading and searching inside the folder of a session is always permitted; `*` stands for everything.
    #[arg(long, value_name = "RULE")]
    pub(crate) allow_tools: Vec<String>,

    #[command(flatten)]
    pub(crate) sandbox: SandboxOpts,

    /// Let users choose to run every tool of a session without asking
    #[arg(long, help_heading = "Sessions")]
    pub(crate) allow_bypass_permissions: bool,

    /// Maximum number of working CLI processes; those that wait for a person are not counted
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..), help_heading = "Limits")]
    pub(crate) max_processes: u16,

    /// How many started CLIs wait for new sessions, so that these answer sooner; each takes about 160 MB. By default one, or
    /// two with 16 GB of memory, and none with less than 8 GB or two cores
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(..=16), help_heading = "Limits")]
    pub(crate) spares: Option<u16>,

    /// Maximum number of sessions that keep their process while they wait for a person; these don't count as working
    #[arg(long, value_name = "N", default_value_t = 16, help_heading = "Limits")]
    pub(crate) max_awaiting: u16,

    /// How long a session may wait for a person while others wait for its process; then its request is denied
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = values::time, help_heading = "Limits")]
    pub(crate) crowded_wait: Duration,

    /// How long an idle process is kept
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = values::time, help_heading = "Limits")]
    pub(crate) idle: Duration,

    /// How long a person may take to answer before a request is denied; no limit by default
    #[arg(long, value_name = "TIME", value_parser = values::time, help_heading = "Limits")]
    pub(crate) ask_timeout: Option<Duration>,

    /// Remove sessions that were inactive for this long, such as 90d; never those that run, wait or are pinned
    #[arg(long, value_name = "TIME", value_parser = values::time, help_heading = "Limits")]
    pub(crate) keep_for: Option<Duration>,

    /// Remove the oldest sessions, archived ones first, while the log is larger than this, such as 10GB
    #[arg(long, value_name = "SIZE", value_parser = values::size, help_heading = "Limits")]
    pub(crate) keep_size: Option<u64>,

    /// Like --ask-timeout, for sessions of OpenAI clients, which cannot answer requests themselves
    #[arg(long, value_name = "TIME", default_value = "2m", value_parser = values::time, help_heading = "Limits")]
    pub(crate) unattended_ask_timeout: Duration,

    /// Maximum number of requests per token and minute
    #[arg(long, value_name = "N", default_value_t = 6000, value_parser = clap::value_parser!(u32).range(1..), help_heading = "Limits")]
    pub(crate) requests_per_minute: u32,

    /// Maximum number of open event streams per token; a share link may have 16
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u16).range(1..), help_heading = "Limits")]
    pub(crate) streams_per_token: u16,

    /// Maximum number of connections; above it, an idle one is closed
    #[arg(long, value_name = "N", default_value_t = 4096, value_parser = clap::value_parser!(u16).range(1..), help_heading = "Limits")]
    pub(crate) max_connections: u16,

    /// Also run the chat bridge with this `weir bridge` configuration; its workspaces become roots
    #[arg(long, value_name = "FILE", help_heading = "Sessions")]
    pub(crate) bridge: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) openai: OpenAiOpts,
}

/// Options for OpenAI clients.
#[derive(Debug, Args)]
#[command(next_help_heading = "OpenAI clients")]
pub(crate) struct OpenAiOpts {
    /// Refuse parameters that have no effect, such as temperature, instead of ignoring them with a warning
    #[arg(long)]
    pub(crate) openai_strict: bool,

    /// Parameters to ignore that would be refused: by default, such as tools, or with --openai-strict
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) openai_ignore: Vec<String>,

    /// How long a turn keeps running after its client has disconnected, so that a retry finds it
    #[arg(long, value_name = "TIME", default_value = "15s", value_parser = values::time)]
    pub(crate) openai_grace: Duration,

    /// How long a turn may take before it is interrupted and its client gets an error
    #[arg(long, value_name = "TIME", default_value = "1h", value_parser = values::time)]
    pub(crate) openai_timeout: Duration,
}

impl OpenAiOpts {
    /// Converts the options to server settings.
    pub(crate) fn into_settings(self) -> OpenAiSettings {
        OpenAiSettings {
            strict: self.openai_strict,
            ignores: self.openai_ignore,
            grace: self.openai_grace,
            timeout: self.openai_timeout,
        }
    }
}

/// Listening options.
#[derive(Debug, Args)]
#[command(next_help_heading = "Listening")]
pub(crate) struct ListenOpts {
    /// The address to listen on; port 0 for any free port
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:4747", env = "WEIR_LISTEN", value_parser = values::address)]
    pub(crate) listen: SocketAddr,

    /// Let other machines connect: anyone with a token can run commands on this one
    #[arg(long)]
    pub(crate) allow_remote: bool,

    /// A URL under which a proxy publishes the server, such as https://example.org/weir; may be repeated
    #[arg(long, value_name = "URL")]
    pub(crate) public_url: Vec<PublicUrl>,

    /// The prefix of every path, such as /weir; by default that of the first --public-url
    #[arg(long, value_name = "PATH", value_parser = weir_server::base_path)]
    pub(crate) base_path: Option<String>,

    /// A certificate chain in PEM
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub(crate) tls_cert: Option<PathBuf>,

    /// The certificate's key in PEM
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub(crate) tls_key: Option<PathBuf>,

    /// Encrypt with a self-signed certificate, for which browsers show a warning once
    #[arg(long, conflicts_with = "tls_cert")]
    pub(crate) tls_self_signed: bool,

    /// Write {"url","token"} to this file, readable only by its owner, as soon as the server listens
    #[arg(long, value_name = "FILE")]
    pub(crate) ready_file: Option<PathBuf>,

    /// How long running turns may take to finish after Ctrl-C
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = values::time, overrides_with = "drain")]
    pub(crate) drain: Duration,

    #[command(flatten)]
    pub(crate) log: LogOpts,
}

/// Logging options.
#[derive(Debug, Args)]
#[command(next_help_heading = "Log")]
pub(crate) struct LogOpts {
    /// The log level: error, warn, info, debug, trace, or a filter such as weir_server=debug
    #[arg(long, value_name = "FILTER", default_value = "warn", env = "WEIR_LOG")]
    pub(crate) log: String,

    /// The log format
    #[arg(long, value_enum, default_value_t = LogFormatOpt::Text)]
    pub(crate) log_format: LogFormatOpt,

    /// Send spans to this OpenTelemetry collector, such as http://127.0.0.1:4318/v1/traces
    #[arg(long, value_name = "URL")]
    pub(crate) otlp: Option<String>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum LogFormatOpt {
    /// Lines of text
    Text,
    /// One JSON object per line
    Json,
}

/// The data folder.
#[derive(Debug, Clone, Args)]
pub(crate) struct DataOpts {
    /// The folder with sessions, tokens and the audit log
    #[arg(long, value_name = "DIR", env = "WEIR_DATA_DIR", hide_env_values = true)]
    pub(crate) data_dir: Option<PathBuf>,
}

/// Demonstrates Weir on a simulated CLI, in a temporary folder: no account, no cost
///
/// Starts a session that shows a little of everything, and opens it in the browser or prints a link. Everything is
/// removed at the end.
#[derive(Debug, Args)]
pub(crate) struct DemoOpts {
    /// The address to listen on; port 0 for any free port
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:0", value_parser = values::address)]
    pub(crate) listen: SocketAddr,

    /// Do not open the page in a browser, which happens only in a desktop session
    #[arg(long)]
    pub(crate) no_open: bool,

    /// Run the tour without user input, print the result, and exit; the default without a terminal
    #[arg(long, env = "DEMO_ONCE", value_parser = clap::builder::FalseyValueParser::new(), action = clap::ArgAction::SetTrue)]
    pub(crate) once: bool,

    /// Write {"url","token"} to this file, readable only by its owner, as soon as the server listens
    #[arg(long, value_name = "FILE")]
    pub(crate) ready_file: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) log: LogOpts,
}
