//! What must hold, whatever happened.

use std::collections::HashMap;

use weir_session::TurnEnd;
use weir_testkit::scenario::outline;
use weir_transcript::{Delivery, EntryBody, UserSource, View};
use weir_wire::MessageId;

use crate::place::Place;
use crate::plan::{MODEL, Plan, STEP_USD};
use crate::recorder::Recorder;

/// Dollars that are the same.
const CENT_OF_A_CENT: f64 = 1e-6;

/// An answer belongs to its message: it has the token of a message of its turn, and its message is one of them.
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
            "{message} was told of turn {}, which is not its own: {:?}",
            end.turn.id, end.turn
        ));
    }
    let fits = |id: &MessageId| tokens.get(id).is_some_and(|token| end.text.contains(token));
    if end.turn.messages.iter().any(fits) {
        return Ok(());
    }
    Err(format!("{message} ({:?}) was answered with {:?}", tokens.get(message), end.text))
}

/// The view of a conversation that is over.
pub(crate) fn view(view: &View, plan: &Plan) -> Result<(), String> {
    for entry in &view.entries {
        if let EntryBody::User(user) = &entry.body
            && user.source == UserSource::Host
            && matches!(user.delivery, Delivery::Queued | Delivery::Sent | Delivery::Started)
        {
            return Err(format!("a message is still {:?}: {:?}", user.delivery, user.message));
        }
    }
    cost(view, plan)
}

/// Money is counted once: the turns add up to the whole, and nothing costs more than what was played.
fn cost(view: &View, plan: &Plan) -> Result<(), String> {
    let whole = view.cost.usd.unwrap_or_default();
    let turns: f64 = view.turns.iter().filter_map(|turn| turn.cost_usd).sum();
    if (whole - turns).abs() > CENT_OF_A_CENT {
        return Err(format!("the turns cost {turns:.6} and the whole {whole:.6}"));
    }
    // 2.1.9 asks a small model about the output of commands: how often is its own affair.
    let of_model = view.cost.models.iter().filter(|model| model.model == MODEL);
    let whole: f64 = of_model.map(|model| model.usd).sum();
    let most = plan.most_usd();
    if whole > most + CENT_OF_A_CENT {
        return Err(format!("it cost {whole:.6}, more than the {most:.6} of all that could be played"));
    }
    if plan.is_undisturbed() && (whole - most).abs() > CENT_OF_A_CENT {
        let rounds = most / STEP_USD;
        return Err(format!(
            "nothing went wrong, and {rounds:.0} rounds cost {whole:.6} instead of {most:.6}"
        ));
    }
    Ok(())
}

/// The view is the one that a replay of what was seen and done gives.
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
        "the view is not that of a replay:\n{}\n{}",
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
            return Err(format!("the raw log has another line: {}", String::from_utf8_lossy(logged)));
        }
    }
    Ok(())
}
