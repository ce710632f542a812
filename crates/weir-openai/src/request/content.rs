//! Reads messages with their parts.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::turn::{Image, Part, Role, ToolCall, Turn};
use crate::error::OpenAiError;

/// Reads a list of messages.
pub(super) fn messages(name: &str, value: Option<&Value>) -> Result<Vec<Turn>, OpenAiError> {
    let Some(list) = value.and_then(Value::as_array).filter(|list| !list.is_empty()) else {
        return Err(OpenAiError::invalid(
            name,
            format!("'{name}' must be a list with at least one message."),
        ));
    };
    // Clients send reasoning items back with the messages. The session already knows them.
    let said =
        list.iter().enumerate().filter(|(_, item)| item.get("type").is_none_or(|kind| kind != "reasoning"));
    said.map(|(index, message)| item(&format!("{name}[{index}]"), message)).collect()
}

fn item(name: &str, item: &Value) -> Result<Turn, OpenAiError> {
    match item.get("type").and_then(Value::as_str).unwrap_or("message") {
        "message" => message(name, item),
        "function_call" => {
            let call = ToolCall {
                id: text_of(name, item, "call_id")?,
                name: text_of(name, item, "name")?,
                arguments: text_of(name, item, "arguments")?,
            };
            Ok(Turn { parts: Vec::new(), calls: vec![call], ..Turn::text(Role::Assistant, "") })
        }
        "function_call_output" => {
            let mut turn = Turn { parts: Vec::new(), ..Turn::text(Role::Tool, "") };
            turn.call_id = Some(text_of(name, item, "call_id")?);
            content(&format!("{name}.output"), item.get("output"), &mut turn)?;
            Ok(turn)
        }
        other => Err(OpenAiError::unsupported(
            format!("{name}.type"),
            &format!("'{other}' is neither a message nor a function call"),
        )),
    }
}

fn message(name: &str, message: &Value) -> Result<Turn, OpenAiError> {
    let role = match message.get("role").and_then(Value::as_str) {
        Some("system" | "developer") => Role::System,
        Some("user") => Role::User,
        Some("assistant") => Role::Assistant,
        Some("tool" | "function") => Role::Tool,
        _ => {
            let text = "The role must be system, developer, user, assistant or tool.";
            return Err(OpenAiError::invalid(format!("{name}.role"), text));
        }
    };
    let word = |key: &str| message.get(key).and_then(Value::as_str).map(str::to_owned);
    let mut turn = Turn {
        role,
        name: word("name"),
        parts: Vec::new(),
        calls: calls(name, message)?,
        call_id: word("tool_call_id"),
    };
    match message.get("content") {
        Some(Value::Null) | None if role == Role::Assistant => {
            // A refusal takes the place of the content.
            turn.parts.extend(word("refusal").map(Part::Text));
        }
        value => content(&format!("{name}.content"), value, &mut turn)?,
    }
    Ok(turn)
}

fn calls(name: &str, message: &Value) -> Result<Vec<ToolCall>, OpenAiError> {
    let list = message.get("tool_calls").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let read = |(index, call): (usize, &Value)| {
        let place = format!("{name}.tool_calls[{index}]");
        let function = call.get("function").unwrap_or(&Value::Null);
        Ok(ToolCall {
            id: text_of(&place, call, "id")?,
            name: text_of(&format!("{place}.function"), function, "name")?,
            arguments: text_of(&format!("{place}.function"), function, "arguments")?,
        })
    };
    let calls = list.iter().enumerate().map(read).collect::<Result<Vec<ToolCall>, OpenAiError>>()?;
    match message.get("function_call") {
        Some(call @ Value::Object(_)) if calls.is_empty() => {
            let place = format!("{name}.function_call");
            let (name, arguments) = (text_of(&place, call, "name")?, text_of(&place, call, "arguments")?);
            Ok(vec![ToolCall { id: String::new(), name, arguments }])
        }
        _ => Ok(calls),
    }
}

fn text_of(place: &str, value: &Value, key: &str) -> Result<String, OpenAiError> {
    let text = value.get(key).and_then(Value::as_str).map(str::to_owned);
    text.ok_or_else(|| {
        OpenAiError::invalid(format!("{place}.{key}"), format!("'{place}.{key}' must be a string."))
    })
}

fn content(place: &str, value: Option<&Value>, turn: &mut Turn) -> Result<(), OpenAiError> {
    match value {
        Some(Value::String(text)) => turn.parts.push(Part::Text(text.clone())),
        Some(Value::Array(parts)) => {
            for (index, value) in parts.iter().enumerate() {
                turn.parts.push(part(&format!("{place}[{index}]"), value)?);
            }
        }
        _ => return Err(OpenAiError::invalid(place, "The content must be a string or a list of parts.")),
    }
    Ok(())
}

fn part(name: &str, part: &Value) -> Result<Part, OpenAiError> {
    match part.get("type").and_then(Value::as_str) {
        Some("text" | "input_text" | "output_text" | "refusal") => {
            let text = part.get("text").or_else(|| part.get("refusal")).and_then(Value::as_str);
            let text = text.ok_or_else(|| OpenAiError::invalid(name, "A text part needs a text."))?;
            Ok(Part::Text(text.to_owned()))
        }
        Some("image_url" | "input_image") => {
            let url = part.get("image_url");
            let url = url.and_then(|url| url.as_str().or_else(|| url.get("url").and_then(Value::as_str)));
            image(&format!("{name}.image_url"), url.unwrap_or_default()).map(Part::Image)
        }
        Some(other) => Err(OpenAiError::unsupported(
            format!("{name}.type"),
            &format!("'{other}' is neither text nor a picture"),
        )),
        None => Err(OpenAiError::invalid(name, "A part needs a type.")),
    }
}

fn image(name: &str, url: &str) -> Result<Image, OpenAiError> {
    // Fetching a URL given by a client would let it probe our network.
    let data = url.strip_prefix("data:").and_then(|data| data.split_once(";base64,"));
    let Some((media_type, data)) = data else {
        let text = "Pictures must be data URLs, as in data:image/png;base64,…; other URLs are not fetched.";
        return Err(OpenAiError::invalid(name, text));
    };
    if !matches!(media_type, "image/png" | "image/jpeg" | "image/gif" | "image/webp") {
        return Err(OpenAiError::invalid(name, "A picture must be PNG, JPEG, GIF or WebP."));
    }
    let data = STANDARD.decode(data.as_bytes());
    let data = data
        .map_err(|error| OpenAiError::invalid(name, format!("The picture is not valid base64: {error}")))?;
    Ok(Image { media_type: media_type.to_owned(), data })
}
