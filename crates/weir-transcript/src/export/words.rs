//! States, times and amounts in words.

use serde_json::Value;
use weir_base::money::dollars;
use weir_base::time::{Utc, duration_text};

use crate::view::{
    AgentState, Cost, Notice, Request, RequestState, ToolState, Turn, TurnCause, TurnState, UnknownReason,
    View,
};

/// A title for the session.
pub(super) fn title(view: &View) -> String {
    let title = view.session.title.as_deref().filter(|title| !title.trim().is_empty());
    let first = || {
        view.entries.iter().find_map(|entry| match &entry.body {
            crate::view::EntryBody::User(user) if entry.parent.is_none() => Some(user.text.as_str()),
            _ => None,
        })
    };
    title.or_else(first).map_or_else(|| "Session".to_owned(), |text| super::clean::short(text, 80))
}

/// Facts about the session, each with its name.
pub(super) fn facts(view: &View) -> Vec<(&'static str, String)> {
    let session = &view.session;
    let named = [
        ("Model", session.model.clone()),
        ("Folder", session.cwd.clone()),
        ("Started", view.entries.iter().find_map(|entry| entry.at).and_then(time)),
        ("Claude Code", session.version.clone()),
        ("Session", session.id.as_ref().map(|id| id.as_str().to_owned())),
    ];
    named.into_iter().filter_map(|(name, value)| Some((name, super::clean::one_line(&value?)))).collect()
}

/// A time for people, in UTC. Times before 1970 are not times of a session.
pub(super) fn time(milliseconds: i64) -> Option<String> {
    let utc = utc(milliseconds)?;
    Some(format!("{} {} UTC", utc.date(), utc.clock()))
}

/// The time of day, in UTC.
pub(super) fn clock(milliseconds: i64) -> Option<String> {
    utc(milliseconds).map(Utc::clock)
}

fn utc(milliseconds: i64) -> Option<Utc> {
    (milliseconds >= 0).then(|| Utc::from_ms(milliseconds))
}

/// A number with thousands separators.
pub(super) fn number(value: u64) -> String {
    let digits = value.to_string();
    let mut grouped = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// A remark about a call's state; `None` if it succeeded.
pub(super) fn tool_state(state: ToolState) -> Option<&'static str> {
    match state {
        ToolState::Succeeded => None,
        ToolState::Pending | ToolState::Running => Some("still running"),
        ToolState::WaitingForPermission => Some("waiting for permission"),
        ToolState::Failed => Some("failed"),
        ToolState::Denied => Some("not allowed"),
        ToolState::Interrupted => Some("interrupted"),
        ToolState::Unknown => Some("no result"),
    }
}

pub(super) fn agent_state(state: AgentState) -> &'static str {
    match state {
        AgentState::Running => "still running",
        AgentState::Completed => "done",
        AgentState::Failed => "failed",
        AgentState::Stopped => "stopped",
        AgentState::Unknown => "outcome unknown",
    }
}

/// A remark for the end of a turn.
pub(super) fn turn_end(turn: &Turn) -> Option<String> {
    let state = match turn.state {
        TurnState::Succeeded | TurnState::Empty => None,
        TurnState::Running => Some("still running"),
        TurnState::Failed => Some("failed"),
        TurnState::Interrupted => Some("interrupted"),
        TurnState::Degraded => Some("ended without a result"),
        TurnState::Lost => Some("lost: the CLI ended"),
    };
    let mut words: Vec<String> = state.map(str::to_owned).into_iter().collect();
    if let Some(result) = &turn.result {
        words.extend(result.errors.iter().map(|error| super::clean::short(error, 200)));
        // Without the time in which it waited for a person.
        words.extend(result.duration_ms.map(|took| duration_text(took.saturating_sub(turn.waited_ms))));
    }
    words.extend(turn.cost_usd.filter(|cost| *cost > 0.0).map(dollars));
    (!words.is_empty()).then(|| words.join(" · "))
}

/// Why an unasked turn began.
pub(super) fn unasked(turn: &Turn) -> Option<String> {
    match &turn.cause {
        TurnCause::Unasked { origin: Some(origin) } => Some(format!("continued on its own ({origin})")),
        TurnCause::Unasked { origin: None } => Some("continued on its own".to_owned()),
        TurnCause::Message | TurnCause::Presumed => None,
    }
}

/// The decision about a request, if it is worth mentioning.
pub(super) fn request(request: &Request) -> Option<String> {
    let by = |by: &Option<String>| by.as_ref().map(|by| format!(" by {by}")).unwrap_or_default();
    match &request.state {
        RequestState::Open => Some("waiting for a decision".to_owned()),
        RequestState::Allowed { by: who, .. } => Some(format!("allowed{}", by(who))),
        RequestState::Denied { by: who, message } => {
            let reason = message.as_ref().map(|message| format!(": {message}")).unwrap_or_default();
            Some(format!("denied{}{reason}", by(who)))
        }
        RequestState::Expired => Some("no decision in time".to_owned()),
        RequestState::Cancelled => Some("cancelled".to_owned()),
        RequestState::Settled => None,
    }
}

/// A notice as a sentence.
pub(super) fn notice(notice: &Notice) -> String {
    let or_unknown = |value: Option<u64>| value.map_or_else(|| "?".to_owned(), number);
    match notice {
        Notice::ApiRetry { attempt, max_retries, status, error, .. } => {
            let of = max_retries.map(|max| format!(" of {max}")).unwrap_or_default();
            let status = status.map(|status| format!(" {status}")).unwrap_or_default();
            let error = error.as_ref().map(|error| format!(" ({error})")).unwrap_or_default();
            format!("The API failed{status}{error}; attempt {attempt}{of}")
        }
        Notice::RateLimit { status, resets_at, limit } => {
            let limit = limit.as_ref().map(|limit| format!(" ({limit})")).unwrap_or_default();
            let until = resets_at.and_then(|at| i64::try_from(at).ok()?.checked_mul(1000)).and_then(time);
            let until = until.map(|until| format!(" until {until}")).unwrap_or_default();
            format!("Usage limit: {status}{limit}{until}")
        }
        Notice::Compaction { pre_tokens, post_tokens, .. } => format!(
            "The history was replaced by a summary: {} tokens before, {} after",
            or_unknown(*pre_tokens),
            or_unknown(*post_tokens)
        ),
        Notice::Interrupted => "Interrupted".to_owned(),
        Notice::Reset { .. } => "The session starts over".to_owned(),
        Notice::Rewound { .. } => "The conversation was taken back to an earlier message".to_owned(),
        Notice::ModelFallback { from, to, text } => text.clone().unwrap_or_else(|| {
            let name = |model: &Option<String>| model.clone().unwrap_or_else(|| "another model".to_owned());
            format!("{} takes over from {}", name(to), name(from))
        }),
        Notice::CommandOutput { text }
        | Notice::PlainText { text }
        | Notice::Info { text, .. }
        | Notice::ToolSummary { text, .. } => text.clone(),
        Notice::Login { text, error } => error.clone().unwrap_or_else(|| text.clone()),
        Notice::ProcessEnded { code, signal, stderr } => {
            let how = match (code, signal) {
                (_, Some(signal)) => format!("by signal {signal}"),
                (Some(code), None) => format!("with exit code {code}"),
                (None, None) => "for an unknown reason".to_owned(),
            };
            let tail = super::clean::short(stderr, 400);
            if tail.is_empty() {
                format!("The CLI ended {how}")
            } else {
                format!("The CLI ended {how}: {tail}")
            }
        }
        Notice::Error { message } => message.clone(),
    }
}

pub(super) fn unknown(reason: UnknownReason) -> &'static str {
    match reason {
        UnknownReason::UnknownType => "a line of an unknown type",
        UnknownReason::Mismatch => "a line in an unexpected shape",
        UnknownReason::NotJson => "a line that is not JSON",
        UnknownReason::Oversize => "a line that is too long",
        UnknownReason::UnknownBlock => "a block of an unknown type",
        UnknownReason::BlockMismatch => "a block in an unexpected shape",
    }
}

/// The rows of the cost table: model, tokens in, from the cache, to the cache, out, and dollars.
pub(super) fn cost_rows(cost: &Cost) -> Vec<[String; 6]> {
    let rows = cost.models.iter().map(|model| {
        [
            super::clean::one_line(&model.model),
            number(model.input_tokens),
            number(model.cache_read_tokens),
            number(model.cache_creation_tokens),
            number(model.output_tokens),
            dollars(model.usd),
        ]
    });
    rows.collect()
}

/// The headings of that table.
pub(super) const COST_HEADS: [&str; 6] = ["Model", "Input", "From cache", "To cache", "Output", "Cost"];

/// An answer to a question, in words.
pub(super) fn answer(answers: Option<&Value>, question: &str) -> Option<String> {
    match answers?.get(question)? {
        Value::String(label) => Some(label.clone()),
        Value::Array(labels) => Some(labels.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", ")),
        other => Some(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::{clock, number, time};

    #[test]
    fn times_match_the_calendar() {
        assert_eq!(time(0).as_deref(), Some("1970-01-01 00:00 UTC"));
        assert_eq!(time(1_794_726_184_346).as_deref(), Some("2026-11-15 07:03 UTC"));
        assert_eq!(time(1_709_251_199_000).as_deref(), Some("2024-02-29 23:59 UTC"));
        assert_eq!(time(1_709_251_200_000).as_deref(), Some("2024-03-01 00:00 UTC"));
        assert_eq!(clock(1_794_726_184_346).as_deref(), Some("07:03"));
        assert_eq!(time(-1), None);
    }

    #[test]
    fn amounts_are_readable() {
        assert_eq!([7, 1_000, 1_234_567].map(number), ["7", "1,000", "1,234,567"]);
    }
}
