//! The end of a turn: what clients are told, and how the next request finds the session.

use std::sync::Arc;

use weir_base::time::now_ms;
use weir_host::{Actor, FailureKind, Finished, HostError};
use weir_openai::reply::{Answer, End, Usage};
use weir_openai::{Ending, OpenAiError, OutputFormat, Place, Request, ToolCall, TurnFailure};

use super::errors::of_host;
use super::front::Claim;
use super::histories::Point;
use super::setup::response_key;
use super::turn::{Outcome, Turn, stop};
use crate::state::App;

/// `Retry-After` in seconds if the API does not give one.
const AFTER_RATE_LIMIT: u64 = 60;
const AFTER_OVERLOAD: u64 = 10;

/// What must be known about a request at the end of its turn.
#[derive(Debug, Clone)]
pub(super) struct RequestContext {
    pub(super) place: Place,
    pub(super) format: OutputFormat,
    /// Id of the token.
    pub(super) owner: String,
    /// The id of the reply, as the client sees it.
    pub(super) reply: String,
}

impl RequestContext {
    pub(super) fn new(request: &Request, place: Place, owner: &str, reply: String) -> Self {
        Self { place, format: request.format.clone(), owner: owner.to_owned(), reply }
    }

    /// Remembers the point to continue from if the client comes back with this answer.
    pub(super) fn remember(&self, app: &App, turn: &Turn, answer: &weir_openai::Turn, failed: bool) {
        app.front().histories().put(self.place.after(answer), point(turn, failed));
    }
}

fn point(turn: &Turn, failed: bool) -> Point {
    let begun = &turn.begun;
    Point {
        session: begun.session.clone(),
        message: begun.message.clone(),
        failed,
        setup: begun.setup.clone(),
    }
}

/// Waits for the end of a turn in a separate task, so that the session can be found again even if no client is waiting.
pub(super) fn settle(app: &App, turn: &Arc<Turn>, context: RequestContext, by: Actor, claim: Option<Claim>) {
    if !turn.begin_settling() {
        return;
    }
    let (app, turn) = (app.clone(), Arc::clone(turn));
    tokio::spawn(async move {
        let outcome = outcome(&app, &turn, &context, &by).await;
        let failed = matches!(outcome, Outcome::Error(_));
        {
            let mut histories = app.front().histories();
            histories.put(response_key(&context.owner, &context.reply), point(&turn, failed));
            let history = match &outcome {
                Outcome::Answer(answer, _) => context.place.after(&answer.turn()),
                Outcome::Error(_) => context.place.unanswered(),
            };
            histories.put(history, point(&turn, failed));
        }
        // Free the session before the client learns of the end and sends the next request.
        drop(claim);
        turn.end(outcome);
    });
}

async fn outcome(app: &App, turn: &Turn, context: &RequestContext, by: &Actor) -> Outcome {
    let (Some(session), message) = (turn.session(), turn.message()) else {
        return Outcome::Error(OpenAiError::failed("the session has no id"));
    };
    let limit = app.settings().openai.timeout;
    match tokio::time::timeout(limit, app.host().finished(&session, &message)).await {
        Ok(Ok(finished)) => judge(&finished, context),
        Ok(Err(HostError::NotFound(_) | HostError::NoSuchMessage)) => {
            Outcome::Error(OpenAiError::failed("the session was deleted before it answered"))
        }
        Ok(Err(error)) => Outcome::Error(of_host(error)),
        Err(_) => {
            stop(app, turn, by).await;
            let message = format!(
                "the turn took longer than the limit of {} seconds for requests like this and was interrupted; \
                 `weir serve --openai-timeout` sets the limit",
                limit.as_secs()
            );
            let failure =
                TurnFailure { kind: FailureKind::TimedOut, message: &message, ..Default::default() };
            ended(failure.ending(), String::new(), Usage::default())
        }
    }
}

/// What clients are told about a turn that has ended.
fn judge(finished: &Finished, context: &RequestContext) -> Outcome {
    let usage = usage(finished);
    let result = finished.turn.as_ref().and_then(|turn| turn.result.as_ref());
    if let Some(failure) = &finished.error {
        let failure = TurnFailure {
            kind: failure.kind,
            message: &failure.message,
            api_status: result
                .and_then(|result| result.api_error_status)
                .or_else(|| finished.api_error.as_ref().and_then(|error| error.status)),
            api_error: finished.api_error.as_ref().and_then(|error| error.error.as_deref()),
            subtype: result.map_or("", |result| result.subtype.as_str()),
            terminal_reason: result.and_then(|result| result.terminal_reason.as_deref()),
            stop_reason: result.and_then(|result| result.stop_reason.as_deref()),
        };
        let outcome = ended(failure.ending(), finished.said.clone(), usage);
        return with_retry_after(outcome, finished.rate_limit_resets_at);
    }
    let mut answer =
        Answer { text: finished.text.clone(), degraded: finished.is_degraded(), ..Answer::default() };
    match result.and_then(|result| result.stop_reason.as_deref()) {
        Some("max_tokens") => answer.end = End::Length,
        Some("refusal") => {
            answer.refusal = Some(std::mem::take(&mut answer.text));
            answer.end = End::Filter;
        }
        _ => {}
    }
    if context.format == OutputFormat::Text || answer.end != End::Stop {
        return Outcome::Answer(answer, usage);
    }
    let structured = result.map(|result| &result.structured_output).filter(|value| !value.is_null());
    let Some(structured) = structured else {
        let message = "the agent did not answer in the requested format; the schema must be a valid JSON \
                       Schema (draft 07), or the CLI cannot use it";
        return Outcome::Error(OpenAiError {
            status: 502,
            code: Some("structured_output_missing".to_owned()),
            ..OpenAiError::failed(message)
        });
    };
    answer.text = structured.to_string();
    if let OutputFormat::Call { name, .. } = &context.format {
        let id = format!("call_{}", context.reply.trim_start_matches("chatcmpl-"));
        answer.call = Some(ToolCall { id, name: name.clone(), arguments: answer.text.clone() });
    }
    Outcome::Answer(answer, usage)
}

fn ended(ending: Ending, said: String, usage: Usage) -> Outcome {
    match ending {
        Ending::Truncated => {
            Outcome::Answer(Answer { text: said, end: End::Length, ..Answer::default() }, usage)
        }
        Ending::Refused(why) => {
            Outcome::Answer(Answer { refusal: Some(why), end: End::Filter, ..Answer::default() }, usage)
        }
        Ending::Error(error) => Outcome::Error(error),
    }
}

/// Adds when a retry makes sense.
fn with_retry_after(outcome: Outcome, resets_at: Option<u64>) -> Outcome {
    let Outcome::Error(mut error) = outcome else { return outcome };
    let now = u64::try_from(now_ms() / 1_000).unwrap_or_default();
    let resets_in = resets_at.and_then(|at| at.checked_sub(now)).filter(|seconds| *seconds > 0);
    error.retry_after = match (error.status, error.kind) {
        (429, "rate_limit_error") => resets_in.or(Some(AFTER_RATE_LIMIT)),
        (503, _) => Some(AFTER_OVERLOAD),
        _ => None,
    };
    Outcome::Error(error)
}

/// Token usage of a turn.
fn usage(finished: &Finished) -> Usage {
    let usage = finished.turn.as_ref().and_then(|turn| turn.result.as_ref()).and_then(|result| result.usage);
    usage.map_or_else(Usage::default, |usage| Usage {
        input_tokens: usage.input_tokens + usage.cache_read_input_tokens + usage.cache_creation_input_tokens,
        cached_tokens: usage.cache_read_input_tokens,
        output_tokens: usage.output_tokens,
    })
}
