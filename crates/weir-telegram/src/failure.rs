//! What errors of Telegram mean for the bridge.

use serde::Deserialize as _;
use teloxide_core::types::MessageId;
use teloxide_core::{ApiError, RequestError};
use weir_bridge::channel::OperationError;

/// What a failed operation means for the bridge, or `None` if it counts as done. `why` describes the error.
pub(crate) fn judge(error: &RequestError, why: String) -> Option<OperationError> {
    match error {
        RequestError::RetryAfter(time) => {
            let seconds = i64::from(time.seconds()).clamp(1, 86_400);
            Some(OperationError::RateLimited { retry_after_ms: seconds * 1_000 })
        }
        RequestError::MigrateToChatId(_) => Some(OperationError::Refused(why)),
        RequestError::Network(_) | RequestError::InvalidJson { .. } | RequestError::Io(_) => {
            Some(OperationError::Passing(why))
        }
        RequestError::Api(error) => match error {
            ApiError::MessageNotModified => None,
            ApiError::MessageToEditNotFound
            | ApiError::MessageCantBeEdited
            | ApiError::MessageIdInvalid
            | ApiError::MessageToDeleteNotFound
            | ApiError::MessageCantBeDeleted => Some(OperationError::Gone(why)),
            ApiError::Unknown(description) => unknown(description, why),
            _ => Some(OperationError::Refused(why)),
        },
    }
}

/// An error that the library does not know. The description starts with the name of the HTTP status.
fn unknown(description: &str, why: String) -> Option<OperationError> {
    let says = |words: &[&str]| words.iter().any(|word| description.contains(word));
    if says(&["message is not modified"]) {
        return None;
    }
    if says(&["message to edit not found", "message can't be edited", "message can't be deleted"]) {
        return Some(OperationError::Gone(why));
    }
    let is_final = ["Bad Request", "Unauthorized", "Forbidden", "Not Found", "Conflict"];
    Some(if is_final.iter().any(|status| description.starts_with(status)) {
        OperationError::Refused(why)
    } else if description.starts_with("Too Many Requests") {
        OperationError::RateLimited { retry_after_ms: 5_000 }
    } else {
        OperationError::Passing(why)
    })
}

/// Whether the picture is the reason, and not the chat. Then it can be sent as a document.
pub(crate) fn is_about_the_picture(error: &RequestError) -> bool {
    match error {
        RequestError::Api(ApiError::ImageProcessFailed) => true,
        RequestError::Api(ApiError::Unknown(description)) => description.contains("PHOTO_"),
        _ => false,
    }
}

/// The result of a call that succeeded although the library cannot parse the response, for example because it has a
/// newer kind of message. Repeating the call would post twice.
pub(crate) fn done_despite_error(error: &RequestError) -> Option<Option<MessageId>> {
    let RequestError::InvalidJson { raw, .. } = error else { return None };
    let answer: serde_json::Value = serde_json::from_str(raw).ok()?;
    let is_done = answer.get("ok").and_then(serde_json::Value::as_bool)?;
    is_done.then(|| answer.get("result").and_then(|result| MessageId::deserialize(result).ok()))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use teloxide_core::types::{MessageId, Seconds};
    use teloxide_core::{ApiError, RequestError};
    use weir_bridge::channel::OperationError;

    use super::{done_despite_error, judge};

    /// The error that the library makes of a description.
    fn refused(description: &str) -> Option<OperationError> {
        let error: ApiError = serde_json::from_value(description.into()).unwrap();
        judge(&RequestError::Api(error), description.to_owned())
    }

    #[test]
    fn errors_are_told_apart() {
        let same = "Bad Request: message is not modified: specified new message content and reply markup are exactly the same";
        assert_eq!(refused(same), None);
        assert!(matches!(refused("Bad Request: message to edit not found"), Some(OperationError::Gone(_))));
        for words in
            ["Bad Request: can't parse entities", "Forbidden: bot was blocked by the user", "Forbidden: news"]
        {
            assert!(matches!(refused(words), Some(OperationError::Refused(_))), "{words}");
        }
        assert!(matches!(refused("Bad Gateway"), Some(OperationError::Passing(_))));
        assert_eq!(
            judge(&RequestError::RetryAfter(Seconds::from_seconds(3)), String::new()),
            Some(OperationError::RateLimited { retry_after_ms: 3_000 })
        );
    }

    #[test]
    fn calls_that_succeeded_are_not_repeated() {
        let answered = |raw: &str| {
            let source = Arc::new(serde_json::from_str::<bool>("{}").unwrap_err());
            done_despite_error(&RequestError::InvalidJson { source, raw: raw.into() })
        };
        let newer = r#"{"ok":true,"result":{"message_id":7,"chat":{"type":"hall"}}}"#;
        assert_eq!(answered(newer), Some(Some(MessageId(7))));
        assert_eq!(answered(r#"{"ok":true,"result":"yes"}"#), Some(None));
        assert_eq!(answered(r#"{"ok":false}"#), None);
        assert_eq!(answered("<html>"), None);
    }
}
