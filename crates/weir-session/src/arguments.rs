//! From options to the CLI's arguments. Pure.

use std::ffi::OsString;

use weir_wire::SessionId;

use crate::machine::Spawn;
use crate::options::{Conversation, SessionOptions};

/// The flags that Weir passes, each of which a check finds in the CLI's own help.
pub const FLAGS: &[&str] = &[
    "--print",
    "--verbose",
    "--input-format",
    "--output-format",
    "--include-partial-messages",
    "--permission-prompt-tool",
    "--model",
    "--fallback-model",
    "--system-prompt",
    "--append-system-prompt",
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
    "--forward-subagent-text",
];

/// Where a copy of a session ends. The CLI leaves it out of its help.
pub(crate) const FORK_AT: &str = "--resume-session-at";

/// The arguments of a process. `supports` says whether the CLI has a flag.
pub(crate) fn arguments(
    options: &SessionOptions,
    spawn: &Spawn,
    new_id: Option<&SessionId>,
    supports: &dyn Fn(&str) -> bool,
) -> Vec<OsString> {
    let mut args = Arguments { list: options.leading_args.clone(), supports };
    args.flag("--print");
    args.flag("--verbose");
    args.value("--input-format", "stream-json");
    args.value("--output-format", "stream-json");
    if options.partial_messages {
        args.if_supported("--include-partial-messages");
    }
    if options.handler.is_some() {
        args.value("--permission-prompt-tool", "stdio");
    }
    args.option("--model", options.model.as_deref());
    args.option("--fallback-model", options.fallback_model.as_deref());
    args.option("--system-prompt", options.system_prompt.as_deref());
    args.option("--append-system-prompt", options.append_system_prompt.as_deref());
    args.option("--permission-mode", options.permission_mode.as_deref());
    args.list("--allowedTools", &options.allowed_tools);
    args.list("--disallowedTools", &options.disallowed_tools);
    for directory in &options.add_dirs {
        args.value("--add-dir", directory);
    }
    args.option("--max-turns", options.max_turns.map(|turns| turns.to_string()).as_deref());
    if let Some(limit) = options.max_cost_usd.filter(|_| supports("--max-budget-usd")) {
        args.value("--max-budget-usd", limit.to_string());
    }
    conversation(&mut args, options, spawn, new_id);
    if !options.persistence {
        args.if_supported("--no-session-persistence");
    }
    if options.subagent_text {
        args.if_supported("--forward-subagent-text");
    }
    let mut list = args.list;
    list.extend(options.extra_args.iter().cloned());
    list
}

fn conversation(
    args: &mut Arguments<'_>,
    options: &SessionOptions,
    spawn: &Spawn,
    new_id: Option<&SessionId>,
) {
    match (&spawn.resume, new_id) {
        (Some(id), _) => {
            args.value("--resume", id.as_str());
            if spawn.fork {
                args.flag("--fork-session");
                args.option(FORK_AT, spawn.fork_at.as_deref());
            }
        }
        (None, _) if options.conversation == Conversation::Continue && !spawn.afresh => {
            args.flag("--continue");
        }
        (None, Some(id)) if (args.supports)("--session-id") => args.value("--session-id", id.as_str()),
        (None, _) => {}
    }
}

struct Arguments<'a> {
    list: Vec<OsString>,
    supports: &'a dyn Fn(&str) -> bool,
}

impl Arguments<'_> {
    fn flag(&mut self, name: &str) {
        self.list.push(name.into());
    }

    fn if_supported(&mut self, name: &str) {
        if (self.supports)(name) {
            self.flag(name);
        }
    }

    /// In one argument, so that a value which begins with a dash is not taken for a flag.
    fn value(&mut self, name: &str, value: impl Into<OsString>) {
        let mut argument = OsString::from(name);
        argument.push("=");
        argument.push(value.into());
        self.list.push(argument);
    }

    fn option(&mut self, name: &str, value: Option<&str>) {
        if let Some(value) = value {
            self.value(name, value);
        }
    }

    fn list(&mut self, name: &str, values: &[String]) {
        if !values.is_empty() {
            self.value(name, values.join(","));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// The names of the flags that options lead to.
    fn flags(options: &SessionOptions, spawn: &Spawn, new_id: Option<&SessionId>) -> BTreeSet<String> {
        let list = arguments(options, spawn, new_id, &|_| true);
        let names = list.iter().map(|argument| argument.to_string_lossy().into_owned());
        names.map(|name| name.split('=').next().unwrap_or_default().to_owned()).collect()
    }

    #[test]
    fn the_list_of_flags_is_what_is_passed() {
        let mut options = SessionOptions::new()
            .model("a")
            .system_prompt("b")
            .append_system_prompt("c")
            .permission_mode("d")
            .allowed_tools(["e"])
            .disallowed_tools(["f"])
            .max_cost_usd(1.0)
            .handler(crate::DenyAll);
        options.fallback_model = Some("g".into());
        options.add_dirs = vec!["/".into()];
        options.max_turns = Some(1);
        options.persistence = false;
        options.subagent_text = true;
        let id = SessionId::new("h");
        let resumed = Spawn { resume: Some(id.clone()), fork: true, ..Spawn::default() };
        let new = Spawn::default();
        let mut passed = flags(&options, &resumed, None);
        passed.extend(flags(&options, &new, Some(&id)));
        options.conversation = Conversation::Continue;
        passed.extend(flags(&options, &new, None));
        assert_eq!(passed, FLAGS.iter().map(|flag| (*flag).to_owned()).collect());
    }

    #[test]
    fn a_copy_ends_where_it_is_told_to() {
        let (resume, fork_at) = (Some(SessionId::new("h")), Some("line".to_owned()));
        let spawn = Spawn { resume, fork: true, fork_at, ..Spawn::default() };
        let list = arguments(&SessionOptions::new(), &spawn, None, &|_| true);
        assert!(list.contains(&"--resume-session-at=line".into()), "{list:?}");
        // Without a copy it would cut the session itself.
        let list = arguments(&SessionOptions::new(), &Spawn { fork: false, ..spawn }, None, &|_| true);
        assert!(!list.contains(&"--resume-session-at=line".into()), "{list:?}");
    }

    #[test]
    fn no_schema_is_an_argument() {
        let mut options = SessionOptions::new();
        options.output_schema = Some(serde_json::json!({"type": "object", "title": "secret"}));
        let list = arguments(&options, &Spawn::default(), None, &|_| true);
        assert!(list.iter().all(|argument| !argument.to_string_lossy().contains("secret")), "{list:?}");
        let greeting = options.machine_settings().greeting.request().unwrap();
        assert_eq!(greeting.extra["jsonSchema"]["title"], "secret");
    }

    #[test]
    fn continues_the_last_session_of_the_folder_only_when_asked() {
        let is_continued =
            |options: &SessionOptions, spawn: &Spawn| flags(options, spawn, None).contains("--continue");
        let new = Spawn::default();
        let resumed = Spawn { resume: Some(SessionId::new("h")), ..Spawn::default() };
        let mut options = SessionOptions::default();
        assert!(!is_continued(&options, &new) && !is_continued(&options, &resumed));
        options.conversation = Conversation::Continue;
        // A session that is known by its id is named.
        assert!(is_continued(&options, &new) && !is_continued(&options, &resumed));
    }
}
