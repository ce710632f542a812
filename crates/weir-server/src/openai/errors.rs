//! Errors in OpenAI's format, wherever they come from.

use axum::body::to_bytes;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use weir_host::HostError;
use weir_openai::OpenAiError;

use crate::api::json;
use crate::problem::{MEDIA_TYPE, Problem};

/// Maximum size of a problem that is converted.
const MAX_PROBLEM: usize = 64 << 10;

/// An error as a response.
pub(super) fn response(error: &OpenAiError) -> Response {
    let status = StatusCode::from_u16(error.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = json(status, &error.body());
    if let Some(seconds) = error.retry_after {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}

/// Converts problems of the guards to OpenAI's format.
pub(super) async fn in_openai_shape(response: Response) -> Response {
    let kind = response.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let status = response.status().as_u16();
    if kind != Some(MEDIA_TYPE)
        && !(response.status().is_client_error() && kind.is_none_or(|kind| kind.starts_with("text/")))
    {
        return response;
    }
    let (parts, body) = response.into_parts();
    let body = to_bytes(body, MAX_PROBLEM).await.unwrap_or_default();
    let problem: serde_json::Value = serde_json::from_slice(&body).unwrap_or_default();
    let text = String::from_utf8_lossy(&body);
    let member = |name: &str| problem.get(name).and_then(serde_json::Value::as_str);
    let error = of_status(status, member("code"), member("detail").unwrap_or(&text));
    let mut shaped = json(parts.status, &error.body()).into_response();
    for name in [header::RETRY_AFTER, header::WWW_AUTHENTICATE, header::ALLOW] {
        if let Some(value) = parts.headers.get(&name) {
            shaped.headers_mut().insert(name, value.clone());
        }
    }
    shaped
}

fn of_status(status: u16, code: Option<&str>, detail: &str) -> OpenAiError {
    match status {
        401 => OpenAiError { message: detail.to_owned(), ..OpenAiError::unauthorized() },
        429 => OpenAiError::rate_limited(detail),
        400..=499 => {
            let code = code.map(str::to_owned);
            OpenAiError { status, param: None, code, ..OpenAiError::invalid("", detail) }
        }
        _ => OpenAiError { status, code: code.map(str::to_owned), ..OpenAiError::failed(detail) },
    }
}

/// Converts an error of the host.
pub(super) fn of_host(error: HostError) -> OpenAiError {
    let text = error.to_string();
    match error {
        HostError::Busy { retry_after } => {
            OpenAiError { retry_after: Some(retry_after.as_secs()), ..OpenAiError::rate_limited(text) }
        }
        HostError::QueueFull { .. } => {
            OpenAiError { retry_after: Some(5), ..OpenAiError::rate_limited(text) }
        }
        HostError::Invalid(_) | HostError::Folder { .. } | HostError::Archived => {
            OpenAiError { param: None, ..OpenAiError::invalid("", text) }
        }
        HostError::BudgetExhausted { .. } => OpenAiError::quota(text),
        other => of_problem(&Problem::from(other)),
    }
}

/// Converts a problem of a guard.
pub(super) fn of_problem(problem: &Problem) -> OpenAiError {
    let (status, code) = (problem.status().as_u16(), problem.code());
    if code == "token_budget" {
        return OpenAiError::quota(problem.detail());
    }
    of_status(status, Some(code), problem.detail())
}
