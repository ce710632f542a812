//! Errors in OpenAI's shape.

use serde_json::{Value, json};

/// Why a request is not answered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct OpenAiError {
    /// The HTTP status.
    pub status: u16,
    /// What is wrong, and what to do.
    pub message: String,
    /// OpenAI's word for the sort of error.
    pub kind: &'static str,
    /// The parameter that is wrong.
    pub param: Option<String>,
    /// A short name for programs.
    pub code: Option<String>,
}

impl OpenAiError {
    /// The request is wrong.
    pub fn invalid(param: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            status: 400,
            message: message.into(),
            kind: "invalid_request_error",
            param: Some(param.into()),
            code: None,
        }
    }

    /// The request asks for something that cannot be had here.
    pub fn unsupported(param: impl Into<String>, why: &str) -> Self {
        let param = param.into();
        let message = format!("'{param}' cannot be honoured here: {why}. Leave it out.");
        Self { code: Some("unsupported_parameter".to_owned()), ..Self::invalid(param, message) }
    }

    /// Who asks is not known.
    pub fn unauthorized() -> Self {
        Self {
            status: 401,
            message: "The API key is not valid: use a token of this server.".to_owned(),
            kind: "invalid_request_error",
            param: None,
            code: Some("invalid_api_key".to_owned()),
        }
    }

    /// Too much at once.
    pub fn rate_limited(message: impl Into<String>) -> Self {
        Self {
            status: 429,
            message: message.into(),
            kind: "rate_limit_error",
            param: None,
            code: Some("rate_limit_exceeded".to_owned()),
        }
    }

    /// The agent could not answer.
    pub fn failed(message: impl Into<String>) -> Self {
        Self { status: 500, message: message.into(), kind: "server_error", param: None, code: None }
    }

    /// The body of the response, and of an error in the middle of a stream.
    pub fn body(&self) -> Value {
        json!({"error": {"message": self.message, "type": self.kind, "param": self.param, "code": self.code}})
    }
}
