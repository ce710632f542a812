//! Things that happen around the conversation.

use serde::{Deserialize, Serialize};
use weir_wire::ToolUseId;

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Notice {
    /// The API failed and is tried again. Updated in place while it goes on.
    ApiRetry {
        /// Which try comes next.
        attempt: u64,
        /// How many tries there are.
        max_retries: Option<u64>,
        /// How long it waits before, in milliseconds.
        delay_ms: Option<u64>,
        /// The HTTP status.
        status: Option<u64>,
        /// The error in a word.
        error: Option<String>,
    },
    /// The account's limit has changed.
    RateLimit {
        /// `allowed`, `allowed_warning` or `rejected`.
        status: String,
        /// When it is lifted, in seconds since 1970.
        resets_at: Option<u64>,
        /// Which limit.
        limit: Option<String>,
    },
    /// The history was replaced by a summary.
    Compaction {
        /// `manual` or `auto`.
        trigger: Option<String>,
        /// Tokens before.
        pre_tokens: Option<u64>,
        /// Tokens after.
        post_tokens: Option<u64>,
    },
    /// A person interrupted the turn.
    Interrupted,
    /// The conversation starts over.
    Reset {
        /// Why.
        trigger: Option<String>,
    },
    /// Another model takes over.
    ModelFallback {
        /// The model before.
        from: Option<String>,
        /// The model now.
        to: Option<String>,
        /// What the CLI says about it.
        text: Option<String>,
    },
    /// What a slash command printed.
    CommandOutput {
        /// The text.
        text: String,
    },
    /// The CLI has something to say.
    Info {
        /// How much it matters: `info`, `notice`, `suggestion`, `warning`, or a notification's priority.
        level: Option<String>,
        /// The text.
        text: String,
    },
    /// The CLI printed plain text where its lines should be.
    PlainText {
        /// The line, cut to a bounded length.
        text: String,
    },
    /// What a run of tool calls came to.
    ToolSummary {
        /// The sentence.
        text: String,
        /// The calls.
        tools: Vec<ToolUseId>,
    },
    /// The CLI logs in, or failed to.
    Login {
        /// What it shows.
        text: String,
        /// Why it failed.
        error: Option<String>,
    },
    /// The CLI ended while a turn was running, or with an error.
    ProcessEnded {
        /// Its exit code.
        code: Option<i32>,
        /// The signal that ended it.
        signal: Option<i32>,
        /// The last that it printed on its standard error, or else as plain text on its standard output.
        stderr: String,
    },
    /// An error that is not a result.
    Error {
        /// What went wrong.
        message: String,
    },
}

/// A hook that ran, or runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct HookRun {
    /// Names the run.
    pub id: String,
    /// The hook, such as `PreToolUse:Bash`.
    #[serde(default)]
    pub name: String,
    /// The event, such as `PreToolUse`.
    #[serde(default)]
    pub event: String,
    /// `success`, `error`, `cancelled`; none while it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<String>,
    /// How it exited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i64>,
    /// What it printed, cut to a bounded length.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub output: String,
}
