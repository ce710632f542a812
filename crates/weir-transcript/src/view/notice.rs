//! Notices: events of the session other than messages and tool calls.

use serde::{Deserialize, Serialize};
use weir_wire::{MessageId, ToolUseId};

use super::EntryId;

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Notice {
    /// The API failed and the request is retried. Updated in place while retries continue.
    ApiRetry {
        /// Number of the next attempt.
        attempt: u64,
        /// Maximum number of attempts.
        max_retries: Option<u64>,
        /// Delay before the attempt, in milliseconds.
        delay_ms: Option<u64>,
        /// The HTTP status.
        status: Option<u64>,
        /// The error in a word.
        error: Option<String>,
    },
    /// The account's rate limit has changed.
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
    /// The session starts over.
    Reset {
        /// What caused the reset.
        trigger: Option<String>,
    },
    /// The conversation was taken back: the model no longer knows what lies between `entry` and this notice.
    Rewound {
        /// The first message that the model no longer knows.
        #[cfg_attr(feature = "schema", schema(value_type = String))]
        message: MessageId,
        /// Its entry; absent if it was dropped from the view before.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        entry: Option<EntryId>,
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
    /// Information from the CLI.
    Info {
        /// Severity: `info`, `notice`, `suggestion`, `warning`, or a notification's priority.
        level: Option<String>,
        /// The text.
        text: String,
    },
    /// The CLI printed plain text where its lines should be.
    PlainText {
        /// The line, cut to a bounded length.
        text: String,
    },
    /// A summary of a run of tool calls.
    ToolSummary {
        /// The summary.
        text: String,
        /// The calls.
        tools: Vec<ToolUseId>,
    },
    /// The CLI is logging in, or failed to.
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
        /// The end of its standard error, or if that is empty, the last plain text of its standard output.
        stderr: String,
    },
    /// An error that is not a result.
    Error {
        /// What went wrong.
        message: String,
    },
}

/// A run of a hook.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct HookRun {
    /// Id of the run.
    pub id: String,
    /// The hook, such as `PreToolUse:Bash`.
    pub name: String,
    /// The event, such as `PreToolUse`.
    pub event: String,
    /// `success`, `error` or `cancelled`; absent while it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<String>,
    /// Its exit code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i64>,
    /// What it printed, cut to a bounded length.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub output: String,
}
