//! MCP servers that run in our own process.
//!
//! The CLI talks to such a server with `mcp_message` requests over its own pipes. Here they become messages of
//! an [`rmcp`] transport, so that a session can use any `rmcp` server. This module knows the shape of JSON-RPC
//! but nothing about tools, which are up to the server.

mod connection;
mod guard;
mod servers;
mod transport;

pub(crate) use servers::{Factory, McpServers, factory};
