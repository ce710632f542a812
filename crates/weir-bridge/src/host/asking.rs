//! What the CLI asks, as a person in a chat can judge it.
//!
//! Pure: values in, values out.

use serde_json::Value;
use weir_transcript::RequestKind;

use crate::engine::{AskKind, Question};

/// Most characters of a tool's arguments that are shown.
const MOST: usize = 1_500;
/// Empty lines in a row that are shown.
const MAX_EMPTY_LINES: usize = 2;

/// What is asked; nothing where it is not for a person.
pub(super) fn kind(request: RequestKind) -> Option<AskKind> {
    Some(match request {
        RequestKind::Permission { tool_name, input, description, reason, blocked_path, suggestions } => {
            let mut details: Vec<String> =
                description.into_iter().chain(reason).map(|text| visible(&text)).collect();
            let path = blocked_path.map(|path| visible(&path));
            details.extend(path.map(|path| format!("It is outside the allowed folders: `{path}`")));
            details.push(arguments(&input));
            let rules: Vec<String> = suggestions.iter().filter_map(rule_in_words).collect();
            let always = (!rules.is_empty()).then(|| rules.join(", "));
            AskKind::Permission { tool: visible(&tool_name), details: details.join("\n\n"), always }
        }
        RequestKind::Plan { plan, .. } => AskKind::Permission {
            tool: "this plan".to_owned(),
            details: visible(&plan.unwrap_or_default()),
            always: None,
        },
        RequestKind::Question { questions, .. } => AskKind::Questions(
            questions
                .into_iter()
                .map(|question| Question {
                    options: question
                        .options
                        .into_iter()
                        .flatten()
                        .map(|option| (option.label, option.description.unwrap_or_default()))
                        .collect(),
                    several: question.multi_select.unwrap_or(false),
                    question: question.question,
                })
                .collect(),
        ),
        _ => return None,
    })
}

/// What is said of a request that cannot be answered in a chat.
pub(super) fn other_request(request: &RequestKind) -> Option<String> {
    let RequestKind::Elicitation { server, message } = request else { return None };
    let (server, message) = (fenced(server), fenced(message));
    Some(format!(
        "The MCP server\n\n{server}\n\nasks for something that cannot be answered in a chat:\n\n{message}\n\nUnless it is answered elsewhere, it is refused after a while."
    ))
}

/// A rule that allows something, in words. Other suggestions, such as another permission mode, reach too far for a
/// button in a chat.
pub(super) fn rule_in_words(suggestion: &Value) -> Option<String> {
    let text = |value: &Value, name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
    let adds = suggestion.get("type").and_then(Value::as_str) == Some("addRules");
    let allows = suggestion.get("behavior").and_then(Value::as_str) == Some("allow");
    let rules = suggestion.get("rules").and_then(Value::as_array).filter(|_| adds && allows)?;
    let words: Option<Vec<String>> = rules
        .iter()
        .map(|rule| {
            let tool = text(rule, "toolName")?;
            Some(
                text(rule, "ruleContent")
                    .map_or_else(|| format!("`{tool}`"), |content| format!("`{tool}({content})`")),
            )
        })
        .collect();
    words.filter(|words| !words.is_empty()).map(|words| words.join(", "))
}

/// A rule that holds until the session ends. The CLI suggests to write rules into settings of the project or of the
/// user, and those belong to the owner.
pub(super) fn for_session(suggestion: &Value) -> Value {
    let mut rule = suggestion.clone();
    if let Some(rule) = rule.as_object_mut() {
        rule.insert("destination".to_owned(), Value::from("session"));
    }
    rule
}

/// The arguments of a tool, as a person can judge them: what would be run or written, and not how it is encoded.
fn arguments(input: &Value) -> String {
    let text = |name: &str| input.get(name).and_then(Value::as_str);
    if let Some(command) = text("command") {
        return fenced(command);
    }
    let known = |names: &[&str]| {
        input.as_object().is_some_and(|input| input.keys().all(|name| names.contains(&name.as_str())))
    };
    match (text("file_path"), text("content"), text("old_string"), text("new_string")) {
        (Some(path), Some(content), None, None) if known(&["file_path", "content"]) => {
            format!("`{}` gets this content:\n\n{}", visible(path), fenced(content))
        }
        (Some(path), None, Some(old), Some(new))
            if known(&["file_path", "old_string", "new_string", "replace_all"]) =>
        {
            let all = input.get("replace_all").and_then(Value::as_bool).unwrap_or(false);
            let how = if all { "everywhere" } else { "once" };
            let (path, old, new) = (visible(path), fenced(old), fenced(new));
            format!("In `{path}`, {how}, this:\n\n{old}\n\nbecomes this:\n\n{new}")
        }
        _ => fenced(&serde_json::to_string_pretty(input).unwrap_or_default()),
    }
}

/// A text in which nothing hides: characters that are not seen, or that turn others around, are named, and a gap is as
/// long as it has to be.
fn visible(text: &str) -> String {
    let mut shown = String::new();
    let mut empty = 0;
    for line in text.split_inclusive('\n') {
        if line.trim().is_empty() && line.ends_with('\n') {
            empty += 1;
            if empty <= MAX_EMPTY_LINES {
                shown.push('\n');
            }
            continue;
        }
        if empty > MAX_EMPTY_LINES {
            shown.push_str(&format!("({} more empty lines)\n", empty - MAX_EMPTY_LINES));
        }
        empty = 0;
        for character in line.chars() {
            match character {
                '\u{ad}'
                | '\u{61c}'
                | '\u{180e}'
                | '\u{200b}'..='\u{200f}'
                | '\u{202a}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{feff}' => {
                    shown.push_str(&format!("<U+{:04X}>", u32::from(character)));
                }
                '\n' | '\t' => shown.push(character),
                hidden if hidden.is_control() => shown.push_str(&format!("<U+{:04X}>", u32::from(hidden))),
                other => shown.push(other),
            }
        }
    }
    shown
}

/// A text in a code block, shortened if it is long.
fn fenced(text: &str) -> String {
    let text = &visible(text);
    let mut shown: String = text.chars().take(MOST).collect();
    if shown.len() < text.len() {
        shown.push_str("\n(there is more)");
    }
    // A fence that is longer than any in the text cannot be closed by it.
    let longest = text.split(|character| character != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}\n{}\n{fence}", shown.trim_end_matches('\n'))
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use weir_transcript::RequestKind;

    use super::{arguments, for_session, kind};
    use crate::engine::AskKind;

    #[test]
    fn what_would_be_written_is_shown_as_it_would_be() {
        let shown = arguments(&json!({"file_path": "/w/a.py", "content": "print(\"a\")\n"}));
        assert_eq!(shown, "`/w/a.py` gets this content:\n\n```\nprint(\"a\")\n```");
        let change =
            json!({"file_path": "/w/a.py", "old_string": "a", "new_string": "b", "replace_all": true});
        let shown = arguments(&change);
        assert_eq!(shown, "In `/w/a.py`, everywhere, this:\n\n```\na\n```\n\nbecomes this:\n\n```\nb\n```");
        assert_eq!(arguments(&json!({"command": "ls"})), "```\nls\n```");
    }

    #[test]
    fn nothing_hides_beside_a_command() {
        let request = RequestKind::Permission {
            tool_name: "Write".to_owned(),
            input: json!({"file_path": "/w/\u{202e}a", "content": "x"}),
            description: Some("a \u{200b}file".to_owned()),
            reason: None,
            blocked_path: Some("/w/\u{202e}a".to_owned()),
            suggestions: Vec::new(),
        };
        let Some(AskKind::Permission { details, .. }) = kind(request) else { panic!("it is a permission") };
        assert!(!details.contains(['\u{202e}', '\u{200b}']), "{details}");
        assert!(details.starts_with("a <U+200B>file") && details.contains("`/w/<U+202E>a`"), "{details}");
    }

    #[test]
    fn nothing_hides_in_a_command() {
        let turned = arguments(&json!({"command": "echo \u{202e}fr- mr\u{200b}\r"}));
        assert_eq!(turned, "```\necho <U+202E>fr- mr<U+200B><U+000D>\n```");
        let far = arguments(&json!({"command": format!("ls{}rm -rf .", "\n".repeat(40))}));
        assert_eq!(far, "```\nls\n\n\n(37 more empty lines)\nrm -rf .\n```");
        assert_eq!(arguments(&json!({"command": "a\tb\n\nc"})), "```\na\tb\n\nc\n```");
    }

    #[test]
    fn a_chat_writes_no_settings() {
        for destination in ["userSettings", "projectSettings", "localSettings", "session"] {
            let rules = json!([{"toolName": "Bash", "ruleContent": "ls"}]);
            let suggested =
                json!({"type": "addRules", "behavior": "allow", "rules": rules, "destination": destination});
            let rule = for_session(&suggested);
            assert_eq!((&rule["destination"], &rule["rules"]), (&json!("session"), &rules));
        }
    }

    #[test]
    fn nothing_is_hidden_that_is_not_understood() {
        let shown = arguments(&json!({"file_path": "/w/a", "content": "x", "mode": "0777"}));
        assert!(shown.contains("\"mode\": \"0777\""), "{shown}");
        let long = "x".repeat(2_000);
        assert!(arguments(&json!({"command": long})).contains("(there is more)"));
        let fence = arguments(&json!({"command": "echo ```"}));
        assert!(fence.starts_with("````\n"), "{fence}");
    }
}
