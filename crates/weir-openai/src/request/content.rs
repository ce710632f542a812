//! Messages with their parts.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::{Image, Role, Turn};
use crate::error::OpenAiError;

/// Reads a list of messages.
pub(super) fn messages(name: &str, value: Option<&Value>) -> Result<Vec<Turn>, OpenAiError> {
    let Some(list) = value.and_then(Value::as_array).filter(|list| !list.is_empty()) else {
        return Err(OpenAiError::invalid(
            name,
            format!("'{name}' must be a list with at least one message."),
        ));
    };
    // What the agent did meanwhile comes back with what it said. The session knows it.
    let said =
        list.iter().enumerate().filter(|(_, item)| item.get("type").is_none_or(|kind| kind != "reasoning"));
    said.map(|(index, message)| turn(&format!("{name}[{index}]"), message)).collect()
}

fn turn(name: &str, message: &Value) -> Result<Turn, OpenAiError> {
    let kind = message.get("type").and_then(Value::as_str).unwrap_or("message");
    if kind != "message" {
        return Err(OpenAiError::unsupported(
            format!("{name}.type"),
            "only messages can be sent; the agent uses its own tools",
        ));
    }
    let role = match message.get("role").and_then(Value::as_str) {
        Some("system" | "developer") => Role::System,
        Some("user") => Role::User,
        Some("assistant") => Role::Assistant,
        Some("tool" | "function") => {
            return Err(OpenAiError::unsupported(format!("{name}.role"), "the agent uses its own tools"));
        }
        _ => {
            let text = "The role must be system, developer, user or assistant.";
            return Err(OpenAiError::invalid(format!("{name}.role"), text));
        }
    };
    let has_calls =
        message.get("tool_calls").and_then(Value::as_array).is_some_and(|calls| !calls.is_empty());
    if has_calls {
        return Err(OpenAiError::unsupported(format!("{name}.tool_calls"), "the agent uses its own tools"));
    }
    let mut turn = Turn { role, text: String::new(), images: Vec::new() };
    let place = format!("{name}.content");
    match message.get("content") {
        Some(Value::String(text)) => text.clone_into(&mut turn.text),
        Some(Value::Array(parts)) => {
            for (index, value) in parts.iter().enumerate() {
                part(&format!("{place}[{index}]"), value, &mut turn)?;
            }
        }
        Some(Value::Null) | None if role == Role::Assistant => {}
        _ => return Err(OpenAiError::invalid(place, "The content must be a text or a list of parts.")),
    }
    Ok(turn)
}

fn part(name: &str, part: &Value, turn: &mut Turn) -> Result<(), OpenAiError> {
    match part.get("type").and_then(Value::as_str) {
        Some("text" | "input_text" | "output_text" | "refusal") => {
            let text = part.get("text").or_else(|| part.get("refusal")).and_then(Value::as_str);
            let text = text.ok_or_else(|| OpenAiError::invalid(name, "A text part needs a text."))?;
            if !turn.text.is_empty() {
                turn.text.push('\n');
            }
            turn.text.push_str(text);
            Ok(())
        }
        Some("image_url" | "input_image") => {
            let url = part.get("image_url");
            let url = url.and_then(|url| url.as_str().or_else(|| url.get("url").and_then(Value::as_str)));
            let place = format!("{name}.image_url");
            turn.images.push(image(&place, url.unwrap_or_default())?);
            Ok(())
        }
        Some(other) => Err(OpenAiError::unsupported(
            format!("{name}.type"),
            &format!("'{other}' is neither text nor a picture"),
        )),
        None => Err(OpenAiError::invalid(name, "A part needs a type.")),
    }
}

fn image(name: &str, url: &str) -> Result<Image, OpenAiError> {
    // Fetching an address that a client names would let it look into our network.
    let data = url.strip_prefix("data:").and_then(|data| data.split_once(";base64,"));
    let Some((media_type, data)) = data else {
        let text = "Pictures must be data URLs, as in data:image/png;base64,…; addresses are not fetched.";
        return Err(OpenAiError::invalid(name, text));
    };
    if !matches!(media_type, "image/png" | "image/jpeg" | "image/gif" | "image/webp") {
        return Err(OpenAiError::invalid(name, "A picture must be PNG, JPEG, GIF or WebP."));
    }
    let data = STANDARD.decode(data.as_bytes());
    let data =
        data.map_err(|error| OpenAiError::invalid(name, format!("The picture is no base64: {error}")))?;
    Ok(Image { media_type: media_type.to_owned(), data })
}
