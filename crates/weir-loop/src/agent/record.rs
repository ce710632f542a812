//! What is known about a session, and how it is reduced to an [`AgentRun`]. The same for a session that is followed
//! and for one that is read from its log. Pure.

use std::sync::Arc;

use weir_transcript::{Change, EntryBody, Notice, SummaryBuilder, TurnState, View};

use super::hooks::Rules;
use super::run::{AgentEnd, AgentRun, DeniedTool, LimitInfo, ModelUse, Setup};

/// Maximum number of warnings that are kept.
const MAX_WARNINGS: usize = 20;

/// What a bounded view forgets about a session.
#[derive(Debug, Default)]
pub(super) struct SessionRecord {
    summary: SummaryBuilder,
    warnings: Vec<String>,
}

impl SessionRecord {
    /// Takes a change. The view already includes it.
    pub(super) fn observe(&mut self, view: &View, change: &Change<'_>) {
        self.summary.observe(view, change);
        if let Change::EntryAdded(entry) = change
            && let EntryBody::Notice { notice: Notice::Info { level: Some(level), text } } = &entry.body
            && level == "warning"
            && self.warnings.len() < MAX_WARNINGS
            && !self.warnings.contains(text)
        {
            self.warnings.push(text.clone());
        }
    }

    /// The final text of the session, or what it said until then if there is no result.
    pub(super) fn text(&self, view: &View) -> String {
        self.summary.summary(view).final_text.unwrap_or_default()
    }

    /// How the session went, as far as the transcript says it.
    pub(super) fn run(&self, view: &View, rules: &Rules) -> AgentRun {
        let summary = self.summary.summary(view);
        let is_empty = !view.turns.is_empty() && view.turns.iter().all(|turn| turn.state == TurnState::Empty);
        let result = view
            .turns
            .iter()
            .rev()
            .filter(|turn| turn.state != TurnState::Empty)
            .find_map(|turn| turn.result.as_ref());
        let models: Vec<ModelUse> = view
            .cost
            .models
            .iter()
            .map(|model| ModelUse {
                model: model.model.clone(),
                tokens: model.input_tokens
                    + model.output_tokens
                    + model.cache_read_tokens
                    + model.cache_creation_tokens,
                usd: model.usd,
            })
            .collect();
        let main_loop = summary.usage.map_or(0, |usage| {
            usage.input_tokens
                + usage.output_tokens
                + usage.cache_read_input_tokens
                + usage.cache_creation_input_tokens
        });
        let mut run = AgentRun {
            session_id: summary.session_id.as_ref().map(ToString::to_string),
            forked: summary.session_forked,
            model: summary.model,
            version: summary.version,
            setup: Setup::of(&view.session).map(Arc::new),
            warnings: self.warnings.clone(),
            text: summary.final_text.unwrap_or_default(),
            degraded: summary.degraded,
            subtype: summary.subtype,
            // Only the loop interrupts its sessions, and it notes why itself. Here it is a turn without an answer.
            is_error: summary.is_error || summary.interrupted,
            errors: result.map(|result| result.errors.clone()).unwrap_or_default(),
            api_error_status: result.and_then(|result| result.api_error_status),
            is_empty,
            turns: summary.num_turns,
            duration_ms: summary.duration_ms.unwrap_or(0),
            cost_usd: summary.cost_usd,
            tokens: if models.is_empty() { main_loop } else { models.iter().map(|model| model.tokens).sum() },
            models,
            tools: self.summary.tools(),
            rate_limit: view.rate_limit.as_ref().map(|limit| LimitInfo {
                rejected: limit.status == "rejected",
                resets_at: limit.resets_at,
                limit: limit.limit.clone(),
                utilization: limit.utilization,
            }),
            malformed_lines: summary.malformed_lines,
            ..AgentRun::default()
        };
        for denial in summary.permission_denials {
            if denial.tool_name == "AskUserQuestion" {
                let question =
                    denial.tool_input.get("questions").and_then(|all| all.get(0)?.get("question")?.as_str());
                run.unanswered.push(question.unwrap_or("a question").to_owned());
            } else if rules.forbids(&denial.tool_name, &denial.tool_input).is_none() {
                run.denials.push(DeniedTool::new(&denial.tool_name, denial.tool_input));
            }
        }
        run.end = ended(view, &run);
        run
    }
}

/// How the session ended, as far as the transcript says it.
fn ended(view: &View, run: &AgentRun) -> AgentEnd {
    match view.turns.iter().rev().find(|turn| turn.result.is_some()) {
        None => AgentEnd::NoResult,
        Some(turn) if turn.state == TurnState::Interrupted && !run.was_refused() => AgentEnd::Interrupted,
        Some(_) => AgentEnd::Answered,
    }
}
