//! What a version can do.

use std::collections::BTreeSet;

use super::Version;
use super::help;

const V1_0_124: Version = Version::new(1, 0, 124);
const V2_0_72: Version = Version::new(2, 0, 72);
const V2_1_9: Version = Version::new(2, 1, 9);
const V2_1_61: Version = Version::new(2, 1, 61);
const V2_1_197: Version = Version::new(2, 1, 197);
const V2_1_325: Version = Version::new(2, 1, 325);

/// Flags that work although `--help` does not show them, each with the oldest tested version in which it works.
const HIDDEN: [(&str, Version); 13] = [
    ("--append-system-prompt-file", V2_0_72),
    ("--await-claim", V2_1_325),
    ("--managed-settings", V2_1_197),
    ("--max-thinking-tokens", V2_0_72),
    ("--max-turns", V1_0_124),
    ("--permission-prompt-tool", V1_0_124),
    ("--project-config-root", V2_1_325),
    ("--resume-drops-turn", V2_1_325),
    ("--resume-session-at", V2_0_72),
    ("--system-prompt", V1_0_124),
    ("--system-prompt-file", V1_0_124),
    ("--task-budget", V2_1_197),
    ("--thinking", V2_1_61),
];

/// Flags that some versions show in their help and ignore, each with the oldest tested version that acts on it.
const IGNORED: [(&str, Version); 1] = [("--agent", V2_1_9)];

/// Flags that `--help` shows, for when the help cannot be read. Each version is the oldest one tested, so a
/// flag may also work in somewhat older ones.
const SHOWN: [(&str, Version); 38] = [
    ("--add-dir", V1_0_124),
    ("--agent", V2_1_9),
    ("--agents", V2_0_72),
    ("--allowedTools", V1_0_124),
    ("--append-system-prompt", V1_0_124),
    ("--betas", V2_0_72),
    ("--continue", V1_0_124),
    ("--debug-file", V2_1_61),
    ("--disallowedTools", V1_0_124),
    ("--effort", V2_1_61),
    ("--exclude-dynamic-system-prompt-sections", V2_1_197),
    ("--fallback-model", V1_0_124),
    ("--fork-session", V1_0_124),
    ("--forward-subagent-text", V2_1_325),
    ("--include-hook-events", V2_1_197),
    ("--include-partial-messages", V1_0_124),
    ("--input-format", V1_0_124),
    ("--json-schema", V2_0_72),
    ("--max-budget-usd", V2_0_72),
    ("--mcp-config", V1_0_124),
    ("--model", V1_0_124),
    ("--name", V2_1_197),
    ("--no-session-persistence", V2_0_72),
    ("--output-format", V1_0_124),
    ("--permission-mode", V1_0_124),
    ("--permission-prompts", V2_1_325),
    ("--plugin-dir", V2_0_72),
    ("--print", V1_0_124),
    ("--prompt-suggestions", V2_1_197),
    ("--replay-user-messages", V1_0_124),
    ("--resume", V1_0_124),
    ("--session-id", V1_0_124),
    ("--setting-sources", V2_0_72),
    ("--settings", V1_0_124),
    ("--strict-mcp-config", V1_0_124),
    ("--system-prompt-snapshot", V2_1_325),
    ("--tools", V2_0_72),
    ("--verbose", V1_0_124),
];

/// Members of the `initialize` request, each with the oldest examined version that acts on it. Versions ignore members
/// that they do not know. A dot leads to a member of an agent.
const INTRODUCTIONS: [(&str, Version); 17] = [
    ("agentProgressSummaries", V2_1_197),
    ("agents", V2_0_72),
    ("agents.background", V2_1_197),
    ("agents.disallowedTools", V2_1_9),
    ("agents.effort", V2_1_197),
    ("agents.maxTurns", V2_1_61),
    ("agents.omitClaudeMd", V2_1_325),
    ("agents.skills", V2_1_61),
    ("forwardSubagentText", V2_1_197),
    ("hooks.onFailure", V2_1_325),
    ("hooks.timeout", V2_1_9),
    ("planModeInstructions", V2_1_197),
    ("sdkMcpServerConfigs", V2_1_325),
    ("skills", V2_1_197),
    ("supportedDialogKinds", V2_1_197),
    ("title", V2_1_197),
    ("toolAliases", V2_1_197),
];

/// Events of hooks, each with the oldest examined version that has it. Versions ignore hooks for events that they do not
/// know.
const HOOKS: [(&str, Version); 33] = [
    ("ConfigChange", V2_1_61),
    ("CwdChanged", V2_1_197),
    ("DirectoryAdded", V2_1_325),
    ("Elicitation", V2_1_197),
    ("ElicitationResult", V2_1_197),
    ("FileChanged", V2_1_197),
    ("InstructionsLoaded", V2_1_197),
    ("MessageDisplay", V2_1_197),
    ("Notification", V1_0_124),
    ("PermissionDenied", V2_1_197),
    ("PermissionRequest", V2_1_197),
    ("PostCompact", V2_1_197),
    ("PostModelSwitch", V2_1_325),
    ("PostToolBatch", V2_1_197),
    ("PostToolUse", V1_0_124),
    ("PostToolUseFailure", V2_1_9),
    ("PreCompact", V1_0_124),
    ("PreModelSwitch", V2_1_325),
    ("PreToolUse", V1_0_124),
    ("SessionEnd", V1_0_124),
    ("SessionStart", V1_0_124),
    ("Setup", V2_1_61),
    ("Stop", V1_0_124),
    ("StopFailure", V2_1_197),
    ("SubagentStart", V2_1_9),
    ("SubagentStop", V1_0_124),
    ("TaskCompleted", V2_1_61),
    ("TaskCreated", V2_1_197),
    ("TeammateIdle", V2_1_61),
    ("UserPromptExpansion", V2_1_197),
    ("UserPromptSubmit", V1_0_124),
    ("WorktreeCreate", V2_1_61),
    ("WorktreeRemove", V2_1_61),
];

/// Control requests to the CLI, each with the oldest examined version that handles it.
const CONTROLS: [(&str, Version); 45] = [
    ("apply_flag_settings", V2_1_61),
    ("background_tasks", V2_1_197),
    ("cancel_async_message", V2_1_197),
    ("claim_session", V2_1_325),
    ("end_session", V2_1_197),
    ("export_conversation", V2_1_325),
    ("generate_session_title", V2_1_197),
    ("get_binary_version", V2_1_197),
    ("get_context_usage", V2_1_197),
    ("get_hooks_listing", V2_1_325),
    ("get_plan", V2_1_325),
    ("get_session_cost", V2_1_197),
    ("get_settings", V2_1_197),
    ("get_task_output", V2_1_325),
    ("get_usage", V2_1_197),
    ("get_workspace_diff", V2_1_325),
    ("initialize", V1_0_124),
    ("interrupt", V1_0_124),
    ("list_models", V2_1_325),
    ("list_permission_rules", V2_1_325),
    ("mcp_authenticate", V2_1_61),
    ("mcp_call", V2_1_197),
    ("mcp_message", V2_0_72),
    ("mcp_oauth_callback_url", V2_1_61),
    ("mcp_read_resource", V2_1_325),
    ("mcp_reconnect", V2_1_61),
    ("mcp_set_servers", V2_0_72),
    ("mcp_status", V1_0_124),
    ("mcp_toggle", V2_1_61),
    ("read_file", V2_1_197),
    ("reload_output_styles", V2_1_325),
    ("reload_plugins", V2_1_197),
    ("reload_skills", V2_1_197),
    ("rename_session", V2_1_197),
    ("rewind_conversation", V2_1_197),
    ("rewind_files", V2_0_72),
    ("seed_read_state", V2_1_197),
    ("set_cwd", V2_1_325),
    ("set_max_thinking_tokens", V2_0_72),
    ("set_mcp_permission_mode_override", V2_1_197),
    ("set_model", V1_0_124),
    ("set_permission_mode", V1_0_124),
    ("side_question", V2_1_197),
    ("stop_task", V2_1_61),
    ("update_settings", V2_1_325),
];

/// What a CLI supports, as far as that can be known without trying.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capabilities {
    version: Version,
    /// The flags in its help, if that was read.
    flags: Option<BTreeSet<String>>,
}

impl Capabilities {
    /// The known capabilities of a version.
    pub fn of(version: Version) -> Self {
        Self { version, flags: None }
    }

    /// Adds the flags listed in the CLI's `--help` text. A text that lists no flags is ignored.
    #[must_use]
    pub fn with_help(mut self, text: &str) -> Self {
        self.flags = Some(help::flags(text)).filter(|flags| flags.contains("--print"));
        self
    }

    pub(super) fn with_flags(mut self, flags: Option<BTreeSet<String>>) -> Self {
        self.flags = flags;
        self
    }

    /// The version.
    pub fn version(&self) -> Version {
        self.version
    }

    /// Whether the CLI knows a flag, in its long form such as `--model`. An unknown flag makes it refuse to start.
    pub fn has_flag(&self, flag: &str) -> bool {
        let flag = if flag == "-p" { "--print" } else { flag };
        if IGNORED.iter().any(|(known, since)| *known == flag && self.version < *since) {
            return false;
        }
        let is_shown = self.flags.as_ref().is_some_and(|flags| flags.contains(flag));
        let is_assumed = self.flags.is_none() && self.is_known(&SHOWN, flag);
        is_shown || is_assumed || self.is_known(&HIDDEN, flag)
    }

    /// Whether the CLI handles a control request, such as `interrupt`. Newer versions answer an unknown one
    /// with an error, older ones do not answer at all.
    pub fn has_control(&self, subtype: &str) -> bool {
        self.is_known(&CONTROLS, subtype)
    }

    /// Whether the CLI acts on a member of the `initialize` request, such as `title`. Every version ignores those that
    /// it does not know.
    pub fn has_introduction(&self, member: &str) -> bool {
        self.is_known(&INTRODUCTIONS, member)
    }

    /// Whether the CLI calls hooks for an event, such as `PreToolUse`. An event that no examined version has may exist in
    /// newer ones.
    pub fn has_hook(&self, event: &str) -> bool {
        let is_examined = HOOKS.iter().any(|(known, _)| *known == event);
        self.is_known(&HOOKS, event) || !is_examined && self.version > V2_1_325
    }

    fn is_known(&self, table: &[(&str, Version)], name: &str) -> bool {
        table.iter().any(|(known, since)| *known == name && self.version >= *since)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_versions_are_not_given_new_flags() {
        let old = Capabilities::of(Version::new(2, 1, 9));
        assert!(old.has_flag("--max-budget-usd") && old.has_flag("-p"));
        assert!(!old.has_flag("--include-hook-events") && !old.has_flag("--forward-subagent-text"));
        assert!(Capabilities::of(V2_1_325).has_flag("--forward-subagent-text"));
        assert!(!Capabilities::of(V1_0_124).has_flag("--agents"));
        assert!(!Capabilities::of(Version::new(0, 2, 0)).has_flag("--model"));
    }

    #[test]
    fn hidden_flags_are_known_despite_the_help() {
        let help = "Options:\n  -p, --print   Print\n  --new-flag   x\n";
        let capabilities = Capabilities::of(V2_1_61).with_help(help);
        assert!(capabilities.has_flag("--permission-prompt-tool") && capabilities.has_flag("--max-turns"));
        assert!(capabilities.has_flag("--new-flag"));
        // The help is authoritative for flags that it would show.
        assert!(!capabilities.has_flag("--agents"));
    }

    #[test]
    fn a_flag_that_a_version_shows_and_ignores_does_not_count() {
        let help = "Options:\n  -p, --print   Print\n  --agent <agent>   x\n";
        assert!(!Capabilities::of(V2_0_72).with_help(help).has_flag("--agent"));
        assert!(Capabilities::of(V2_1_9).with_help(help).has_flag("--agent"));
    }

    #[test]
    fn members_of_the_introduction_by_version() {
        assert!(Capabilities::of(V2_0_72).has_introduction("agents"));
        assert!(!Capabilities::of(V2_1_9).has_introduction("agents.skills"));
        assert!(!Capabilities::of(V2_1_61).has_introduction("title"));
        assert!(!Capabilities::of(V2_1_325).has_introduction("coffee"));
    }

    #[test]
    fn a_text_that_is_not_help_changes_nothing() {
        let capabilities = Capabilities::of(V2_1_61).with_help("Segmentation fault");
        assert_eq!(capabilities, Capabilities::of(V2_1_61));
    }

    #[test]
    fn controls_by_version() {
        assert!(Capabilities::of(V1_0_124).has_control("interrupt"));
        assert!(!Capabilities::of(V2_0_72).has_control("stop_task"));
        assert!(Capabilities::of(V2_1_61).has_control("stop_task"));
        assert!(!Capabilities::of(V2_1_325).has_control("make_coffee"));
    }
}
