//! The requested output format: text, JSON, or the arguments of one function.

use serde_json::{Map, Value, json};

use weir_wire::output_schema;

use super::{Endpoint, Leniency};
use crate::error::OpenAiError;

/// Format of an answer.
#[derive(Debug, Clone, PartialEq)]
pub enum OutputFormat {
    /// Plain text.
    Text,
    /// JSON that matches a schema.
    Json {
        /// The JSON Schema.
        schema: Value,
    },
    /// A call of the one function that the client requires, with arguments that match a schema.
    Call {
        /// The function.
        name: String,
        /// The JSON Schema of its arguments.
        schema: Value,
    },
}

impl OutputFormat {
    /// The schema that the answer must match.
    pub fn schema(&self) -> Option<&Value> {
        match self {
            Self::Text => None,
            Self::Json { schema } | Self::Call { schema, .. } => Some(schema),
        }
    }
}

const NO_TOOLS: &str = "the agent uses its own tools, and cannot call yours; one function that `tool_choice` demands \
                        is answered with its arguments";

/// Reads the output format. Adds ignored parameters to `ignored`.
pub(super) fn read(
    endpoint: Endpoint,
    body: &Map<String, Value>,
    leniency: &Leniency,
    ignored: &mut Vec<String>,
) -> Result<OutputFormat, OpenAiError> {
    let call = required_call(endpoint, body, leniency, ignored)?;
    let (place, format) = match endpoint {
        Endpoint::Chat => ("response_format", body.get("response_format")),
        Endpoint::Responses => {
            let text = body.get("text").and_then(Value::as_object);
            if text.and_then(|text| text.get("verbosity")).is_some_and(|value| !value.is_null()) {
                ignored.push("text.verbosity".to_owned());
            }
            ("text.format", text.and_then(|text| text.get("format")))
        }
    };
    let format = match format {
        None | Some(Value::Null) => OutputFormat::Text,
        Some(_) if leniency.ignores(place) => {
            ignored.push(place.to_owned());
            OutputFormat::Text
        }
        Some(format) => json_format(endpoint, place, format)?,
    };
    match (call, format) {
        (Some(call), OutputFormat::Text) => Ok(call),
        (None, format) => Ok(format),
        (Some(_), _) => Err(OpenAiError::unsupported(place, "`tool_choice` already requires another format")),
    }
}

fn json_format(endpoint: Endpoint, place: &str, format: &Value) -> Result<OutputFormat, OpenAiError> {
    match format.get("type").and_then(Value::as_str) {
        Some("text") => Ok(OutputFormat::Text),
        Some("json_object") => Ok(OutputFormat::Json { schema: json!({"type": "object"}) }),
        Some("json_schema") => {
            let (at, holder) = match endpoint {
                Endpoint::Chat => (format!("{place}.json_schema"), format.get("json_schema")),
                Endpoint::Responses => (place.to_owned(), Some(format)),
            };
            let schema = holder.and_then(|holder| holder.get("schema"));
            Ok(OutputFormat::Json { schema: object_schema(&format!("{at}.schema"), schema)? })
        }
        _ => Err(OpenAiError::invalid(
            format!("{place}.type"),
            format!("'{place}.type' must be text, json_object or json_schema."),
        )),
    }
}

/// Maximum size of a schema in bytes: it is stored with the settings of its session.
const MAX_SCHEMA: usize = 128 << 10;

/// The CLI can only answer with objects, like OpenAI's own API.
fn object_schema(place: &str, given: Option<&Value>) -> Result<Value, OpenAiError> {
    match given {
        Some(given @ Value::Object(members)) if members.get("type").is_some_and(|kind| kind == "object") => {
            if given.to_string().len() > MAX_SCHEMA {
                let text = format!("'{place}' may have at most {MAX_SCHEMA} bytes.");
                return Err(OpenAiError::invalid(place, text));
            }
            match output_schema::problem(given) {
                Some(why) => {
                    Err(OpenAiError::invalid(place, format!("'{place}' is not a valid JSON Schema: {why}.")))
                }
                None => Ok(output_schema::tidy(given)),
            }
        }
        _ => Err(OpenAiError::invalid(place, format!("'{place}' must be a JSON Schema of type object."))),
    }
}

/// The one function that the client requires a call of.
fn required_call(
    endpoint: Endpoint,
    body: &Map<String, Value>,
    leniency: &Leniency,
    ignored: &mut Vec<String>,
) -> Result<Option<OutputFormat>, OpenAiError> {
    let tools = match body.get("tools") {
        Some(Value::Array(tools)) if !tools.is_empty() => tools,
        None | Some(Value::Null | Value::Array(_)) => return Ok(None),
        Some(_) => return Err(OpenAiError::invalid("tools", "'tools' must be a list.")),
    };
    let choice = body.get("tool_choice").unwrap_or(&Value::Null);
    if leniency.ignores("tools") || choice.as_str() == Some("none") {
        ignored.push("tools".to_owned());
        return Ok(None);
    }
    let refused = || OpenAiError::unsupported("tools", NO_TOOLS);
    let function = |tool: &Value| match endpoint {
        Endpoint::Chat => tool.get("function").cloned(),
        // Responses have no item for a call here.
        Endpoint::Responses => None,
    };
    let functions: Vec<Value> = tools.iter().filter_map(function).collect();
    let name_of = |function: &Value| function.get("name").and_then(Value::as_str).map(str::to_owned);
    let wanted = match choice {
        Value::String(word) if word == "required" && functions.len() == 1 => {
            functions.first().and_then(name_of)
        }
        Value::Object(_) => choice.get("function").and_then(name_of),
        _ => None,
    };
    let wanted = wanted.ok_or_else(refused)?;
    let found = functions.iter().find(|function| name_of(function).as_deref() == Some(wanted.as_str()));
    let Some(found) = found else {
        let text = format!("No function '{wanted}' found among the tools.");
        return Err(OpenAiError::invalid("tool_choice", text));
    };
    let schema = object_schema("tools.function.parameters", found.get("parameters"))?;
    Ok(Some(OutputFormat::Call { name: wanted, schema }))
}
