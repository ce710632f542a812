//! Responses to requests from the CLI, from the request and the rules. Pure.

use weir_transcript::{HostEvent, RequestAnswer};

use super::model::{Hook, Process, Reply};
use crate::json::Json;
use crate::real::Response;
use crate::{array, object};

/// The response to a request; `None` if it is held.
pub(super) fn respond(process: &Process, line: &Json) -> Option<Response> {
    let id = line.get("request_id")?;
    let request = line.get("request")?;
    match request.str_of("subtype") {
        Some("can_use_tool") => {
            let tool = request.str_of("tool_name").unwrap_or_default();
            let rule = process.replies.iter().find(|rule| rule.tool == tool);
            decide(id, request, rule.map_or(&Reply::Allow, |rule| &rule.reply))
        }
        Some("hook_callback") => {
            let output = request.str_of("callback_id").and_then(|id| hook_output(&process.hooks, id));
            Some(success(id, output.unwrap_or_else(|| object! {}), None))
        }
        Some("mcp_message") => {
            let reply = mcp_reply(request.get("message").unwrap_or(&Json::Null))?;
            Some(success(id, object! { "mcp_response" => reply }, None))
        }
        other => {
            let error =
                format!("{} is not supported by this host", other.unwrap_or("a request without a subtype"));
            let response = object! { "subtype" => "error", "request_id" => id, "error" => error };
            Some(Response { response, event: None })
        }
    }
}

/// The response to a permission request.
pub(super) fn decide(id: &Json, request: &Json, reply: &Reply) -> Option<Response> {
    let input = request.get("input").cloned().unwrap_or_else(|| object! {});
    let allow = |input: Json| object! { "behavior" => "allow", "updatedInput" => input };
    let deny = |message: &str| object! { "behavior" => "deny", "message" => message };
    let denied = |message: &str| RequestAnswer::Deny { message: message.to_owned() };
    let plain = RequestAnswer::Allow { answers: None };
    let (response, answer) = match reply {
        Reply::Hold => return None,
        Reply::Allow => (allow(input), plain),
        Reply::AllowWith(other) => (allow(other.clone()), plain),
        Reply::AllowAlways => {
            let suggestion = request.items_of("permission_suggestions").first().cloned();
            let updates = Json::Array(suggestion.into_iter().collect());
            (allow(input).with("updatedPermissions", updates), plain)
        }
        Reply::Deny(message) => (deny(message), denied(message)),
        Reply::DenyAndInterrupt(message) => (deny(message).with("interrupt", true), denied(message)),
        Reply::Answer(answers) => {
            let answers = Json::Object(
                answers
                    .iter()
                    .map(|(question, label)| ((*question).to_owned(), Json::from(*label)))
                    .collect(),
            );
            let known = serde_json::from_str(&answers.to_string()).ok();
            (allow(input.with("answers", answers)), RequestAnswer::Allow { answers: known })
        }
    };
    let request = id.as_str().unwrap_or_default().into();
    Some(success(id, response, Some(HostEvent::RequestAnswered { request, answer, by: None })))
}

fn success(id: &Json, response: Json, event: Option<HostEvent>) -> Response {
    let response = object! { "subtype" => "success", "request_id" => id, "response" => response };
    Response { response, event }
}

/// The name under which a hook is registered.
fn hook_name(place: usize) -> String {
    format!("hook-{}", place + 1)
}

fn hook_output(hooks: &[Hook], name: &str) -> Option<Json> {
    let found = hooks.iter().enumerate().find(|(place, _)| hook_name(*place) == name);
    found.map(|(_, hook)| hook.output.clone())
}

/// What is sent at the start, if the process has hooks or a server in the host.
pub(super) fn initialize(process: &Process) -> Option<Json> {
    if process.hooks.is_empty() && process.mcp_server.is_none() {
        return None;
    }
    let mut hooks = object! {};
    for (place, hook) in process.hooks.iter().enumerate() {
        let matcher =
            object! { "hookCallbackIds" => array![hook_name(place)] }.with_some("matcher", hook.matcher);
        let mut matchers = hooks.get(hook.event).map(|known| known.items().to_vec()).unwrap_or_default();
        matchers.push(matcher);
        hooks.set(hook.event, Json::Array(matchers));
    }
    let hooks = if process.hooks.is_empty() { Json::Null } else { hooks };
    let request = object! { "subtype" => "initialize", "hooks" => hooks };
    Some(request.with_some("sdkMcpServers", process.mcp_server.map(|name| array![name])))
}

/// A small MCP server: it has a tool that adds two numbers, and one that never returns.
fn mcp_reply(message: &Json) -> Option<Json> {
    let number = object! { "type" => "number" };
    let result = match message.str_of("method") {
        Some("initialize") => object! {
            "protocolVersion" => message.at(&["params", "protocolVersion"]).cloned().unwrap_or_else(|| Json::from("2024-11-05")),
            "capabilities" => object! { "tools" => object! {} },
            "serverInfo" => object! { "name" => "hosttools", "version" => "1.0.0" },
        },
        Some("tools/list") => object! { "tools" => array![object! {
            "name" => "add",
            "description" => "Adds two numbers.",
            "inputSchema" => object! {
                "type" => "object",
                "properties" => object! { "a" => &number, "b" => &number },
                "required" => array!["a", "b"],
            },
        }, object! {
            "name" => "wait",
            "description" => "Waits.",
            "inputSchema" => object! { "type" => "object", "properties" => object! {} },
        }] },
        Some("tools/call") if message.at(&["params", "name"]).and_then(Json::as_str) == Some("wait") => {
            return None;
        }
        Some("tools/call") => {
            let argument = |name: &str| message.at(&["params", "arguments", name]).and_then(Json::as_f64);
            let sum = argument("a").unwrap_or_default() + argument("b").unwrap_or_default();
            object! { "content" => array![object! { "type" => "text", "text" => sum.to_string() }] }
        }
        _ => object! {},
    };
    // A notification has no id, but the CLI wants a response anyway.
    let id = message.get("id").cloned().unwrap_or_else(|| Json::from(0));
    Some(object! { "jsonrpc" => "2.0", "id" => id, "result" => result })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(tool: &str) -> Json {
        let request =
            object! { "subtype" => "can_use_tool", "tool_name" => tool, "input" => object! { "a" => 1 } };
        object! { "type" => "control_request", "request_id" => "r1", "request" => request }
    }

    #[test]
    fn the_first_matching_rule_applies() {
        let process = Process::default().reply("Bash", Reply::Deny("no")).reply("Bash", Reply::Allow);
        let response = respond(&process, &asked("Bash")).unwrap().response;
        assert_eq!(response.at(&["response", "message"]), Some(&Json::from("no")));
        let response = respond(&process, &asked("Write")).unwrap().response;
        assert_eq!(response.at(&["response", "updatedInput", "a"]), Some(&Json::from(1)));
        assert_eq!(respond(&Process::default().reply("Bash", Reply::Hold), &asked("Bash")), None);
    }

    #[test]
    fn unknown_requests_get_an_error() {
        let line = object! { "request_id" => "r1", "request" => object! { "subtype" => "dance" } };
        let response = respond(&Process::default(), &line).unwrap().response;
        assert_eq!(response.str_of("subtype"), Some("error"));
    }

    #[test]
    fn hooks_are_called_by_the_names_they_were_registered_under() {
        let process = Process::default().hook("Stop", None, object! {}).hook(
            "PreToolUse",
            Some("Bash"),
            object! { "x" => 1 },
        );
        let registered = initialize(&process).unwrap();
        assert_eq!(
            registered.at(&["hooks", "PreToolUse"]).unwrap().to_string(),
            r#"[{"hookCallbackIds":["hook-2"],"matcher":"Bash"}]"#
        );
        assert_eq!(hook_output(&process.hooks, "hook-2"), Some(object! { "x" => 1 }));
        assert_eq!(initialize(&Process::default()), None);
    }
}
