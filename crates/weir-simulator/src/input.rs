//! Parses lines of standard input. Pure; the reader acts on the result.

use super::profile::Profile;
use super::queue::UserMessage;
use crate::json::{Json, parse};

/// A line of input.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Input {
    /// A user message.
    Message(UserMessage),
    /// A request from the host.
    Request(Json),
    /// The host's response to one of our requests.
    Response(Json),
    /// Nothing to do.
    Ignored,
    /// The process ends with this message on standard error.
    Fatal(String),
}

/// Parses a line as the imitated version does.
pub(crate) fn read(line: &str, profile: &Profile) -> Input {
    let old = profile.is_old();
    if line.trim().is_empty() && !old {
        return Input::Ignored;
    }
    let Ok(value) = parse(line) else {
        let text = if old {
            format!("Error parsing streaming input line: {line}: SyntaxError: {}", javascript_error(line))
        } else {
            format!(
                "Error parsing streaming input line (type=unknown, {} chars): SyntaxError",
                line.chars().count()
            )
        };
        return Input::Fatal(text);
    };
    match value.str_of("type") {
        Some("user") => message(&value, line, old),
        Some("control_request") => Input::Request(value),
        Some("control_response") => Input::Response(value),
        Some("control_cancel_request" | "keep_alive" | "update_environment_variables") => Input::Ignored,
        other if old => {
            let got = other.unwrap_or("undefined");
            Input::Fatal(format!("Error: Expected message type 'user' or 'control', got '{got}'"))
        }
        _ => Input::Ignored,
    }
}

/// JavaScript's error message for text that is not JSON, for the cases that matter.
fn javascript_error(line: &str) -> String {
    if line.trim().is_empty() {
        return "Unexpected end of JSON input".to_owned();
    }
    if line.strip_prefix('{').is_some_and(|rest| !rest.starts_with(['"', '}', ' '])) {
        return "Expected property name or '}' in JSON at position 1".to_owned();
    }
    // A word that begins like a literal is read up to the first character that differs.
    let literal =
        ["true", "false", "null"].into_iter().find(|word| word.get(..1) == line.get(..1)).unwrap_or_default();
    let same = line.chars().zip(literal.chars()).take_while(|(letter, wanted)| letter == wanted).count();
    let token = line.chars().nth(same).unwrap_or(' ');
    format!("Unexpected token '{token}', \"{line}\" is not valid JSON")
}

fn message(value: &Json, line: &str, old: bool) -> Input {
    let role = value.at(&["message", "role"]).and_then(Json::as_str);
    match role {
        Some("user") => {
            let content = value.at(&["message", "content"]).cloned().unwrap_or(Json::Null);
            let is_composed = !old && value.is_true("client_composed");
            Input::Message(UserMessage {
                uuid: value.str_of("uuid").map(str::to_owned),
                content,
                is_composed,
                is_note: !old && matches!(value.get("shouldQuery"), Some(Json::Bool(false))),
            })
        }
        None if old && value.get("message").is_none() => Input::Fatal(format!(
            "Error parsing streaming input line: {line}: TypeError: Cannot read properties of undefined (reading 'role')"
        )),
        other => Input::Fatal(format!(
            "Error: Expected message role 'user', got '{}'",
            other.unwrap_or("undefined")
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn new(line: &str) -> Input {
        read(line, &Profile::of("2.1.325"))
    }

    fn old(line: &str) -> Input {
        read(line, &Profile::of("2.1.9"))
    }

    #[test]
    fn messages_are_accepted_in_the_long_and_the_short_form() {
        let message = UserMessage {
            uuid: Some("u".into()),
            content: Json::from("hi"),
            is_composed: false,
            is_note: false,
        };
        let long = r#"{"type":"user","message":{"role":"user","content":"hi"},"session_id":"default","parent_tool_use_id":null,"uuid":"u"}"#;
        assert_eq!(new(long), Input::Message(message.clone()));
        assert_eq!(
            old(r#"{"uuid":"u","message":{"content":"hi","role":"user"},"type":"user"}"#),
            Input::Message(message)
        );
    }

    #[test]
    fn odd_lines_have_their_outcomes() {
        assert_eq!(
            new(r#"{"type":"user","content":"x"}"#),
            Input::Fatal("Error: Expected message role 'user', got 'undefined'".into())
        );
        assert_eq!(new(r#"{"type":"user_message","content":"x"}"#), Input::Ignored);
        assert_eq!(
            old(r#"{"type":"user_message","content":"x"}"#),
            Input::Fatal("Error: Expected message type 'user' or 'control', got 'user_message'".into())
        );
        assert_eq!(
            new("{not json"),
            Input::Fatal("Error parsing streaming input line (type=unknown, 9 chars): SyntaxError".into())
        );
        assert_eq!(new(""), Input::Ignored);
        assert!(matches!(old(""), Input::Fatal(_)), "the older version dies of an empty line");
        assert_eq!(new("[1]"), Input::Ignored);
    }
}
