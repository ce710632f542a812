//! What a refusal of Telegram means for the bridge.

use weir_bridge::channel::OperationError;

use crate::api::ApiError;

/// What became of an operation that failed; `None` if it is as if it had been done.
pub(crate) fn judge(error: &ApiError) -> Option<OperationError> {
    let ApiError::Refused { code, description, retry_after } = error else {
        return Some(OperationError::Passing(error.to_string()));
    };
    let says = |words: &[&str]| words.iter().any(|word| description.contains(word));
    Some(match code {
        429 => {
            OperationError::RateLimited { retry_after_ms: retry_after.unwrap_or(5).clamp(1, 86_400) * 1_000 }
        }
        400 if says(&["message is not modified"]) => return None,
        400 if says(&[
            "message to edit not found",
            "message can't be edited",
            "MESSAGE_ID_INVALID",
            "message to delete not found",
            "message can't be deleted",
        ]) =>
        {
            OperationError::Gone(error.to_string())
        }
        400..=499 => OperationError::Refused(error.to_string()),
        _ => OperationError::Passing(error.to_string()),
    })
}

#[cfg(test)]
mod tests {
    use super::judge;
    use crate::api::ApiError;
    use weir_bridge::channel::OperationError;

    fn refused(code: i64, description: &str, retry_after: Option<i64>) -> Option<OperationError> {
        judge(&ApiError::Refused { code, description: description.into(), retry_after })
    }

    #[test]
    fn refusals_are_told_apart() {
        let same = "Bad Request: message is not modified: specified new message content and reply markup are exactly the same";
        assert_eq!(refused(400, same, None), None);
        assert!(matches!(
            refused(400, "Bad Request: message to edit not found", None),
            Some(OperationError::Gone(_))
        ));
        assert!(matches!(
            refused(400, "Bad Request: can't parse entities", None),
            Some(OperationError::Refused(_))
        ));
        assert!(matches!(
            refused(403, "Forbidden: bot was blocked by the user", None),
            Some(OperationError::Refused(_))
        ));
        assert_eq!(
            refused(429, "Too Many Requests: retry after 3", Some(3)),
            Some(OperationError::RateLimited { retry_after_ms: 3_000 })
        );
        assert!(matches!(refused(502, "Bad Gateway", None), Some(OperationError::Passing(_))));
    }
}
