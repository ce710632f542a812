//! What a refusal of the homeserver means for the bridge.

use matrix_sdk::ruma::api::error::{ErrorKind, RetryAfter};
use matrix_sdk::{Error, HttpError};
use weir_bridge::channel::OperationError;

/// How long to wait where the homeserver does not say it.
const USUAL_WAIT: i64 = 5_000;

/// What became of an operation that failed; `None` if it is as if it had been done.
pub(crate) fn judge(error: &Error) -> Option<OperationError> {
    match error {
        Error::Http(error) => judge_http(error),
        // We were in the room and are not any more.
        Error::WrongRoomState(_) => {
            Some(OperationError::Refused("the bot is not in this room any more".to_owned()))
        }
        other => Some(OperationError::Passing(explain(other))),
    }
}

/// What became of a request that failed; `None` if it is as if it had been done.
pub(crate) fn judge_http(error: &HttpError) -> Option<OperationError> {
    let error = original(error);
    let status = error.as_client_api_error().map(|error| error.status_code.as_u16());
    judge_kind(error.client_api_error_kind(), status, explain_http(error))
}

fn judge_kind(kind: Option<&ErrorKind>, status: Option<u16>, reason: String) -> Option<OperationError> {
    Some(match (kind, status) {
        (Some(ErrorKind::DuplicateAnnotation), _) => return None,
        (Some(ErrorKind::LimitExceeded(limit)), _) => {
            let wait = match &limit.retry_after {
                Some(RetryAfter::Delay(wait)) => i64::try_from(wait.as_millis()).ok(),
                _ => None,
            };
            OperationError::RateLimited { retry_after_ms: wait.unwrap_or(USUAL_WAIT).clamp(100, 86_400_000) }
        }
        (_, Some(429)) => OperationError::RateLimited { retry_after_ms: USUAL_WAIT },
        // The listener tells what to do about it.
        (Some(ErrorKind::UnknownToken(_) | ErrorKind::MissingToken), _) => OperationError::Passing(reason),
        (Some(ErrorKind::NotFound), _) => OperationError::Gone(reason),
        (_, Some(400..=499)) => OperationError::Refused(reason),
        _ => OperationError::Passing(reason),
    })
}

/// Whether the homeserver has ended the login.
pub(crate) fn is_logged_out(error: &Error) -> bool {
    matches!(error.client_api_error_kind(), Some(ErrorKind::UnknownToken(_) | ErrorKind::MissingToken))
}

/// An error with its causes, in a line.
pub(crate) fn explain(error: &Error) -> String {
    match error {
        Error::Http(error) => explain_http(error),
        other => with_causes(other),
    }
}

/// An error of a request with its causes, in a line.
pub(crate) fn explain_http(error: &HttpError) -> String {
    match original(error) {
        error @ HttpError::Reqwest(_) => format!("the homeserver cannot be reached: {}", with_causes(error)),
        other => with_causes(other),
    }
}

/// The error itself, where it is wrapped because its answer would have been kept.
fn original(error: &HttpError) -> &HttpError {
    match error {
        HttpError::Cached(error) => original(error),
        other => other,
    }
}

fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        source = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use matrix_sdk::ruma::api::error::{ErrorKind, LimitExceededErrorData, RetryAfter};
    use weir_bridge::channel::OperationError;

    use super::judge_kind;

    fn judge(kind: Option<&ErrorKind>, status: u16) -> Option<OperationError> {
        judge_kind(kind, Some(status), "because".to_owned())
    }

    #[test]
    fn refusals_are_told_apart() {
        assert_eq!(judge(Some(&ErrorKind::DuplicateAnnotation), 400), None);
        assert!(matches!(judge(Some(&ErrorKind::TooLarge), 413), Some(OperationError::Refused(_))));
        assert!(matches!(judge(Some(&ErrorKind::Forbidden), 403), Some(OperationError::Refused(_))));
        assert!(matches!(judge(Some(&ErrorKind::NotFound), 404), Some(OperationError::Gone(_))));
        assert!(matches!(judge(None, 502), Some(OperationError::Passing(_))));
        let mut limit = LimitExceededErrorData::new();
        limit.retry_after = Some(RetryAfter::Delay(Duration::from_millis(1_500)));
        assert_eq!(
            judge(Some(&ErrorKind::LimitExceeded(limit)), 429),
            Some(OperationError::RateLimited { retry_after_ms: 1_500 })
        );
        assert_eq!(judge(None, 429), Some(OperationError::RateLimited { retry_after_ms: 5_000 }));
        assert!(matches!(judge_kind(None, None, String::new()), Some(OperationError::Passing(_))));
    }
}
