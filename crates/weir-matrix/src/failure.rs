//! What errors of the homeserver mean for the bridge.

use matrix_sdk::ruma::api::error::{ErrorKind, RetryAfter};
use matrix_sdk::{Error, HttpError};
use weir_base::error::with_causes;
use weir_bridge::channel::OperationError;

/// How long to wait if the homeserver does not say, in milliseconds.
const DEFAULT_WAIT: i64 = 5_000;

/// What a failed operation means for the bridge, or `None` if it counts as done.
pub(crate) fn judge(error: &Error) -> Option<OperationError> {
    match error {
        Error::Http(error) => judge_http(error),
        // The bot has left the room.
        Error::WrongRoomState(_) => {
            Some(OperationError::Refused("the bot is no longer in this room".to_owned()))
        }
        other => Some(OperationError::Passing(explain(other))),
    }
}

/// What a failed request means for the bridge, or `None` if it counts as done.
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
            OperationError::RateLimited {
                retry_after_ms: wait.unwrap_or(DEFAULT_WAIT).clamp(100, 86_400_000),
            }
        }
        (_, Some(429)) => OperationError::RateLimited { retry_after_ms: DEFAULT_WAIT },
        // The listener reports what to do about it.
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

/// An error with its causes, in one line.
pub(crate) fn explain(error: &Error) -> String {
    match error {
        Error::Http(error) => explain_http(error),
        other => with_causes(other),
    }
}

/// An error of a request with its causes, in one line.
pub(crate) fn explain_http(error: &HttpError) -> String {
    match original(error) {
        error @ HttpError::Reqwest(_) => format!("the homeserver cannot be reached: {}", with_causes(error)),
        other => with_causes(other),
    }
}

/// Unwraps errors of requests whose response would have been cached.
fn original(error: &HttpError) -> &HttpError {
    match error {
        HttpError::Cached(error) => original(error),
        other => other,
    }
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
    fn errors_are_told_apart() {
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
