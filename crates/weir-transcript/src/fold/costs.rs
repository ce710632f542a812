//! Costs, counted once.
//!
//! The CLI reports totals that accumulate over the turns of a process. Newer versions also continue the total
//! of the session that they resume, older ones start at zero, and a reset starts over. A turn costs the
//! difference.

use serde::{Deserialize, Serialize};
use weir_wire::{ModelUsage, ResultMessage, Text};

use crate::view::{Cost, ModelCost};

/// The totals as last reported.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Costs {
    last: Option<Totals>,
    /// Whether the last totals are from an earlier process.
    from_earlier_process: bool,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Totals {
    usd: f64,
    models: Vec<ModelCost>,
}

/// What a turn cost.
#[derive(Debug, Clone, Default)]
pub(super) struct Charge {
    /// `None` if the CLI did not report it.
    pub(super) usd: Option<f64>,
    pub(super) models: Vec<ModelCost>,
    reset: bool,
}

impl Costs {
    pub(super) fn process_started(&mut self) {
        self.from_earlier_process = true;
    }

    /// Earlier totals say nothing about the totals reported next.
    pub(super) fn branched(&mut self) {
        self.last = None;
    }

    /// What a turn cost. `main` is the model of the main loop, if known. A result is `late` if every message
    /// that it answers was already answered.
    pub(super) fn charge(&mut self, result: &ResultMessage<'_>, main: Option<&str>, late: bool) -> Charge {
        let Some(usd) = result.total_cost_usd else {
            return Charge::default();
        };
        let now = Totals { usd, models: models(&result.model_usage) };
        if late && self.last.as_ref().is_some_and(|last| is_lower(&now, last)) {
            // It has the totals of its own time, which are already counted.
            return Charge { usd: Some(0.0), ..Charge::default() };
        }
        let since = result.model_usage_since_last_result.as_deref().map(models);
        let charge = match &self.last {
            Some(last) if !self.from_earlier_process && !is_lower(&now, last) => difference(&now, last),
            Some(last) if !self.from_earlier_process => {
                Charge { reset: last.usd > 0.0, ..since.map_or_else(|| whole(&now), sum) }
            }
            // The first result of a process: only versions that also report what is new tell whether the total
            // continues an earlier one. If the total grew by more than that, it includes a turn that was cut
            // off.
            Some(last) => match since.map(sum) {
                Some(new) if now.usd > last.usd + new.usd.unwrap_or(0.0) => difference(&now, last),
                Some(new) => new,
                None if continues_totals(&now, last, result, main) => difference(&now, last),
                None => whole(&now),
            },
            None => since.map_or_else(|| whole(&now), sum),
        };
        self.last = Some(now);
        self.from_earlier_process = false;
        charge
    }

    pub(super) fn add(&self, before: &Cost, charge: &Charge, reported: Option<f64>) -> Cost {
        let mut cost = before.clone();
        cost.reported_usd = reported.or(cost.reported_usd);
        cost.resets += u32::from(charge.reset);
        if let Some(usd) = charge.usd {
            cost.usd = Some(rounded(cost.usd.unwrap_or(0.0) + usd));
        }
        for model in &charge.models {
            match cost.models.iter_mut().find(|known| known.model == model.model) {
                Some(known) => *known = combined(known, model, u64::saturating_add, |a, b| a + b),
                None => cost.models.push(model.clone()),
            }
        }
        cost
    }
}

fn models(usage: &[(Text<'_>, ModelUsage<'_>)]) -> Vec<ModelCost> {
    usage
        .iter()
        .map(|(name, usage)| ModelCost {
            model: name.to_str().into(),
            input_tokens: usage.input_tokens.unwrap_or(0),
            output_tokens: usage.output_tokens.unwrap_or(0),
            cache_read_tokens: usage.cache_read_input_tokens.unwrap_or(0),
            cache_creation_tokens: usage.cache_creation_input_tokens.unwrap_or(0),
            usd: rounded(usage.cost_usd.unwrap_or(0.0)),
        })
        .collect()
}

fn whole(now: &Totals) -> Charge {
    Charge { usd: Some(rounded(now.usd)), models: now.models.clone(), reset: false }
}

fn sum(models: Vec<ModelCost>) -> Charge {
    let usd = models.iter().map(|model| model.usd).sum();
    Charge { usd: Some(rounded(usd)), models, reset: false }
}

fn difference(now: &Totals, last: &Totals) -> Charge {
    let mut models = Vec::new();
    for model in &now.models {
        let before = last.models.iter().find(|known| known.model == model.model);
        let spent = match before {
            Some(before) => combined(model, before, u64::saturating_sub, |a, b| a - b),
            None => model.clone(),
        };
        if spent.usd > 0.0 || spent.input_tokens > 0 || spent.output_tokens > 0 {
            models.push(spent);
        }
    }
    Charge { usd: Some(rounded(now.usd - last.usd)), models, reset: false }
}

fn combined(
    a: &ModelCost,
    b: &ModelCost,
    tokens: fn(u64, u64) -> u64,
    usd: fn(f64, f64) -> f64,
) -> ModelCost {
    ModelCost {
        model: a.model.clone(),
        input_tokens: tokens(a.input_tokens, b.input_tokens),
        output_tokens: tokens(a.output_tokens, b.output_tokens),
        cache_read_tokens: tokens(a.cache_read_tokens, b.cache_read_tokens),
        cache_creation_tokens: tokens(a.cache_creation_tokens, b.cache_creation_tokens),
        usd: rounded(usd(a.usd, b.usd)),
    }
}

/// A total below the last one has started over. The tolerance absorbs rounding errors in sums of prices.
fn is_lower(now: &Totals, last: &Totals) -> bool {
    now.usd < last.usd - 1e-9
}

/// Whether a new process continues the totals of the previous one: then no model has fewer tokens than before,
/// and the model of the main loop also has those of this turn. Compared by model, because side calls to a small
/// model would hide what is missing.
fn continues_totals(now: &Totals, last: &Totals, result: &ResultMessage<'_>, main: Option<&str>) -> bool {
    let tokens = |model: &ModelCost| model.input_tokens.saturating_add(model.output_tokens);
    let known =
        |totals: &Totals, name: &str| totals.models.iter().find(|model| model.model == name).map(tokens);
    let is_kept = |model: &ModelCost| known(now, &model.model).is_some_and(|now| now >= tokens(model));
    let usage = result.usage.as_ref();
    let read = usage.and_then(|usage| usage.input_tokens).unwrap_or(0);
    let written = usage.and_then(|usage| usage.output_tokens).unwrap_or(0);
    let main = main.filter(|main| known(now, main).is_some());
    let has_turn = |model: &ModelCost| {
        let before = known(last, &model.model).unwrap_or(0);
        main.is_none_or(|main| main == model.model)
            && tokens(model) >= before.saturating_add(read).saturating_add(written)
    };
    !is_lower(now, last) && last.models.iter().all(is_kept) && now.models.iter().any(has_turn)
}

/// Rounds to a hundred-millionth of a cent: anything finer is a floating-point artefact.
fn rounded(usd: f64) -> f64 {
    let scaled = usd * 1e10;
    if !scaled.is_finite() {
        return usd;
    }
    // An empty sum is minus zero; adding zero makes it positive.
    scaled.round() / 1e10 + 0.0
}
