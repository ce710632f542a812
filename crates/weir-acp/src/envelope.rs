//! What a message says about itself, for those who pass messages on without knowing what they mean.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// The outside of a message. Whatever the inside is, the outside can be read: a request with parameters of a wrong shape is
/// a request still, and its sender waits for an answer.
#[derive(Deserialize)]
pub(crate) struct Envelope<'a> {
    #[serde(default)]
    pub(crate) id: Value,
    #[serde(default)]
    method: Value,
    #[serde(borrow, default)]
    params: Option<&'a RawValue>,
    #[serde(borrow, default)]
    result: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

/// What some messages hold.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Inside<'a> {
    #[serde(borrow)]
    session_id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    update: Option<&'a RawValue>,
    #[serde(borrow)]
    session_update: Option<Cow<'a, str>>,
    #[serde(borrow)]
    message: Option<Cow<'a, str>>,
}

/// Nothing if it has another shape.
fn inside(raw: Option<&RawValue>) -> Inside<'_> {
    raw.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default()
}

impl<'a> Envelope<'a> {
    /// None if the line is not a message at all.
    pub(crate) fn of(line: &'a str) -> Option<Self> {
        // A list would be taken for the members in their order.
        serde_json::from_str(line).ok().filter(|_| line.trim_start().starts_with('{'))
    }

    /// The method of a request or a notification.
    pub(crate) fn method(&self) -> Option<&str> {
        self.method.as_str()
    }

    /// Whether its sender waits for an answer.
    pub(crate) fn is_request(&self) -> bool {
        self.method().is_some() && !self.id.is_null()
    }

    /// The id as text, so that it can be compared and is not mistaken for one of another type.
    pub(crate) fn key(&self) -> Option<String> {
        (!self.id.is_null()).then(|| self.id.to_string())
    }

    /// Why it refuses, if it does.
    pub(crate) fn refusal(&self) -> Option<String> {
        self.error.map(|error| inside(Some(error)).message.unwrap_or_default().into_owned())
    }

    /// The session that a request or a notification is about.
    pub(crate) fn session(&self) -> Option<String> {
        self.method()?;
        inside(self.params).session_id.map(Cow::into_owned)
    }

    /// The session that this message of an agent opens: a new one, or a sub-agent's.
    pub(crate) fn opened(&self) -> Option<String> {
        let opened = if self.method().is_some() {
            let update = inside(inside(self.params).update);
            update.session_id.filter(|_| update.session_update.as_deref() == Some("subagent_update"))
        } else {
            inside(self.result).session_id
        };
        opened.map(Cow::into_owned)
    }
}

/// The code of an error inside of the one who passes messages on.
pub(crate) const INTERNAL: i32 = -32603;

/// The code of parameters that cannot be used.
pub(crate) const INVALID_PARAMS: i32 = -32602;

/// The error for the request with this id.
pub(crate) fn failure(id: &Value, reason: &str) -> String {
    error(id, INTERNAL, reason)
}

fn error(id: &Value, code: i32, reason: &str) -> String {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": reason}}).to_string()
}

/// The answer to a line that cannot be passed on, with this code if it is a request; none for what has no answer.
pub(crate) fn answer(line: &str, code: i32, reason: &str) -> Option<String> {
    let Some(envelope) = Envelope::of(line) else {
        let code = if serde_json::from_str::<&RawValue>(line).is_ok() { -32600 } else { -32700 };
        return Some(error(&Value::Null, code, reason));
    };
    if envelope.is_request() {
        return Some(error(&envelope.id, code, reason));
    }
    let has_no_answer = envelope.method().is_some() || envelope.result.is_some() || envelope.error.is_some();
    (!has_no_answer).then(|| error(&envelope.id, -32600, reason))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_outside_is_read_whatever_the_inside_is() {
        for params in ["[]", "7", "{\"sessionId\": 7}", "null", "{\"update\": []}"] {
            let line = format!(r#"{{"jsonrpc":"2.0","id":"a","method":"x","params":{params}}}"#);
            let envelope = Envelope::of(&line).unwrap();
            assert!(envelope.is_request() && envelope.key().as_deref() == Some("\"a\""), "{params}");
            assert_eq!((envelope.session(), envelope.opened()), (None, None), "{params}");
        }
        let line = r#"{"id":1,"method":"session/prompt","params":{"sessionId":"a\u0062","prompt":[]}}"#;
        assert_eq!(Envelope::of(line).unwrap().session().as_deref(), Some("ab"));
    }

    #[test]
    fn sessions_are_opened_by_results_and_by_sub_agents() {
        let opened = |line: &str| Envelope::of(line).unwrap().opened();
        assert_eq!(opened(r#"{"id":1,"result":{"sessionId":"s"}}"#).as_deref(), Some("s"));
        let update = |kind: &str| {
            let update = json!({"sessionUpdate": kind, "sessionId": "s.a"});
            json!({"method": "session/update", "params": {"sessionId": "s", "update": update}}).to_string()
        };
        assert_eq!(opened(&update("subagent_update")).as_deref(), Some("s.a"));
        assert_eq!(opened(&update("notice")), None);
    }

    #[test]
    fn whoever_waits_gets_an_answer_and_nobody_else() {
        let code = |line: &str| {
            let answer: Value = serde_json::from_str(&answer(line, INTERNAL, "no")?).unwrap();
            Some((answer["id"].clone(), answer["error"]["code"].as_i64().unwrap()))
        };
        assert_eq!(code(r#"{"id":"a","method":"x","params":[]}"#), Some((json!("a"), -32603)));
        assert_eq!(code(r#"{"id":4,"method":7}"#), Some((json!(4), -32600)));
        assert_eq!(code("{}"), Some((Value::Null, -32600)));
        assert_eq!(code("[]"), Some((Value::Null, -32600)));
        assert_eq!(code(r#"[7,"x"]"#), Some((Value::Null, -32600)));
        assert_eq!(code("{not json"), Some((Value::Null, -32700)));
        for silent in [r#"{"method":"x"}"#, r#"{"id":1,"result":{}}"#, r#"{"id":1,"error":{}}"#] {
            assert_eq!(code(silent), None, "{silent}");
        }
    }
}
