//! MCP servers that live in our own process.
//!
//! The CLI speaks to such a server by `mcp_message` requests on its own pipes. Here those become the messages of an
//! [`rmcp`] transport, so that any `rmcp` server can be given to a session. Knows the shape of JSON-RPC and nothing
//! about tools: that is the server's affair.

mod connection;
mod guard;
mod servers;
mod transport;

pub(crate) use servers::{Factory, McpServers, factory};
