//! Errors in OpenAI's format.

use crate::body::{OpenAiProblem, OpenAiProblemDetails};

/// Why a request is not answered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct OpenAiError {
    /// The HTTP status.
    pub status: u16,
    /// What is wrong, and what to do.
    pub message: String,
    /// OpenAI's error type.
    pub kind: &'static str,
    /// The invalid parameter.
    pub param: Option<String>,
    /// Error code for programs.
    pub code: Option<String>,
    /// When a retry may make sense, in seconds from now.
    pub retry_after: Option<u64>,
}

impl OpenAiError {
    fn new(status: u16, kind: &'static str, message: impl Into<String>) -> Self {
        Self { status, message: message.into(), kind, param: None, code: None, retry_after: None }
    }

    /// The request is invalid.
    pub fn invalid(param: impl Into<String>, message: impl Into<String>) -> Self {
        Self { param: Some(param.into()), ..Self::new(400, "invalid_request_error", message) }
    }

    /// The request asks for something that is not supported here.
    pub fn unsupported(param: impl Into<String>, why: &str) -> Self {
        let param = param.into();
        let message = format!("'{param}' is not supported here: {why}. Leave it out.");
        Self { code: Some("unsupported_parameter".to_owned()), ..Self::invalid(param, message) }
    }

    /// The client is not authenticated.
    pub fn unauthorized() -> Self {
        let message = "The API key is not valid: use a token of this server.";
        Self { code: Some("invalid_api_key".to_owned()), ..Self::new(401, "invalid_request_error", message) }
    }

    /// Not found.
    pub fn not_found(code: &str, message: impl Into<String>) -> Self {
        Self { code: Some(code.to_owned()), ..Self::new(404, "invalid_request_error", message) }
    }

    /// Too many requests.
    pub fn rate_limited(message: impl Into<String>) -> Self {
        Self { code: Some("rate_limit_exceeded".to_owned()), ..Self::new(429, "rate_limit_error", message) }
    }

    /// The budget is spent.
    pub fn quota(message: impl Into<String>) -> Self {
        Self { code: Some("insufficient_quota".to_owned()), ..Self::new(429, "insufficient_quota", message) }
    }

    /// The agent could not answer.
    pub fn failed(message: impl Into<String>) -> Self {
        Self::new(500, "server_error", message)
    }

    /// Whether an error with this status looks temporary to clients.
    pub fn looks_temporary(&self) -> bool {
        matches!(self.status, 408 | 409 | 429 | 500..)
    }

    /// The body of the response, and of an error in the middle of a stream.
    pub fn body(&self) -> OpenAiProblem {
        let Self { message, kind, param, code, .. } = self.clone();
        OpenAiProblem { error: OpenAiProblemDetails { message, r#type: kind, param, code } }
    }
}
