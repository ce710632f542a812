//! Finds problems in a configuration that could be parsed.

use serde::Serialize;

use super::{Config, Mode};
use crate::allowlist;
use crate::limits::{LimitTable, Unit};

/// A problem in the configuration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The severity.
    pub level: Level,
    /// The key.
    pub place: String,
    /// What is wrong, and what to do.
    pub message: String,
}

/// The severity of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// Probably not what was intended.
    Warning,
    /// The loop refuses to run.
    Error,
}

/// Finds problems. The loop spends nothing on a configuration with errors.
pub fn check(config: &Config) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut add = |level, place: &str, message: String| {
        findings.push(Finding { level, place: format!("loop.{place}"), message });
    };
    limits(&config.limits, &mut add);
    limits(&config.task_limits, &mut add);
    if config.task_limits.cost_usd > config.limits.cost_usd {
        let message = "a task may cost more than the whole run; the run's limit applies".to_owned();
        add(Level::Warning, "task_limits.cost_usd", message);
    }
    gates(config, &mut add);
    if config.parallel == 0 || config.parallel > 32 {
        add(Level::Error, "parallel", "must be from 1 to 32 tasks at a time".to_owned());
    }
    if config.prompt.max_bytes < 4096 {
        add(Level::Error, "prompt.max_bytes", "a prompt needs at least 4096 bytes".to_owned());
    }
    let is_url = |url: &String| url.starts_with("https://") || url.starts_with("http://");
    if config.notify.webhook.as_ref().is_some_and(|url| !is_url(url)) {
        add(Level::Error, "notify.webhook", "a webhook URL must start with https:// or http://".to_owned());
    }
    let is_chat =
        |chat: &String| chat.split_once(':').is_some_and(|(name, id)| !name.is_empty() && !id.is_empty());
    if config.notify.chat.as_ref().is_some_and(|chat| !is_chat(chat)) {
        let message = "a chat is written as channel:chat, such as telegram:12345".to_owned();
        add(Level::Error, "notify.chat", message);
    }
    tools("coder", &config.coder, &mut add);
    tools("planner", &config.planner, &mut add);
    findings
}

fn limits<L: LimitTable>(limits: &L, add: &mut impl FnMut(Level, &str, String)) {
    for limit in L::ROWS {
        let is_wrong = limit.max(limits).is_some_and(|max| !limit.unit.allows(max.value));
        if is_wrong {
            let message = match limit.unit {
                Unit::Dollars => "limits cannot be disabled: give an amount above zero",
                Unit::Count(_) | Unit::Time | Unit::Period => {
                    "limits cannot be disabled: give a number above zero"
                }
                Unit::Share(_) => "must be a fraction above 0 and up to 1",
            };
            add(Level::Error, &limit.place(), message.to_owned());
        }
    }
}

fn gates(config: &Config, add: &mut impl FnMut(Level, &str, String)) {
    if config.gates.is_empty() {
        let message =
            "no gates are configured, so nothing checks the work; `weir loop init` proposes some".to_owned();
        add(Level::Warning, "gates", message);
    }
    for (place, gate) in config.gates.iter().enumerate() {
        let place = format!("gates[{place}]");
        match gate.command.as_slice() {
            [] => add(Level::Error, &place, "a gate needs a command: [\"program\", \"argument\"]".to_owned()),
            [only] if only.contains(' ') => {
                let words: Vec<String> = only.split_whitespace().map(|word| format!("{word:?}")).collect();
                let message = format!("gates run without a shell: write command = [{}]", words.join(", "));
                add(Level::Error, &place, message);
            }
            words if words.iter().any(|word| matches!(word.as_str(), "&&" | "||" | "|" | ";" | ">")) => {
                let message =
                    "gates run without a shell: move this into a script and run the script".to_owned();
                add(Level::Error, &place, message);
            }
            _ => {}
        }
        if config.gates.iter().filter(|other| other.name == gate.name).count() > 1 {
            add(Level::Error, &place, format!("two gates have the name {:?}", gate.name));
        }
    }
}

fn tools(name: &str, mode: &Mode, add: &mut impl FnMut(Level, &str, String)) {
    for finding in allowlist::lint(&mode.spec.allowed_tools, &mode.spec.disallowed_tools) {
        add(finding.level, &format!("{name}.allowed_tools"), finding.message);
    }
    let flags = ["--dangerously-skip-permissions", "--permission-mode", "--allowedTools", "--allowed-tools"];
    let smuggled =
        mode.extra_args.iter().find(|argument| flags.iter().any(|flag| argument.starts_with(flag)));
    if let Some(flag) = smuggled {
        let message = format!("{flag} cannot be set here; it has its own key or flag");
        add(Level::Error, &format!("{name}.extra_args"), message);
    }
    let spec = &mode.spec;
    if spec.max_cost_usd.is_some_and(|usd| !(usd.is_finite() && usd > 0.0)) {
        let message = "give an amount above zero, or leave it out".to_owned();
        add(Level::Error, &format!("{name}.max_cost_usd"), message);
    }
    if spec.max_turns == Some(0) {
        let message = "give a number above zero, or leave it out".to_owned();
        add(Level::Error, &format!("{name}.max_turns"), message);
    }
    if spec.output_schema.is_some() {
        let message = "the loop reads answers as text; leave it out".to_owned();
        add(Level::Error, &format!("{name}.output_schema"), message);
    }
    if spec.permission_mode.as_deref() == Some("bypassPermissions") {
        let message =
            "permissions can be skipped only with the flag --dangerously-skip-permissions".to_owned();
        add(Level::Error, &format!("{name}.permission_mode"), message);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::parse;

    fn errors(text: &str) -> Vec<String> {
        let findings = check(&parse(text).unwrap());
        findings.into_iter().filter(|f| f.level == Level::Error).map(|f| f.place).collect()
    }

    #[test]
    fn there_is_no_unbounded_mode() {
        let text = "[loop.limits]\ncost_usd = inf\niterations = 0\ntokens = 0\nplan_utilization = 2.0\n\
                    [loop.task_limits]\nattempts = 0\ncost_usd = -1.0";
        let wanted = [
            "loop.limits.cost_usd",
            "loop.limits.iterations",
            "loop.limits.tokens",
            "loop.limits.plan_utilization",
            "loop.task_limits.attempts",
            "loop.task_limits.cost_usd",
        ];
        assert_eq!(errors(text), wanted);
        assert!(parse("[loop.limits]\nwall_time = \"0s\"").is_err());
    }

    #[test]
    fn a_gate_is_not_a_shell_command() {
        let gate = |command: &str| format!("[[loop.gates]]\nname = \"x\"\ncommand = {command}");
        assert_eq!(errors(&gate("[\"cargo test\"]")), ["loop.gates[0]"]);
        assert_eq!(errors(&gate("[\"a\", \"&&\", \"b\"]")), ["loop.gates[0]"]);
        assert_eq!(errors(&gate("[]")), ["loop.gates[0]"]);
        assert!(errors(&gate("[\"cargo\", \"test\"]")).is_empty());
    }

    #[test]
    fn permissions_are_not_skipped_by_the_back_door() {
        assert_eq!(
            errors("[loop.coder]\npermission_mode = \"bypassPermissions\""),
            ["loop.coder.permission_mode"]
        );
        let text = "[loop.coder]\nextra_args = [\"--dangerously-skip-permissions\"]";
        assert_eq!(errors(text), ["loop.coder.extra_args"]);
    }
}
