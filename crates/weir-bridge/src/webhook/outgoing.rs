//! Sends requests to the other side of a webhook.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use weir_base::time::now_ms;

use super::WebhookOptions;
use super::signature::{HEADER_SIGNATURE, HEADER_TIMESTAMP, sign};
use crate::channel::{Button, Content, MessageRef, Operation, OperationError, OutgoingFile, Place};

/// Maximum size of a response in bytes.
const MAX_RESPONSE_BYTES: u64 = 1 << 20;

/// The body of a request.
#[derive(Debug, Default, Serialize)]
struct Outgoing {
    r#type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    chat: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thread: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reply_to: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    file_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    media_type: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    buttons: Vec<Button>,
}

/// The response to a post, if it names the message.
#[derive(Debug, Deserialize)]
struct Posted {
    message: String,
}

/// Performs an operation in a chat of the other side.
pub(super) async fn perform(
    client: &reqwest::Client,
    options: &WebhookOptions,
    operation: Operation,
) -> Result<Option<MessageRef>, OperationError> {
    let at = |place: Place| Outgoing {
        chat: Some(place.chat.to_string()),
        thread: place.thread.map(|thread| thread.to_string()),
        ..Outgoing::default()
    };
    let says = |outgoing: Outgoing, content: Content| Outgoing {
        text: Some(content.text.plain),
        buttons: content.buttons,
        ..outgoing
    };
    let outgoing = match operation {
        Operation::Post { place, content, reply_to, key } => {
            let reply_to = reply_to.map(|message| message.to_string());
            let outgoing =
                Outgoing { r#type: "post", id: Some(key.clone()), reply_to, ..says(at(place), content) };
            let answer = send(client, options, &outgoing).await?;
            let posted: Option<Posted> = serde_json::from_str(&answer).ok();
            return Ok(Some(posted.map_or(key, |posted| posted.message).into()));
        }
        Operation::Edit { place, message, content } => {
            Outgoing { r#type: "edit", message: Some(message.to_string()), ..says(at(place), content) }
        }
        Operation::Delete { place, message } => {
            Outgoing { r#type: "delete", message: Some(message.to_string()), ..at(place) }
        }
        Operation::Upload { place, file, key } => {
            let is_picture = file.is_picture();
            let OutgoingFile { name, media_type, data } = file;
            // Text does not need base64.
            let text = if is_picture { None } else { String::from_utf8(data.clone()).ok() };
            let data = text.is_none().then(|| STANDARD.encode(data));
            Outgoing {
                r#type: "file",
                id: Some(key),
                file_name: Some(name),
                media_type: Some(media_type),
                text,
                data,
                ..at(place)
            }
        }
        Operation::Typing { .. } | Operation::React { .. } => return Ok(None),
    };
    send(client, options, &outgoing).await?;
    Ok(None)
}

/// Checks whether the other side responds.
pub(super) async fn ping(client: &reqwest::Client, options: &WebhookOptions) -> Result<(), OperationError> {
    send(client, options, &Outgoing { r#type: "ping", ..Outgoing::default() }).await.map(|_| ())
}

async fn send(
    client: &reqwest::Client,
    options: &WebhookOptions,
    outgoing: &Outgoing,
) -> Result<String, OperationError> {
    let refused = |error: serde_json::Error| OperationError::Refused(error.to_string());
    let body = serde_json::to_vec(outgoing).map_err(refused)?;
    let timestamp = now_ms() / 1_000;
    let request = client
        .post(&options.url)
        .header("content-type", "application/json")
        .header(HEADER_TIMESTAMP, timestamp)
        .header(HEADER_SIGNATURE, sign(options.secret.bytes(), timestamp, &body))
        .body(body);
    let response =
        request.send().await.map_err(|error| OperationError::Passing(crate::http::reason(error)))?;
    let status = response.status();
    if status.is_success() {
        // An oversized response is treated as if it named no message.
        let body = crate::http::read_at_most(response, MAX_RESPONSE_BYTES).await.unwrap_or_default();
        return Ok(String::from_utf8(body).unwrap_or_default());
    }
    let seconds =
        response.headers().get("retry-after").and_then(|value| value.to_str().ok()?.parse::<i64>().ok());
    Err(match status.as_u16() {
        429 => OperationError::RateLimited { retry_after_ms: seconds.unwrap_or(5).clamp(1, 3_600) * 1_000 },
        404 | 410 => OperationError::Gone(format!("the webhook answered {status}")),
        400..=499 => OperationError::Refused(format!("the webhook answered {status}")),
        _ => OperationError::Passing(format!("the webhook answered {status}")),
    })
}
