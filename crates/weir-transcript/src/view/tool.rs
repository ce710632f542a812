//! Tool calls, and what they do to files and to-do lists.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use weir_wire::{OwnedJson, OwnedText, Question, RequestId, ToolUseId, TurnId};

use super::EntryId;

/// A tool call with its result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct ToolCall {
    /// Id of the call.
    pub id: ToolUseId,
    /// The tool; empty while only its result is known.
    pub name: String,
    /// What it does, in a line: the command, the file, the description.
    pub title: String,
    /// The arguments, once they are complete.
    #[serde(default, skip_serializing_if = "OwnedJson::is_null")]
    pub input: OwnedJson,
    /// The arguments as they stream in: the beginning of a JSON text. Empty once they are complete.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub input_text: String,
    /// Its state.
    pub state: ToolState,
    /// Whether the API runs it instead of the CLI.
    pub server: bool,
    /// The request for permission that it waited for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<RequestId>,
    /// Its output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Output>,
    /// Details that depend on the kind of tool.
    pub detail: ToolDetail,
    /// Its structured result, if `detail` does not cover it and it is not too long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub structured: Option<OwnedJson>,
    /// When it began, in milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<i64>,
    /// How long it took, or has taken so far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
}

/// The state of a tool call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ToolState {
    /// Its arguments are still streaming in.
    Pending,
    /// A person has to allow it.
    WaitingForPermission,
    /// It is running.
    Running,
    /// It succeeded.
    Succeeded,
    /// It returned an error.
    Failed,
    /// It was not allowed.
    Denied,
    /// It was ended by an interrupt.
    Interrupted,
    /// The turn ended without a result for it.
    Unknown,
}

impl ToolState {
    /// Whether nothing more will happen to the call.
    pub fn is_settled(self) -> bool {
        !matches!(self, Self::Pending | Self::WaitingForPermission | Self::Running)
    }

    /// Whether the call failed or was not allowed. An interrupted call was ended on purpose.
    pub fn is_error(self) -> bool {
        matches!(self, Self::Failed | Self::Denied)
    }
}

/// The output of a tool, cut to a bounded length.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Output {
    /// The beginning, or all of it.
    pub text: OwnedText,
    /// The end, if the middle was left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tail: Option<OwnedText>,
    /// Its size in bytes, as in its line.
    pub bytes: u64,
    /// The number of that line, counted from one over all folded lines but transient ones: the log has the full
    /// output there.
    pub line: u64,
    /// Number of images in it.
    pub images: u32,
}

/// Details beyond the output that depend on the kind of tool.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum ToolDetail {
    /// No details.
    #[default]
    None,
    /// A command.
    Command {
        /// What it printed on its standard error.
        stderr: String,
        /// Whether it was interrupted.
        interrupted: bool,
        /// The task that it became, if it continues in the background.
        background_task: Option<String>,
        /// Path of its full output, if that was long.
        output_file: Option<String>,
    },
    /// A file was read.
    FileRead {
        /// The file.
        path: String,
        /// The first line that was read.
        start_line: Option<u64>,
        /// Number of lines that were read.
        lines: Option<u64>,
        /// Number of lines in the file.
        total_lines: Option<u64>,
    },
    /// A file was changed; [`FileChange`] has the difference.
    FileChanged {
        /// The file.
        path: String,
        /// Lines that were added.
        added: u32,
        /// Lines that were removed.
        removed: u32,
    },
    /// Questions for the user.
    Questions {
        /// The questions.
        questions: Vec<Question>,
        /// The answers: question to chosen label or labels.
        answers: Option<Value>,
    },
    /// A plan.
    Plan {
        /// The plan, in Markdown.
        text: String,
        /// Path of the plan file.
        file: Option<String>,
    },
    /// A sub-agent; [`super::Agent`] has the rest.
    Agent,
    /// A change to a to-do list; [`TodoList`] has the items.
    Todos,
}

/// A file that was changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct FileChange {
    /// The file.
    pub path: String,
    /// The tool call that changed it.
    pub tool: ToolUseId,
    /// The entry of that tool call.
    pub entry: EntryId,
    /// The turn in which it changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<TurnId>,
    /// The kind of change.
    pub kind: FileChangeKind,
    /// The difference, as a unified diff.
    pub diff: String,
    /// Lines that were added.
    pub added: u32,
    /// Lines that were removed.
    pub removed: u32,
    /// Whether the line numbers are those of the file. They are not if the CLI reported only the arguments.
    pub exact: bool,
}

/// How a file was changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum FileChangeKind {
    /// It is new.
    Created,
    /// It was overwritten.
    Overwritten,
    /// Parts of it were replaced.
    Edited,
    /// It was written, and whether it existed before is not known.
    Written,
}

/// A to-do list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct TodoList {
    /// The sub-agent that keeps the list; absent for the main agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<ToolUseId>,
    /// The items.
    pub items: Vec<Todo>,
}

/// A to-do item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Todo {
    /// Its id, for the tools that use ids.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// What is to be done.
    pub text: String,
    /// `pending`, `in_progress` or `completed`.
    pub status: String,
    /// Wording for while the item is in progress.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active_form: Option<String>,
}
