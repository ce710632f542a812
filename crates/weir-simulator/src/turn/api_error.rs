//! API errors: which are retried, how long the CLI waits, and what it finally reports.

use std::time::Duration;

use crate::json::Json;
use crate::object;
use crate::profile::Profile;
use crate::script::ApiError;

/// An error that ended the turn.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ApiFailure {
    /// The HTTP status; `None` if there was no response.
    pub(crate) status: Option<u16>,
    pub(crate) kind: String,
    /// The message for the user.
    pub(crate) text: String,
    /// The CLI's own name for it.
    pub(crate) name: &'static str,
    pub(crate) request_id: Option<String>,
}

impl ApiFailure {
    /// `terminal_reason` of the result.
    pub(crate) fn terminal_reason(&self) -> &'static str {
        if self.name == "invalid_request" { "prompt_too_long" } else { "api_error" }
    }
}

/// How often an error is retried.
pub(super) fn retries(error: &ApiError, profile: &Profile, limit: u64) -> u64 {
    match error.status {
        // The newer version gives up on an overloaded API after the third time.
        529 if !profile.is_old() => limit.min(2),
        401 | 408 | 409 | 429 | 500..=599 => limit,
        _ => 0,
    }
}

/// The wait that the CLI reports before an attempt, counted from one.
pub(super) fn delay(headers: &[(String, String)], attempt: u64, jitter: u64) -> Duration {
    let asked = headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("retry-after"));
    if let Some(seconds) = asked.and_then(|(_, value)| value.parse().ok()) {
        return Duration::from_secs(seconds);
    }
    let base =
        500 * 2_u64.saturating_pow(u32::try_from(attempt.saturating_sub(1)).unwrap_or(u32::MAX).min(6));
    Duration::from_millis(base + base * (jitter % 25) / 100)
}

/// The CLI's own name for an error.
pub(super) fn name(error: &ApiError) -> &'static str {
    match error.status {
        401 | 403 => "authentication_failed",
        404 => "model_not_found",
        429 => "rate_limit",
        529 => "overloaded",
        500..=599 => "server_error",
        _ => "unknown",
    }
}

/// The error as it is finally reported.
pub(super) fn failure(
    error: &ApiError,
    profile: &Profile,
    model: &str,
    request_id: String,
    retries: u64,
    gateway: &str,
) -> ApiFailure {
    let message = &error.message;
    let too_long = error.status == 400 && message.starts_with("prompt is too long");
    let body = object! {
        "type" => "error",
        "error" => object! { "type" => error.kind.as_str(), "message" => message },
        "request_id" => request_id.as_str(),
    };
    let gateway = format!("check your inference gateway ({gateway}).");
    let (text, name) = match (error.status, profile.is_old()) {
        _ if too_long && profile.is_old() => ("Prompt is too long".to_owned(), "invalid_request"),
        _ if too_long => (too_long_text(message), "invalid_request"),
        (401, _) => ("Invalid API key · Fix external API key".to_owned(), "authentication_failed"),
        (403, true) => (format!("API Error: 403 {body} · Please run /login"), "authentication_failed"),
        (403, false) => {
            (format!("Failed to authenticate. API Error: 403 {message}"), "authentication_failed")
        }
        (404, false) => (
            format!(
                "There's an issue with the selected model ({model}). It may not exist or you may not have access to it. Run --model to pick a different model."
            ),
            "model_not_found",
        ),
        (429, false) => (format!("API Error: Request rejected (429) · {message}"), "rate_limit"),
        (529, false) if retries >= 2 => (
            format!(
                "API Error: Repeated 529 Overloaded errors. The API is at capacity — this is usually temporary. Try again in a moment. If it persists, {gateway}"
            ),
            "server_error",
        ),
        (status @ 500..=599, false) => (
            format!(
                "API Error: {status} {message}. This is a server-side issue, usually temporary — try again in a moment. If it persists, {gateway}"
            ),
            "server_error",
        ),
        (status, true) => (format!("API Error: {status} {body}"), "unknown"),
        (status, false) => (format!("API Error: {status} {message}"), "unknown"),
    };
    let unnamed = too_long || error.status == 529 && retries >= 2;
    ApiFailure {
        status: Some(error.status),
        kind: error.kind.clone(),
        text,
        name,
        request_id: (!unnamed).then_some(request_id),
    }
}

/// The newer version explains an overlong prompt with the API's numbers.
fn too_long_text(message: &str) -> String {
    let numbers: Vec<&str> =
        message.split(|letter: char| !letter.is_ascii_digit()).filter(|part| !part.is_empty()).collect();
    match numbers.as_slice() {
        [asked, limit, ..] => format!(
            "Prompt is too long · the request is ~{asked} tokens (limit {limit}) but this conversation is only ~2506 tokens — the rest is system prompt, tool definitions, and attachment content. A single-exchange conversation cannot be compacted; reduce attached files/tools or start with less context."
        ),
        _ => "Prompt is too long".to_owned(),
    }
}

/// The message on the model's behalf that informs the user.
pub(super) fn message(failure: &ApiFailure, profile: &Profile, id: String) -> Json {
    let content = crate::array![object! { "type" => "text", "text" => failure.text.as_str() }];
    synthetic(content, profile, id)
}

/// A message that no model wrote.
pub(super) fn synthetic(content: Json, profile: &Profile, id: String) -> Json {
    let nothing = object! { "ephemeral_1h_input_tokens" => 0, "ephemeral_5m_input_tokens" => 0 };
    let mut usage = object! {};
    if !profile.is_old() {
        usage.set("output_tokens_details", Json::Null);
    }
    usage = usage.with_all(object! {
        "input_tokens" => 0,
        "output_tokens" => 0,
        "cache_creation_input_tokens" => 0,
        "cache_read_input_tokens" => 0,
        "server_tool_use" => object! { "web_search_requests" => 0, "web_fetch_requests" => 0 },
        "service_tier" => Json::Null,
        "cache_creation" => nothing,
    });
    let mut message = object! {};
    if !profile.is_old() {
        usage = usage.with_all(object! { "inference_geo" => Json::Null, "iterations" => Json::Null, "speed" => Json::Null, "fallback_credit" => Json::Null });
        message.set("diagnostics", Json::Null);
    }
    message = message.with_all(
        object! { "id" => id, "container" => Json::Null, "model" => "<synthetic>", "role" => "assistant" },
    );
    if !profile.is_old() {
        message.set("stop_details", Json::Null);
    }
    message.with_all(object! {
        "stop_reason" => "stop_sequence",
        "stop_sequence" => "",
        "type" => "message",
        "usage" => usage,
        "content" => content,
        "context_management" => Json::Null,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(status: u16, headers: Vec<(String, String)>) -> ApiError {
        ApiError { status, kind: "k".into(), message: "m".into(), headers, times: None }
    }

    #[test]
    fn retries_depend_on_the_status() {
        let (new, old) = (Profile::of("2.1.325"), Profile::of("2.1.9"));
        let tries = |status, profile| retries(&error(status, Vec::new()), profile, 10);
        assert_eq!((tries(529, &new), tries(529, &old), tries(401, &new), tries(400, &new)), (2, 10, 10, 0));
    }

    #[test]
    fn waits_grow_unless_the_api_says_how_long() {
        let plain = error(500, Vec::new());
        assert_eq!(delay(&plain.headers, 1, 0), Duration::from_millis(500));
        assert_eq!(delay(&plain.headers, 3, 24), Duration::from_millis(2480));
        assert_eq!(delay(&[("Retry-After".into(), "7".into())], 3, 0), Duration::from_secs(7));
    }
}
