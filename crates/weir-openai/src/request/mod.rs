//! Requests: what was asked, and what of it cannot be honoured.

mod content;
mod format;
mod parameters;
mod schema;
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

/// A request that can be honoured.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// Which API was called.
    pub endpoint: Endpoint,
    /// The model.
    pub model: String,
    /// All that was said, oldest first. It ends with what the user says now, or with the result of a tool.
    pub turns: Vec<Turn>,
    /// The reply is to be streamed.
    pub stream: bool,
    /// A streamed reply ends with what was used.
    pub include_usage: bool,
    /// The response that this one continues, by its id.
    pub previous: Option<String>,
    /// What the client wants to find in the response again.
    pub metadata: Map<String, Value>,
    /// The form of the answer.
    pub format: OutputFormat,
    /// Parameters that are ignored.
    pub ignored: Vec<String>,
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
        return Err(OpenAiError::invalid(
            name,
            format!("The last of '{name}' must be a message of the user."),
        ));
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
