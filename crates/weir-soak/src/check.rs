//! Invariants that must hold whatever happened.

use std::collections::HashMap;

use weir_session::TurnEnd;
use weir_testkit::scenario::outline;
use weir_transcript::{EntryBody, MessageState, UserSource, View};
use weir_wire::MessageId;

use crate::place::Place;
use crate::plan::{MODEL, Plan, STEP_USD};
use crate::recorder::Recorder;

/// Tolerance when comparing dollars.
const CENT_OF_A_CENT: f64 = 1e-6;

/// A reply belongs to its message: its text has the token of a message of its turn, and the message is one of those.
pub(crate) fn answer(
    message: &MessageId,
    end: &TurnEnd,
    tokens: &HashMap<MessageId, String>,
) -> Result<(), String> {
    if end.turn.state.is_cut_short() {
        return Ok(());
    }
    if !end.turn.messages.contains(message) {
        return Err(format!(
            "{message} got the end of turn {}, which is not its own: {:?}",
            end.turn.id, end.turn
        ));
    }
    let fits = |id: &MessageId| tokens.get(id).is_some_and(|token| end.text.contains(token));
    if end.turn.messages.iter().any(fits) {
        return Ok(());
    }
    Err(format!("{message} ({:?}) was answered with {:?}", tokens.get(message), end.text))
}

/// Checks the view of a finished session.
pub(crate) fn view(view: &View, plan: &Plan) -> Result<(), String> {
    for entry in &view.entries {
        if let EntryBody::User(user) = &entry.body
            && user.source == UserSource::Host
            && matches!(user.delivery, MessageState::Queued | MessageState::Sent | MessageState::Started)
        {
            return Err(format!("a message is still {:?}: {:?}", user.delivery, user.message));
        }
    }
    cost(view, plan)
}

/// Costs are counted once: the turns add up to the total, and nothing costs more than what was played.
fn cost(view: &View, plan: &Plan) -> Result<(), String> {
    let whole = view.cost.usd.unwrap_or_default();
    let turns: f64 = view.turns.iter().filter_map(|turn| turn.cost_usd).sum();
    if (whole - turns).abs() > CENT_OF_A_CENT {
        return Err(format!("the turns cost {turns:.6} but the total is {whole:.6}"));
    }
    // 2.1.9 asks a small model about the output of commands, an unpredictable number of times.
    let of_model = view.cost.models.iter().filter(|model| model.model == MODEL);
    let whole: f64 = of_model.map(|model| model.usd).sum();
    let max = plan.max_usd();
    if whole > max + CENT_OF_A_CENT {
        return Err(format!("it cost {whole:.6}, more than the possible maximum of {max:.6}"));
    }
    if plan.is_undisturbed() && (whole - max).abs() > CENT_OF_A_CENT {
        let rounds = max / STEP_USD;
        return Err(format!(
            "nothing went wrong, and {rounds:.0} rounds cost {whole:.6} instead of {max:.6}"
        ));
    }
    Ok(())
}

/// The view equals a replay of what was seen and done.
pub(crate) fn replay(
    live: &View,
    recorder: &Recorder,
    options: weir_transcript::FoldOptions,
) -> Result<(), String> {
    let (live, replayed) = (outline(live), outline(&recorder.replayed(options)));
    if live == replayed {
        return Ok(());
    }
    let only = |mark: &str, of: &[String], other: &[String]| {
        let lines = of.iter().filter(|line| !other.contains(line));
        lines.map(|line| format!("{mark} {line}")).collect::<Vec<_>>().join("\n")
    };
    Err(format!(
        "the view differs from a replay:\n{}\n{}",
        only("live", &live, &replayed),
        only("replayed", &replayed, &live)
    ))
}

/// The raw log has every byte of every line that was seen, and nothing else.
pub(crate) fn log(place: &Place, recorder: &Recorder) -> Result<(), String> {
    let logged = place.logged().map_err(|error| format!("the raw log cannot be read: {error}"))?;
    let seen = recorder.lines();
    let plain = |line: &[u8]| line.strip_suffix(b"\r").unwrap_or(line).to_vec();
    if logged.len() != seen.len() {
        return Err(format!("{} lines were seen and {} are in the raw log", seen.len(), logged.len()));
    }
    for (logged, seen) in logged.iter().zip(&seen) {
        if plain(logged) != plain(seen) {
            return Err(format!("the raw log has a different line: {}", String::from_utf8_lossy(logged)));
        }
    }
    Ok(())
}
