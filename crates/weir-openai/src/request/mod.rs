//! Requests: what the client wants, and which parameters are not supported.

mod content;
mod format;
mod parameters;
mod turn;

use serde_json::{Map, Value};

pub use format::OutputFormat;
pub use parameters::Leniency;
pub use turn::{Image, Part, Role, ToolCall, Turn};

use crate::error::OpenAiError;

/// Which API was called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Endpoint {
    /// `POST /v1/chat/completions`.
    Chat,
    /// `POST /v1/responses`.
    Responses,
}

impl Endpoint {
    pub(crate) fn path(self) -> &'static str {
        match self {
            Self::Chat => "chat/completions",
            Self::Responses => "responses",
        }
    }
}

/// A valid, supported request.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// Which API was called.
    pub endpoint: Endpoint,
    /// The model.
    pub model: String,
    /// All messages, oldest first. The last one is the user's, or the result of a tool.
    pub turns: Vec<Turn>,
    /// Whether the reply is streamed.
    pub stream: bool,
    /// Whether a streamed reply ends with the token usage.
    pub include_usage: bool,
    /// Id of the response that this one continues.
    pub previous: Option<String>,
    /// Metadata that is returned with the response.
    pub metadata: Map<String, Value>,
    /// Format of the answer.
    pub format: OutputFormat,
    /// Ignored parameters.
    pub ignored: Vec<String>,
}

/// Reads the body of a request.
///
/// # Errors
/// What is wrong in OpenAI's format, with the parameter.
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
    let mut ignored = parameters::check(endpoint, &body, leniency)?;
    let format = format::read(endpoint, &body, leniency, &mut ignored)?;
    let model = match body.get("model") {
        Some(Value::String(model)) if !model.is_empty() => model.clone(),
        _ => return Err(OpenAiError::invalid("model", "You must provide a model parameter.")),
    };
    let turns = match endpoint {
        Endpoint::Chat => content::messages("messages", body.get("messages"))?,
        Endpoint::Responses => responses_input(&body)?,
    };
    let last = turns.iter().rev().find(|turn| turn.role != Role::System);
    if last.is_none_or(|turn| turn.role == Role::Assistant) {
        let name = if endpoint == Endpoint::Chat { "messages" } else { "input" };
        return Err(OpenAiError::invalid(name, format!("The last item of '{name}' must be a user message.")));
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
        format,
        ignored,
    })
}

/// A boolean; false if missing.
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
        Some(_) => Err(OpenAiError::invalid(name, format!("'{name}' must be a string."))),
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
        turns.push(Turn::text(Role::System, instructions));
    }
    match body.get("input") {
        Some(Value::String(text)) => {
            turns.push(Turn::text(Role::User, text));
        }
        input => turns.extend(content::messages("input", input)?),
    }
    Ok(turns)
}

#[cfg(test)]
mod tests;
