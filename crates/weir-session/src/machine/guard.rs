//! Tool calls that the CLI runs without asking, and that lead somewhere the session must not reach unasked. Pure.
//!
//! The CLI reads a file that the arguments of a skill refer to with `@`, sends messages to other sessions of the same
//! user, and lists them. None of that is a permission request, so a hook that every session registers refuses it.

use std::path::Path;

use serde_json::Value;
use weir_transcript::View;
use weir_wire::{HookEvent, HookRegistration, RawJson, refers_to_file};

/// The name under which the hook is registered.
pub(super) const CALLBACK: &str = "weir-guard";

/// Tools that start a sub-agent, which may get a name.
const AGENT_TOOLS: [&str; 2] = ["Agent", "Task"];

/// The hook, for the first request to the CLI.
pub(super) fn registration() -> HookRegistration {
    HookRegistration {
        // As a pattern for all versions: names of tools, and nothing else.
        matcher: Some(
            "Skill|SlashCommand|CronCreate|ScheduleWakeup|SendMessage|ListAgents|ListPeers".to_owned(),
        ),
        ..HookRegistration::new(HookEvent::PreToolUse, CALLBACK)
    }
}

/// Why a call is refused; `None` if it may continue, which allows nothing that the CLI would ask about.
pub(super) fn objection(call: &Value, view: &View) -> Option<String> {
    let argument = |name: &str| call.pointer(&format!("/tool_input/{name}")).and_then(Value::as_str);
    let tool = call.get("tool_name").and_then(Value::as_str)?;
    match tool {
        "Skill" => {
            let args = argument("args").unwrap_or_default();
            (texts(call.get("tool_input")?).any(refers_to_file) || leads_out(args, view)).then(|| {
                "The arguments of a skill must not refer to files with @, or to anything outside the working folder: \
                 they would be read without permission. Leave that out, and use the tool Read for the file."
                    .to_owned()
            })
        }
        // On older versions these texts are interpreted like those of a person. They are not shell words.
        "SlashCommand" | "CronCreate" | "ScheduleWakeup" => {
            texts(call.get("tool_input")?).any(refers_to_file).then(|| {
                "This text must not refer to files with @: they would be read without permission. Write the path \
                 without the @, and use the tool Read for the file."
                    .to_owned()
            })
        }
        "SendMessage" if !is_own_agent(argument("to").unwrap_or_default(), view) => Some(
            "Messages can only be sent to sub-agents of this session, by the name or the agentId they were started \
             with: other sessions are out of reach."
                .to_owned(),
        ),
        "ListAgents" | "ListPeers" => {
            Some("Other sessions are out of reach. The sub-agents are those that this session has started.".to_owned())
        }
        _ => None,
    }
}

/// All texts in a value, at any depth.
fn texts(value: &Value) -> impl Iterator<Item = &str> {
    let mut waiting = vec![value];
    std::iter::from_fn(move || {
        loop {
            match waiting.pop()? {
                Value::String(text) => return Some(text.as_str()),
                Value::Array(items) => waiting.extend(items),
                Value::Object(members) => waiting.extend(members.values()),
                _ => {}
            }
        }
    })
}

/// Whether a word could be a path out of the working folder. A skill may put its arguments after an `@` of its own.
fn leads_out(arguments: &str, view: &View) -> bool {
    let folder = view.session.cwd.as_deref().map(Path::new);
    let is_outside = |word: &str| {
        word.split('/').any(|part| part == "..")
            || word.starts_with('~')
            || (word.starts_with('/') && !folder.is_some_and(|folder| Path::new(word).starts_with(folder)))
    };
    let separates = |character: char| character.is_whitespace() || "\"'`=,;(\\".contains(character);
    // Newer versions split arguments like a shell, which joins the parts of a word around its quotes.
    let unquoted: String = arguments.chars().filter(|character| !"\"'\\".contains(*character)).collect();
    [arguments, &unquoted].iter().any(|text| text.split(separates).any(is_outside))
}

/// Whether a message to this name stays in the session.
fn is_own_agent(name: &str, view: &View) -> bool {
    let is_named = |input: RawJson<'_>| {
        input.to_value().get("name").and_then(Value::as_str).is_some_and(|given| given == name)
    };
    name == "main"
        || view.agents.iter().any(|agent| agent.task.as_ref().is_some_and(|task| task.as_str() == name))
        || view
            .tools()
            .any(|(_, call)| AGENT_TOOLS.contains(&call.name.as_str()) && is_named(call.input.as_raw()))
}
