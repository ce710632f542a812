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

/// The arguments of a process. `supports` says whether the CLI has a flag.
///
/// What was asked for and the CLI cannot do is never left out: then there are no arguments, but the flags that are
/// missing. Left out is only what nobody misses: [`Arguments::if_supported`] says why, for each.
///
/// # Errors
/// The flags that the CLI lacks.
pub(crate) fn arguments(
    options: &SessionOptions,
    spawn: &Spawn,
    new_id: Option<&SessionId>,
    supports: &dyn Fn(&str) -> bool,
) -> Result<Vec<OsString>, Vec<&'static str>> {
    let mut args = Arguments { list: options.leading_args.clone(), missing: Vec::new(), supports };
    // Every version that can be talked to has these; one that does not says so itself.
    let protocol = ["--print", "--verbose", "--input-format=stream-json", "--output-format=stream-json"];
    args.list.extend(protocol.map(OsString::from));
    if options.partial_messages {
        // Without it text comes in whole blocks, and none is missing.
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
    // Without it the machine hands over no more messages once the limit is reached.
    if let Some(limit) = options.max_cost_usd.filter(|_| supports("--max-budget-usd")) {
        args.value("--max-budget-usd", limit.to_string());
    }
    conversation(&mut args, options, spawn, new_id);
    if !options.persistence {
        args.flag("--no-session-persistence");
    }
    if options.subagent_text {
        // Versions without it never leave that text out.
        args.if_supported("--forward-subagent-text");
    }
    let Arguments { mut list, missing, .. } = args;
    if !missing.is_empty() {
        return Err(missing);
    }
    list.extend(options.extra_args.iter().cloned());
    Ok(list)
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
            }
        }
        (None, _) if options.conversation == Conversation::Continue && !spawn.afresh => {
            args.flag("--continue");
        }
        (None, Some(id)) if matches!(options.conversation, Conversation::Named(_)) && !spawn.afresh => {
            args.value("--session-id", id.as_str());
        }
        // A name of our own choice: without it the CLI says which one it has chosen.
        (None, Some(id)) if (args.supports)("--session-id") => args.value("--session-id", id.as_str()),
        (None, _) => {}
    }
}

struct Arguments<'a> {
    list: Vec<OsString>,
    /// What was asked for and the CLI does not have.
    missing: Vec<&'static str>,
    supports: &'a dyn Fn(&str) -> bool,
}

impl Arguments<'_> {
    fn flag(&mut self, name: &'static str) {
        self.add(name, name.into());
    }

    /// The one way for an argument into the list.
    fn add(&mut self, name: &'static str, argument: OsString) {
        if (self.supports)(name) {
            self.list.push(argument);
        } else {
            self.missing.push(name);
        }
    }

    /// For what is not missed where the CLI does not have it.
    fn if_supported(&mut self, name: &'static str) {
        if (self.supports)(name) {
            self.flag(name);
        }
    }

    /// In one argument, so that a value which begins with a dash is not taken for a flag.
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

    /// The names of the flags that options lead to.
    fn flags(options: &SessionOptions, spawn: &Spawn, new_id: Option<&SessionId>) -> BTreeSet<String> {
        let list = arguments(options, spawn, new_id, &|_| true).unwrap();
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
        let resumed = Spawn { resume: Some(id.clone()), fork: true, afresh: false };
        let new = Spawn { resume: None, fork: false, afresh: false };
        let mut passed = flags(&options, &resumed, None);
        passed.extend(flags(&options, &new, Some(&id)));
        options.conversation = Conversation::Continue;
        passed.extend(flags(&options, &new, None));
        assert_eq!(passed, FLAGS.iter().map(|flag| (*flag).to_owned()).collect());
    }

    #[test]
    fn what_the_cli_lacks_is_refused_and_never_dropped() {
        let lacking = |options: &SessionOptions, flag: &'static str| {
            let new = Spawn { resume: None, fork: false, afresh: false };
            let id = SessionId::new("h");
            arguments(options, &new, Some(&id), &move |name| name != flag)
        };
        let mut options = SessionOptions::new().model("a").max_cost_usd(1.0);
        options.persistence = false;
        options.subagent_text = true;
        for flag in ["--model", "--no-session-persistence"] {
            assert_eq!(lacking(&options, flag), Err(vec![flag]));
        }
        // These are done by Weir itself, or not needed.
        for flag in
            ["--max-budget-usd", "--forward-subagent-text", "--include-partial-messages", "--session-id"]
        {
            let list = lacking(&options, flag).unwrap();
            assert!(list.iter().all(|argument| !argument.to_string_lossy().starts_with(flag)), "{flag}");
        }
        options.conversation = Conversation::Named(SessionId::new("h"));
        assert_eq!(lacking(&options, "--session-id"), Err(vec!["--session-id"]));
    }

    #[test]
    fn continues_the_last_session_of_the_folder_only_when_asked() {
        let is_continued =
            |options: &SessionOptions, spawn: &Spawn| flags(options, spawn, None).contains("--continue");
        let new = Spawn { resume: None, fork: false, afresh: false };
        let resumed = Spawn { resume: Some(SessionId::new("h")), fork: false, afresh: false };
        let mut options = SessionOptions::default();
        assert!(!is_continued(&options, &new) && !is_continued(&options, &resumed));
        options.conversation = Conversation::Continue;
        // A session that is known by its id is named.
        assert!(is_continued(&options, &new) && !is_continued(&options, &resumed));
    }
}
