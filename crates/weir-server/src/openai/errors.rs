//! Errors in OpenAI's shape, whoever they come from.

use axum::body::to_bytes;
use axum::http::header;
use axum::response::{IntoResponse as _, Response};
use weir_host::{Failure, FailureKind, HostError};
use weir_openai::OpenAiError;

use crate::problem::{MEDIA_TYPE, Problem};

/// Longest problem that is read.
const MOST: usize = 64 << 10;

/// An error as a response.
pub(super) fn response(error: &OpenAiError) -> Response {
    let status = axum::http::StatusCode::from_u16(error.status)
        .unwrap_or(axum::http::StatusCode::INTERNAL_SERVER_ERROR);
    super::json(status, &error.body())
}

/// Turns the problems of the guards into what OpenAI's clients read.
pub(super) async fn in_openai_shape(response: Response) -> Response {
    let kind = response.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let status = response.status().as_u16();
    if kind != Some(MEDIA_TYPE)
        && !(response.status().is_client_error() && kind.is_none_or(|kind| kind.starts_with("text/")))
    {
        return response;
    }
    let (parts, body) = response.into_parts();
    let body = to_bytes(body, MOST).await.unwrap_or_default();
    let problem: serde_json::Value = serde_json::from_slice(&body).unwrap_or_default();
    let text = String::from_utf8_lossy(&body);
    let detail = problem.get("detail").and_then(serde_json::Value::as_str).unwrap_or(&text);
    let error = match status {
        401 => OpenAiError { message: detail.to_owned(), ..OpenAiError::unauthorized() },
        429 => OpenAiError::rate_limited(detail),
        _ => OpenAiError { status, ..OpenAiError::failed(detail) },
    };
    let kind = if (400..500).contains(&error.status) && error.status != 429 {
        "invalid_request_error"
    } else {
        error.kind
    };
    let mut shaped = super::json(parts.status, &OpenAiError { kind, ..error }.body()).into_response();
    for name in [header::RETRY_AFTER, header::WWW_AUTHENTICATE] {
        if let Some(value) = parts.headers.get(&name) {
            shaped.headers_mut().insert(name, value.clone());
        }
    }
    shaped
}

/// What the host says.
pub(super) fn of_host(error: &HostError) -> OpenAiError {
    let text = error.to_string();
    match error {
        HostError::Busy { .. } | HostError::QueueFull { .. } => OpenAiError::rate_limited(text),
        HostError::ShuttingDown => OpenAiError { status: 503, ..OpenAiError::failed(text) },
        HostError::Invalid(_) | HostError::Folder { .. } | HostError::Archived => {
            OpenAiError { param: None, ..OpenAiError::invalid("", text) }
        }
        HostError::NotFound(_) => OpenAiError { status: 404, param: None, ..OpenAiError::invalid("", text) },
        HostError::BudgetExhausted { .. } => {
            OpenAiError { code: Some("insufficient_quota".to_owned()), ..OpenAiError::rate_limited(text) }
        }
        _ => OpenAiError::failed(text),
    }
}

/// What a guard says.
pub(super) fn of_problem(problem: &Problem) -> OpenAiError {
    let status = problem.status().as_u16();
    let code = Some(problem.code().to_owned());
    OpenAiError { status, code, ..OpenAiError::failed(problem.detail()) }
}

/// Why a message has no good answer.
pub(super) fn of_failure(failure: &Failure) -> OpenAiError {
    match failure.kind {
        FailureKind::BudgetExhausted => OpenAiError {
            code: Some("insufficient_quota".to_owned()),
            ..OpenAiError::rate_limited(failure.message.clone())
        },
        FailureKind::TimedOut => OpenAiError { status: 504, ..OpenAiError::failed(failure.message.clone()) },
        _ => OpenAiError { status: 502, ..OpenAiError::failed(failure.message.clone()) },
    }
}
