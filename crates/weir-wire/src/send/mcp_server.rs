//! How the CLI reaches an MCP server that does not run in our process.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// An MCP server that the CLI starts or connects to.
///
/// Its form is that of the CLI's own configuration files, so an entry of their `mcpServers` can be read as one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Map<String, Value>")]
pub struct McpServerConfig {
    /// How to reach it.
    #[serde(flatten)]
    pub connection: McpConnection,
    /// Maximum time of a tool call, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<u64>,
    /// Members that have no field here.
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

/// How the CLI reaches an MCP server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum McpConnection {
    /// A program that the CLI starts.
    Stdio {
        /// The program.
        command: String,
        /// Its arguments.
        args: Vec<String>,
        /// Variables of its environment.
        env: BTreeMap<String, String>,
    },
    /// Streamable HTTP.
    Http {
        /// Its address.
        url: String,
        /// Headers of every request.
        headers: BTreeMap<String, String>,
    },
    /// Server-sent events.
    Sse {
        /// Its address.
        url: String,
        /// Headers of every request.
        headers: BTreeMap<String, String>,
    },
}

/// Why a configuration of an MCP server is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum McpServerError {
    /// A member is missing.
    #[error("the {member:?} of the MCP server is missing")]
    Missing {
        /// The member.
        member: &'static str,
    },
    /// A member has another type than it should.
    #[error("the {member:?} of the MCP server is invalid: {reason}")]
    Invalid {
        /// The member.
        member: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// A server of this type cannot be described in a file.
    #[error("invalid type of an MCP server: {found:?}; use stdio, http or sse")]
    UnknownType {
        /// The type.
        found: String,
    },
}

impl McpServerConfig {
    /// A server that the CLI starts.
    pub fn stdio<A: Into<String>>(command: impl Into<String>, args: impl IntoIterator<Item = A>) -> Self {
        let args = args.into_iter().map(Into::into).collect();
        McpConnection::Stdio { command: command.into(), args, env: BTreeMap::new() }.into()
    }

    /// A server with streamable HTTP.
    pub fn http(url: impl Into<String>) -> Self {
        McpConnection::Http { url: url.into(), headers: BTreeMap::new() }.into()
    }

    /// A server with server-sent events.
    pub fn sse(url: impl Into<String>) -> Self {
        McpConnection::Sse { url: url.into(), headers: BTreeMap::new() }.into()
    }

    /// Sets a variable in the environment of a program; has no effect on other servers.
    #[must_use]
    pub fn env(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        if let McpConnection::Stdio { env, .. } = &mut self.connection {
            env.insert(name.into(), value.into());
        }
        self
    }

    /// Sets a header of every request; has no effect on a program.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        if let McpConnection::Http { headers, .. } | McpConnection::Sse { headers, .. } = &mut self.connection
        {
            headers.insert(name.into(), value.into());
        }
        self
    }
}

impl From<McpConnection> for McpServerConfig {
    fn from(connection: McpConnection) -> Self {
        Self { connection, timeout: None, more: Map::new() }
    }
}

impl TryFrom<Map<String, Value>> for McpServerConfig {
    type Error = McpServerError;

    fn try_from(mut members: Map<String, Value>) -> Result<Self, McpServerError> {
        let kind: Option<String> = take(&mut members, "type")?;
        let connection = match kind.as_deref() {
            // A program needs no type in the CLI's files.
            None | Some("stdio") => McpConnection::Stdio {
                command: required(&mut members, "command")?,
                args: take(&mut members, "args")?.unwrap_or_default(),
                env: take(&mut members, "env")?.unwrap_or_default(),
            },
            Some("http") => McpConnection::Http {
                url: required(&mut members, "url")?,
                headers: take(&mut members, "headers")?.unwrap_or_default(),
            },
            Some("sse") => McpConnection::Sse {
                url: required(&mut members, "url")?,
                headers: take(&mut members, "headers")?.unwrap_or_default(),
            },
            Some(found) => return Err(McpServerError::UnknownType { found: found.to_owned() }),
        };
        let timeout = take(&mut members, "timeout")?;
        Ok(Self { connection, timeout, more: members })
    }
}

fn take<T: serde::de::DeserializeOwned>(
    members: &mut Map<String, Value>,
    member: &'static str,
) -> Result<Option<T>, McpServerError> {
    let Some(value) = members.remove(member) else { return Ok(None) };
    let invalid = |error: serde_json::Error| McpServerError::Invalid { member, reason: error.to_string() };
    serde_json::from_value(value).map(Some).map_err(invalid)
}

fn required<T: serde::de::DeserializeOwned>(
    members: &mut Map<String, Value>,
    member: &'static str,
) -> Result<T, McpServerError> {
    take(members, member)?.ok_or(McpServerError::Missing { member })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(value: Value) -> Result<McpServerConfig, String> {
        serde_json::from_value(value).map_err(|error| error.to_string())
    }

    #[test]
    fn a_server_is_written_as_it_was_read() {
        let own = json!({"type": "stdio", "command": "db", "args": ["-v"], "env": {"KEY": "k"}, "timeout": 5000,
            "alwaysLoad": true});
        assert_eq!(json!(read(own.clone()).unwrap()), own);
        let far =
            json!({"type": "http", "url": "https://mcp.example", "headers": {"Authorization": "Bearer x"}});
        assert_eq!(json!(read(far.clone()).unwrap()), far);
        let built = McpServerConfig::http("https://mcp.example").header("Authorization", "Bearer x");
        assert_eq!(json!(built), far);
    }

    #[test]
    fn a_server_without_a_type_is_a_program() {
        let server = read(json!({"command": "db"})).unwrap();
        assert_eq!(server, McpServerConfig::stdio::<String>("db", []));
        assert_eq!(json!(server)["type"], "stdio");
    }

    #[test]
    fn invalid_servers_are_refused_with_the_member() {
        for (wrong, named) in [
            (json!({"type": "stdio"}), "command"),
            (json!({"type": "http"}), "url"),
            (json!({"command": "x", "args": "-v"}), "args"),
            (json!({"type": "sdk", "name": "x"}), "sdk"),
            (json!({"type": "sse", "url": "u", "headers": {"a": 1}}), "headers"),
        ] {
            let error = read(wrong).unwrap_err();
            assert!(error.contains(named), "{error}");
        }
    }
}
