//! What the CLI tells a hook.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::event::HookEvent;
use crate::permission_update::PermissionUpdate;

/// What the CLI tells a hook.
#[derive(Debug, Clone, PartialEq)]
pub struct HookInput {
    /// Where and in whose name it happens.
    pub context: HookContext,
    /// What happens.
    pub details: HookDetails,
    /// Everything as the CLI wrote it, with members that have no field here.
    pub raw: Value,
}

/// Where and in whose name something happens. Older versions tell less.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct HookContext {
    /// The CLI's id of the session.
    pub session_id: String,
    /// The file in which the CLI keeps the session.
    pub transcript_path: String,
    /// The working directory.
    pub cwd: String,
    /// The message that it belongs to.
    pub prompt_id: Option<String>,
    /// The permission mode.
    pub permission_mode: Option<String>,
    /// The sub-agent; `None` for the main agent.
    pub agent_id: Option<String>,
    /// The kind of the agent.
    pub agent_type: Option<String>,
}

/// A change of the model.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct ModelSwitch {
    /// The model before.
    pub from_model: String,
    /// The model afterwards.
    pub to_model: String,
    /// The name that was asked for.
    pub requested_model: Option<String>,
    /// Who asked: `command`, `picker`, `sdk`, `auto`, `resume`.
    pub source: String,
    /// How many tokens the session has.
    pub context_tokens: u64,
    /// Whether the model has them in its cache.
    pub prompt_cache_warm: bool,
    /// What writing them to the cache is estimated to cost, in dollars.
    pub estimated_cache_write_usd: f64,
}

/// Something that still runs in the background.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct BackgroundTaskSummary {
    /// Its id.
    pub id: String,
    /// Its kind, such as `shell` or `subagent`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Its state.
    pub status: String,
    /// What it is for.
    pub description: String,
}

/// A prompt that the session has scheduled.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct ScheduledPrompt {
    /// Its id.
    pub id: String,
    /// When it is due.
    pub schedule: String,
    /// The prompt.
    pub prompt: String,
}

macro_rules! details {
    ($( $(#[$doc:meta])* $name:ident { $( $(#[$field_doc:meta])* $(#![$attr:meta])? $field:ident: $type:ty, )* } )*) => {
        /// What happens, for each event. A member that an older version does not send has its default value.
        #[derive(Debug, Clone, PartialEq)]
        #[non_exhaustive]
        pub enum HookDetails {
            $( $(#[$doc])* $name { $( $(#[$field_doc])* $field: $type, )* }, )*
            /// The model is about to be changed.
            PreModelSwitch(ModelSwitch),
            /// The model was changed.
            PostModelSwitch(ModelSwitch),
            /// An event that this version of Weir does not know, or one in a shape that it does not know.
            Other(HookEvent),
        }

        impl HookDetails {
            fn read(event: HookEvent, value: &Value) -> Self {
                $(
                    #[derive(Deserialize, Default)]
                    #[serde(default)]
                    struct $name { $( $(#[$attr])? $field: $type, )* }
                )*
                let known = match event {
                    $( HookEvent::$name => $name::deserialize(value).ok().map(|read| {
                        let $name { $( $field, )* } = read;
                        Self::$name { $( $field, )* }
                    }), )*
                    HookEvent::PreModelSwitch => ModelSwitch::deserialize(value).ok().map(Self::PreModelSwitch),
                    HookEvent::PostModelSwitch => ModelSwitch::deserialize(value).ok().map(Self::PostModelSwitch),
                    _ => None,
                };
                known.unwrap_or(Self::Other(event))
            }

            /// The event.
            pub fn event(&self) -> HookEvent {
                match self {
                    $( Self::$name { .. } => HookEvent::$name, )*
                    Self::PreModelSwitch(_) => HookEvent::PreModelSwitch,
                    Self::PostModelSwitch(_) => HookEvent::PostModelSwitch,
                    Self::Other(event) => event.clone(),
                }
            }
        }
    };
}

details! {
    /// A tool is about to run.
    PreToolUse {
        /// The tool.
        tool_name: String,
        /// Its arguments.
        tool_input: Value,
        /// The call.
        tool_use_id: Option<String>,
    }
    /// A tool has run.
    PostToolUse {
        /// The tool.
        tool_name: String,
        /// Its arguments.
        tool_input: Value,
        /// Its structured result.
        tool_response: Value,
        /// The call.
        tool_use_id: Option<String>,
        /// How long it took.
        duration_ms: Option<u64>,
    }
    /// A tool has failed.
    PostToolUseFailure {
        /// The tool.
        tool_name: String,
        /// Its arguments.
        tool_input: Value,
        /// The call.
        tool_use_id: Option<String>,
        /// The error that the tool reported.
        error: String,
        /// Whether it was interrupted.
        is_interrupt: bool,
        /// How long it took.
        duration_ms: Option<u64>,
    }
    /// All tool calls of a message are finished.
    PostToolBatch {
        /// The calls, each with `tool_name`, `tool_input`, `tool_use_id` and its result.
        tool_calls: Vec<Value>,
    }
    /// The CLI has something to tell the user.
    Notification {
        /// The text of the notification.
        message: String,
        /// Its title.
        title: Option<String>,
        /// Its kind, such as `permission_prompt`.
        notification_type: String,
    }
    /// A message was sent.
    UserPromptSubmit {
        /// Its text.
        prompt: String,
        /// Who sent it: `user`, `sdk`, `system` and others.
        source: Option<String>,
        /// The title of the session.
        session_title: Option<String>,
    }
    /// A slash command or a prompt of an MCP server became a message.
    UserPromptExpansion {
        /// `slash_command` or `mcp_prompt`.
        expansion_type: String,
        /// The command.
        command_name: String,
        /// Its arguments.
        command_args: String,
        /// Where it is defined.
        command_source: Option<String>,
        /// The text that it became.
        prompt: String,
    }
    /// A session begins or continues.
    SessionStart {
        /// `startup`, `resume`, `clear`, `compact` or `fork`.
        source: String,
        /// The model.
        model: Option<String>,
        /// The title.
        session_title: Option<String>,
    }
    /// A session ends.
    SessionEnd {
        /// Why the session ends, in the words of the CLI.
        reason: String,
    }
    /// The main agent has finished its answer.
    Stop {
        /// Whether it continues because a hook said so.
        stop_hook_active: bool,
        /// The answer.
        last_assistant_message: Option<String>,
        /// What still runs.
        background_tasks: Vec<BackgroundTaskSummary>,
        /// What is scheduled.
        session_crons: Vec<ScheduledPrompt>,
    }
    /// A turn has failed.
    StopFailure {
        /// The kind of the error, such as `rate_limit`.
        error: String,
        /// What the API said.
        error_details: Option<String>,
        /// The answer so far.
        last_assistant_message: Option<String>,
    }
    /// A sub-agent begins.
    SubagentStart {
        /// Its id.
        agent_id: String,
        /// Its kind.
        agent_type: String,
    }
    /// A sub-agent has finished.
    SubagentStop {
        /// Whether it continues because a hook said so.
        stop_hook_active: bool,
        /// Its id.
        agent_id: String,
        /// Its kind.
        agent_type: String,
        /// Its transcript.
        agent_transcript_path: String,
        /// Its answer.
        last_assistant_message: Option<String>,
    }
    /// The session is about to be compacted.
    PreCompact {
        /// `manual` or `auto`.
        trigger: String,
        /// What the user asked for.
        custom_instructions: Option<String>,
    }
    /// The session was compacted.
    PostCompact {
        /// `manual` or `auto`.
        trigger: String,
        /// The summary.
        compact_summary: String,
    }
    /// A person is about to be asked for permission.
    PermissionRequest {
        /// The tool.
        tool_name: String,
        /// Its arguments.
        tool_input: Value,
        /// Rules that would make the question unnecessary.
        permission_suggestions: Vec<PermissionUpdate>,
    }
    /// A tool call was denied.
    PermissionDenied {
        /// The tool.
        tool_name: String,
        /// Its arguments.
        tool_input: Value,
        /// The call.
        tool_use_id: Option<String>,
        /// The reason that was given.
        reason: String,
    }
    /// The CLI prepares a folder.
    Setup {
        /// `init` or `maintenance`.
        trigger: String,
    }
    /// A member of a team has nothing to do.
    TeammateIdle {
        /// Its name.
        teammate_name: String,
    }
    /// A task of a team was created.
    TaskCreated {
        /// Its id.
        task_id: String,
        /// What it is about.
        task_subject: String,
        /// Its description.
        task_description: Option<String>,
        /// Who does it.
        teammate_name: Option<String>,
    }
    /// A task of a team was completed.
    TaskCompleted {
        /// Its id.
        task_id: String,
        /// What it is about.
        task_subject: String,
        /// Its description.
        task_description: Option<String>,
        /// Who did it.
        teammate_name: Option<String>,
    }
    /// An MCP server asks the user for input.
    Elicitation {
        /// The server.
        mcp_server_name: String,
        /// What it asks.
        message: String,
        /// `form` or `url`.
        mode: Option<String>,
        /// The address to visit.
        url: Option<String>,
        /// Its id.
        elicitation_id: Option<String>,
        /// The schema of the answer.
        requested_schema: Option<Map<String, Value>>,
    }
    /// The user has answered an MCP server.
    ElicitationResult {
        /// The server.
        mcp_server_name: String,
        /// Its id.
        elicitation_id: Option<String>,
        /// `accept`, `decline` or `cancel`.
        action: String,
        /// The answer.
        content: Option<Map<String, Value>>,
    }
    /// A settings file has changed.
    ConfigChange {
        /// Whose: `user_settings`, `project_settings` and others.
        source: String,
        /// The file.
        file_path: Option<String>,
    }
    /// A worktree is needed.
    WorktreeCreate {
        /// Its name.
        name: String,
    }
    /// A worktree is no longer needed.
    WorktreeRemove {
        /// Its folder.
        worktree_path: String,
    }
    /// A file with instructions was loaded.
    InstructionsLoaded {
        /// The file.
        file_path: String,
        /// Whose: `User`, `Project`, `Local` or `Managed`.
        memory_type: String,
        /// Why the file was loaded.
        load_reason: String,
    }
    /// The working directory has changed.
    CwdChanged {
        /// The folder before.
        old_cwd: String,
        /// The folder now.
        new_cwd: String,
    }
    /// A watched file has changed.
    FileChanged {
        /// The file.
        file_path: String,
        /// `change`, `add` or `unlink`.
        event: String,
    }
    /// A folder was added to the session.
    DirectoryAdded {
        /// The folder.
        directory: String,
        /// How the folder was added.
        source: String,
    }
    /// A part of an answer is about to be shown.
    MessageDisplay {
        /// The turn.
        turn_id: String,
        /// The message.
        message_id: String,
        /// Which part.
        index: u64,
        /// Whether it is the last part.
        #![serde(rename = "final")]
        is_final: bool,
        /// Its text.
        delta: String,
    }
}

impl HookInput {
    /// Reads what the CLI tells. Never fails: what is not understood is in `raw`.
    pub fn read(value: Value) -> Self {
        let name = value.get("hook_event_name").and_then(Value::as_str).unwrap_or_default();
        let details = HookDetails::read(HookEvent::from(name), &value);
        let context = HookContext::deserialize(&value).unwrap_or_default();
        Self { context, details, raw: value }
    }

    /// The event.
    pub fn event(&self) -> HookEvent {
        self.details.event()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_event_has_a_type_that_reads_an_empty_input() {
        for event in HookEvent::ALL {
            let read = HookInput::read(json!({"hook_event_name": event.as_str(), "session_id": "s"}));
            assert_eq!(read.event(), *event);
            assert!(!matches!(read.details, HookDetails::Other(_)), "{event}");
            assert_eq!(read.context.session_id, "s");
        }
    }

    #[test]
    fn what_is_not_understood_is_kept() {
        let unknown = json!({"hook_event_name": "Sunrise", "at": 6});
        let read = HookInput::read(unknown.clone());
        assert_eq!(read.details, HookDetails::Other(HookEvent::Other("Sunrise".to_owned())));
        assert_eq!(read.raw, unknown);
        let odd = HookInput::read(json!({"hook_event_name": "Stop", "stop_hook_active": "maybe"}));
        assert_eq!(odd.details, HookDetails::Other(HookEvent::Stop));
        assert_eq!(HookInput::read(Value::Null).event(), HookEvent::Other(String::new()));
    }

    #[test]
    fn a_tool_call_is_read_with_its_arguments() {
        let read = HookInput::read(json!({
            "hook_event_name": "PreToolUse", "session_id": "s", "cwd": "/w", "agent_id": "a",
            "tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_use_id": "t",
        }));
        let HookDetails::PreToolUse { tool_name, tool_input, tool_use_id } = read.details else {
            panic!("{read:?}")
        };
        assert_eq!((tool_name.as_str(), tool_use_id.as_deref()), ("Bash", Some("t")));
        assert_eq!(tool_input["command"], "ls");
        assert_eq!((read.context.cwd.as_str(), read.context.agent_id.as_deref()), ("/w", Some("a")));
        let last = HookInput::read(json!({"hook_event_name": "MessageDisplay", "final": true, "delta": "x"}));
        assert!(matches!(last.details, HookDetails::MessageDisplay { is_final: true, .. }));
    }
}
