//! Requests for permission: what is shown, which answers there are, and what they mean. No IO.

use std::fmt::Write as _;

use serde_json::Value;
use weir_session::{Decision, PermissionRequest};
use weir_wire::{PermissionUpdate, RawJson};

use super::heading;
use crate::screen::{Style, clean, coloured};

/// More lines of what is asked are not shown.
const MOST_LINES: usize = 60;

/// Something that can be answered by its number.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Choice {
    label: String,
    decision: Decision,
}

/// What an answer means.
#[derive(Debug, PartialEq)]
pub(super) enum Answer<'a> {
    Choice(&'a Decision),
    /// No, and what the model is told.
    No(String),
}

/// The choices, in order; the last one is always "no".
pub(super) fn choices(ask: &PermissionRequest) -> Vec<Choice> {
    let is_plan = ask.tool_name == "ExitPlanMode";
    let (yes, no) = if is_plan { ("Yes, carry it out", "No, go on planning") } else { ("Yes", "No") };
    let mut choices = vec![Choice { label: yes.to_owned(), decision: Decision::allow() }];
    // Each by itself: they are of very different reach.
    for suggestion in &ask.suggestions {
        let Some((rule, update)) = in_words(suggestion).zip(update(suggestion)) else { continue };
        let decision = Decision::Allow { input: None, remember: vec![update] };
        choices.push(Choice { label: format!("Yes, and {rule}"), decision });
    }
    choices.push(Choice { label: no.to_owned(), decision: Decision::deny("The user said no.") });
    choices
}

fn update(suggestion: &Value) -> Option<PermissionUpdate> {
    let text = suggestion.to_string();
    RawJson::parse(text.as_bytes()).ok().map(PermissionUpdate::suggested)
}

/// What a suggestion of the CLI would change.
fn in_words(suggestion: &Value) -> Option<String> {
    let text = |value: &Value, name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
    let list = |name: &str| suggestion.get(name).and_then(Value::as_array).cloned().unwrap_or_default();
    let what = match suggestion.get("type").and_then(Value::as_str)? {
        "addRules" | "replaceRules" => {
            let rule = |rule: &Value| {
                let tool = text(rule, "toolName")?;
                Some(match text(rule, "ruleContent") {
                    Some(content) => format!("{tool}({content})"),
                    None => tool,
                })
            };
            let rules: Vec<String> = list("rules").iter().filter_map(rule).collect();
            format!("always allow {}", rules.join(", "))
        }
        "setMode" => format!("use the permission mode {}", text(suggestion, "mode")?),
        "addDirectories" => {
            let folders: Vec<String> =
                list("directories").iter().filter_map(|folder| folder.as_str().map(str::to_owned)).collect();
            format!("allow the folder {}", folders.join(", "))
        }
        _ => return None,
    };
    let kept = match text(suggestion, "destination").as_deref() {
        Some("userSettings") => " (kept for this user)",
        Some("projectSettings" | "localSettings") => " (kept for this project)",
        _ => " (in this session)",
    };
    Some(clean(&format!("{what}{kept}")).into_owned())
}

/// What is shown.
pub(super) fn text(ask: &PermissionRequest, choices: &[Choice], style: Style) -> String {
    let mut text = match ask.tool_name.as_str() {
        "ExitPlanMode" => heading("This is the plan. Carry it out?", style),
        tool => heading(&format!("May it use {tool}?"), style),
    };
    for line in body(ask, style) {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "  {line}");
    }
    if let Some(reason) = &ask.reason {
        let _ = writeln!(text, "  {}", style.faint(&clean(reason)));
    }
    if let Some(path) = &ask.blocked_path {
        let _ = writeln!(text, "  {}", style.careful(&format!("because of {}", clean(path))));
    }
    for (number, choice) in choices.iter().enumerate() {
        let _ = writeln!(text, "  {} {}", style.accent(&(number + 1).to_string()), choice.label);
    }
    let _ = writeln!(text, "{}", style.faint("A number, or `no, because …` to tell the model why."));
    text
}

/// What the call would do. Everything that matters is shown, above all the whole command.
fn body(ask: &PermissionRequest, style: Style) -> Vec<String> {
    let member = |name: &str| ask.input.get(name).and_then(Value::as_str);
    let mut lines = Vec::new();
    let mut add = |text: &str| lines.extend(clean(text).lines().map(str::to_owned));
    if let Some(path) = member("file_path").or_else(|| member("notebook_path")) {
        add(path);
    }
    let known = ["command", "url", "query", "pattern", "path", "plan"];
    known.iter().filter_map(|name| member(name)).for_each(&mut add);
    if lines.is_empty() {
        // An unknown tool: all of its arguments.
        let all = serde_json::to_string_pretty(&ask.input).unwrap_or_default();
        lines.extend(clean(&all).lines().map(str::to_owned));
    }
    if let Some(about) = ask.description.as_deref().or_else(|| member("description")) {
        let about = clean(about).replace('\n', " ");
        if !lines.contains(&about) {
            lines.push(style.faint(&about));
        }
    }
    let signed = |sign: char, name: &str| -> String {
        member(name).unwrap_or_default().lines().map(|line| format!("{sign}{line}\n")).collect()
    };
    let change = [signed('-', "old_string"), signed('+', "new_string"), signed('+', "content")].concat();
    let left = MOST_LINES.saturating_sub(lines.len()).max(10);
    if lines.len() > MOST_LINES {
        let more = lines.len() - MOST_LINES;
        lines.truncate(MOST_LINES);
        lines.push(style.careful(&format!("… and {more} more lines, which are not shown")));
    }
    lines.extend(coloured(&format!("@@\n{change}"), left, style).into_iter().skip(1));
    lines
}

/// What an answer means; nothing where it means nothing.
pub(super) fn meaning<'a>(answer: &str, choices: &'a [Choice]) -> Option<Answer<'a>> {
    let answer = answer.trim();
    let at = |place: usize| choices.get(place).map(|choice| Answer::Choice(&choice.decision));
    let lower = answer.to_lowercase();
    if let Ok(number) = answer.parse::<usize>() {
        return number.checked_sub(1).and_then(at);
    }
    match lower.as_str() {
        "y" | "yes" => at(0),
        "a" | "always" if choices.len() > 2 => at(1),
        "n" | "no" => at(choices.len().saturating_sub(1)),
        _ => {
            let why = answer.get(2..).filter(|_| lower.starts_with("no"))?;
            let why = why.strip_prefix([' ', ',', ':', ';', '.'])?.trim();
            Some(Answer::No(format!("The user said no: {why}")))
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn ask(tool: &str, input: Value, suggestions: Vec<Value>) -> PermissionRequest {
        PermissionRequest {
            id: "r".into(),
            tool_name: tool.to_owned(),
            input,
            tool_use_id: None,
            description: None,
            reason: None,
            blocked_path: None,
            suggestions,
        }
    }

    fn shown(ask: &PermissionRequest) -> String {
        text(ask, &choices(ask), Style::plain())
    }

    #[test]
    fn a_command_is_shown_whole_and_cannot_hide_anything() {
        let text =
            shown(&ask("Bash", json!({"command": "ls\nrm -rf \u{1b}[8mx", "description": "List"}), vec![]));
        assert!(text.contains("May it use Bash?\n  ls\n  rm -rf ␛[8mx\n  List\n  1 Yes\n  2 No\n"), "{text}");
    }

    #[test]
    fn an_edit_is_shown_as_a_difference() {
        let input = json!({"file_path": "/a.rs", "old_string": "one\ntwo", "new_string": "three"});
        let text = shown(&ask("Edit", input, vec![]));
        assert!(text.contains("  /a.rs\n  -one\n  -two\n  +three\n"), "{text}");
    }

    #[test]
    fn what_is_not_shown_is_said() {
        let text = shown(&ask("Bash", json!({"command": "x\n".repeat(100)}), vec![]));
        assert!(text.contains("40 more lines, which are not shown"), "{text}");
    }

    #[test]
    fn an_unknown_tool_is_shown_with_all_of_its_arguments() {
        let text = shown(&ask("mcp__x__y", json!({"a": 1, "b": {"c": "d"}}), vec![]));
        assert!(text.contains("\"a\": 1") && text.contains("\"c\": \"d\""), "{text}");
    }

    #[test]
    fn suggestions_are_a_choice_in_words() {
        let rule = json!({"type": "addRules", "rules": [{"toolName": "Bash", "ruleContent": "git:*"}],
            "behavior": "allow", "destination": "localSettings"});
        let ask = ask("Bash", json!({"command": "git log"}), vec![rule]);
        let text = shown(&ask);
        assert!(
            text.contains("2 Yes, and always allow Bash(git:*) (kept for this project)\n  3 No"),
            "{text}"
        );
        let choices = choices(&ask);
        let Some(Answer::Choice(Decision::Allow { remember, .. })) = meaning("2", &choices) else { panic!() };
        assert_eq!(remember.len(), 1);
    }

    #[test]
    fn answers() {
        let choices = choices(&ask("Bash", json!({"command": "x"}), vec![]));
        let mean = |answer: &str| meaning(answer, &choices);
        let (yes, no) = (Decision::allow(), Decision::deny("The user said no."));
        for answer in ["1", " y ", "Yes"] {
            assert_eq!(mean(answer), Some(Answer::Choice(&yes)), "{answer}");
        }
        for answer in ["2", "n", "NO"] {
            assert_eq!(mean(answer), Some(Answer::Choice(&no)), "{answer}");
        }
        assert_eq!(mean("no, use git mv"), Some(Answer::No("The user said no: use git mv".to_owned())));
        for answer in ["", "0", "3", "nope", "maybe", "11", "node"] {
            assert_eq!(mean(answer), None, "{answer}");
        }
    }
}
