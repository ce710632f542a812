//! Which lines matter, and their form in the stream.

use serde_json::Value;
use weir_wire::{RawJson, ToolUseId};

use super::json::Object;
use super::record::{Record, text_at};

/// Types of lines that say nothing about the session, or only repeat what other lines say.
const IRRELEVANT: &[&str] = &[
    "agent-color",
    "agent-name",
    "agent-setting",
    "api-request",
    "api-request-blob",
    "api-request-shape",
    "atis-latch",
    "attachment",
    "content-replacement",
    "file-history-snapshot",
    "last-prompt",
    "marble-origami-commit",
    "marble-origami-snapshot",
    "mode",
    "permission-mode",
    "pr-link",
    "progress",
    "queue-operation",
    "saved_hook_context",
    "speculation-accept",
    "tag",
    "tools-used",
    "worktree-state",
];
/// Subtypes of `system` lines that can be ignored likewise.
const IRRELEVANT_SYSTEM: &[&str] = &[
    "away_summary",
    "bridge_status",
    "file_snapshot",
    "scheduled_task_fire",
    "stop_hook_summary",
    "turn_duration",
];

pub(super) fn is_irrelevant(kind: &str) -> bool {
    IRRELEVANT.contains(&kind)
}

pub(super) fn is_irrelevant_system(subtype: &str) -> bool {
    IRRELEVANT_SYSTEM.contains(&subtype)
}

/// The line in the form of the stream: some members have other names, and the agent is added.
pub(super) fn stream_line(record: &Record<'_>, agent: Option<&ToolUseId>) -> Vec<u8> {
    let mut line = Object::new();
    for (key, value) in record.json.members() {
        line = match &*key.to_str() {
            "sessionId" => line.json("session_id", value),
            "toolUseResult" => line.json("tool_use_result", value),
            "agentId" => line.json("agent_id", value),
            "requestId" => line.json("request_id", value),
            "isApiErrorMessage" => line.json("is_api_error_message", value),
            "apiErrorStatus" => line.json("api_error_status", value),
            "apiErrorType" => line.json("api_error_type", value),
            "permissionDecision" => match record.results.as_slice() {
                [call] => {
                    let meta =
                        Object::new().text("id", call.as_str()).json("permission_decision", value).end();
                    let list = [b"[", meta.as_slice(), b"]"].concat();
                    line.json("tool_result_meta", RawJson::parse(&list).unwrap_or_default())
                }
                _ => line,
            },
            "parent_tool_use_id" => line,
            _ => line.escaped_key(key.raw(), value),
        };
    }
    match agent {
        Some(agent) => line.text("parent_tool_use_id", agent.as_str()).end(),
        None => line.value("parent_tool_use_id", &Value::Null).end(),
    }
}

pub(super) fn is_queued_message(record: &Record<'_>) -> bool {
    let attachment = record.json.get("attachment").unwrap_or_default();
    text_at(attachment, "type").as_deref() == Some("queued_command")
        && !attachment.get("prompt").unwrap_or_default().is_null()
        && text_at(attachment, "commandMode").is_none_or(|mode| mode == "prompt")
}

/// The model that wrote this, if a model did.
pub(super) fn model_of(record: &Record<'_>) -> Option<String> {
    let model = record.json.get("message").and_then(|message| text_at(message, "model"))?;
    (record.kind == "assistant" && model != "<synthetic>").then_some(model)
}

pub(super) fn without_tags(text: &str) -> &str {
    let inner = text.trim().strip_prefix("<local-command-stdout>").unwrap_or(text);
    inner.strip_suffix("</local-command-stdout>").unwrap_or(inner)
}
