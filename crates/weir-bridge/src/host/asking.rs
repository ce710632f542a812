//! Shows the CLI's requests so that a person in a chat can judge them.
//!
//! Pure: values in, values out.

use serde_json::{Map, Value};
use weir_transcript::{PermissionRequest, RequestKind, reveal, reveal_command};
use weir_wire::{FieldKind, FormField, PermissionUpdate};

use crate::engine::{AskKind, Question};

/// Maximum number of characters shown of a text, such as the arguments of a tool.
const MAX_SHOWN: usize = 1_500;

/// The request for a person to answer, or `None` if it is not for a person.
pub(super) fn kind(request: RequestKind) -> Option<AskKind> {
    Some(match request {
        RequestKind::Permission(PermissionRequest {
            tool_name,
            input,
            description,
            reason,
            blocked_path,
            suggestions,
            context,
        }) => {
            let told = description.into_iter().chain(reason);
            let mut details: Vec<String> = told.map(|text| reveal(&text).into_owned()).collect();
            details.extend(
                blocked_path.map(|path| format!("It is outside the allowed folders: {}", code(&path))),
            );
            if let Some(asks) = &context.matched_ask_rule {
                details.push(format!("A rule in the settings requires asking: {}", code(&asks.to_string())));
            }
            if context.classifier_approvable == Some(false) {
                details.push("A safety check requires a person to look at this.".to_owned());
            }
            details.push(arguments(&input));
            let may_remember = !context.suppress_always_allow_rule && !context.default_to_no;
            let rules = suggestions.iter().filter(|_| may_remember).flat_map(PermissionUpdate::allowed_rules);
            let rules: Vec<String> = rules.map(|rule| code(&rule.to_string())).collect();
            let always = (!rules.is_empty()).then(|| format!("{} (for this session)", rules.join(", ")));
            AskKind::Permission {
                tool: reveal(&tool_name).into_owned(),
                details: details.join("\n\n"),
                always,
            }
        }
        RequestKind::Plan { plan, .. } => AskKind::Permission {
            tool: "this plan".to_owned(),
            details: reveal(&plan.unwrap_or_default()).into_owned(),
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
        RequestKind::Elicitation { server, message, url: Some(url), .. } => AskKind::Permission {
            tool: format!("a link from {}", reveal(&server)),
            details: format!(
                "{}\n\n{}\n\nOpen the link yourself; \"Allow\" confirms that you have done so.",
                reveal(&message),
                code(&url)
            ),
            always: None,
        },
        RequestKind::Elicitation { server, message, form: Some(fields), .. } => {
            AskKind::Questions(fields.iter().map(|field| question(&server, &message, field)).collect())
        }
        _ => return None,
    })
}

/// The notice about a request that cannot be answered in a chat.
pub(super) fn other_request(request: &RequestKind) -> Option<String> {
    let RequestKind::Elicitation { server, message, .. } = request else { return None };
    let (server, message) = (fenced(server), fenced(message));
    Some(format!(
        "The MCP server\n\n{server}\n\nasks for something that cannot be answered in a chat:\n\n{message}\n\nUnless it \
         is answered elsewhere, it is refused after some time."
    ))
}

/// A field of a form as a question.
fn question(server: &str, message: &str, field: &FormField) -> Question {
    let about = field.description.as_deref().map(|about| format!(" ({about})")).unwrap_or_default();
    let skip = if field.required { "" } else { ". Reply with - to skip it" };
    let question = format!("{server}: {message} {}{about}{skip}", field.label);
    Question {
        question: reveal(&question).replace('\n', " "),
        options: field.choices().into_iter().map(|label| (label, String::new())).collect(),
        several: matches!(field.kind, FieldKind::Choices { .. }),
    }
}

/// The values of a form, from the answers to its questions in order.
pub(super) fn content(
    fields: &[FormField],
    answers: &[(String, Vec<String>)],
) -> Result<Map<String, Value>, String> {
    let mut content = Map::new();
    for (field, (_, typed)) in fields.iter().zip(answers) {
        if let Some(value) = field.read(typed).map_err(|reason| format!("{}: {reason}", field.label))? {
            content.insert(field.name.clone(), value);
        }
    }
    Ok(content)
}

/// A short text as inline code, with invisible characters revealed.
fn code(text: &str) -> String {
    let text = reveal(text).replace('\n', "␊");
    let longest = text.split(|character| character != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    let gap = if longest > 0 { " " } else { "" };
    format!("{fence}{gap}{text}{gap}{fence}")
}

/// The arguments of a tool, readable for a person: what would be run or written, not its encoding.
fn arguments(input: &Value) -> String {
    let text = |name: &str| input.get(name).and_then(Value::as_str);
    let known = |names: &[&str]| {
        input.as_object().is_some_and(|input| input.keys().all(|name| names.contains(&name.as_str())))
    };
    match (text("file_path"), text("content"), text("old_string"), text("new_string")) {
        _ if text("command").is_some() && known(&["command", "description", "timeout"]) => {
            fenced(text("command").unwrap_or_default())
        }
        (Some(path), Some(content), None, None) if known(&["file_path", "content"]) => {
            format!("Write this to {}, replacing any existing content:\n\n{}", code(path), fenced(content))
        }
        (Some(path), None, Some(old), Some(new))
            if known(&["file_path", "old_string", "new_string", "replace_all"]) =>
        {
            let all = input.get("replace_all").and_then(Value::as_bool).unwrap_or(false);
            let how = if all { "everywhere" } else { "once" };
            format!("In {}, replace {how}:\n\n{}\n\nwith:\n\n{}", code(path), fenced(old), fenced(new))
        }
        // An unknown field could be the one that matters, so show everything.
        _ => fenced(&serde_json::to_string_pretty(input).unwrap_or_default()),
    }
}

/// A text in a code block, shortened if it is long.
fn fenced(text: &str) -> String {
    let text = reveal_command(text);
    let mut shown: String = text.chars().take(MAX_SHOWN).collect();
    if shown.len() < text.len() {
        let more = text.chars().count() - MAX_SHOWN;
        shown = format!("(shortened: {more} more characters)\n{shown}\n(there is more)");
    }
    // The text cannot close a fence that is longer than any in it.
    let longest = text.split(|character| character != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}\n{}\n{fence}", shown.trim_end_matches('\n'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn file_contents_are_shown_as_they_would_be_written() {
        let shown = arguments(&json!({"file_path": "/w/a.py", "content": "print(\"a\")\n"}));
        assert_eq!(
            shown,
            "Write this to `/w/a.py`, replacing any existing content:\n\n```\nprint(\"a\")\n```"
        );
        let change =
            json!({"file_path": "/w/a.py", "old_string": "a", "new_string": "b", "replace_all": true});
        let shown = arguments(&change);
        assert_eq!(shown, "In `/w/a.py`, replace everywhere:\n\n```\na\n```\n\nwith:\n\n```\nb\n```");
        assert_eq!(arguments(&json!({"command": "ls"})), "```\nls\n```");
    }

    #[test]
    fn invisible_characters_in_details_are_revealed() {
        let request = RequestKind::Permission(PermissionRequest {
            tool_name: "Write".to_owned(),
            input: json!({"file_path": "/w/\u{202e}a", "content": "x"}),
            description: Some("a \u{200b}file".to_owned()),
            blocked_path: Some("/w/\u{202e}a".to_owned()),
            ..PermissionRequest::default()
        });
        let Some(AskKind::Permission { details, .. }) = kind(request) else { panic!("not a permission") };
        assert!(!details.contains(['\u{202e}', '\u{200b}']), "{details}");
        assert!(details.starts_with("a ⟨U+200B⟩file") && details.contains("/w/⟨U+202E⟩a"), "{details}");
    }

    #[test]
    fn invisible_characters_in_a_command_are_revealed() {
        let turned = arguments(&json!({"command": "echo \u{202e}fr- mr\u{200b}\r"}));
        assert!(!turned.contains(['\u{202e}', '\u{200b}', '\r']), "{turned}");
        assert!(turned.contains("⟨U+202E⟩fr- mr⟨U+200B⟩"), "{turned}");
        let far = arguments(&json!({"command": format!("ls{}rm -rf .", "\n".repeat(40))}));
        assert!(far.lines().count() < 10 && far.contains("rm -rf ."), "{far}");
        assert_eq!(arguments(&json!({"command": "a\tb\n\nc"})), "```\na\tb\n\nc\n```");
    }

    #[test]
    fn unknown_arguments_are_shown() {
        let shown = arguments(&json!({"file_path": "/w/a", "content": "x", "mode": "0777"}));
        assert!(shown.contains("\"mode\": \"0777\""), "{shown}");
        let long = "x".repeat(2_000);
        assert!(arguments(&json!({"command": long})).contains("(there is more)"));
        let switch = arguments(&json!({"command": "ls", "dangerouslyDisableSandbox": true}));
        assert!(switch.contains("dangerouslyDisableSandbox"), "{switch}");
        let turned = arguments(&json!({"command": "cat \u{202e}x\u{200b}\n\n\n\n\nrm y"}));
        assert_eq!(turned, "```\ncat ⟨U+202E⟩x⟨U+200B⟩\n⟨4 blank lines⟩\nrm y\n```");
        let fence = arguments(&json!({"command": "echo ```"}));
        assert!(fence.starts_with("````\n"), "{fence}");
    }

    #[test]
    fn rules_that_the_cli_suppresses_are_not_offered() {
        let ask = |context: Value| {
            let request = json!({"kind": "permission", "tool_name": "Bash", "input": {"command": "ls"},
                "suggestions": [{"type": "addRules", "behavior": "allow", "destination": "userSettings",
                    "rules": [{"toolName": "Bash", "ruleContent": "ls:*"}]}], "context": context});
            match kind(serde_json::from_value(request).unwrap()) {
                Some(AskKind::Permission { always, details, .. }) => (always, details),
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(ask(json!({})).0.as_deref(), Some("`Bash(ls:*)` (for this session)"));
        let (always, details) = ask(
            json!({"suppress_always_allow_rule": true, "classifier_approvable": false,
            "matched_ask_rule": {"source": "userSettings", "tool_name": "Bash", "rule_content": "l\u{202e}s"}}),
        );
        assert_eq!(always, None);
        assert!(details.contains("safety check") && details.contains("`Bash(l⟨U+202E⟩s)`"), "{details}");
    }

    #[test]
    fn a_form_of_a_server_is_asked_field_by_field() {
        let request = json!({"kind": "elicitation", "server": "shop", "message": "Your order", "form": [
            {"name": "size", "label": "Size", "required": true, "kind": {"type": "choice",
                "options": [{"value": "s", "label": "Small"}, {"value": "l", "label": "Large"}]}},
            {"name": "count", "label": "Count", "required": false,
                "kind": {"type": "number", "integer": true, "minimum": 1.0, "maximum": null}},
        ]});
        let request: RequestKind = serde_json::from_value(request).unwrap();
        let RequestKind::Elicitation { form: Some(fields), .. } = request.clone() else { panic!() };
        let Some(AskKind::Questions(questions)) = kind(request) else { panic!() };
        assert_eq!(questions[0].question, "shop: Your order Size");
        assert_eq!(questions[0].options, [("Small".into(), String::new()), ("Large".into(), String::new())]);
        assert!(questions[1].question.ends_with("Count. Reply with - to skip it"));
        let answered = |size: &str, count: &str| {
            let answers = [size, count].map(|word| (String::new(), vec![word.to_owned()]));
            content(&fields, &answers).map(Value::Object)
        };
        assert_eq!(answered("Large", "2"), Ok(json!({"size": "l", "count": 2})));
        assert_eq!(answered("Small", "-"), Ok(json!({"size": "s"})));
        assert!(answered("Huge", "-").is_err() && answered("Small", "0").is_err());
        let link = json!({"kind": "elicitation", "server": "shop", "message": "Sign in", "url": "https://a.b/\u{202e}"});
        let Some(AskKind::Permission { details, always: None, .. }) =
            kind(serde_json::from_value(link).unwrap())
        else {
            panic!()
        };
        assert!(details.contains("`https://a.b/⟨U+202E⟩`"), "{details}");
    }
}
