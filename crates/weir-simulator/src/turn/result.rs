//! The `result` line: the outcome of a turn.

use super::{ApiFailure, End, Run};
use crate::cancel::Stop;
use crate::json::Json;
use crate::ledger::Tokens;
use crate::sim::Sim;
use crate::{array, object};

/// The outcome of a turn before costs are counted: results may be held back.
#[derive(Debug, Clone)]
pub(crate) struct ResultLine {
    pub(crate) ended: Ended,
    pub(crate) uuid: String,
    pub(crate) turns: u64,
    pub(crate) tokens: Tokens,
    pub(crate) stop_reason: Option<String>,
    pub(crate) denials: Vec<Json>,
    /// The structured output.
    pub(crate) structured: Option<Json>,
    pub(crate) messages: Vec<String>,
    /// What started the turn, if not a message.
    pub(crate) origin: Option<Json>,
    pub(crate) milliseconds: u64,
    pub(crate) api_milliseconds: u64,
    pub(crate) first_token: Option<u64>,
}

/// How it ended, in the terms of the line.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Ended {
    Success {
        text: String,
    },
    Failed(ApiFailure),
    Error {
        subtype: &'static str,
        reason: &'static str,
        error: Option<String>,
    },
    /// A slash command that the CLI handles itself.
    LocalCommand {
        name: Option<&'static str>,
        text: String,
    },
}

impl ResultLine {
    /// A result for something that is not a turn.
    pub(crate) fn plain(ended: Ended, uuid: String) -> Self {
        Self {
            ended,
            uuid,
            turns: 0,
            tokens: Tokens::default(),
            stop_reason: None,
            denials: Vec::new(),
            structured: None,
            messages: Vec::new(),
            origin: None,
            milliseconds: 1,
            api_milliseconds: 0,
            first_token: None,
        }
    }

    /// The result of a run; `None` if the CLI writes none.
    pub(crate) fn of(run: &Run<'_>, end: &End) -> Option<Self> {
        let sim = run.sim;
        let old = sim.profile.is_old();
        let error =
            |subtype, reason, text: String| Ended::Error { subtype, reason, error: (!old).then_some(text) };
        let stop_text = run.stop_reason.as_deref();
        let ended = match end {
            End::Done => Ended::Success { text: run.text.clone() },
            End::Failed(failure) => Ended::Failed(failure.clone()),
            End::MaxTurns(limit) => {
                error("error_max_turns", "max_turns", format!("Reached maximum number of turns ({limit})"))
            }
            End::Budget(limit) => error(
                "error_max_budget_usd",
                "budget_exhausted",
                format!("Reached maximum budget (${limit})"),
            ),
            End::Stopped { reason: Stop::Terminate | Stop::Task, .. } => return None,
            // The older version exits after the signal and writes nothing.
            End::Stopped { reason: Stop::Signal, .. } if old => return None,
            End::Stopped { in_tool, .. } => {
                let stop = stop_text.unwrap_or("null");
                let text =
                    format!("[ede_diagnostic] result_type=user last_content_type=n/a stop_reason={stop}"); // spellchecker:disable-line
                let reason = if *in_tool { "aborted_tools" } else { "aborted_streaming" };
                error("error_during_execution", reason, text)
            }
        };
        let (denials, structured) = {
            let mut state = sim.state();
            (std::mem::take(&mut state.denials), state.structured.take())
        };
        let milliseconds = |time: std::time::Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        Some(Self {
            ended,
            uuid: run.agent.ids.uuid(),
            turns: 1 + run.user_lines,
            // The usage of a turn that ran out of budget does not include what was spent.
            tokens: if matches!(end, End::Budget(_)) { Tokens::default() } else { run.tokens },
            stop_reason: run.stop_reason.clone(),
            denials,
            structured,
            messages: run.messages.clone(),
            origin: None,
            milliseconds: milliseconds(run.started.elapsed()),
            api_milliseconds: milliseconds(run.in_requests),
            first_token: run.first_token.map(milliseconds),
        })
    }

    /// Whether the process exits with an error if this is the last result.
    pub(crate) fn is_error(&self, sim: &Sim) -> bool {
        match &self.ended {
            Ended::Failed(_) => true,
            // The older version has these as errors, but with `is_error` false.
            Ended::Error { .. } => !sim.profile.is_old(),
            Ended::Success { .. } | Ended::LocalCommand { .. } => false,
        }
    }

    /// The line itself. Costs are counted at this moment.
    pub(crate) fn to_json(&self, sim: &Sim, index: u64) -> Json {
        if sim.profile.is_old() { self.old_line(sim) } else { self.new_line(sim, index) }
    }

    /// The line of a process without a session to resume.
    pub(crate) fn without_session(&self, sim: &Sim) -> Json {
        let mut line = object! {
            "type" => "result",
            "subtype" => self.subtype(),
            "duration_ms" => 0,
            "duration_api_ms" => 0,
            "is_error" => true,
            "num_turns" => 0,
        };
        if !sim.profile.is_old() {
            line.set("stop_reason", Json::Null);
        }
        let errors = match &self.ended {
            Ended::Error { error, .. } => error.clone().into_iter().collect(),
            _ => Vec::new(),
        };
        line = line.with_all(object! {
            "session_id" => sim.session_id(),
            "total_cost_usd" => 0,
            "usage" => Tokens::default().to_json(&sim.profile),
            "modelUsage" => object! {},
            "permission_denials" => array![],
            "uuid" => self.uuid.as_str(),
            "errors" => errors,
        });
        if sim.profile.is_old() { line } else { line.with("result_index", 0) }
    }

    fn text(&self) -> Option<&str> {
        match &self.ended {
            Ended::Success { text } | Ended::LocalCommand { text, .. } => Some(text),
            Ended::Failed(failure) => Some(&failure.text),
            Ended::Error { .. } => None,
        }
    }

    fn subtype(&self) -> &'static str {
        match &self.ended {
            Ended::Error { subtype, .. } => subtype,
            _ => "success",
        }
    }

    fn old_line(&self, sim: &Sim) -> Json {
        let ledger = sim.ledger();
        let head = object! { "type" => "result", "subtype" => self.subtype() };
        let times =
            object! { "duration_ms" => self.milliseconds, "duration_api_ms" => self.api_milliseconds };
        let is_error = object! { "is_error" => self.is_error(sim) };
        let is_plain = !matches!(self.ended, Ended::Error { .. });
        let head = if is_plain {
            head.with_all(is_error).with_all(times)
        } else {
            head.with_all(times).with_all(is_error)
        };
        let line = head.with("num_turns", self.turns).with_some("result", self.text()).with_all(object! {
            "session_id" => sim.session_id(),
            "total_cost_usd" => ledger.total(),
            "usage" => self.tokens.to_json(&sim.profile),
            "modelUsage" => ledger.model_usage(&sim.profile),
            "permission_denials" => self.denials.clone(),
            "uuid" => self.uuid.as_str(),
        });
        let line = line.with_some("structured_output", self.structured.as_ref());
        if is_plain { line } else { line.with("errors", array![]) }
    }

    fn new_line(&self, sim: &Sim, index: u64) -> Json {
        let since = sim.ledger().take_since(&sim.profile);
        let ledger = sim.ledger();
        let local = matches!(self.ended, Ended::LocalCommand { .. });
        let mut line = object! {};
        if local {
            line.set("is_error", false);
        }
        line.set("duration_api_ms", self.api_milliseconds);
        if local {
            line.set("num_turns", self.turns);
        }
        line = line.with_all(object! {
            "stop_reason" => self.stop_reason.as_deref(),
            "session_id" => sim.session_id(),
            "total_cost_usd" => ledger.total(),
            "usage" => self.tokens.to_json(&sim.profile),
            "modelUsage" => ledger.model_usage(&sim.profile),
            "permission_denials" => self.denials.clone(),
        });
        let reason = match &self.ended {
            Ended::Success { .. } => Some("completed"),
            Ended::Failed(failure) => Some(failure.terminal_reason()),
            Ended::Error { reason, .. } => Some(*reason),
            Ended::LocalCommand { .. } => None,
        };
        line = line.with_some("terminal_reason", reason).with_all(object! {
            "fast_mode_state" => "off",
            "fast_mode_disabled_reason" => "sdk_opt_in_required",
        });
        line = line.with_some("origin", self.origin.as_ref());
        line = line.with_some("structured_output", self.structured.as_ref());
        line = line.with("subagent_stats", ledger.agent_stats()).with("safety_stops", 0);
        if !local {
            line = line.with("is_error", self.is_error(sim)).with("num_turns", self.turns);
        }
        line.set("subtype", self.subtype());
        line = self.outcome(line);
        let finished = matches!(self.ended, Ended::Success { .. });
        let first = self.first_token.unwrap_or_default();
        if finished {
            line.set("ttft_ms", first);
        }
        let last_message = self.messages.last();
        if matches!(self.ended, Ended::Error { .. }) {
            line = line.with_some("user_message_uuid", self.messages.first());
        }
        line = line
            .with("type", "result")
            .with("duration_ms", self.milliseconds)
            .with("uuid", self.uuid.as_str());
        if finished {
            line = line.with_all(object! { "ttft_stream_ms" => first, "time_to_request_ms" => first, "first_content_frame_ms" => first });
            line = line.with_some(
                "user_message_uuid",
                self.messages.first().filter(|_| self.turns > 1).or(last_message),
            );
        }
        if !self.messages.is_empty() {
            line.set("user_message_uuids", self.messages.clone());
            if finished {
                line = line.with_all(object! {
                    "request_sent_wall_ms" => crate::clock::milliseconds(),
                    "first_request_input_tokens" => self.tokens.input,
                    "first_request_cache_read_input_tokens" => self.tokens.cache_read,
                });
            }
        }
        line.with("queued_turn_count", 0)
            .with("result_index", index)
            .with("model_usage_since_last_result", since)
    }

    fn outcome(&self, line: Json) -> Json {
        match &self.ended {
            Ended::Success { text } => {
                line.with("api_error_status", Json::Null).with("result", text.as_str())
            }
            Ended::Failed(failure) => line
                .with("api_error_status", failure.status.map(u32::from))
                .with("api_error_type", failure.kind.as_str())
                .with("result", failure.text.as_str()),
            Ended::Error { error, .. } => line
                .with("errors", Json::Array(error.iter().map(|error| Json::from(error.as_str())).collect())),
            Ended::LocalCommand { name, text } => {
                line.with("result", text.as_str()).with_some("local_command", *name)
            }
        }
    }
}
