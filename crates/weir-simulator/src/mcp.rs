//! MCP servers in the host, reached through `mcp_message` requests.

use std::sync::Arc;

use super::agent::Agent;
use super::cancel::Cancel;
use super::host::{self, AskError, Withdrawal};
use super::ids::Ids;
use super::lock;
use super::sim::Sim;
use crate::json::{Json, parse};
use crate::object;

/// A server in the host.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Server {
    pub(crate) name: String,
    pub(crate) connected: bool,
    pub(crate) info: Option<Json>,
    pub(crate) tools: Vec<String>,
    /// The id of the next message.
    next: u64,
}

impl Server {
    pub(crate) fn new(name: &str) -> Self {
        Self { name: name.to_owned(), ..Self::default() }
    }

    /// The names of its tools, as the model knows them.
    pub(crate) fn tool_names(&self) -> impl Iterator<Item = String> + '_ {
        self.tools.iter().map(|tool| format!("mcp__{}__{tool}", self.name))
    }
}

/// Splits `mcp__server__tool` into its two names.
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

/// Connects to servers that are not connected yet, and lists their tools.
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
        let id = next_id(sim, &name);
        let Ok(greeting) = request(sim, &agent, &name, id, ("initialize", Some(params))) else { continue };
        let ready = object! { "jsonrpc" => "2.0", "method" => "notifications/initialized" };
        if message(sim, &agent, &name, ready, None).is_err() {
            continue;
        }
        let Ok(tools) = list_tools(sim, &agent, &name) else { continue };
        let info = greeting.at(&["result", "serverInfo"]).cloned();
        change(sim, &name, |server| {
            server.connected = true;
            server.info = info;
            server.tools = tools;
        });
    }
}

fn change<T>(sim: &Sim, name: &str, change: impl FnOnce(&mut Server) -> T) -> Option<T> {
    sim.state().servers.iter_mut().find(|server| server.name == name).map(change)
}

fn list_tools(sim: &Sim, agent: &Agent, name: &str) -> Result<Vec<String>, AskError> {
    let answer = request(sim, agent, name, next_id(sim, name), ("tools/list", None))?;
    let tools = answer.at(&["result", "tools"]).map(Json::items).unwrap_or_default();
    Ok(tools.iter().filter_map(|tool| tool.str_of("name")).map(str::to_owned).collect())
}

/// Handles a message sent by a server in the host.
pub(crate) fn handle_message(sim: &Arc<Sim>, ids: &Arc<Ids>, sent: &Json) {
    let name = sent.str_of("server_name").unwrap_or_default().to_owned();
    let message = sent.get("message").unwrap_or(&Json::Null);
    match (message.str_of("method"), message.get("id")) {
        // The older version ignores it.
        (Some("notifications/tools/list_changed"), _) if !sim.profile.is_old() => {
            let (sim, ids) = (Arc::clone(sim), ids.fork("tools"));
            // The response arrives on the current thread, so it must not block.
            std::thread::spawn(move || {
                let agent = Agent::new(None, ids, Cancel::new());
                if let Ok(tools) = list_tools(&sim, &agent, &name) {
                    change(&sim, &name, |server| server.tools = tools);
                }
            });
        }
        (Some(_), Some(id)) => {
            let error = object! { "code" => -32601, "message" => "Method not found" };
            let answer = object! { "jsonrpc" => "2.0", "id" => id, "error" => error };
            host::tell(&sim.out, &ids.uuid(), envelope(&name, answer));
        }
        _ => {}
    }
}

fn envelope(server: &str, message: Json) -> Json {
    object! { "subtype" => "mcp_message", "server_name" => server, "message" => message }
}

/// The id of the next request to a server.
fn next_id(sim: &Sim, server: &str) -> u64 {
    let id = change(sim, server, |server| {
        server.next += 1;
        server.next - 1
    });
    id.unwrap_or_default()
}

/// Sends a request to a server and returns its response.
fn request(
    sim: &Sim,
    agent: &Agent,
    server: &str,
    id: u64,
    (method, params): (&str, Option<Json>),
) -> Result<Json, AskError> {
    let call = object! { "method" => method }
        .with_some("params", params)
        .with_all(object! { "jsonrpc" => "2.0", "id" => id });
    message(sim, agent, server, call, Some(id))
}

/// Sends a message to a server and returns its response. A request is withdrawn by its id.
fn message(sim: &Sim, agent: &Agent, server: &str, message: Json, id: Option<u64>) -> Result<Json, AskError> {
    let withdrawal = match id {
        None => Withdrawal::Request,
        Some(id) => {
            let reason = if sim.profile.is_old() { "This operation was aborted" } else { "remote-cancel" };
            let params = object! { "requestId" => id, "reason" => format!("AbortError: {reason}") };
            let cancelled =
                object! { "jsonrpc" => "2.0", "method" => "notifications/cancelled", "params" => params };
            Withdrawal::Message(envelope(server, cancelled))
        }
    };
    let request = envelope(server, message);
    let answer = sim.host.ask_until(&sim.out, &agent.ids.uuid(), request, &agent.cancel, withdrawal)?;
    Ok(answer.get("mcp_response").cloned().unwrap_or(Json::Null))
}

/// Calls a server's tool; returns its blocks, or why it failed.
pub(crate) fn call(
    sim: &Sim,
    agent: &Agent,
    name: &str,
    input: &Json,
    tool_use_id: &str,
) -> Result<Json, AskError> {
    let (server, tool) = split_name(name).unwrap_or_default();
    let id = next_id(sim, server);
    let mut meta = object! { "claudecode/toolUseId" => tool_use_id };
    if !sim.profile.is_old() {
        meta.set("progressToken", id);
    }
    let params = object! { "name" => tool, "arguments" => input, "_meta" => meta };
    let answer = request(sim, agent, server, id, ("tools/call", Some(params)))?;
    if let Some(error) = answer.get("error") {
        let text = error.str_of("message").unwrap_or("the server returned an error");
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
    fn names_are_split() {
        assert_eq!(split_name("mcp__host__add_two"), Some(("host", "add_two")));
        assert_eq!(split_name("Bash"), None);
        assert_eq!(
            configured_names(&[r#"{"mcpServers":{"a":{},"b":{}}}"#.to_owned(), "/nowhere".to_owned()]),
            ["a", "b"]
        );
    }
}
