//! Errors in OpenAI's format, wherever they come from.

use axum::body::to_bytes;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use weir_host::HostError;
use weir_openai::OpenAiError;

use crate::api::json;
use crate::problem::Problem;

/// Maximum size of a refusal that is converted.
const MAX_REFUSAL: usize = 64 << 10;

/// An error as a response.
pub(super) fn response(error: &OpenAiError) -> Response {
    let status = StatusCode::from_u16(error.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = json(status, &error.body());
    if let Some(seconds) = error.retry_after {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}

/// Converts problems of the guards to OpenAI's format, and refusals that a library has put into words.
pub(super) async fn in_openai_shape(response: Response) -> Response {
    let (parts, body) = response.into_parts();
    let status = parts.status.as_u16();
    let error = match parts.extensions.get::<Problem>() {
        Some(problem) => of_status(status, Some(problem.code()), problem.detail()),
        None if parts.status.is_client_error() && is_text(&parts.headers) => {
            let body = to_bytes(body, MAX_REFUSAL).await.unwrap_or_default();
            of_status(status, None, &String::from_utf8_lossy(&body))
        }
        None => return Response::from_parts(parts, body),
    };
    let mut shaped = json(parts.status, &error.body()).into_response();
    for name in [header::RETRY_AFTER, header::WWW_AUTHENTICATE, header::ALLOW] {
        if let Some(value) = parts.headers.get(&name) {
            shaped.headers_mut().insert(name, value.clone());
        }
    }
    shaped
}

fn is_text(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    kind.is_none_or(|kind| kind.starts_with("text/"))
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
