//! Requests: what was asked, and what of it cannot be honoured.

mod content;
mod parameters;

use serde_json::{Map, Value};

pub use parameters::Leniency;

use crate::error::OpenAiError;

/// Which API was called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Endpoint {
    /// `POST /v1/chat/completions`.
    Chat,
    /// `POST /v1/responses`.
    Responses,
}

/// Who says something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// Instructions for the model.
    System,
    /// The user.
    User,
    /// The model.
    Assistant,
}

impl Role {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::User => "user",
            Self::Assistant => "assistant",
        }
    }
}

/// Something that was said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turn {
    /// By whom.
    pub role: Role,
    /// What.
    pub text: String,
    /// The pictures with it.
    pub images: Vec<Image>,
}

/// A picture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    /// Such as `image/png`.
    pub media_type: String,
    /// The bytes of the file.
    pub data: Vec<u8>,
}

/// A request that can be honoured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// Which API was called.
    pub endpoint: Endpoint,
    /// The model.
    pub model: String,
    /// All that was said, oldest first. It ends with what the user says now.
    pub turns: Vec<Turn>,
    /// The reply is to be streamed.
    pub stream: bool,
    /// A streamed reply ends with what was used.
    pub include_usage: bool,
    /// The response that this one continues, by its id.
    pub previous: Option<String>,
    /// What the client wants to find in the response again.
    pub metadata: Map<String, Value>,
}

/// Reads the body of a request.
///
/// # Errors
/// In OpenAI's words what is wrong, with the parameter.
pub fn read(endpoint: Endpoint, body: &[u8], leniency: &Leniency) -> Result<Request, OpenAiError> {
    let body: Value = serde_json::from_slice(body).map_err(|error| OpenAiError {
        param: None,
        ..OpenAiError::invalid("", format!("The body is not JSON: {error}"))
    })?;
    let Value::Object(body) = body else {
        return Err(OpenAiError {
            param: None,
            ..OpenAiError::invalid("", "The body must be a JSON object.")
        });
    };
    parameters::check(endpoint, &body, leniency)?;
    let model = match body.get("model") {
        Some(Value::String(model)) if !model.is_empty() => model.clone(),
        _ => return Err(OpenAiError::invalid("model", "You must provide a model parameter.")),
    };
    let turns = match endpoint {
        Endpoint::Chat => content::messages("messages", body.get("messages"))?,
        Endpoint::Responses => responses_input(&body)?,
    };
    let last = turns.iter().rev().find(|turn| turn.role != Role::System);
    if last.is_none_or(|turn| turn.role != Role::User) {
        let name = if endpoint == Endpoint::Chat { "messages" } else { "input" };
        return Err(OpenAiError::invalid(name, format!("The last of '{name}' must be of the user.")));
    }
    let options = object("stream_options", body.get("stream_options"))?;
    Ok(Request {
        endpoint,
        model,
        turns,
        stream: yes_or_no("stream", body.get("stream"))?,
        include_usage: yes_or_no("stream_options.include_usage", options.get("include_usage"))?,
        previous: text("previous_response_id", body.get("previous_response_id"))?,
        metadata: object("metadata", body.get("metadata"))?,
    })
}

/// A value that must be true or false, and is false where there is none.
fn yes_or_no(name: &str, value: Option<&Value>) -> Result<bool, OpenAiError> {
    match value {
        None | Some(Value::Null) => Ok(false),
        Some(Value::Bool(value)) => Ok(*value),
        Some(_) => Err(OpenAiError::invalid(name, format!("'{name}' must be true or false."))),
    }
}

fn text(name: &str, value: Option<&Value>) -> Result<Option<String>, OpenAiError> {
    match value {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(OpenAiError::invalid(name, format!("'{name}' must be a text."))),
    }
}

fn object(name: &str, value: Option<&Value>) -> Result<Map<String, Value>, OpenAiError> {
    match value {
        None | Some(Value::Null) => Ok(Map::new()),
        Some(Value::Object(object)) => Ok(object.clone()),
        Some(_) => Err(OpenAiError::invalid(name, format!("'{name}' must be an object."))),
    }
}

fn responses_input(body: &Map<String, Value>) -> Result<Vec<Turn>, OpenAiError> {
    let mut turns = Vec::new();
    if let Some(instructions) = text("instructions", body.get("instructions"))? {
        turns.push(Turn { role: Role::System, text: instructions, images: Vec::new() });
    }
    match body.get("input") {
        Some(Value::String(text)) => {
            turns.push(Turn { role: Role::User, text: text.clone(), images: Vec::new() });
        }
        input => turns.extend(content::messages("input", input)?),
    }
    Ok(turns)
}

#[cfg(test)]
mod tests {
    use super::{Endpoint, Leniency, OpenAiError, Request, Role, read};

    fn chat(body: &str) -> Result<Request, OpenAiError> {
        read(Endpoint::Chat, body.as_bytes(), &Leniency::default())
    }

    #[test]
    fn reads_what_clients_send() {
        let request = chat(r#"{"model":"sonnet","stream":true,"stream_options":{"include_usage":true},"temperature":1,"n":1,"user":"u",
            "messages":[{"role":"developer","content":"Be brief."},{"role":"user","content":"Hi"},{"role":"assistant","content":"Hello"},
            {"role":"user","content":[{"type":"text","text":"Look"},{"type":"image_url","image_url":{"url":"data:image/png;base64,aGk="}}]}]}"#).unwrap();
        assert!(request.stream && request.include_usage);
        assert_eq!(request.turns.len(), 4);
        assert_eq!(request.turns[0].role, Role::System);
        assert_eq!(request.turns[3].images[0].data, b"hi");
    }

    #[test]
    fn reads_the_other_form() {
        let body = br#"{"model":"m","instructions":"Be brief.","input":"Hi","store":false}"#;
        let request = read(Endpoint::Responses, body, &Leniency::default()).unwrap();
        assert_eq!(request.turns.len(), 2);
        let body = br#"{"model":"m","input":[{"role":"user","content":[{"type":"input_text","text":"Hi"}]}],"previous_response_id":"resp_1"}"#;
        let request = read(Endpoint::Responses, body, &Leniency::default()).unwrap();
        assert_eq!(request.turns[0].text, "Hi");
        assert_eq!(request.previous.as_deref(), Some("resp_1"));
        // Clients send back all items of a response.
        let body = br#"{"model":"m","input":[{"role":"user","content":"Hi"},{"type":"reasoning","id":"rs_1","summary":[]},
            {"type":"message","role":"assistant","content":[{"type":"output_text","text":"Hello"}]},{"role":"user","content":"Go on"}]}"#;
        assert_eq!(read(Endpoint::Responses, body, &Leniency::default()).unwrap().turns.len(), 3);
    }

    #[test]
    fn refuses_what_it_cannot_honour() {
        let with = |more: &str| {
            chat(&format!(r#"{{"model":"m","messages":[{{"role":"user","content":"x"}}],{more}}}"#))
        };
        for (more, param) in [
            (r#""temperature":0.2"#, "temperature"),
            (r#""tools":[{"type":"function"}]"#, "tools"),
            (r#""n":2"#, "n"),
            (r#""max_tokens":5"#, "max_tokens"),
            (r#""response_format":{"type":"json_object"}"#, "response_format"),
            (r#""stop":["x"]"#, "stop"),
            (r#""stream":"yes""#, "stream"),
            (r#""stream_options":[]"#, "stream_options"),
            (r#""metadata":7"#, "metadata"),
            (r#""service_tier":"priority""#, "service_tier"),
            (r#""frobnicate":1"#, "frobnicate"),
        ] {
            let error = with(more).unwrap_err();
            assert_eq!((error.status, error.param.as_deref()), (400, Some(param)));
        }
        for more in [
            r#""tools":[]"#,
            r#""temperature":null"#,
            r#""response_format":{"type":"text"}"#,
            r#""top_p":1.0"#,
            r#""service_tier":"auto""#,
        ] {
            assert!(with(more).is_ok(), "{more}");
        }
        let lenient = Leniency::ignoring(["temperature"]);
        let body = br#"{"model":"m","messages":[{"role":"user","content":"x"}],"temperature":0.2}"#;
        assert!(read(Endpoint::Chat, body, &lenient).is_ok());
    }

    #[test]
    fn says_what_is_wrong() {
        for (body, param) in [
            ("nonsense", None),
            ("[]", None),
            (r#"{"messages":[]}"#, Some("model")),
            (r#"{"model":"m"}"#, Some("messages")),
            (r#"{"model":"m","messages":[{"role":"user","content":7}]}"#, Some("messages[0].content")),
            (r#"{"model":"m","messages":[{"role":"tool","content":"x"}]}"#, Some("messages[0].role")),
            (r#"{"model":"m","messages":[{"role":"assistant","content":"x"}]}"#, Some("messages")),
            (
                r#"{"model":"m","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"http://e.org/a.png"}}]}]}"#,
                Some("messages[0].content[0].image_url"),
            ),
        ] {
            assert_eq!(chat(body).unwrap_err().param.as_deref(), param, "{body}");
        }
    }
}
