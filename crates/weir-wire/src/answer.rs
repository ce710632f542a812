//! The CLI's answers to our control requests, as types.
//!
//! Every member may be missing, because versions differ; what has no field here is in `more`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Declares answers: structs whose members may all be missing.
macro_rules! answers {
    ($( $(#[$doc:meta])* $name:ident { $( $(#[$member_doc:meta])* $member:ident: $type:ty, )* } )*) => {
        $(
            $(#[$doc])*
            #[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
            #[serde(default, rename_all = "camelCase")]
            #[non_exhaustive]
            pub struct $name {
                $( $(#[$member_doc])* pub $member: $type, )*
                /// Members that have no field here.
                #[serde(flatten)]
                pub more: Map<String, Value>,
            }
        )*
    };
}

answers! {
    /// The MCP servers of a session.
    McpStatus {
        /// The servers.
        #[serde(rename = "mcpServers")]
        servers: Vec<McpServerStatus>,
    }

    /// The status of an MCP server.
    McpServerStatus {
        /// Its name.
        name: String,
        /// `connected`, `failed`, `needs-auth`, `pending`, `disabled`, …
        status: String,
        /// Why it failed.
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<String>,
        /// Where it is configured.
        #[serde(skip_serializing_if = "Option::is_none")]
        scope: Option<String>,
        /// Its tools, from versions that list them (since 2.1.61).
        tools: Vec<McpServerTool>,
    }

    /// A tool of an MCP server.
    McpServerTool {
        /// Its name on the server.
        name: String,
        /// What it does.
        #[serde(skip_serializing_if = "Option::is_none")]
        description: Option<String>,
    }

    /// What became of the MCP servers that were set.
    McpServersSet {
        /// Servers that are new.
        added: Vec<String>,
        /// Servers that are gone.
        removed: Vec<String>,
        /// Servers that could not be reached, with the reason.
        errors: BTreeMap<String, String>,
    }

    /// How to log in to an MCP server.
    McpLogin {
        /// The address to open in a browser; none if no login is needed.
        #[serde(skip_serializing_if = "Option::is_none")]
        auth_url: Option<String>,
        /// Whether a person has to do something there.
        requires_user_action: bool,
        /// Whether the CLI waits for the address that the browser is sent back to.
        callback_expected: bool,
    }

    /// The result of a tool of an MCP server.
    McpCallResult {
        /// Its content blocks, as the server sent them.
        content: Vec<Value>,
        /// Its structured result.
        #[serde(skip_serializing_if = "Option::is_none")]
        structured_content: Option<Value>,
    }

    /// A resource of an MCP server.
    McpResource {
        /// Its parts.
        contents: Vec<McpResourcePart>,
    }

    /// A part of a resource.
    McpResourcePart {
        /// Its address.
        uri: String,
        /// Its type.
        #[serde(skip_serializing_if = "Option::is_none")]
        mime_type: Option<String>,
        /// Its text.
        #[serde(skip_serializing_if = "Option::is_none")]
        text: Option<String>,
        /// Its bytes, as base64.
        #[serde(skip_serializing_if = "Option::is_none")]
        blob: Option<String>,
    }

    /// What the context window is filled with.
    ContextUsage {
        /// What fills it, and what is free.
        categories: Vec<ContextCategory>,
        /// Tokens in use.
        total_tokens: u64,
        /// Size of the window, without what is reserved.
        max_tokens: u64,
        /// The part in use, in percent.
        percentage: f64,
        /// The model whose window it is.
        model: String,
    }

    /// A part of the context window.
    ContextCategory {
        /// Its name, from versions that have one (since 2.1.325).
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<String>,
        /// Its name for people.
        name: String,
        /// Its size in tokens.
        tokens: u64,
        /// `used`, `free`, `buffer` or `deferred`, from versions that say so (since 2.1.325).
        #[serde(skip_serializing_if = "Option::is_none")]
        kind: Option<String>,
    }

    /// The available models.
    ModelList {
        /// The models.
        models: Vec<ModelInfo>,
    }

    /// A model.
    ModelInfo {
        /// Its name for `set_model`.
        value: String,
        /// The model that the name stands for.
        #[serde(skip_serializing_if = "Option::is_none")]
        resolved_model: Option<String>,
        /// Its name for people.
        display_name: String,
        /// What it is good for.
        description: String,
        /// Whether it has levels of effort.
        supports_effort: bool,
        /// Its levels of effort.
        supported_effort_levels: Vec<String>,
    }

    /// What restoring files did, or would do.
    RewindReport {
        /// Whether there is something to restore.
        can_rewind: bool,
        /// Why not.
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<String>,
        /// The files.
        files_changed: Vec<String>,
        /// Lines added.
        insertions: u64,
        /// Lines removed.
        deletions: u64,
    }

    /// The settings that apply.
    SettingsReport {
        /// All of them, merged.
        effective: Map<String, Value>,
        /// Where they come from.
        sources: Vec<Value>,
        /// The model and what else was chosen for the session.
        applied: Map<String, Value>,
    }

    /// The permission rules that apply.
    PermissionRules {
        /// The rules.
        rules: Vec<ActiveRule>,
        /// Folders in which files may be used.
        workspace_directories: Vec<Value>,
        /// Whether only rules of the administrator count.
        managed_only: bool,
    }

    /// A permission rule.
    ActiveRule {
        /// `allow`, `deny` or `ask`.
        behavior: String,
        /// Where it comes from, such as `userSettings` or `cliArg`.
        source: String,
        /// The rule, such as `Bash(git:*)`.
        rule: String,
    }

    /// The hooks that apply.
    HookList {
        /// The hooks.
        hooks: Vec<ActiveHook>,
    }

    /// A hook of the settings.
    ActiveHook {
        /// The event, such as `PreToolUse`.
        event: String,
        /// Which tools.
        matcher: String,
        /// Where it comes from.
        source: String,
        /// The command or prompt.
        command_text: String,
    }

    /// The output of a background task.
    TaskOutput {
        /// Its end.
        output: String,
        /// Length of the whole output.
        #[serde(rename = "total_bytes")]
        total_bytes: u64,
        /// Whether something is missing at the beginning.
        truncated: bool,
    }

    /// What became of a message that was to be taken out of the conversation.
    ConversationRewound {
        /// Whether it was.
        rewound: bool,
        /// Its text, to be edited and sent again.
        #[serde(skip_serializing_if = "Option::is_none")]
        prefill_text: Option<String>,
        /// Why it was not.
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    }

    /// The current plan.
    Plan {
        /// Whether there is one.
        exists: bool,
        /// Its text.
        #[serde(skip_serializing_if = "Option::is_none")]
        content: Option<String>,
    }

    /// The answer to a side question.
    SideAnswer {
        /// The answer.
        response: Option<String>,
    }

    /// What changed in a folder since the last commit.
    WorkspaceDiff {
        /// The changed files.
        per_file_stats: Vec<ChangedFile>,
        /// The changed lines.
        hunks: Vec<FileHunks>,
    }

    /// A changed file.
    ChangedFile {
        /// Its path.
        path: String,
        /// Lines added.
        added: u64,
        /// Lines removed.
        removed: u64,
        /// `modified`, `added`, `deleted`, …
        status: String,
    }

    /// The changed lines of a file.
    FileHunks {
        /// Its path.
        path: String,
        /// Its changes.
        hunks: Vec<Hunk>,
    }

    /// Lines that changed together.
    Hunk {
        /// First line before the change.
        old_start: u64,
        /// First line after it.
        new_start: u64,
        /// The lines, with a space, `+` or `-` in front.
        lines: Vec<String>,
    }

    /// A conversation as text.
    ExportedConversation {
        /// The text.
        text: String,
        /// A name for a file.
        #[serde(rename = "default_filename")]
        default_filename: String,
    }

    /// A file.
    FileContents {
        /// Its text.
        contents: String,
        /// Its path.
        abs_path: String,
        /// Whether something is missing at the end.
        truncated: bool,
    }

    /// Whether a session was moved to another folder.
    CwdChange {
        /// `rejected` if it was not.
        status: String,
        /// Why it was not.
        #[serde(skip_serializing_if = "Option::is_none")]
        message: Option<String>,
    }

    /// How much of an account's limits is used, and what the session has cost.
    UsageReport {
        /// The session.
        session: Map<String, Value>,
        /// The account's plan.
        #[serde(rename = "subscription_type", skip_serializing_if = "Option::is_none")]
        subscription_type: Option<String>,
        /// Its limits.
        #[serde(rename = "rate_limits")]
        rate_limits: Option<Value>,
    }

    /// A text.
    CostText {
        /// The text.
        text: String,
    }

    /// A title.
    GeneratedTitle {
        /// The title; none if the model gave none.
        title: Option<String>,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn members_may_be_missing_and_unknown_ones_are_kept() {
        let status: McpStatus =
            serde_json::from_value(json!({"mcpServers": [{"name": "db", "status": "connected", "new": 1}]}))
                .unwrap();
        let server = &status.servers[0];
        assert_eq!((server.name.as_str(), server.status.as_str()), ("db", "connected"));
        assert!(server.tools.is_empty() && server.more["new"] == 1);
        assert_eq!(json!(status)["mcpServers"][0]["new"], 1);
    }
}
