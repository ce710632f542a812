//! Hooks: commands from the settings, and callbacks that the host registered with `initialize`.

use std::process::{Command, Stdio};

use super::agent::Agent;
use super::host::AskError;
use super::lines;
use super::sim::Sim;
use crate::json::{Json, parse};
use crate::object;

#[derive(Debug, Clone, PartialEq)]
enum Run {
    Callback(String),
    Command(String),
}

#[derive(Debug, Clone, PartialEq)]
struct Hook {
    event: String,
    matcher: Option<String>,
    run: Run,
}

/// All hooks of a session.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Hooks {
    hooks: Vec<Hook>,
}

/// What hooks decide about a call.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Verdict {
    /// The reason for a refusal.
    pub(crate) denied: Option<String>,
    pub(crate) allowed: bool,
    pub(crate) updated_input: Option<Json>,
}

impl Hooks {
    /// Adds the `hooks` of settings (commands) or of `initialize` (callbacks) to the existing ones.
    pub(crate) fn add(&mut self, value: &Json) {
        for (event, matchers) in value.members() {
            for entry in matchers.items() {
                let matcher = entry.str_of("matcher").map(str::to_owned);
                let callbacks = entry.items_of("hookCallbackIds").iter().filter_map(Json::as_str);
                let commands = entry.items_of("hooks").iter().filter_map(|hook| hook.str_of("command"));
                let runs = callbacks.map(|id| Run::Callback(id.to_owned()));
                let runs = runs.chain(commands.map(|command| Run::Command(command.to_owned())));
                self.hooks.extend(runs.map(|run| Hook {
                    event: event.clone(),
                    matcher: matcher.clone(),
                    run,
                }));
            }
        }
    }

    fn matching(&self, event: &str, subject: Option<&str>) -> Vec<Hook> {
        let matches = |matcher: &Option<String>| match (matcher.as_deref(), subject) {
            (None | Some("" | "*"), _) | (_, None) => true,
            (Some(matcher), Some(subject)) => matcher.split('|').any(|name| name == subject),
        };
        self.hooks.iter().filter(|hook| hook.event == event && matches(&hook.matcher)).cloned().collect()
    }
}

/// The hooks in `--settings`: a file or JSON.
pub(crate) fn of_settings(settings: Option<&str>) -> Hooks {
    let text = settings.and_then(|given| match parse(given) {
        Ok(value) => Some(value),
        Err(_) => std::fs::read_to_string(given).ok().and_then(|text| parse(&text).ok()),
    });
    let mut hooks = Hooks::default();
    if let Some(value) = text {
        hooks.add(value.get("hooks").unwrap_or(&Json::Null));
    }
    hooks
}

/// Runs the hooks for an event. `subject` is the tool or source that matchers apply to.
pub(crate) fn fire(sim: &Sim, agent: &Agent, event: &str, subject: Option<&str>, details: &Json) -> Verdict {
    let mut verdict = Verdict::default();
    let hooks = sim.state().hooks.matching(event, subject);
    for hook in hooks {
        let tool_use_id = details.str_of("tool_use_id").map_or_else(|| agent.ids.uuid(), str::to_owned);
        let input = base_input(sim, event).with_all(details.clone());
        let answer = match &hook.run {
            Run::Callback(id) => {
                let request = object! {
                    "subtype" => "hook_callback",
                    "callback_id" => id,
                    "input" => input,
                    "tool_use_id" => tool_use_id,
                };
                match sim.host.ask(&sim.out, &agent.ids.uuid(), request, &agent.cancel) {
                    Ok(answer) => answer,
                    Err(AskError::Stopped(_) | AskError::Closed | AskError::Refused(_)) => continue,
                }
            }
            Run::Command(command) => run_command(sim, agent, event, subject, command, &input),
        };
        judge(&mut verdict, event, subject, &answer, sim.profile.is_old());
    }
    verdict
}

fn base_input(sim: &Sim, event: &str) -> Json {
    let mode = sim.state().mode.clone();
    object! {
        "session_id" => sim.session_id(),
        "transcript_path" => sim.transcript_path(),
        "cwd" => sim.cwd_text(),
        "permission_mode" => mode,
        "hook_event_name" => event,
    }
}

fn judge(verdict: &mut Verdict, event: &str, subject: Option<&str>, answer: &Json, old: bool) {
    let specific = answer.get("hookSpecificOutput").unwrap_or(&Json::Null);
    let reason = |value: &Json, key: &str| value.str_of(key).unwrap_or("blocked by a hook").to_owned();
    let refusal = match (specific.str_of("permissionDecision"), answer.str_of("decision")) {
        (Some("deny"), _) => Some(reason(specific, "permissionDecisionReason")),
        (_, Some("block")) => Some(reason(answer, "reason")),
        _ => None,
    };
    if let Some(reason) = refusal {
        let text = if old {
            reason
        } else {
            format!("{event}:{} hook error: {reason}", subject.unwrap_or_default())
        };
        verdict.denied.get_or_insert(text);
    }
    verdict.allowed |= specific.str_of("permissionDecision") == Some("allow");
    if let Some(input) = specific.get("updatedInput") {
        verdict.updated_input = Some(input.clone());
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "a hook is a command of the user, and the simulated CLI runs it itself"
)]
fn run_command(
    sim: &Sim,
    agent: &Agent,
    event: &str,
    subject: Option<&str>,
    command: &str,
    input: &Json,
) -> Json {
    let ids = &agent.ids;
    let name = subject.map_or_else(|| event.to_owned(), |subject| format!("{event}:{subject}"));
    let hook = object! { "hook_id" => ids.uuid(), "hook_name" => name, "hook_event" => event };
    if sim.options.hook_events {
        sim.out.line(&lines::system(sim, ids, "hook_started", hook.clone()));
    }
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(command).current_dir(sim.cwd());
    shell.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let finished = shell.spawn().and_then(|mut child| {
        if let Some(mut stdin) = child.stdin.take() {
            // A hook that does not read its input closes the pipe, which is fine.
            drop(std::io::Write::write_all(&mut stdin, input.to_string().as_bytes()));
        }
        child.wait_with_output()
    });
    let (stdout, stderr, code) = match finished {
        Ok(output) => (
            String::from_utf8_lossy(&output.stdout).into_owned(),
            String::from_utf8_lossy(&output.stderr).into_owned(),
            output.status.code().unwrap_or(-1),
        ),
        Err(error) => (String::new(), error.to_string(), 127),
    };
    if sim.options.hook_events {
        let ended = hook.with_all(object! {
            "output" => format!("{stdout}{stderr}"),
            "stdout" => stdout.as_str(),
            "stderr" => stderr.as_str(),
            "exit_code" => code,
            "outcome" => if code == 0 { "success" } else { "error" },
        });
        sim.out.line(&lines::system(sim, ids, "hook_response", ended));
    }
    if code == 2 {
        return object! { "decision" => "block", "reason" => stderr.trim_end() };
    }
    parse(stdout.trim()).unwrap_or(Json::Null)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn callbacks_and_commands_are_read_and_matched() {
        let mut hooks = of_settings(Some(
            r#"{"hooks":{"PreToolUse":[{"matcher":"Bash|Edit","hooks":[{"type":"command","command":"true"}]}]}}"#,
        ));
        hooks.add(&parse(r#"{"PreToolUse":[{"matcher":null,"hookCallbackIds":["h1"]}],"Stop":[{"hookCallbackIds":["h2"]}]}"#).unwrap());
        assert_eq!(hooks.matching("PreToolUse", Some("Edit")).len(), 2);
        assert_eq!(hooks.matching("PreToolUse", Some("Read")).len(), 1);
        assert_eq!(hooks.matching("Stop", None).len(), 1);
        assert_eq!(of_settings(Some("nonsense")), Hooks::default());
    }

    #[test]
    fn a_refusal_is_worded_as_each_version_does() {
        let answer =
            parse(r#"{"hookSpecificOutput":{"permissionDecision":"deny","permissionDecisionReason":"no"}}"#)
                .unwrap();
        let mut verdict = Verdict::default();
        judge(&mut verdict, "PreToolUse", Some("Bash"), &answer, false);
        assert_eq!(verdict.denied.as_deref(), Some("PreToolUse:Bash hook error: no"));
        let mut verdict = Verdict::default();
        judge(&mut verdict, "PreToolUse", Some("Bash"), &answer, true);
        assert_eq!(verdict.denied.as_deref(), Some("no"));
    }
}
