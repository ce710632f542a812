//! Panels of a session, and costs.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};
use weir_wire::McpServerConfig;

use crate::problem::Problem;

/// MCP servers for the running process of a session.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SetMcpServers {
    /// The servers by name, each as an entry of `mcpServers` in the CLI's own files.
    #[schema(value_type = BTreeMap<String, Object>)]
    servers: BTreeMap<String, Value>,
}

impl SetMcpServers {
    /// The servers, each in a form that the CLI knows.
    pub(crate) fn read(self) -> Result<BTreeMap<String, McpServerConfig>, Problem> {
        let read = |(name, server): (String, Value)| match serde_json::from_value(server) {
            Ok(server) => Ok((name, server)),
            Err(error) => Err(Problem::unprocessable("mcp_server", format!("{name}: {error}"))),
        };
        self.servers.into_iter().map(read).collect()
    }
}

/// Whether an MCP server is on.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SwitchMcpServer {
    /// Whether it is on.
    pub(crate) enabled: bool,
}

/// Which costs.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct CostParams {
    /// From when, in milliseconds since 1970; 30 days before the end if left out.
    pub(crate) from: Option<i64>,
    /// Until when; now if left out.
    pub(crate) to: Option<i64>,
    /// How many minutes the client's days are ahead of UTC.
    #[serde(default)]
    #[param(minimum = -1440, maximum = 1440)]
    pub(crate) offset_minutes: i32,
    /// `csv` for a file instead of JSON.
    pub(crate) format: Option<CostFormat>,
}

/// How costs are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum CostFormat {
    /// As JSON.
    Json,
    /// As a file for a spreadsheet.
    Csv,
}
