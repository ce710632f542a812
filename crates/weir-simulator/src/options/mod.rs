//! Parses the command line into [`Options`], with the errors of the real CLI.
//!
//! Parsing is pure. It works like commander in the real CLI: lists take words up to the next flag, values may follow
//! `=`, and unknown flags are errors.

mod flags;
mod help;
mod parse;

pub(crate) use help::help;
pub(crate) use parse::parse;

/// The format of input or output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Format {
    #[default]
    Text,
    Json,
    StreamJson,
}

/// Which session to resume.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) enum Resume {
    /// A new one.
    #[default]
    No,
    /// The newest of this folder.
    Newest,
    /// This session; `None` if the flag had no value.
    Session(Option<String>),
}

/// The parsed and checked command line.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Options {
    pub(crate) print: bool,
    pub(crate) verbose: bool,
    pub(crate) version: bool,
    pub(crate) help: bool,
    pub(crate) input: Format,
    pub(crate) output: Format,
    pub(crate) partial_messages: bool,
    pub(crate) replay_user_messages: bool,
    pub(crate) hook_events: bool,
    pub(crate) forward_subagent_text: bool,
    /// Whether it waits for a session that takes it.
    pub(crate) await_claim: bool,
    /// Whether the host answers permission requests on the same pipes.
    pub(crate) host_permissions: bool,
    pub(crate) permission_mode: Option<String>,
    pub(crate) skip_permissions: bool,
    pub(crate) allowed_tools: Vec<String>,
    pub(crate) disallowed_tools: Vec<String>,
    /// The available tools, if the flag was given.
    pub(crate) tools: Option<Vec<String>>,
    pub(crate) model: Option<String>,
    pub(crate) system_prompt: Option<String>,
    pub(crate) append_system_prompt: Option<String>,
    pub(crate) session_id: Option<String>,
    pub(crate) resume: Resume,
    pub(crate) fork: bool,
    /// The uuid of the last line of the resumed session to keep.
    pub(crate) resume_at: Option<String>,
    pub(crate) persist: bool,
    pub(crate) max_turns: Option<u64>,
    pub(crate) max_budget_usd: Option<f64>,
    pub(crate) settings: Option<String>,
    pub(crate) mcp_config: Vec<String>,
    pub(crate) add_dirs: Vec<String>,
    pub(crate) prompt: Option<String>,
}

/// What is wrong with the command line, in the words of the real CLI.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum OptionsError {
    #[error("error: unknown option '{0}'")]
    Unknown(String),
    #[error("error: option '{0}' argument missing")]
    Missing(String),
    #[error("error: option '{flag}' argument '{value}' is invalid. Allowed choices are {choices}.")]
    Choice { flag: String, value: String, choices: String },
    #[error("error: option '{flag}' argument '{value}' is invalid. {reason}")]
    Value { flag: String, value: String, reason: &'static str },
    #[error("Error: --input-format=stream-json requires output-format=stream-json.")]
    InputNeedsStream,
    #[error("Error: When using --print, --output-format=stream-json requires --verbose")]
    StreamNeedsVerbose,
    #[error("Error: Invalid session ID. Must be a valid UUID.")]
    CliSessionId,
    #[error(
        "Error: --session-id can only be used with --continue or --resume if --fork-session is also specified."
    )]
    SessionIdWithResume,
}
