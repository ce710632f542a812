//! Translates options into CLI arguments. Pure.

use std::ffi::OsString;
use std::path::Path;

use serde_json::Value;
use weir_wire::CliSessionId;

use crate::levels::{Effort, Thinking};
use crate::machine::Spawn;
use crate::options::{Origin, SessionOptions, SettingSource};
use crate::spec::SessionSpec;
use crate::start_files::StartFiles;
use crate::tools;

/// Flags that Weir passes. A check looks for each of them in the CLI's own help.
pub const FLAGS: &[&str] = &[
    "--print",
    "--verbose",
    "--input-format",
    "--output-format",
    "--include-partial-messages",
    "--permission-prompt-tool",
    "--model",
    "--fallback-model",
    "--effort",
    "--thinking",
    "--max-thinking-tokens",
    "--task-budget",
    "--betas",
    "--prompt-suggestions",
    "--agent",
    "--plugin-dir",
    "--mcp-config",
    "--settings",
    "--debug-file",
    "--include-hook-events",
    "--exclude-dynamic-system-prompt-sections",
    "--system-prompt-snapshot",
    "--setting-sources",
    "--system-prompt",
    "--system-prompt-file",
    "--append-system-prompt",
    "--append-system-prompt-file",
    "--tools",
    "--strict-mcp-config",
    "--allowedTools",
    "--disallowedTools",
    "--permission-mode",
    "--add-dir",
    "--max-turns",
    "--max-budget-usd",
    "--resume",
    "--continue",
    "--fork-session",
    "--session-id",
    "--no-session-persistence",
];

/// Those of them that not every version has and that are only passed for an option which needs them. The version is
/// determined before one of them is passed, so that an older one is refused by name.
pub(crate) const NEWER: &[&str] = &[
    "--effort",
    "--thinking",
    "--max-thinking-tokens",
    "--task-budget",
    "--betas",
    "--prompt-suggestions",
    "--max-budget-usd",
    "--no-session-persistence",
    "--agent",
    "--plugin-dir",
    "--debug-file",
    "--include-hook-events",
    "--exclude-dynamic-system-prompt-sections",
    "--system-prompt-snapshot",
];

/// Flags of options that are rare. The CLI does not list them in its help, and the version is determined before one of them
/// is passed.
pub(crate) const RARE: &[&str] = &["--managed-settings", "--project-config-root", "--resume-drops-turn"];

/// Sets where a fork ends. The CLI does not list it in its help.
pub(crate) const FORK_AT: &str = "--resume-session-at";

/// Settings that apply to every session, whatever the user's own say: newer versions give the model tools to send
/// messages to the other sessions of the same user, which would run them as turns.
pub(crate) const SETTINGS: &str = r#"{"crossSessionInbound":"refuse"}"#;

/// Settings of a single process start, as opposed to the whole session.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Start<'a> {
    /// Which session to resume, and how.
    pub(crate) spawn: &'a Spawn,
    /// Id for a new session.
    pub(crate) new_id: Option<&'a CliSessionId>,
    /// Whether the folder's own settings are loaded.
    pub(crate) project_settings: bool,
    /// Files that hold what must not be an argument.
    pub(crate) files: &'a StartFiles,
}

/// Builds the arguments of a process. `supports` says whether the CLI has a flag.
///
/// A requested feature that the CLI does not support is never dropped silently: the missing flags are returned
/// instead. Only flags that change nothing when missing are left out; see the comments at
/// [`Arguments::if_supported`].
///
/// # Errors
/// The flags that the CLI lacks.
pub(crate) fn arguments(
    options: &SessionOptions,
    start: &Start<'_>,
    supports: &dyn Fn(&str) -> bool,
) -> Result<Vec<OsString>, Vec<&'static str>> {
    let Start { spawn, new_id, .. } = *start;
    let mut args = Arguments { list: options.leading_args.clone(), missing: Vec::new(), supports };
    // Every supported version has these; any other version reports the error itself.
    let protocol = ["--print", "--verbose", "--input-format=stream-json", "--output-format=stream-json"];
    args.list.extend(protocol.map(OsString::from));
    if options.partial_messages {
        // Without it text arrives in whole blocks, but none is missing.
        args.if_supported("--include-partial-messages");
    }
    if options.handler.is_some() {
        args.value("--permission-prompt-tool", "stdio");
    }
    args.option("--model", options.spec.model.as_deref());
    args.list("--fallback-model", &options.spec.fallback_models);
    model(&mut args, &options.spec);
    args.prompt(
        ("--system-prompt", "--system-prompt-file"),
        options.spec.system_prompt.as_deref(),
        start.files.system.as_deref(),
    );
    let append = start.files.append.as_deref();
    let names = ("--append-system-prompt", "--append-system-prompt-file");
    args.prompt(names, options.appended_prompt().as_deref(), append);
    settings(&mut args, options, start);
    match &options.spec.permission_mode {
        Some(mode) => args.value("--permission-mode", mode),
        // Always passed: otherwise a settings file would determine the mode. A version without the flag has no
        // modes.
        None if supports("--permission-mode") => args.value("--permission-mode", "default"),
        None => {}
    }
    tools(&mut args, options);
    for directory in &options.add_dirs {
        args.value("--add-dir", directory);
    }
    args.number("--max-turns", options.spec.max_turns);
    // Weir itself stops sending messages once the limit is reached, but only the CLI can end a turn.
    args.number("--max-budget-usd", options.spec.max_cost_usd);
    conversation(&mut args, options, spawn, new_id);
    if options.spec.no_session_persistence {
        args.flag("--no-session-persistence");
    }
    if options.spec.prompt_suggestions {
        args.value("--prompt-suggestions", "true");
    }
    if options.spec.hook_events {
        args.flag("--include-hook-events");
    }
    let Arguments { mut list, missing, .. } = args;
    if !missing.is_empty() {
        return Err(missing);
    }
    list.extend(options.extra_args.iter().cloned());
    Ok(list)
}

/// How the model works.
fn model(args: &mut Arguments<'_>, spec: &SessionSpec) {
    args.option("--effort", spec.effort.map(Effort::as_str));
    args.option("--thinking", spec.thinking.map(Thinking::as_str));
    args.number("--max-thinking-tokens", spec.max_thinking_tokens);
    args.number("--task-budget", spec.task_budget_tokens);
    args.list("--betas", &spec.betas);
    args.option("--agent", spec.agent.as_deref());
    if spec.exclude_dynamic_sections {
        args.flag("--exclude-dynamic-system-prompt-sections");
    }
    args.option(
        "--system-prompt-snapshot",
        spec.system_prompt_snapshot.map(|on| if on { "on" } else { "off" }),
    );
}

/// Which settings, servers and plugins are loaded.
fn settings(args: &mut Arguments<'_>, options: &SessionOptions, start: &Start<'_>) {
    match &options.setting_sources {
        Some(sources) => {
            let is_allowed =
                |source: &&SettingSource| start.project_settings || **source == SettingSource::User;
            let names: Vec<&str> = sources.iter().filter(is_allowed).map(|source| source.as_str()).collect();
            args.value("--setting-sources", names.join(","));
        }
        None if !start.project_settings && (args.supports)("--setting-sources") => {
            args.value("--setting-sources", "user");
        }
        None => {}
    }
    match &start.files.settings {
        Some(file) => args.value("--settings", file),
        None if (args.supports)("--settings") => args.value("--settings", SETTINGS),
        None => {}
    }
    if let Some(file) = &start.files.servers {
        args.value("--mcp-config", file);
    }
    for folder in &options.plugin_dirs {
        args.value("--plugin-dir", folder);
    }
    if let Some(file) = &options.debug_file {
        args.value("--debug-file", file);
    }
    if let Some(settings) = &options.managed_settings {
        args.value("--managed-settings", Value::Object(settings.clone()).to_string());
    }
    if let Some(root) = &options.project_config_root {
        args.value("--project-config-root", root);
    }
}

/// Which tools exist, and which need no permission.
fn tools(args: &mut Arguments<'_>, options: &SessionOptions) {
    let mut denied = options.spec.disallowed_tools.clone();
    if let Some(tools) = &options.spec.tools {
        let names = tools::built_in(tools, options.handler.is_some());
        if (args.supports)("--tools") {
            args.value("--tools", names.join(","));
        } else {
            denied.extend(tools::others(&names));
        }
        if !options.strict_mcp && !tools.iter().any(|tool| tools::is_mcp(tool)) {
            // Without it the servers are available, and the CLI asks before calling one.
            args.if_supported("--strict-mcp-config");
        }
    }
    if options.strict_mcp {
        args.flag("--strict-mcp-config");
    }
    args.list("--allowedTools", &options.spec.allowed_tools);
    args.list("--disallowedTools", &denied);
}

fn conversation(
    args: &mut Arguments<'_>,
    options: &SessionOptions,
    spawn: &Spawn,
    new_id: Option<&CliSessionId>,
) {
    match (&spawn.resume, new_id) {
        (Some(id), _) => {
            args.value("--resume", id.as_str());
            if spawn.fork {
                args.flag("--fork-session");
                args.option(FORK_AT, spawn.fork_at.as_deref());
                if spawn.fork_at.is_some() {
                    args.option("--resume-drops-turn", options.resume_drops_turn.as_deref());
                }
            }
        }
        (None, _) if options.origin == Origin::Continue && !spawn.afresh => {
            args.flag("--continue");
        }
        (None, Some(id)) if matches!(options.origin, Origin::Named(_)) && !spawn.afresh => {
            args.value("--session-id", id.as_str());
        }
        // Weir chooses the id; without the flag, the CLI reports the one it has chosen.
        (None, Some(id)) if (args.supports)("--session-id") => args.value("--session-id", id.as_str()),
        (None, _) => {}
    }
}

struct Arguments<'a> {
    list: Vec<OsString>,
    /// Requested flags that the CLI does not have.
    missing: Vec<&'static str>,
    supports: &'a dyn Fn(&str) -> bool,
}

impl Arguments<'_> {
    fn flag(&mut self, name: &'static str) {
        self.add(name, name.into());
    }

    /// The only way an argument gets into the list.
    fn add(&mut self, name: &'static str, argument: OsString) {
        if (self.supports)(name) {
            self.list.push(argument);
        } else {
            self.missing.push(name);
        }
    }

    /// For flags that may be left out if the CLI does not have them.
    fn if_supported(&mut self, name: &'static str) {
        if (self.supports)(name) {
            self.flag(name);
        }
    }

    /// As one argument, so that a value that begins with a dash is not mistaken for a flag.
    fn value(&mut self, name: &'static str, value: impl Into<OsString>) {
        let mut argument = OsString::from(name);
        argument.push("=");
        argument.push(value.into());
        self.add(name, argument);
    }

    fn option(&mut self, name: &'static str, value: Option<&str>) {
        if let Some(value) = value {
            self.value(name, value);
        }
    }

    fn number(&mut self, name: &'static str, number: Option<impl ToString>) {
        self.option(name, number.map(|number| number.to_string()).as_deref());
    }

    /// A prompt, read from its file if the version supports that.
    fn prompt(
        &mut self,
        (name, flag): (&'static str, &'static str),
        text: Option<&str>,
        file: Option<&Path>,
    ) {
        match file.filter(|_| (self.supports)(flag)) {
            Some(file) => self.value(flag, file),
            None => self.option(name, text),
        }
    }

    fn list(&mut self, name: &'static str, values: &[String]) {
        if !values.is_empty() {
            self.value(name, values.join(","));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::num::NonZeroU32;
    use weir_process::{Capabilities, Version};

    /// The names of the flags that these options produce.
    fn flags(options: &SessionOptions, spawn: &Spawn, new_id: Option<&CliSessionId>) -> BTreeSet<String> {
        let mut list = Vec::new();
        let path = || Some("/f".into());
        for files in [
            StartFiles::default(),
            StartFiles { system: path(), append: path(), servers: path(), settings: path() },
        ] {
            let start = Start { spawn, new_id, project_settings: false, files: &files };
            list.extend(arguments(options, &start, &|_| true).unwrap());
        }
        let names = list.iter().map(|argument| argument.to_string_lossy().into_owned());
        names.map(|name| name.split('=').next().unwrap_or_default().to_owned()).collect()
    }

    /// The arguments of a process started like this.
    fn started(options: &SessionOptions, spawn: &Spawn) -> Vec<OsString> {
        let files = StartFiles::default();
        let start = Start { spawn, new_id: None, project_settings: true, files: &files };
        arguments(options, &start, &|_| true).unwrap()
    }

    #[test]
    fn the_list_of_flags_matches_what_is_passed() {
        let mut options = SessionOptions::new()
            .model("a")
            .system_prompt("b")
            .append_system_prompt("c")
            .permission_mode("d")
            .tools(["Read"])
            .allowed_tools(["e"])
            .disallowed_tools(["f"])
            .max_cost_usd(1.0)
            .handler(crate::DenyAll);
        options.spec.fallback_models = vec!["g".into()];
        options.spec.betas = vec!["i".into()];
        options.spec.prompt_suggestions = true;
        options = options.agent("j").plugin_dir("/p").debug_file("/d");
        options.strict_mcp = true;
        options.spec.hook_events = true;
        options.spec.exclude_dynamic_sections = true;
        options.spec.system_prompt_snapshot = Some(false);
        let few = NonZeroU32::MIN;
        options = options.effort(Effort::Low).thinking(Thinking::Adaptive);
        options = options.max_thinking_tokens(few).task_budget_tokens(few);
        options.add_dirs = vec!["/".into()];
        options.spec.max_turns = Some(1);
        options.spec.no_session_persistence = true;
        let id = CliSessionId::new("h");
        let resumed = Spawn { resume: Some(id.clone()), fork: true, ..Spawn::default() };
        let new = Spawn::default();
        let mut passed = flags(&options, &resumed, None);
        passed.extend(flags(&options, &new, Some(&id)));
        options.origin = Origin::Continue;
        passed.extend(flags(&options, &new, None));
        assert_eq!(passed, FLAGS.iter().map(|flag| (*flag).to_owned()).collect());
    }

    #[test]
    fn rules_come_before_what_the_session_appends() {
        let appended = |options: &SessionOptions| {
            let args = started(options, &Spawn::default());
            let value =
                |arg: &OsString| arg.to_str()?.strip_prefix("--append-system-prompt=").map(str::to_owned);
            args.iter().find_map(value)
        };
        let mut options = SessionOptions::new();
        assert_eq!(appended(&options), None);
        options.rules = Some("rules".to_owned());
        assert_eq!(appended(&options).as_deref(), Some("rules"));
        assert_eq!(appended(&options.append_system_prompt("own")).as_deref(), Some("rules\n\nown"));
    }

    #[test]
    fn missing_flags_are_refused_and_never_dropped() {
        let lacking = |options: &SessionOptions, flag: &'static str| {
            let new = Spawn::default();
            let id = CliSessionId::new("h");
            let files = StartFiles::default();
            let start = Start { spawn: &new, new_id: Some(&id), project_settings: true, files: &files };
            arguments(options, &start, &move |name| name != flag)
        };
        let mut options = SessionOptions::new().model("a").max_cost_usd(1.0).effort(Effort::Low);
        options.spec.no_session_persistence = true;
        for flag in ["--model", "--no-session-persistence", "--max-budget-usd", "--effort"] {
            assert_eq!(lacking(&options, flag), Err(vec![flag]));
        }
        // Weir handles these itself, or they are not needed.
        for flag in ["--include-partial-messages", "--session-id"] {
            let list = lacking(&options, flag).unwrap();
            assert!(list.iter().all(|argument| !argument.to_string_lossy().starts_with(flag)), "{flag}");
        }
        options.origin = Origin::Named(CliSessionId::new("h"));
        assert_eq!(lacking(&options, "--session-id"), Err(vec!["--session-id"]));
    }

    #[test]
    fn the_version_is_known_before_a_newer_flag_is_passed() {
        let oldest = Capabilities::of(Version::new(1, 0, 124));
        let newer: Vec<&str> = FLAGS.iter().copied().filter(|flag| !oldest.has_flag(flag)).collect();
        // These are tried first: asking each CLI for its version would delay most starts.
        let tried = ["--setting-sources", "--append-system-prompt-file", "--tools"];
        let known = |flag: &&str| NEWER.contains(flag) || tried.contains(flag);
        assert_eq!(newer.iter().copied().filter(|flag| !known(flag)).collect::<Vec<_>>(), Vec::<&str>::new());
        assert!(NEWER.iter().all(|flag| newer.contains(flag)), "{newer:?}");
    }

    #[test]
    fn a_list_of_tools_holds_on_every_version() {
        let options = SessionOptions::new().tools(["Read", "Task"]).disallowed_tools(["Write"]);
        let spawn = Spawn::default();
        let files = StartFiles::default();
        let start = Start { spawn: &spawn, new_id: None, project_settings: true, files: &files };
        let passed = |lacks: &'static str, flag: &str| {
            let list = arguments(&options, &start, &move |name| name != lacks).unwrap();
            let flag = format!("{flag}=");
            let words = list.iter().map(|argument| argument.to_string_lossy().into_owned());
            words.filter_map(|word| word.strip_prefix(&flag).map(str::to_owned)).next()
        };
        assert_eq!(passed("", "--tools").unwrap(), "Read,Task,Agent,TodoWrite");
        assert_eq!(passed("", "--disallowedTools").unwrap(), "Write");
        assert_eq!(passed("--tools", "--tools"), None);
        let denied = passed("--tools", "--disallowedTools").unwrap();
        let denied: Vec<&str> = denied.split(',').collect();
        assert!(denied.contains(&"Bash") && denied.contains(&"Write") && !denied.contains(&"Read"));
        let missing = arguments(&options, &start, &|name| name != "--tools" && name != "--disallowedTools");
        assert_eq!(missing, Err(vec!["--disallowedTools"]));
    }

    #[test]
    fn servers_in_settings_are_left_out_unless_one_of_their_tools_is_named() {
        let is_strict = |options: &SessionOptions| {
            started(options, &Spawn::default()).contains(&"--strict-mcp-config".into())
        };
        assert!(is_strict(&SessionOptions::new().tools(["Read"])));
        assert!(!is_strict(&SessionOptions::new().tools(["Read", "mcp__db__query"])));
        assert!(!is_strict(&SessionOptions::new()));
    }

    #[test]
    fn chosen_settings_never_include_what_the_folder_may_not_load() {
        let sources = |chosen: Option<Vec<SettingSource>>, project_settings| {
            let mut options = SessionOptions::new();
            options.setting_sources = chosen;
            let (spawn, files) = (Spawn::default(), StartFiles::default());
            let start = Start { spawn: &spawn, new_id: None, project_settings, files: &files };
            let list = arguments(&options, &start, &|_| true).unwrap();
            let words = list.iter().map(|argument| argument.to_string_lossy().into_owned());
            words.filter_map(|word| word.strip_prefix("--setting-sources=").map(str::to_owned)).next()
        };
        let all = || Some(vec![SettingSource::User, SettingSource::Project, SettingSource::Local]);
        assert_eq!(sources(all(), true).as_deref(), Some("user,project,local"));
        assert_eq!(sources(all(), false).as_deref(), Some("user"));
        assert_eq!(sources(Some(Vec::new()), true).as_deref(), Some(""));
        assert_eq!(sources(Some(vec![SettingSource::Project]), false).as_deref(), Some(""));
        assert_eq!((sources(None, true), sources(None, false).as_deref()), (None, Some("user")));
    }

    #[test]
    fn a_fork_ends_at_the_given_line() {
        let (resume, fork_at) = (Some(CliSessionId::new("h")), Some("line".to_owned()));
        let spawn = Spawn { resume, fork: true, fork_at, ..Spawn::default() };
        let list = started(&SessionOptions::new(), &spawn);
        assert!(list.contains(&"--resume-session-at=line".into()), "{list:?}");
        // Without a fork it would truncate the session itself.
        let list = started(&SessionOptions::new(), &Spawn { fork: false, ..spawn });
        assert!(!list.contains(&"--resume-session-at=line".into()), "{list:?}");
    }

    #[test]
    fn a_schema_is_never_an_argument() {
        let mut options = SessionOptions::new();
        options.spec.output_schema = Some(serde_json::json!({"type": "object", "title": "secret"}));
        let list = started(&options, &Spawn::default());
        assert!(list.iter().all(|argument| !argument.to_string_lossy().contains("secret")), "{list:?}");
        let greeting = options.machine_settings().greeting.request().unwrap();
        assert_eq!(greeting.extra["jsonSchema"]["title"], "secret");
    }

    #[test]
    fn continues_the_last_session_of_the_folder_only_when_asked() {
        let is_continued =
            |options: &SessionOptions, spawn: &Spawn| flags(options, spawn, None).contains("--continue");
        let new = Spawn::default();
        let resumed = Spawn { resume: Some(CliSessionId::new("h")), ..Spawn::default() };
        let mut options = SessionOptions::default();
        assert!(!is_continued(&options, &new) && !is_continued(&options, &resumed));
        options.origin = Origin::Continue;
        // A session whose id is known is named explicitly.
        assert!(is_continued(&options, &new) && !is_continued(&options, &resumed));
    }
}
