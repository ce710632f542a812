//! The summary of a run: the object that `-o json` prints, and the outcome behind the exit code.

use std::collections::BTreeMap;

use serde::Serialize;
use weir_wire::{CliSessionId, TurnId};

use crate::view::{
    Change, Denial, Entry, EntryBody, EntryId, ModelCost, Said, TokenUsage, Turn, TurnCause, TurnState, View,
};
use crate::vocabulary::{Milestone, Milestones};

/// The summary of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunSummary {
    /// The session.
    pub session_id: Option<CliSessionId>,
    /// The model.
    pub model: Option<String>,
    /// The CLI's version.
    pub version: Option<String>,
    /// The answer: the result's text, or the streamed text if no result came.
    pub final_text: Option<String>,
    /// All text of the main agent: the pieces of a message joined, with an empty line between messages.
    pub stream_text: String,
    /// Whether the answer is only the streamed text, because no result came or it was empty.
    pub degraded: bool,
    /// Whether the run failed.
    pub is_error: bool,
    /// Whether it was interrupted, which is intended and not a failure.
    pub interrupted: bool,
    /// The result's subtype.
    pub subtype: Option<String>,
    /// Tokens of the answering turn's main loop.
    pub usage: Option<TokenUsage>,
    /// What each model used in this run, sub-agents included.
    pub model_usage: BTreeMap<String, ModelCost>,
    /// What this run cost; null if that is not known.
    pub cost_usd: Option<f64>,
    /// The CLI's own total, which accumulates across resumed sessions.
    pub total_cost_usd: Option<f64>,
    /// Rounds with the model.
    pub num_turns: Option<u64>,
    /// How long the answering turn took.
    pub duration_ms: Option<u64>,
    /// Tool calls that were not allowed.
    pub permission_denials: Vec<Denial>,
    /// Whether the session's id changed during the run.
    pub session_forked: bool,
    /// Lines and blocks of kinds that Weir does not know.
    pub unknown_lines: u64,
    /// Lines that do not match their type, are not JSON, or are too long.
    pub malformed_lines: u64,
    /// Path of the raw log.
    pub raw_log: Option<String>,
    /// Path of the log of the standard error.
    pub stderr_log: Option<String>,
}

/// How a run ended, as reported by the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// The result is a success.
    Success,
    /// The result is an error.
    ErrorResult,
    /// No result came.
    NoResult,
    /// The result is a success, but a tool was not allowed.
    PermissionDenied,
    /// A cost limit ended the turn.
    BudgetExhausted,
    /// The account's or the API's limit ended the turn.
    RateLimited,
    /// It was interrupted.
    Interrupted,
}

/// Collects a summary while a fold is running. The view may be bounded, so everything needed is kept here.
#[derive(Debug)]
pub struct SummaryBuilder {
    milestones: Milestones,
    /// `None` if texts are not needed; they would grow with the session.
    texts: Option<Texts>,
    answer: Option<Turn>,
    tools: u64,
    turns: u64,
    denials: Vec<Denial>,
}

/// The text of the main agent.
#[derive(Debug, Default)]
struct Texts {
    all: Said,
    /// The last block, and where it begins.
    last: Option<(EntryId, usize)>,
    /// The turn of that block, and where its text begins.
    turn: Option<(TurnId, usize)>,
}

impl Texts {
    fn add(&mut self, entry: &Entry, text: &str, replaces: bool) {
        match self.last {
            Some((last, start)) if last == entry.id => {
                if replaces {
                    self.all.truncate(start);
                }
            }
            _ => {
                let message = match &entry.body {
                    EntryBody::Text(block) => block.message.as_ref(),
                    _ => None,
                };
                let start = self.all.begin(message);
                self.last = Some((entry.id, start));
                if self.turn.map(|(turn, _)| turn) != entry.turn {
                    self.turn = entry.turn.map(|turn| (turn, start));
                }
            }
        }
        self.all.push(text);
    }

    /// The text of a turn, if it is the last turn with any text.
    fn of(&self, turn: TurnId) -> Option<String> {
        let (_, start) = self.turn.filter(|(last, _)| *last == turn)?;
        self.all.as_str().get(start..).map(str::to_owned)
    }
}

impl Default for SummaryBuilder {
    fn default() -> Self {
        Self::new()
    }
}

impl SummaryBuilder {
    /// Maximum number of denials that are kept.
    const MAX_DENIALS: usize = 1000;

    /// Collects everything.
    pub fn new() -> Self {
        Self { texts: Some(Texts::default()), ..Self::without_texts() }
    }

    /// Collects no texts: enough for counts and outcomes, in bounded memory.
    pub fn without_texts() -> Self {
        Self {
            milestones: Milestones::default(),
            texts: None,
            answer: None,
            tools: 0,
            turns: 0,
            denials: Vec::new(),
        }
    }

    /// Takes a change. The view already includes it.
    pub fn observe(&mut self, view: &View, change: &Change<'_>) {
        let Self { milestones, texts, answer, tools, turns, denials } = self;
        milestones.tell(view, change, &mut |milestone| match milestone {
            Milestone::Text { entry, text, replaces } if entry.parent.is_none() => {
                if let Some(texts) = texts {
                    texts.add(entry, text, replaces);
                }
            }
            Milestone::ToolStarted { .. } => *tools += 1,
            Milestone::TurnEnded(turn) => {
                *turns += 1;
                for denial in turn.result.iter().flat_map(|result| &result.denials) {
                    let is_known = denial.tool_use_id.is_some()
                        && denials.iter().any(|known: &Denial| known.tool_use_id == denial.tool_use_id);
                    if !is_known && denials.len() < Self::MAX_DENIALS {
                        denials.push(denial.clone());
                    }
                }
                if is_better_answer(answer.as_ref(), turn) {
                    *answer = Some(turn.clone());
                }
            }
            _ => {}
        });
    }

    /// Number of tool calls.
    pub fn tools(&self) -> u64 {
        self.tools
    }

    /// Number of turns that have ended.
    pub fn turns(&self) -> u64 {
        self.turns
    }

    /// The summary so far.
    pub fn summary(&self, view: &View) -> RunSummary {
        let result = self.answer.as_ref().and_then(|turn| turn.result.as_ref());
        let result_text = result.and_then(|result| result.text.clone()).filter(|text| !text.is_empty());
        let unfinished = self.answer.as_ref().filter(|turn| turn.result.is_none());
        let said = unfinished.and_then(|turn| self.texts.as_ref()?.of(turn.id));
        RunSummary {
            session_id: view.session.id.clone(),
            model: view.session.model.clone(),
            version: view.session.version.clone(),
            degraded: said.is_some() || result.is_some_and(|result| result.degraded),
            final_text: result_text.or(said),
            stream_text: self.texts.as_ref().map(|texts| texts.all.as_str().to_owned()).unwrap_or_default(),
            is_error: self.answer.as_ref().is_none_or(|turn| turn.state.is_error()),
            interrupted: self.answer.as_ref().is_some_and(|turn| turn.state == TurnState::Interrupted),
            subtype: result.map(|result| result.subtype.clone()),
            usage: result.and_then(|result| result.usage),
            model_usage: view.cost.models.iter().map(|model| (model.model.clone(), model.clone())).collect(),
            cost_usd: view.cost.usd,
            total_cost_usd: view.cost.reported_usd,
            num_turns: result.and_then(|result| result.num_turns),
            duration_ms: result.and_then(|result| result.duration_ms),
            permission_denials: self.denials.clone(),
            session_forked: view.session.forked,
            unknown_lines: view.oddities.unknown_types + view.oddities.blocks,
            malformed_lines: view.oddities.mismatches + view.oddities.not_json + view.oddities.oversize,
            raw_log: None,
            stderr_log: None,
        }
    }

    /// Why the run failed, in the CLI's words, if its result is an error.
    pub fn error(&self) -> Option<String> {
        let turn = self.answer.as_ref().filter(|turn| turn.state.is_error())?;
        turn.result.as_ref().map(crate::view::TurnResult::error)
    }

    /// How the run ended.
    pub fn outcome(&self, view: &View) -> Outcome {
        let Some(turn) = &self.answer else {
            return Outcome::NoResult;
        };
        if turn.state == TurnState::Interrupted {
            return Outcome::Interrupted;
        }
        let Some(result) = &turn.result else {
            return Outcome::NoResult;
        };
        let limited = view.rate_limit.as_ref().is_some_and(|limit| limit.status == "rejected");
        if result.subtype == "error_max_budget_usd" {
            Outcome::BudgetExhausted
        } else if turn.state.is_error() && (result.api_error_status == Some(429) || limited) {
            Outcome::RateLimited
        } else if turn.state.is_error() {
            Outcome::ErrorResult
        } else if !result.denials.is_empty() {
            Outcome::PermissionDenied
        } else {
            Outcome::Success
        }
    }
}

/// The last turn that was asked for is the answer; an unasked turn is the answer only if no other turn exists.
fn is_better_answer(before: Option<&Turn>, turn: &Turn) -> bool {
    let asked = |turn: &Turn| !matches!(turn.cause, TurnCause::Unasked { .. });
    match before {
        None => true,
        Some(before) if turn.state == TurnState::Empty => before.state == TurnState::Empty,
        Some(before) => asked(turn) || !asked(before),
    }
}
