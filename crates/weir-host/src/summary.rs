//! Derives a session's summary, outcomes and failures from its view, its log and its settings.

use weir_base::error::with_causes;
use weir_base::text::shorten;
use weir_session::{SessionError, StartError};
use weir_store::SessionUpdate;
use weir_transcript::{
    Change, EntryBody, Failure, FailureKind, MessageState, Status, Turn, TurnState, UserSource,
};
use weir_wire::MessageId;

use crate::info::{SessionInfo, SessionStatus, WaitingFor};
use crate::live_session::{Shortage, State};
use crate::log_state::{LogState, TurnAnswer, answer_to};
use crate::message::Finished;
use crate::metrics::{Counters, count};

/// How many characters of the first message become the title.
const MAX_TITLE: usize = 80;

/// What the session has cost, without what it inherited.
pub(crate) fn cost(state: &State) -> Option<f64> {
    let spent = state.view.cost.usd?;
    Some((spent - state.kept.inherited_usd.unwrap_or(0.0)).max(0.0))
}

/// The CLI's name for the session, once it has one of its own, and not while it is taken back to an earlier point.
pub(crate) fn cli_session(state: &State) -> Option<String> {
    let id = state.view.session.id.as_ref().filter(|_| state.log.rewound().is_none())?;
    Some(id.as_str().to_owned()).filter(|id| state.kept.fork_of.as_ref() != Some(id))
}

/// The part of a summary that is not text. It is compared after every event, and the summary is only built if it has
/// changed or [`is_told_by`] the change.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Figures {
    status: SessionStatus,
    background: bool,
    waiting_for: WaitingFor,
    has_process: bool,
    queued: u32,
    cost_usd: Option<f64>,
    /// Changes with the messages.
    pub(crate) messages: u64,
}

pub(crate) fn figures(state: &State) -> Figures {
    let (log, view) = (&state.log, &state.view);
    let status = if state.stopping > 0 { SessionStatus::Stopping } else { log.status(view) };
    Figures {
        status,
        background: status == SessionStatus::Running && view.status == Status::Background,
        waiting_for: WaitingFor {
            process: state.waits_for == Some(Shortage::Process),
            budget: state.waits_for == Some(Shortage::Budget),
            ..LogState::waiting_for(view)
        },
        has_process: log.has_process()
            || status == SessionStatus::Starting && log.messages.is_any_in_flight(),
        queued: u32::try_from(log.messages.queued().count()).unwrap_or(u32::MAX),
        cost_usd: cost(state),
        messages: log.messages.revision(),
    }
}

/// Whether a change may change a text of the summary.
pub(crate) fn is_told_by(change: &Change<'_>) -> bool {
    match change {
        Change::EntryAdded(entry) | Change::EntryReplaced(entry) => matches!(entry.body, EntryBody::User(_)),
        Change::TextAppended { .. }
        | Change::TextReplaced { .. }
        | Change::BlockEnded { .. }
        | Change::InputAppended { .. }
        | Change::ToolState { .. }
        | Change::ToolEnded { .. }
        | Change::FileChanged(_)
        | Change::MessageUsed(_) => false,
        _ => true,
    }
}

/// The session at a glance.
pub(crate) fn info(state: &State) -> SessionInfo {
    info_with(state, figures(state))
}

/// The same, if the figures are known.
pub(crate) fn info_with(state: &State, figures: Figures) -> SessionInfo {
    let (log, view) = (&state.log, &state.view);
    let Figures { status, background, waiting_for, has_process, queued, cost_usd, messages: _ } = figures;
    let stored = SessionInfo::with(&state.row, &state.kept);
    let mode = view.session.permission_mode.clone().filter(|_| log.has_process());
    SessionInfo {
        name: stored.name.or_else(|| view.session.title.as_deref().and_then(first_words)),
        title: title(state),
        model: stored.model.or_else(|| view.session.model.clone()),
        permission_mode: mode.or_else(|| state.kept.spec.permission_mode.clone()),
        status,
        background,
        waiting_for,
        has_process,
        queued,
        cost_usd,
        cli_session_id: cli_session(state),
        newest_seq: log.newest(),
        last_error: last_error(state, status),
        ..stored
    }
}

/// The CLI's own title, or the beginning of the first message.
fn title(state: &State) -> Option<String> {
    let view = &state.view;
    let first_message = || {
        view.entries.iter().find_map(|entry| match &entry.body {
            EntryBody::User(user) if user.source == UserSource::Host && !user.automatic => {
                first_words(&user.text)
            }
            _ => None,
        })
    };
    let own = view.session.title.as_deref().and_then(first_words);
    own.or_else(|| state.kept.title.clone()).or_else(first_message)
}

/// The first line with text, shortened, with what could hide or reorder something made visible.
pub(crate) fn first_words(text: &str) -> Option<String> {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty())?;
    let shown = weir_transcript::reveal(line);
    Some(shorten(&shown, MAX_TITLE).into_owned())
}

/// Whether the session ended with its process, because nothing of it is kept.
pub(crate) fn is_gone(state: &State) -> bool {
    state.kept.spec.no_session_persistence && cli_session(state).is_some() && !state.log.has_process()
}

fn last_error(state: &State, status: SessionStatus) -> Option<String> {
    if let Some(failure) = state.log.failure() {
        return Some(failure.message.clone());
    }
    if status != SessionStatus::Failed {
        return None;
    }
    state.view.turns.last().map(|turn| failure_of(turn).message)
}

/// Whether two glances show the same, but for what changes with every event.
pub(crate) fn is_same(new: &mut SessionInfo, old: &SessionInfo) -> bool {
    // Set to the same meanwhile, which costs less than a copy.
    let newest_seq = std::mem::replace(&mut new.newest_seq, old.newest_seq);
    let updated_at = std::mem::replace(&mut new.updated_at, old.updated_at);
    let is_same = *new == *old;
    (new.newest_seq, new.updated_at) = (newest_seq, updated_at);
    is_same
}

/// The update for the store, if anything has changed. Marks it as stored.
pub(crate) fn update(state: &mut State, info: &SessionInfo) -> Option<SessionUpdate> {
    let mut update = SessionUpdate::default();
    if state.row.status != info.status.as_str() {
        update.status = Some(info.status.as_str().to_owned());
        state.row.status = info.status.as_str().to_owned();
    }
    if let Some(cost) = info.cost_usd.filter(|_| state.row.cost_usd != info.cost_usd) {
        update.cost_usd = Some(cost);
        state.row.cost_usd = Some(cost);
    }
    if let Some(session) = &info.cli_session_id
        && state.row.cli_sessions.last() != Some(session)
    {
        state.row.cli_sessions.push(session.clone());
        update.cli_session = Some(session.clone());
    }
    state.kept.queued = info.queued;
    state.kept.permissions = info.waiting_for.permissions;
    state.kept.questions = info.waiting_for.questions;
    state.kept.title.clone_from(&info.title);
    state.kept.last_error.clone_from(&info.last_error);
    if state.kept != state.stored {
        state.stored = state.kept.clone();
        update.settings = Some(serde_json::to_value(&state.kept).unwrap_or_default());
    }
    if update.is_empty() {
        return None;
    }
    update.at = Some(state.row.updated_at);
    Some(update)
}

/// How a message came to its end.
pub(crate) fn finished(state: &State, message: &MessageId) -> Option<Finished> {
    let record = state.log.messages.get(message)?;
    let answer = answer_to(&state.view, message);
    Some(finish(message, record.state, record.failure.clone(), answer, cost(state)))
}

/// How a message came to its end, from its parts.
pub(crate) fn finish(
    message: &MessageId,
    state: MessageState,
    failure: Option<Failure>,
    answer: TurnAnswer,
    total_cost_usd: Option<f64>,
) -> Finished {
    let TurnAnswer { text, said, api_error, rate_limit_resets_at, turn } = answer;
    let of_turn = || turn.as_ref().filter(|turn| turn.state.is_cut_short()).map(failure_of);
    let of_state = || match state {
        MessageState::Cancelled => Some(failure_with(FailureKind::Cancelled, "the message was cancelled")),
        MessageState::Indeterminate => Some(failure_with(
            FailureKind::Died,
            "the CLI ended before it reported what happened to the message",
        )),
        MessageState::Failed => Some(failure_with(FailureKind::Error, "the message could not be sent")),
        _ => None,
    };
    let error = failure.or_else(of_turn).or_else(of_state);
    Finished {
        message_id: message.clone(),
        state,
        text,
        said,
        api_error,
        rate_limit_resets_at,
        turn,
        total_cost_usd,
        error,
    }
}

fn failure_with(kind: FailureKind, message: impl Into<String>) -> Failure {
    Failure { kind, message: message.into() }
}

/// The failure of a turn that was running when the host ended.
pub(crate) fn restarted() -> Failure {
    failure_with(FailureKind::Restarted, "the turn was interrupted by a restart of Weir")
}

/// Why a turn failed.
fn failure_of(turn: &Turn) -> Failure {
    let Some(result) = &turn.result else {
        return match turn.state {
            TurnState::Interrupted => restarted(),
            _ => failure_with(FailureKind::Died, "the CLI ended before the turn did"),
        };
    };
    if turn.state == TurnState::Interrupted {
        return failure_with(FailureKind::Interrupted, "the turn was interrupted");
    }
    failure_with(FailureKind::Error, result.error())
}

/// Why a session did not answer a message.
pub(crate) fn failure_by(error: &SessionError) -> Failure {
    let kind = match error {
        SessionError::NotStarted(error)
            if matches!(**error, StartError::Unsupported { .. } | StartError::TooOld(_)) =>
        {
            FailureKind::Unsupported
        }
        SessionError::NotSupported { .. } => FailureKind::Unsupported,
        SessionError::NotStarted(_) => FailureKind::NotStarted,
        SessionError::Died { exit, .. } if exit.is_success() => FailureKind::NoResult,
        SessionError::Died { .. } => FailureKind::Died,
        SessionError::TimedOut { .. } => FailureKind::TimedOut,
        SessionError::BudgetExhausted { .. } => FailureKind::BudgetExhausted,
        SessionError::Cancelled => FailureKind::Cancelled,
        SessionError::Interrupted => FailureKind::Interrupted,
        SessionError::Stopped => FailureKind::Stopped,
        _ => FailureKind::Error,
    };
    failure_with(kind, with_causes(error))
}

pub(crate) fn count_turns(ended: &[Turn], counters: &Counters) {
    for turn in ended {
        let counter =
            if turn.state.is_cut_short() { &counters.turns_failed } else { &counters.turns_succeeded };
        count(counter, 1);
        counters.add_cost(turn.cost_usd.unwrap_or(0.0));
        if let Some(duration) = turn.result.as_ref().and_then(|result| result.duration_ms) {
            counters.turns.record(duration as f64 / 1000.0);
        }
    }
}
