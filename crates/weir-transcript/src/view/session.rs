//! The conversation as a whole.

use serde::{Deserialize, Serialize};
use weir_wire::SessionId;

/// Which conversation, and with what.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct Session {
    /// The CLI's name for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<SessionId>,
    /// Its title.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The CLI's version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Where it works.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// What is allowed without asking.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub permission_mode: Option<String>,
    /// Who pays: where the key comes from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api_key_source: Option<String>,
    /// The tools that the model has.
    pub tools: Vec<String>,
    /// The MCP servers and how they are.
    pub mcp_servers: Vec<McpServer>,
    /// The slash commands that work.
    pub slash_commands: Vec<String>,
    /// The skills that can be used.
    pub skills: Vec<String>,
    /// The plugins that are loaded.
    pub plugins: Vec<Plugin>,
    /// Set where the id changed during the conversation, and not by a reset that somebody asked for.
    pub forked: bool,
}

/// A plugin that is loaded.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Plugin {
    /// Its name.
    pub name: String,
    /// Where it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
}

/// An MCP server and how it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct McpServer {
    /// Its name.
    pub name: String,
    /// `connected`, `failed`, `needs-auth` and the like.
    pub status: String,
}

/// What the conversation is doing.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(tag = "state", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Status {
    /// Nothing was heard yet.
    #[default]
    Starting,
    /// No turn runs and nothing runs beside it.
    Idle,
    /// A turn runs.
    Running,
    /// The history is being replaced by a summary.
    Compacting,
    /// A person has to answer.
    WaitingForPerson,
    /// No turn runs, but something does in the background.
    Background,
    /// The CLI has ended.
    Ended,
}

/// The account's limit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct RateLimit {
    /// `allowed`, `allowed_warning` or `rejected`.
    pub status: String,
    /// When it is lifted, in seconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resets_at: Option<u64>,
    /// Which limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<String>,
    /// How much is used: one is all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub utilization: Option<f64>,
}

/// How many lines were not as expected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct Oddities {
    /// Types of line that Weir does not know.
    pub unknown_types: u64,
    /// Known types of line that do not fit.
    pub mismatches: u64,
    /// Lines that are not JSON.
    pub not_json: u64,
    /// Lines that are too long.
    pub oversize: u64,
    /// Content blocks and stream events that are unknown or do not fit.
    pub blocks: u64,
}
