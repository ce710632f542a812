//! Sub-agents and background tasks.

use serde::{Deserialize, Serialize};
use weir_wire::{TaskId, ToolUseId, TurnId};

use super::EntryId;

/// Maximum length of a label, in characters: a prompt may be one long line.
const MAX_LABEL: usize = 160;

/// A sub-agent. Its entries have it as their parent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Agent {
    /// The tool call that started it, used as its id everywhere.
    pub id: ToolUseId,
    /// The sub-agent that started it; absent for the main agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<ToolUseId>,
    /// The entry at which it first appeared.
    pub entry: EntryId,
    /// The turn in which it was started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<TurnId>,
    /// The CLI's id of its task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    /// What it is for.
    pub description: String,
    /// The kind of sub-agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_type: Option<String>,
    /// Its prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// Whether the session continues while it runs.
    pub background: bool,
    /// Its state.
    pub state: AgentState,
    /// What it is doing now, and what it has used.
    pub progress: AgentProgress,
    /// A summary of the outcome.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
}

impl Agent {
    /// What it is for, in a line that is never empty: its description, its prompt, or its kind.
    pub fn label(&self) -> String {
        let asked = self.prompt.as_deref().and_then(|prompt| prompt.trim().lines().next());
        let known = [Some(self.description.trim()), asked, self.agent_type.as_deref()];
        match known.into_iter().flatten().find(|text| !text.is_empty()) {
            Some(text) => text.chars().take(MAX_LABEL).collect(),
            None => "sub-agent".to_owned(),
        }
    }
}

/// The state of a sub-agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum AgentState {
    /// It is running.
    Running,
    /// It has finished.
    Completed,
    /// It failed.
    Failed,
    /// It was stopped from outside.
    Stopped,
    /// The CLI ended without reporting its end.
    Unknown,
}

/// What a sub-agent is doing, and what it has used.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct AgentProgress {
    /// What it is doing now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub activity: Option<String>,
    /// The tool that it used last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_tool: Option<String>,
    /// Tokens of all kinds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_tokens: Option<u64>,
    /// Number of tool calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_uses: Option<u64>,
    /// Run time in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
}

/// A task in the background.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct BackgroundTask {
    /// The CLI's id for it.
    pub id: TaskId,
    /// `local_agent`, `local_bash` and the like.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_type: Option<String>,
    /// What it is for.
    pub description: String,
    /// The sub-agent that started it; none if the main agent did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<TaskId>,
    /// Whether it is not activity, such as a watcher of files: nothing waits for it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ambient: bool,
}
