//! Why a turn has no proper answer, in OpenAI's terms: the status and type of what really happened.

use weir_transcript::FailureKind;

use crate::error::OpenAiError;

/// What is known about a failed turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TurnFailure<'f> {
    /// Kind of failure.
    pub kind: FailureKind,
    /// The error message.
    pub message: &'f str,
    /// The HTTP status of the API error that ended it.
    pub api_status: Option<u64>,
    /// The CLI's name for that error, such as `rate_limit`.
    pub api_error: Option<&'f str>,
    /// The subtype of the result, such as `error_max_turns`.
    pub subtype: &'f str,
    /// Why it ended, such as `prompt_too_long`.
    pub terminal_reason: Option<&'f str>,
    /// Why the model stopped, such as `refusal`.
    pub stop_reason: Option<&'f str>,
}

/// How a turn without a proper answer is reported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// As an answer that was cut off, with the text so far.
    Truncated,
    /// As a refusal by the model or its safeguards, with its text.
    Refused(String),
    /// As an error.
    Error(OpenAiError),
}

impl TurnFailure<'_> {
    /// How the failure is reported.
    pub fn ending(&self) -> Ending {
        if self.kind != FailureKind::Error {
            return Ending::Error(self.of_kind());
        }
        match (self.subtype, self.api_error, self.stop_reason) {
            (_, Some("max_output_tokens"), _) | ("error_max_turns", _, _) => Ending::Truncated,
            (_, _, Some("refusal")) => Ending::Refused(self.message.to_owned()),
            _ if self.is_refusal() => Ending::Refused(self.message.to_owned()),
            ("error_max_budget_usd", _, _) => Ending::Error(OpenAiError::quota(self.message)),
            ("error_max_structured_output_retries", _, _) => Ending::Error(OpenAiError {
                code: Some("structured_output_failed".to_owned()),
                ..OpenAiError::failed(self.message)
            }),
            _ => Ending::Error(self.of_api()),
        }
    }

    fn of_kind(&self) -> OpenAiError {
        let (status, code) = match self.kind {
            FailureKind::Error | FailureKind::NotStarted => (500, "not_started"),
            FailureKind::Died | FailureKind::NoResult => (502, "agent_died"),
            FailureKind::TimedOut => (504, "timeout"),
            FailureKind::Cancelled | FailureKind::Stopped | FailureKind::Interrupted => (500, "interrupted"),
            FailureKind::Restarted => (500, "restarted"),
            FailureKind::BudgetExhausted => return OpenAiError::quota(self.message),
            FailureKind::Unauthorized => {
                return OpenAiError { message: self.message.to_owned(), ..OpenAiError::unauthorized() };
            }
            FailureKind::Unsupported => {
                return OpenAiError {
                    param: None,
                    code: Some("unsupported_parameter".to_owned()),
                    ..OpenAiError::invalid("", self.message)
                };
            }
        };
        OpenAiError { status, code: Some(code.to_owned()), ..OpenAiError::failed(self.message) }
    }

    /// The error for a failure of the API behind the CLI.
    fn of_api(&self) -> OpenAiError {
        let told = |status, kind, code: &str| OpenAiError {
            status,
            kind,
            code: Some(code.to_owned()),
            ..OpenAiError::failed(self.message)
        };
        let invalid = "invalid_request_error";
        if self.is_too_long() {
            return told(400, invalid, "context_length_exceeded");
        }
        let by_name = match self.api_error {
            Some("authentication_failed") => Some(401),
            Some("rate_limit") => Some(429),
            Some("model_not_found") => Some(404),
            Some("billing_error") => Some(402),
            Some("overloaded") => Some(529),
            Some("invalid_request") => Some(400),
            _ if self.message.starts_with("API Error: Connection ") => Some(502),
            _ => None,
        };
        let by_name = by_name.map(|status| if self.is_too_large() { 413 } else { status });
        let status = self.api_status.or_else(|| status_in(self.message)).or(by_name);
        match status {
            Some(401) => {
                let message = format!(
                    "the server's own login with the model's API was refused, not your key: {}",
                    self.message
                );
                OpenAiError { message, ..told(401, "authentication_error", "upstream_unauthorized") }
            }
            Some(402) => OpenAiError::quota(self.message),
            Some(403) => told(403, "permission_error", "upstream_forbidden"),
            Some(404) => told(404, invalid, "model_not_found"),
            Some(413) => told(413, invalid, "request_too_large"),
            Some(429) => told(429, "rate_limit_error", "rate_limit_exceeded"),
            Some(503 | 529) => told(503, "server_error", "overloaded"),
            Some(400..=499) => told(400, invalid, "upstream_invalid_request"),
            Some(_) => told(502, "server_error", "upstream_error"),
            None => told(500, "server_error", "agent_failed"),
        }
    }

    /// Older CLI versions give no reason, but always this text.
    fn is_too_long(&self) -> bool {
        let in_words = self.api_error == Some("invalid_request")
            && self.message.starts_with("Prompt is too long")
            || self.message.starts_with("API Error: 400 ")
                && self.message.contains("input length and `max_tokens` exceed context limit");
        self.terminal_reason == Some("prompt_too_long")
            || self.stop_reason == Some("model_context_window_exceeded")
            || in_words
    }

    /// Older CLI versions report a refusal as a request error with this text.
    fn is_refusal(&self) -> bool {
        self.api_error == Some("invalid_request")
            && self.message.starts_with("API Error: Claude Code is unable to respond to this request")
    }

    /// Older CLI versions do not give the status.
    fn is_too_large(&self) -> bool {
        self.api_error == Some("invalid_request") && self.message.starts_with("Request too large")
    }
}

/// The status in the API error text of older CLI versions: `API Error: 429 {…}`.
fn status_in(message: &str) -> Option<u64> {
    let rest = message.strip_prefix("API Error: ")?;
    let digits = rest.split(' ').next().filter(|word| word.len() == 3)?;
    digits.parse().ok().filter(|status| (400..600).contains(status))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(failure: TurnFailure<'_>) -> (u16, String, &'static str) {
        match failure.ending() {
            Ending::Error(error) => (error.status, error.code.unwrap_or_default(), error.kind),
            other => panic!("{other:?}"),
        }
    }

    /// Seen with the real CLI: 2.1.325 gives a status, 2.1.61 and 2.1.9 do not.
    #[test]
    fn errors_of_the_api_keep_their_status() {
        let api = |status: u64, name: &'static str| TurnFailure {
            message: "m",
            api_status: Some(status),
            api_error: Some(name),
            subtype: "success",
            terminal_reason: Some("api_error"),
            ..TurnFailure::default()
        };
        for (failure, status, code, kind) in [
            (api(400, "unknown"), 400, "upstream_invalid_request", "invalid_request_error"),
            (api(401, "authentication_failed"), 401, "upstream_unauthorized", "authentication_error"),
            (api(402, "unknown"), 429, "insufficient_quota", "insufficient_quota"),
            (api(403, "authentication_failed"), 403, "upstream_forbidden", "permission_error"),
            (api(404, "model_not_found"), 404, "model_not_found", "invalid_request_error"),
            (api(413, "invalid_request"), 413, "request_too_large", "invalid_request_error"),
            (api(429, "rate_limit"), 429, "rate_limit_exceeded", "rate_limit_error"),
            (api(529, "server_error"), 503, "overloaded", "server_error"),
            (api(500, "server_error"), 502, "upstream_error", "server_error"),
        ] {
            assert_eq!(error(failure), (status, code.to_owned(), kind));
        }
        for (message, name, status) in [
            (r#"API Error: 429 {"type":"error"}"#, "unknown", 429),
            (r#"API Error: 400 {"type":"error"}"#, "unknown", 400),
            ("Invalid API key · Fix external API key", "authentication_failed", 401),
            ("API Error: 4290 bottles", "unknown", 500),
            ("Request too large. Try with a smaller file.", "invalid_request", 413),
            ("API Error: Connection error.", "unknown", 502),
            ("API Error: Connection dropped (ECONNRESET). Check the gateway.", "unknown", 502),
            ("I saw an API Error: 429", "unknown", 500),
        ] {
            let failure = TurnFailure { message, api_error: Some(name), ..TurnFailure::default() };
            assert_eq!(error(failure).0, status, "{message}");
        }
    }

    #[test]
    fn a_prompt_that_is_too_long_is_a_client_error() {
        let newest = TurnFailure {
            message: "Prompt is too long · the request is ~210000 tokens",
            api_status: Some(400),
            terminal_reason: Some("prompt_too_long"),
            ..TurnFailure::default()
        };
        let older = TurnFailure {
            message: "Prompt is too long",
            api_error: Some("invalid_request"),
            ..TurnFailure::default()
        };
        let with_answer = TurnFailure {
            message: r#"API Error: 400 {"error":{"message":"input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000"}}"#,
            api_error: Some("unknown"),
            ..TurnFailure::default()
        };
        let full =
            TurnFailure { stop_reason: Some("model_context_window_exceeded"), ..TurnFailure::default() };
        for failure in [newest, older, with_answer, full] {
            assert_eq!(error(failure).1, "context_length_exceeded");
        }
        let quoted = TurnFailure { message: "Prompt is too long", ..TurnFailure::default() };
        assert_eq!(error(quoted).1, "agent_failed");
    }

    #[test]
    fn cut_off_and_refused_answers_are_answers() {
        let long = TurnFailure { api_error: Some("max_output_tokens"), ..TurnFailure::default() };
        let rounds = TurnFailure { subtype: "error_max_turns", ..TurnFailure::default() };
        assert_eq!((long.ending(), rounds.ending()), (Ending::Truncated, Ending::Truncated));
        let refused = TurnFailure { stop_reason: Some("refusal"), message: "no", ..TurnFailure::default() };
        assert_eq!(refused.ending(), Ending::Refused("no".into()));
        let words = "API Error: Claude Code is unable to respond to this request, which appears to violate our Usage Policy";
        let older =
            TurnFailure { message: words, api_error: Some("invalid_request"), ..TurnFailure::default() };
        assert_eq!(older.ending(), Ending::Refused(words.into()));
        let quoted = TurnFailure { message: words, ..TurnFailure::default() };
        assert!(matches!(quoted.ending(), Ending::Error(_)));
    }

    #[test]
    fn other_failures_are_reported_as_what_they_are() {
        let of = |kind| TurnFailure { kind, message: "m", ..TurnFailure::default() };
        assert_eq!(error(of(FailureKind::TimedOut)).0, 504);
        assert_eq!(error(of(FailureKind::Died)).0, 502);
        assert_eq!(error(of(FailureKind::BudgetExhausted)).1, "insufficient_quota");
        assert_eq!(error(of(FailureKind::Unsupported)).0, 400);
        assert_eq!(error(of(FailureKind::Unauthorized)).0, 401);
        assert_eq!(error(of(FailureKind::Interrupted)).1, "interrupted");
        let budget = TurnFailure { subtype: "error_max_budget_usd", ..TurnFailure::default() };
        assert_eq!(error(budget).1, "insufficient_quota");
    }
}
