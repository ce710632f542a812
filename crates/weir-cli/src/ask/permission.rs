//! Permission requests: renders them and their choices, and parses answers. No IO.

use std::fmt::Write as _;

use serde_json::Value;
use weir_session::Decision;
use weir_transcript::{FileEffect, FilePreview, PermissionRequest, reveal, reveal_command};
use weir_wire::{PermissionUpdate, RuleDestination};

use super::heading;
use crate::screen::{Style, coloured, plural};

/// Maximum number of lines shown of a change. A command is always shown in full.
const MAX_LINES: usize = 60;

/// Members whose values are shown without a name; all others are shown with their names.
const KNOWN: [&str; 6] = ["command", "url", "query", "pattern", "path", "plan"];
/// Members that the preview of a file shows.
const OF_FILES: [&str; 7] =
    ["file_path", "notebook_path", "content", "old_string", "new_string", "new_source", "edits"];

/// A numbered choice.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Choice {
    label: String,
    decision: Decision,
}

/// What an answer means.
#[derive(Debug, PartialEq)]
pub(super) enum Answer<'a> {
    Choice(&'a Decision),
    /// No, with the reason for the model.
    No(String),
}

/// The choices, in order; the last one is always "no".
pub(super) fn choices(ask: &PermissionRequest) -> Vec<Choice> {
    let choice = |label: &str, decision: Decision| Choice { label: label.to_owned(), decision };
    let no = Decision::deny("The user said no.");
    if ask.tool_name == "ExitPlanMode" {
        // The mode is always set: otherwise the CLI returns to the mode before the plan.
        let with = |mode: &str| Decision::Allow {
            input: None,
            remember: vec![PermissionUpdate::set_mode(mode, RuleDestination::Session)],
        };
        return vec![
            choice("Yes, and ask before each edit", with("default")),
            choice("Yes, and accept edits", with("acceptEdits")),
            choice("No, keep planning", no),
        ];
    }
    let mut choices = vec![choice("Yes", Decision::allow())];
    let may_remember = !ask.context.suppress_always_allow_rule;
    // One choice for each: they differ widely in scope.
    for suggestion in ask.suggestions.iter().filter(|update| may_remember && update.allows_calls()) {
        let destination = suggestion.destination().unwrap_or(RuleDestination::Session);
        let label = format!("Yes, and {} ({})", suggestion.describe(), destination.describe());
        let decision = Decision::Allow { input: None, remember: vec![suggestion.stored_in(destination)] };
        choices.push(choice(&reveal(&label).replace('\n', "␊"), decision));
    }
    choices.push(choice("No", no));
    choices
}

/// The text to show.
pub(super) fn text(
    ask: &PermissionRequest,
    preview: Option<&FilePreview>,
    choices: &[Choice],
    style: Style,
) -> String {
    let mut text = match ask.tool_name.as_str() {
        "ExitPlanMode" => heading("This is the plan. Carry it out?", style),
        tool => heading(&reveal(&format!("Allow {tool}?")), style),
    };
    for line in body(ask, preview, style).into_iter().chain(reasons(ask, style)) {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "  {line}");
    }
    for (number, choice) in choices.iter().enumerate() {
        let _ = writeln!(text, "  {} {}", style.accent(&(number + 1).to_string()), choice.label);
    }
    let how = if ask.context.default_to_no {
        "Type `yes` to allow it, or `no, because …` to tell the model why."
    } else {
        "A number, or `no, because …` to tell the model why."
    };
    if command(ask).is_some() {
        let _ = writeln!(text, "{}", style.faint("`yes: COMMAND` runs another command instead."));
    }
    let _ = writeln!(text, "{}", style.faint(how));
    text
}

/// The command that a call would run.
fn command(ask: &PermissionRequest) -> Option<&str> {
    ask.input.get("command").and_then(Value::as_str).filter(|_| ask.tool_name == "Bash")
}

/// Allows a command that the person has typed instead of the model's; `None` if the answer has none. The model is told
/// what the command printed, and not that it is another one: the person has seen both.
pub(super) fn other_command(answer: &str, ask: &PermissionRequest) -> Option<Decision> {
    command(ask)?;
    let (word, other) = answer.trim().split_once(':')?;
    let other = other.trim();
    if !word.trim_end().eq_ignore_ascii_case("yes") || other.is_empty() {
        return None;
    }
    let mut input = ask.input.clone();
    input.as_object_mut()?.insert("command".to_owned(), Value::from(other));
    Some(Decision::Allow { input: Some(input), remember: Vec::new() })
}

/// Why the CLI asks.
fn reasons(ask: &PermissionRequest, style: Style) -> Vec<String> {
    let mut lines = Vec::new();
    lines.extend(ask.reason.iter().map(|reason| style.faint(&one_line(reason))));
    if let Some(rule) = &ask.context.matched_ask_rule {
        let from = rule.source.as_deref().unwrap_or("settings");
        lines.push(style.faint(&one_line(&format!("the rule {rule} of {from} asks for this"))));
    }
    if ask.context.classifier_approvable == Some(false) {
        lines.push(style.careful("a safety check wants a person to look at this"));
    }
    lines
        .extend(ask.blocked_path.iter().map(|path| style.careful(&format!("because of {}", one_line(path)))));
    lines
}

fn one_line(text: &str) -> String {
    reveal(text).replace('\n', " ")
}

/// What the call would do. Everything is shown, in particular the whole command.
fn body(ask: &PermissionRequest, preview: Option<&FilePreview>, style: Style) -> Vec<String> {
    let member = |name: &str| ask.input.get(name).and_then(Value::as_str);
    let mut lines = Vec::new();
    if let Some(path) = member("file_path").or_else(|| member("notebook_path")) {
        lines.push(reveal(path).replace('\n', "␊"));
    }
    let known: Vec<String> = KNOWN.iter().filter_map(|name| member(name)).map(reveal_command).collect();
    lines.extend(known.iter().flat_map(|text| text.lines()).map(str::to_owned));
    if let Some(about) = ask.description.as_deref().or_else(|| member("description")) {
        let path = member("file_path").or_else(|| member("notebook_path")).unwrap_or_default();
        let is_known = KNOWN.iter().any(|name| member(name) == Some(about)) || path.ends_with(about);
        if !is_known {
            lines.push(style.faint(&one_line(about)));
        }
    }
    match preview {
        Some(preview) => lines.extend(change(ask, preview, style)),
        None => lines.extend(change_from_arguments(ask, style)),
    }
    if lines.is_empty() {
        // For an unknown tool, show all arguments.
        let all = serde_json::to_string_pretty(&ask.input).unwrap_or_default();
        return reveal(&all).lines().map(str::to_owned).collect();
    }
    // Show every other argument too: any of them could be the one that matters.
    for (name, value) in ask.input.as_object().into_iter().flatten() {
        let is_shown = name == "description"
            || (OF_FILES.contains(&name.as_str()) || KNOWN.contains(&name.as_str())) && value.is_string()
            || (name == "edits" && preview.is_some())
            || (name == "replace_all" && *value == Value::Bool(false));
        if !is_shown {
            let value = serde_json::to_string_pretty(value).unwrap_or_default();
            let all = reveal(&format!("{name}: {value}")).into_owned();
            lines.extend(all.lines().map(str::to_owned));
        }
    }
    lines
}

/// The change to the file.
fn change(ask: &PermissionRequest, preview: &FilePreview, style: Style) -> Vec<String> {
    let mut lines = Vec::new();
    let named = ask.input.get("file_path").or_else(|| ask.input.get("notebook_path"));
    if named.and_then(Value::as_str).is_some_and(|path| path != preview.path) {
        lines.push(style.careful(&format!("a link to {}", one_line(&preview.path))));
    }
    let count = match preview.diff {
        None => "its content is not shown".to_owned(),
        Some(_) => format!(
            "{} added, {} removed",
            plural(u64::from(preview.added), "line"),
            plural(u64::from(preview.removed), "line")
        ),
    };
    lines.push(match preview.effect {
        FileEffect::Creates => style.faint(&format!("a new file: {count}")),
        FileEffect::Edits => style.faint(&count),
        FileEffect::Replaces => style.careful(&format!("this file exists and will be replaced: {count}")),
    });
    match (&preview.diff, &preview.reason) {
        (Some(diff), _) => lines.extend(coloured(&reveal(diff), MAX_LINES, style)),
        (None, reason) => {
            let reason = reason.as_deref().unwrap_or("no reason given");
            lines.push(style.careful(&one_line(reason)));
            lines.extend(change_from_arguments(ask, style));
        }
    }
    lines
}

/// The change as far as the arguments show it.
fn change_from_arguments(ask: &PermissionRequest, style: Style) -> Vec<String> {
    let signed = |sign: char, name: &str| -> String {
        let text = ask.input.get(name).and_then(Value::as_str).unwrap_or_default();
        text.lines().map(|line| format!("{sign}{line}\n")).collect()
    };
    let parts = [('-', "old_string"), ('+', "new_string"), ('+', "content"), ('+', "new_source")];
    let change = parts.map(|(sign, name)| signed(sign, name)).concat();
    coloured(&reveal(&format!("@@\n{change}")), MAX_LINES, style).into_iter().skip(1).collect()
}

/// Parses an answer; `None` if it is not understood.
///
/// If the CLI wants "no" as the default, only the whole word "yes" approves.
pub(super) fn meaning<'a>(answer: &str, choices: &'a [Choice], default_to_no: bool) -> Option<Answer<'a>> {
    let answer = answer.trim();
    let at = |place: usize| choices.get(place).map(|choice| Answer::Choice(&choice.decision));
    let lower = answer.to_lowercase();
    if let Ok(number) = answer.parse::<usize>() {
        let place = number.checked_sub(1)?;
        return at(place).filter(|_| !default_to_no || place + 1 == choices.len());
    }
    match lower.as_str() {
        "yes" => at(0),
        "y" if !default_to_no => at(0),
        "a" | "always" if choices.len() > 2 && !default_to_no => at(1),
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
            tool_name: tool.to_owned(),
            input,
            suggestions: suggestions.into_iter().map(PermissionUpdate::from).collect(),
            ..PermissionRequest::default()
        }
    }

    fn shown(ask: &PermissionRequest) -> String {
        text(ask, None, &choices(ask), Style::plain())
    }

    #[test]
    fn a_command_is_shown_in_full_and_cannot_hide_anything() {
        let text =
            shown(&ask("Bash", json!({"command": "ls\nrm -rf \u{1b}[8mx", "description": "List"}), vec![]));
        assert!(text.contains("Allow Bash?\n  ls\n  rm -rf ␛[8mx\n  List\n  1 Yes\n  2 No\n"), "{text}");
    }

    #[test]
    fn an_edit_is_shown_as_a_difference() {
        let input = json!({"file_path": "/a.rs", "old_string": "one\ntwo", "new_string": "three"});
        let text = shown(&ask("Edit", input, vec![]));
        assert!(text.contains("  /a.rs\n  -one\n  -two\n  +three\n"), "{text}");
    }

    #[test]
    fn a_command_hides_neither_behind_its_length_nor_behind_gaps_nor_behind_directions() {
        let long = shown(&ask("Bash", json!({"command": format!("{}rm -rf x", "x\n".repeat(100))}), vec![]));
        assert!(long.contains("  rm -rf x\n"), "{long}");
        let gap = shown(&ask("Bash", json!({"command": format!("ls{}rm -rf x", "\n".repeat(31))}), vec![]));
        assert!(gap.contains("  ls\n  ⟨30 blank lines⟩\n  rm -rf x\n"), "{gap}");
        let turned = shown(&ask("Bash", json!({"command": "cat \u{202e}txt.a\u{200b}"}), vec![]));
        assert!(turned.contains("  cat ⟨U+202E⟩txt.a⟨U+200B⟩\n"), "{turned}");
        let path = shown(&ask("Write", json!({"file_path": "/a\u{202e}b", "content": "\u{2066}"}), vec![]));
        assert!(path.contains("  /a⟨U+202E⟩b\n") && path.contains("+⟨U+2066⟩"), "{path}");
    }

    #[test]
    fn no_argument_is_left_out() {
        let input = json!({"command": "ls", "dangerouslyDisableSandbox": true});
        let text = shown(&ask("Bash", input, vec![]));
        assert!(text.contains("  ls\n") && text.contains("dangerouslyDisableSandbox: true"), "{text}");
    }

    #[test]
    fn an_overwrite_is_shown_as_one() {
        let input = json!({"file_path": "/w/a", "content": "new\n"});
        let ask = ask("Write", input.clone(), vec![]);
        let shown = |preview: &FilePreview| text(&ask, Some(preview), &choices(&ask), Style::plain());
        let replaced = shown(&FilePreview::of("Write", &input, "/w/a", Some("old\nkept\n")));
        assert!(
            replaced.contains("exists and will be replaced: 1 line added, 2 lines removed"),
            "{replaced}"
        );
        assert!(replaced.contains("  -old\n  -kept\n  +new\n"), "{replaced}");
        let new = shown(&FilePreview::of("Write", &input, "/w/a", None));
        assert!(new.contains("a new file: 1 line added"), "{new}");
        let linked = shown(&FilePreview::of("Write", &input, "/etc/b", Some("x")));
        assert!(linked.contains("a link to /etc/b"), "{linked}");
        let hidden = shown(&FilePreview::hidden("Write", "/w/a", "it is not a regular file"));
        assert!(hidden.contains("will be replaced: its content is not shown"), "{hidden}");
        assert!(hidden.contains("it is not a regular file") && hidden.contains("  +new\n"), "{hidden}");
    }

    #[test]
    fn hints_of_the_cli_about_a_request_are_followed() {
        let rule = json!({"type": "addRules", "rules": [{"toolName": "Bash"}], "behavior": "allow",
            "destination": "session"});
        let mut ask = ask("Bash", json!({"command": "x"}), vec![rule]);
        ask.context.suppress_always_allow_rule = true;
        ask.context.default_to_no = true;
        ask.context.classifier_approvable = Some(false);
        let choices = choices(&ask);
        assert_eq!(choices.len(), 2, "no rule is offered");
        let text = text(&ask, None, &choices, Style::plain());
        assert!(text.contains("Type `yes`") && text.contains("safety check"), "{text}");
        for answer in ["1", "y", "a"] {
            assert_eq!(meaning(answer, &choices, true), None, "{answer}");
        }
        assert_eq!(meaning("yes", &choices, true), Some(Answer::Choice(&Decision::allow())));
        for answer in ["2", "n", "no"] {
            assert!(matches!(meaning(answer, &choices, true), Some(Answer::Choice(Decision::Deny { .. }))));
        }
    }

    #[test]
    fn approving_a_plan_sets_the_mode() {
        let choices = choices(&ask("ExitPlanMode", json!({"plan": "1. do it"}), vec![]));
        let mode = |answer: &str| match meaning(answer, &choices, false) {
            Some(Answer::Choice(Decision::Allow { remember, .. })) => remember[0].mode().map(str::to_owned),
            _ => None,
        };
        assert_eq!((mode("1").as_deref(), mode("yes").as_deref()), (Some("default"), Some("default")));
        assert_eq!((mode("2").as_deref(), mode("3")), (Some("acceptEdits"), None));
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
            text.contains(
                "2 Yes, and always allow Bash(git:*) (stored in .claude/settings.local.json)\n  3 No"
            ),
            "{text}"
        );
        let choices = choices(&ask);
        let Some(Answer::Choice(Decision::Allow { remember, .. })) = meaning("2", &choices, false) else {
            panic!()
        };
        assert_eq!(remember.len(), 1);
    }

    #[test]
    fn another_command_can_be_typed_for_a_shell_and_nothing_else() {
        let bash = ask("Bash", json!({"command": "rm -rf x", "timeout": 5}), vec![]);
        let Some(Decision::Allow { input: Some(input), remember }) = other_command(" Yes: rm x", &bash)
        else {
            panic!()
        };
        assert_eq!((input, remember.len()), (json!({"command": "rm x", "timeout": 5}), 0));
        assert!(shown(&bash).contains("`yes: COMMAND`"));
        for answer in ["yes", "yes:", "no: rm x", "rm: x", "1: rm x"] {
            assert_eq!(other_command(answer, &bash), None, "{answer}");
        }
        let write = ask("Write", json!({"file_path": "/a", "content": "x"}), vec![]);
        assert_eq!(other_command("yes: y", &write), None);
        assert!(!shown(&write).contains("COMMAND"));
    }

    #[test]
    fn answers() {
        let choices = choices(&ask("Bash", json!({"command": "x"}), vec![]));
        let mean = |answer: &str| meaning(answer, &choices, false);
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
