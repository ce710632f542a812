//! What sessions have cost, by day and model, from their logs.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use weir_base::time::Utc;
use weir_store::{Archived, ListOrder, ListQuery, SessionId, StoredSession};
use weir_transcript::{Change, Cost, ModelCost};

use crate::core::Core;
use crate::error::HostError;
use crate::history::History;
use crate::info::kept;
use crate::item::Item;
use crate::load::walk;

/// The longest time that is asked about at once.
const MAX_DAYS: i64 = 366;
/// How many sessions are remembered between two calls.
const REMEMBERED: usize = 5_000;
const DAY_MS: i64 = 24 * 60 * 60 * 1000;

/// Which costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CostQuery {
    /// From when, in milliseconds since 1970.
    pub from: i64,
    /// Until when.
    pub to: i64,
    /// How many minutes the caller's days are ahead of UTC.
    pub offset_minutes: i32,
}

/// What sessions have cost.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct CostReport {
    /// The sum, in dollars.
    pub usd: f64,
    /// One row for each day, session and model, by day.
    pub rows: Vec<CostRow>,
}

/// What a session has cost on a day with a model.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct CostRow {
    /// The day, such as `2026-01-31`.
    pub day: String,
    /// The session.
    pub session: String,
    /// Its name or title.
    pub title: Option<String>,
    /// Its folder.
    pub project: String,
    /// The model; empty for what the CLI attributes to none.
    pub model: String,
    /// The estimate in dollars.
    pub usd: f64,
    /// Tokens read that were not in a cache.
    pub input_tokens: u64,
    /// Tokens written.
    pub output_tokens: u64,
    /// Tokens read from the cache.
    pub cache_read_tokens: u64,
    /// Tokens read and put into the cache.
    pub cache_creation_tokens: u64,
}

/// What something has cost at a time.
#[derive(Debug, Clone)]
struct Spent {
    at: i64,
    model: ModelCost,
}

/// What was read of sessions before.
#[derive(Debug, Default)]
pub(crate) struct CostCache(Mutex<HashMap<SessionId, (u64, Vec<Spent>)>>);

/// The costs of all sessions, or of one. Blocks.
pub(crate) fn costs(
    core: &Core,
    query: CostQuery,
    only: Option<&SessionId>,
) -> Result<CostReport, HostError> {
    if query.from >= query.to || query.to.saturating_sub(query.from) > MAX_DAYS * DAY_MS {
        return Err(HostError::Invalid(format!(
            "the time must be at most {MAX_DAYS} days and not end before it begins"
        )));
    }
    if query.offset_minutes.abs() > 24 * 60 {
        return Err(HostError::Invalid("the offset must be at most a day".to_owned()));
    }
    let mut rows: BTreeMap<(String, SessionId, String), CostRow> = BTreeMap::new();
    let mut order = ListOrder::Newest;
    loop {
        let list = ListQuery { archived: Archived::With, order, limit: 500, ..ListQuery::default() };
        let page = core.options.store.list(list).wait()?;
        for session in &page.sessions {
            let is_wanted = only.is_none_or(|only| *only == session.id);
            if is_wanted && session.updated_at >= query.from && session.created_at <= query.to {
                add(core, session, query, &mut rows)?;
            }
        }
        match page.sessions.last() {
            Some(last) if page.more => order = ListOrder::NewestBefore(last.revision),
            _ => break,
        }
    }
    let rows: Vec<CostRow> = rows.into_values().collect();
    Ok(CostReport { usd: rows.iter().map(|row| row.usd).sum(), rows })
}

fn add(
    core: &Core,
    session: &StoredSession,
    query: CostQuery,
    rows: &mut BTreeMap<(String, SessionId, String), CostRow>,
) -> Result<(), HostError> {
    let spent = spent(core, session)?;
    for Spent { at, model } in spent.iter().filter(|spent| (query.from..query.to).contains(&spent.at)) {
        let day = Utc::from_ms(at.saturating_add(i64::from(query.offset_minutes) * 60_000)).date();
        let row =
            rows.entry((day.clone(), session.id.clone(), model.model.clone())).or_insert_with(|| CostRow {
                day,
                session: session.id.to_string(),
                title: session.title.clone().or_else(|| kept(session).title),
                project: session.cwd.clone().unwrap_or_default(),
                model: model.model.clone(),
                ..CostRow::default()
            });
        row.usd += model.usd;
        row.input_tokens = row.input_tokens.saturating_add(model.input_tokens);
        row.output_tokens = row.output_tokens.saturating_add(model.output_tokens);
        row.cache_read_tokens = row.cache_read_tokens.saturating_add(model.cache_read_tokens);
        row.cache_creation_tokens = row.cache_creation_tokens.saturating_add(model.cache_creation_tokens);
    }
    Ok(())
}

/// What a session has spent by itself, without what it inherited.
fn spent(core: &Core, session: &StoredSession) -> Result<Vec<Spent>, HostError> {
    let lock = || core.costs.0.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((newest, known)) = lock().get(&session.id)
        && *newest == session.newest
    {
        return Ok(known.clone());
    }
    // A copy begins with the events of its original, or with what the CLI had kept.
    let copied = session.parent.as_ref().map_or(0, |parent| parent.seq);
    let mut is_inherited = session.parent.is_none() && kept(session).inherited_usd.is_some();
    let mut history = History::new(1);
    let (mut before, mut spent) = (Cost::default(), Vec::new());
    walk(core.source(), &session.id, 0, |event| {
        let (seq, at) = (event.seq, event.at);
        if is_inherited {
            let item = Item::read(&event.kind, event.payload.clone());
            is_inherited = !matches!(item, Some(Item::Message(_) | Item::OldMessage(_)));
        }
        let counts = seq > copied && !is_inherited;
        history.replay_with(event, &mut |_, change| {
            if let Change::Cost(now) = change {
                if counts {
                    difference(&before, now, at, &mut spent);
                }
                before = now.clone();
            }
        });
        Ok(true)
    })?;
    let mut cache = lock();
    if cache.len() >= REMEMBERED {
        cache.clear();
    }
    cache.insert(session.id.clone(), (session.newest, spent.clone()));
    Ok(spent)
}

fn difference(before: &Cost, now: &Cost, at: i64, spent: &mut Vec<Spent>) {
    let mut unattributed = now.usd.unwrap_or(0.0) - before.usd.unwrap_or(0.0);
    for model in &now.models {
        let old = before.models.iter().find(|old| old.model == model.model).cloned().unwrap_or_default();
        let more = ModelCost {
            model: model.model.clone(),
            input_tokens: model.input_tokens.saturating_sub(old.input_tokens),
            output_tokens: model.output_tokens.saturating_sub(old.output_tokens),
            cache_read_tokens: model.cache_read_tokens.saturating_sub(old.cache_read_tokens),
            cache_creation_tokens: model.cache_creation_tokens.saturating_sub(old.cache_creation_tokens),
            usd: model.usd - old.usd,
        };
        unattributed -= more.usd;
        if more != (ModelCost { model: model.model.clone(), ..ModelCost::default() }) {
            spent.push(Spent { at, model: more });
        }
    }
    // Less than a hundredth of a cent is a rounding.
    if unattributed.abs() >= 0.0001 {
        spent.push(Spent { at, model: ModelCost { usd: unattributed, ..ModelCost::default() } });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cost(usd: f64, models: &[(&str, f64, u64)]) -> Cost {
        let model = |&(model, usd, output_tokens): &(&str, f64, u64)| ModelCost {
            model: model.to_owned(),
            usd,
            output_tokens,
            ..ModelCost::default()
        };
        Cost { usd: Some(usd), models: models.iter().map(model).collect(), ..Cost::default() }
    }

    #[test]
    fn what_is_new_is_attributed_to_its_model_and_the_rest_to_none() {
        let mut spent = Vec::new();
        let first = cost(1.0, &[("opus", 1.0, 10)]);
        difference(&Cost::default(), &first, 1, &mut spent);
        difference(&first, &cost(3.5, &[("opus", 1.0, 10), ("haiku", 2.0, 5)]), 2, &mut spent);
        let seen: Vec<_> =
            spent.iter().map(|spent| (spent.at, spent.model.model.as_str(), spent.model.usd)).collect();
        assert_eq!(seen, [(1, "opus", 1.0), (2, "haiku", 2.0), (2, "", 0.5)]);
    }
}
