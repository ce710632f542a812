//! How a prompt ends, and what errors of the host are in the protocol.

use agent_client_protocol::v1::schema::{self, PromptResponse, StopReason, Usage};
use agent_client_protocol::{Error, ErrorCode};
use serde_json::json;
use weir_host::{Finished, HostError, MessageState};
use weir_transcript::{FailureKind, TokenUsage, TurnState};

use super::meta;

/// Answers a prompt.
///
/// # Errors
/// Why a turn failed, other than that it was cancelled or reached a limit of the model.
pub(crate) fn prompt_end(finished: &Finished, was_cancelled: bool) -> Result<PromptResponse, Error> {
    let stop = stop_reason(finished, was_cancelled)?;
    let mut response = PromptResponse::new(stop);
    if let Some(turn) = &finished.turn {
        response =
            response.usage(turn.result.as_ref().and_then(|result| result.usage).map(|usage| tokens(&usage)));
    }
    let cost = json!({
        "messageId": finished.message_id.as_str(),
        "costUsd": finished.cost_usd(),
        "totalCostUsd": finished.total_cost_usd,
    });
    Ok(response.meta(meta("weir", cost)))
}

fn stop_reason(finished: &Finished, was_cancelled: bool) -> Result<StopReason, Error> {
    let result = finished.turn.as_ref().and_then(|turn| turn.result.as_ref());
    let kind = finished.error.as_ref().map(|failure| failure.kind);
    let was_interrupted = finished.turn.as_ref().is_some_and(|turn| turn.state == TurnState::Interrupted)
        || matches!(kind, Some(FailureKind::Interrupted | FailureKind::Cancelled | FailureKind::Stopped))
        || finished.state == MessageState::Cancelled;
    // The protocol wants this for a prompt that was cancelled, whatever came of it.
    if was_interrupted || was_cancelled {
        return Ok(StopReason::Cancelled);
    }
    // The CLI reports this limit as an error of the API.
    let api_error = finished.api_error.as_ref().and_then(|error| error.error.as_deref());
    if api_error == Some("max_output_tokens") {
        return Ok(StopReason::MaxTokens);
    }
    if let Some(result) = result {
        match (result.subtype.as_str(), result.stop_reason.as_deref()) {
            ("error_max_turns", _) => return Ok(StopReason::MaxTurnRequests),
            (_, Some("max_tokens")) => return Ok(StopReason::MaxTokens),
            (_, Some("refusal")) => return Ok(StopReason::Refusal),
            _ => {}
        }
    }
    match (&finished.error, finished.state) {
        (Some(failure), _) => {
            let api = finished.api_error.as_ref();
            let is_login = api.and_then(|error| error.error.as_deref()) == Some("authentication_failed")
                || api.and_then(|error| error.status) == Some(401)
                || result.and_then(|result| result.api_error_status) == Some(401);
            let code = if is_login { ErrorCode::from(schema::ErrorCode::AuthRequired) } else { internal() };
            let data = json!({
                "code": format!("{:?}", failure.kind).to_lowercase(),
                "resetsAt": finished.rate_limit_resets_at,
            });
            Err(Error::new(code, failure.message.clone()).data(data))
        }
        (None, MessageState::Answered) => Ok(StopReason::EndTurn),
        (None, state) => {
            Err(Error::new(internal(), format!("the prompt has no answer: it is {}", state.as_str())))
        }
    }
}

fn internal() -> ErrorCode {
    Error::internal_error().code
}

fn tokens(usage: &TokenUsage) -> Usage {
    let read = usage.input_tokens + usage.cache_read_input_tokens + usage.cache_creation_input_tokens;
    Usage::new(read + usage.output_tokens, usage.input_tokens, usage.output_tokens)
        .cached_read_tokens(usage.cache_read_input_tokens)
        .cached_write_tokens(usage.cache_creation_input_tokens)
}

/// An error of the host.
pub(crate) fn host_error(error: &HostError) -> Error {
    let code = match error {
        HostError::NotFound(id) => return session_not_found(id.as_str()),
        HostError::Folder { .. }
        | HostError::Invalid(_)
        | HostError::Archived
        | HostError::NotKept
        | HostError::BadAnswer(_)
        | HostError::NoSuchMessage
        | HostError::NoSuchRequest => Error::invalid_params().code,
        _ => internal(),
    };
    let mut data = json!({"code": error.code()});
    if let (HostError::Busy { retry_after }, Some(members)) = (error, data.as_object_mut()) {
        members.insert("retryAfterSeconds".to_owned(), retry_after.as_secs().into());
    }
    Error::new(code, error.to_string()).data(data)
}

/// A session that does not exist, or that the editor may not know of.
pub(crate) fn session_not_found(id: &str) -> Error {
    schema::Error::session_not_found(id.to_owned()).into()
}

/// Something that the editor may not do.
pub(crate) fn forbidden(reason: impl Into<String>) -> Error {
    Error::new(Error::invalid_request().code, reason).data(json!({"code": "forbidden"}))
}

/// A parameter that cannot be used.
pub(crate) fn invalid(reason: impl Into<String>) -> Error {
    Error::new(Error::invalid_params().code, reason)
}
