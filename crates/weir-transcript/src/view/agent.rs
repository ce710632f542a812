//! Sub-agents and other work beside the conversation.

use serde::{Deserialize, Serialize};
use weir_wire::{TaskId, ToolUseId, TurnId};

use super::EntryId;

/// Longest label, in characters: a prompt may be one long line.
const MAX_LABEL: usize = 160;

/// A sub-agent. Its entries are those whose parent it is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Agent {
    /// The tool call that started it, which is its name everywhere.
    pub id: ToolUseId,
    /// The sub-agent that started it; none for the main agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<ToolUseId>,
    /// The entry at which it was first heard of.
    pub entry: EntryId,
    /// The turn in which it was started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<TurnId>,
    /// The CLI's name for its task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    /// What it is for.
    #[serde(default)]
    pub description: String,
    /// The kind of sub-agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_type: Option<String>,
    /// What it was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// Whether the conversation goes on beside it.
    #[serde(default)]
    pub background: bool,
    /// How far it is.
    pub state: AgentState,
    /// What it does now, and what it has used.
    #[serde(default)]
    pub progress: AgentProgress,
    /// What came of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
}

impl Agent {
    /// What it is for, in a line that is never empty: its description, what it was asked, or its kind.
    pub fn label(&self) -> String {
        let asked = self.prompt.as_deref().and_then(|prompt| prompt.trim().lines().next());
        let known = [Some(self.description.trim()), asked, self.agent_type.as_deref()];
        match known.into_iter().flatten().find(|text| !text.is_empty()) {
            Some(text) => text.chars().take(MAX_LABEL).collect(),
            None => "sub-agent".to_owned(),
        }
    }
}

/// How far a sub-agent is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum AgentState {
    /// At work.
    Running,
    /// Done.
    Completed,
    /// Given up.
    Failed,
    /// Ended from outside.
    Stopped,
    /// The CLI ended and nothing more was heard of it.
    Unknown,
}

/// What a sub-agent does, and what it has used.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct AgentProgress {
    /// What it does now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub activity: Option<String>,
    /// The tool that it used last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_tool: Option<String>,
    /// Tokens of all kinds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_tokens: Option<u64>,
    /// Tool calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_uses: Option<u64>,
    /// Time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
}

/// Something that runs in the background.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct BackgroundTask {
    /// The CLI's name for it.
    pub id: TaskId,
    /// `local_agent`, `local_bash` and the like.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_type: Option<String>,
    /// What it is for.
    #[serde(default)]
    pub description: String,
}
