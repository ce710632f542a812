//! MCP servers that live in the host, reached by `mcp_message` requests.

use std::sync::Arc;

use super::agent::Agent;
use super::cancel::Cancel;
use super::host::AskError;
use super::ids::Ids;
use super::lock;
use super::sim::Sim;
use crate::json::{Json, parse};
use crate::object;

/// A server of the host.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Server {
    pub(crate) name: String,
    pub(crate) connected: bool,
    pub(crate) info: Option<Json>,
    pub(crate) tools: Vec<String>,
}

impl Server {
    /// The names of its tools, as the model knows them.
    pub(crate) fn tool_names(&self) -> impl Iterator<Item = String> + '_ {
        self.tools.iter().map(|tool| format!("mcp__{}__{tool}", self.name))
    }
}

/// `mcp__server__tool` as its two names.
pub(crate) fn split_name(tool: &str) -> Option<(&str, &str)> {
    tool.strip_prefix("mcp__")?.split_once("__")
}

/// The names of the servers in `--mcp-config`: files or JSON.
pub(crate) fn configured_names(configs: &[String]) -> Vec<String> {
    let values = configs.iter().filter_map(|config| match parse(config) {
        Ok(value) => Some(value),
        Err(_) => std::fs::read_to_string(config).ok().and_then(|text| parse(&text).ok()),
    });
    let names = values.flat_map(|value| {
        value
            .get("mcpServers")
            .map(Json::members)
            .unwrap_or_default()
            .iter()
            .map(|(name, _)| name.clone())
            .collect::<Vec<_>>()
    });
    names.collect()
}

/// Greets the servers that are not connected, and asks for their tools.
pub(crate) fn connect(sim: &Sim, ids: &Arc<Ids>) {
    let _one_at_a_time = lock(&sim.connecting);
    let names: Vec<String> = sim
        .state()
        .servers
        .iter()
        .filter(|server| !server.connected)
        .map(|server| server.name.clone())
        .collect();
    let agent = Agent::new(None, Arc::clone(ids), Cancel::new());
    for name in names {
        let mut client = object! { "name" => "claude-code" };
        if !sim.profile.is_old() {
            client.set("title", "Claude Code");
        }
        client.set("version", sim.profile.version.as_str());
        let params = object! { "protocolVersion" => "2025-11-25", "capabilities" => object! {}, "clientInfo" => client };
        let hello = object! { "method" => "initialize", "params" => params, "jsonrpc" => "2.0", "id" => 0 };
        let Ok(greeting) = message(sim, &agent, &name, hello) else { continue };
        let ready = object! { "jsonrpc" => "2.0", "method" => "notifications/initialized" };
        if message(sim, &agent, &name, ready).is_err() {
            continue;
        }
        let list = object! { "method" => "tools/list", "jsonrpc" => "2.0", "id" => 1 };
        let Ok(answer) = message(sim, &agent, &name, list) else { continue };
        let tools = answer.at(&["result", "tools"]).map(Json::items).unwrap_or_default();
        let tools = tools.iter().filter_map(|tool| tool.str_of("name")).map(str::to_owned).collect();
        let mut state = sim.state();
        if let Some(server) = state.servers.iter_mut().find(|server| server.name == name) {
            *server = Server {
                name,
                connected: true,
                info: greeting.at(&["result", "serverInfo"]).cloned(),
                tools,
            };
        }
    }
}

/// Sends a message to a server and gives its answer.
fn message(sim: &Sim, agent: &Agent, server: &str, message: Json) -> Result<Json, AskError> {
    let request = object! { "subtype" => "mcp_message", "server_name" => server, "message" => message };
    let answer = sim.host.ask(&sim.out, &agent.ids.uuid(), request, &agent.cancel)?;
    Ok(answer.get("mcp_response").cloned().unwrap_or(Json::Null))
}

/// Calls a tool of a server; the blocks that it gives, or why not.
pub(crate) fn call(
    sim: &Sim,
    agent: &Agent,
    name: &str,
    input: &Json,
    tool_use_id: &str,
) -> Result<Json, AskError> {
    let (server, tool) = split_name(name).unwrap_or_default();
    let mut meta = object! { "claudecode/toolUseId" => tool_use_id };
    if !sim.profile.is_old() {
        meta.set("progressToken", 2);
    }
    let params = object! { "name" => tool, "arguments" => input, "_meta" => meta };
    let call = object! { "method" => "tools/call", "params" => params, "jsonrpc" => "2.0", "id" => 2 };
    let answer = message(sim, agent, server, call)?;
    if let Some(error) = answer.get("error") {
        let text = error.str_of("message").unwrap_or("the server gave an error");
        return Err(AskError::Refused(text.to_owned()));
    }
    let result = answer.get("result").cloned().unwrap_or(Json::Null);
    if result.is_true("isError") {
        let texts: Vec<_> =
            result.items_of("content").iter().filter_map(|block| block.str_of("text")).collect();
        return Err(AskError::Refused(texts.join("\n")));
    }
    Ok(result.get("content").cloned().unwrap_or_else(|| Json::Array(Vec::new())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_taken_apart() {
        assert_eq!(split_name("mcp__host__add_two"), Some(("host", "add_two")));
        assert_eq!(split_name("Bash"), None);
        assert_eq!(
            configured_names(&[r#"{"mcpServers":{"a":{},"b":{}}}"#.to_owned(), "/nowhere".to_owned()]),
            ["a", "b"]
        );
    }
}
