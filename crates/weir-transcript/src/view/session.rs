//! The session as a whole.

use serde::{Deserialize, Serialize};
use weir_wire::CliSessionId;

/// A session, with its model, tools and settings.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Session {
    /// The CLI's id for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<CliSessionId>,
    /// Its title.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The CLI's version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Its working directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// The permission mode: what is allowed without asking.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub permission_mode: Option<String>,
    /// Where the API key comes from, which tells who pays.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api_key_source: Option<String>,
    /// The tools that the model has.
    pub tools: Vec<String>,
    /// The MCP servers and their status.
    pub mcp_servers: Vec<McpServer>,
    /// The available slash commands.
    pub slash_commands: Vec<String>,
    /// The skills that can be used.
    pub skills: Vec<String>,
    /// The plugins that are loaded.
    pub plugins: Vec<Plugin>,
    /// Set if the id changed during the session without a requested reset.
    pub forked: bool,
}

/// A plugin that is loaded.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Plugin {
    /// Its name.
    pub name: String,
    /// Its folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
}

/// An MCP server and its status.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct McpServer {
    /// Its name.
    pub name: String,
    /// `connected`, `failed`, `needs-auth` and the like.
    pub status: String,
}

/// What the session is doing.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(tag = "state", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Status {
    /// The CLI has not reported anything yet.
    #[default]
    Starting,
    /// No turn is running and no background task either.
    Idle,
    /// A turn is running.
    Running,
    /// The history is being replaced by a summary.
    Compacting,
    /// A person has to decide something.
    WaitingForPerson,
    /// No turn is running, but a background task is.
    Background,
    /// The CLI has ended.
    Ended,
}

impl Status {
    /// Whether a turn is running, asked for or not.
    pub fn is_in_turn(&self) -> bool {
        matches!(self, Self::Running | Self::Compacting | Self::WaitingForPerson)
    }
}

/// The account's rate limit.
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
    /// The fraction used: 1.0 is all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub utilization: Option<f64>,
}

/// Counts of lines that were not as expected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Oddities {
    /// Lines of types that Weir does not know.
    pub unknown_types: u64,
    /// Lines of known types whose fields do not match.
    pub mismatches: u64,
    /// Lines that are not JSON.
    pub not_json: u64,
    /// Lines that are too long.
    pub oversize: u64,
    /// Content blocks and stream events that are unknown or do not match.
    pub blocks: u64,
}
