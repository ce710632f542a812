//! Updates of version 1 as those of version 2.

use agent_client_protocol::Error;
use agent_client_protocol::v1::schema as v1;
use agent_client_protocol::v2::schema::{SessionUpdate, TerminalUpdate, ToolCallUpdate};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::patch::diff;
use super::same;

/// The to-do list of a session: there is one.
const PLAN: &str = "main";

/// The updates that say the same.
pub(super) fn updates(update: v1::SessionUpdate) -> Result<Vec<SessionUpdate>, Error> {
    Ok(match update {
        // An option like the others, which is told of as well.
        v1::SessionUpdate::CurrentModeUpdate(_) => Vec::new(),
        v1::SessionUpdate::ToolCall(call) => calls(&call)?,
        v1::SessionUpdate::ToolCallUpdate(call) => calls(&call)?,
        v1::SessionUpdate::Plan(plan) => {
            let plan = json!({"type": "items", "planId": PLAN, "entries": plan.entries});
            vec![same(&json!({"sessionUpdate": "plan_update", "plan": plan}))?]
        }
        v1::SessionUpdate::AvailableCommandsUpdate(update) => {
            let mut commands = value(&update.available_commands)?;
            for command in commands.as_array_mut().into_iter().flatten().filter_map(Value::as_object_mut) {
                command.insert("type".to_owned(), "command".into());
                if let Some(input) = command.get_mut("input").and_then(Value::as_object_mut) {
                    input.insert("type".to_owned(), "text".into());
                }
            }
            let update = json!({"sessionUpdate": "available_commands_update", "availableCommands": commands});
            vec![same(&update)?]
        }
        v1::SessionUpdate::ConfigOptionUpdate(update) => {
            let mut options = value(&update.config_options)?;
            rename_options(&mut options);
            vec![same(&json!({"sessionUpdate": "config_option_update", "configOptions": options}))?]
        }
        other => vec![same(&other)?],
    })
}

fn value(value: &impl Serialize) -> Result<Value, Error> {
    serde_json::to_value(value).map_err(Error::into_internal_error)
}

/// Options with the names of version 2.
pub(super) fn rename_options(options: &mut Value) {
    for option in options.as_array_mut().into_iter().flatten().filter_map(Value::as_object_mut) {
        if let Some(id) = option.remove("id") {
            option.insert("configId".to_owned(), id);
        }
    }
}

fn calls(call: &impl Serialize) -> Result<Vec<SessionUpdate>, Error> {
    let (call, terminal) = self::call(call)?;
    let terminal = terminal.map(SessionUpdate::TerminalUpdate);
    Ok(terminal.into_iter().chain([SessionUpdate::ToolCallUpdate(call)]).collect())
}

/// A call, and what is in the terminal that it shows.
pub(super) fn call(call: &impl Serialize) -> Result<(ToolCallUpdate, Option<TerminalUpdate>), Error> {
    let mut call = value(call)?;
    let Some(members) = call.as_object_mut() else { return Err(Error::internal_error()) };
    let terminal = terminal(members).map(|terminal| same(&terminal)).transpose()?;
    if let Some(Value::Array(content)) = members.get_mut("content") {
        *content = std::mem::take(content).into_iter().flat_map(shown).collect();
    }
    for location in members.get_mut("locations").and_then(Value::as_array_mut).into_iter().flatten() {
        // Lines are counted from one.
        if let Some(location) = location.as_object_mut()
            && location.get("line").and_then(Value::as_u64) == Some(0)
        {
            location.remove("line");
        }
    }
    Ok((same(&call)?, terminal))
}

fn shown(content: Value) -> Vec<Value> {
    if content.get("type").and_then(Value::as_str) == Some("diff") { diff(&content) } else { vec![content] }
}

/// The terminal of a call, which version 1 has in the metadata.
fn terminal(call: &mut Map<String, Value>) -> Option<Value> {
    let command = call.get("rawInput").and_then(|input| input.get("command")).cloned();
    let meta = call.get_mut("_meta")?.as_object_mut()?;
    let (info, output, exit) =
        (meta.remove("terminal_info")?, meta.remove("terminal_output"), meta.remove("terminal_exit"));
    let mut terminal = Map::new();
    terminal.insert("terminalId".to_owned(), info.get("terminal_id")?.clone());
    let cwd = info.get("cwd").filter(|cwd| cwd.is_string()).cloned();
    terminal.extend(cwd.map(|cwd| ("cwd".to_owned(), cwd)));
    terminal.extend(command.filter(Value::is_string).map(|command| ("command".to_owned(), command)));
    if let Some(data) = output.as_ref().and_then(|output| output.get("data")?.as_str()) {
        terminal.insert("output".to_owned(), json!({"data": STANDARD.encode(data)}));
    }
    if let Some(exit) = exit {
        let status = json!({"exitCode": exit.get("exit_code"), "signal": exit.get("signal")});
        terminal.insert("exitStatus".to_owned(), status);
    }
    Some(Value::Object(terminal))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(update: Value) -> Vec<Value> {
        let update: v1::SessionUpdate = serde_json::from_value(update).unwrap();
        updates(update).unwrap().iter().map(|update| serde_json::to_value(update).unwrap()).collect()
    }

    #[test]
    fn a_command_fills_a_terminal() {
        let call = json!({
            "sessionUpdate": "tool_call", "toolCallId": "t1", "title": "`ls`", "kind": "execute", "status": "completed",
            "rawInput": {"command": "ls"}, "content": [{"type": "terminal", "terminalId": "t1"}],
            "locations": [{"path": "/a", "line": 0}],
            "_meta": {
                "terminal_info": {"terminal_id": "t1", "cwd": "/w"}, "claudeCode": {"toolName": "Bash"},
                "terminal_output": {"terminal_id": "t1", "data": "a\n"},
                "terminal_exit": {"terminal_id": "t1", "exit_code": 0, "signal": null},
            },
        });
        let found = told(call);
        assert_eq!(
            found[0],
            json!({
                "sessionUpdate": "terminal_update", "terminalId": "t1", "command": "ls", "cwd": "/w",
                "output": {"data": "YQo="}, "exitStatus": {"exitCode": 0},
            })
        );
        assert_eq!(found[1]["sessionUpdate"], "tool_call_update");
        assert_eq!(found[1]["content"], json!([{"type": "terminal", "terminalId": "t1"}]));
        assert_eq!(found[1]["_meta"], json!({"claudeCode": {"toolName": "Bash"}}));
        assert_eq!(found[1]["locations"], json!([{"path": "/a"}]));
    }

    #[test]
    fn lists_have_the_names_of_version_2() {
        let entries = json!([{"content": "a", "priority": "medium", "status": "pending"}]);
        let found = told(json!({"sessionUpdate": "plan", "entries": entries}));
        assert_eq!(found[0]["plan"], json!({"type": "items", "planId": "main", "entries": entries}));
        let commands = json!([{"name": "compact", "description": "d", "input": {"hint": "h"}}]);
        let found =
            told(json!({"sessionUpdate": "available_commands_update", "availableCommands": commands}));
        let expected = json!([{"type": "command", "name": "compact", "description": "d", "input": {"type": "text", "hint": "h"}}]);
        assert_eq!(found[0]["availableCommands"], expected);
        let option = json!({"id": "mode", "name": "m", "type": "select", "currentValue": "a", "options": [{"value": "a", "name": "A"}]});
        let found = told(json!({"sessionUpdate": "config_option_update", "configOptions": [option]}));
        assert_eq!(found[0]["configOptions"][0]["configId"], "mode");
        assert_eq!(
            told(json!({"sessionUpdate": "current_mode_update", "currentModeId": "plan"})),
            Vec::<Value>::new()
        );
    }
}
