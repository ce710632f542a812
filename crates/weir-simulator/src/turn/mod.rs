//! A turn: from a message to the end of the agent's work on it.
//!
//! The same loop serves the main agent and sub-agents. It calls the (scripted) model, writes what it says, runs the
//! tools it calls, and repeats until there is nothing more to do.

mod api_error;
mod breaks;
mod misdeeds;
mod request;
mod result;
mod round;
mod stream;

use std::sync::Arc;
use std::time::{Duration, Instant};

pub(crate) use api_error::ApiFailure;
pub(crate) use misdeeds::crash;
pub(crate) use result::{Ended, ResultLine};

use super::agent::Agent;
use super::cancel::Stop;
use super::history::History;
use super::ledger::Tokens;
use super::lines;
use super::queue::UserMessage;
use super::sim::Sim;
use crate::json::Json;
use crate::script::Script;
use crate::{array, object};

/// How a turn ended.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum End {
    /// The agent had nothing more to do.
    Done,
    /// It was stopped, while the model was speaking or a tool was running.
    Stopped { reason: Stop, in_tool: bool },
    /// The API failed permanently.
    Failed(ApiFailure),
    /// The limit of rounds was reached.
    MaxTurns(u64),
    /// The budget was spent.
    Budget(f64),
}

/// An agent at work.
#[derive(Debug)]
pub(crate) struct Run<'r> {
    pub(crate) sim: &'r Arc<Sim>,
    pub(crate) agent: Agent,
    pub(crate) history: &'r mut History,
    /// The script from a file, and the number of responses before it.
    pub(crate) script: Option<(Script, usize)>,
    /// Tokens of this run, without its sub-agents.
    pub(crate) tokens: Tokens,
    /// Tokens of the last request.
    pub(crate) last_tokens: Tokens,
    /// Lines on the user's behalf: tool results, interruptions.
    pub(crate) user_lines: u64,
    pub(crate) stop_reason: Option<String>,
    /// The last text from the model.
    pub(crate) text: String,
    pub(crate) calls: u64,
    /// The messages that this turn answers; the first line of the reply names them.
    pub(crate) messages: Vec<String>,
    named_messages: bool,
    pub(crate) started: Instant,
    pub(crate) in_requests: Duration,
    pub(crate) first_token: Option<Duration>,
    open: Option<stream::OpenStream>,
    without_stream: bool,
}

impl<'r> Run<'r> {
    pub(crate) fn new(sim: &'r Arc<Sim>, agent: Agent, history: &'r mut History) -> Self {
        Self {
            sim,
            agent,
            history,
            script: None,
            tokens: Tokens::default(),
            last_tokens: Tokens::default(),
            user_lines: 0,
            stop_reason: None,
            text: String::new(),
            calls: 0,
            messages: Vec::new(),
            named_messages: false,
            started: Instant::now(),
            in_requests: Duration::ZERO,
            first_token: None,
            open: None,
            without_stream: false,
        }
    }

    /// Works until the end.
    pub(crate) fn drive(&mut self) -> End {
        let mut rounds = 0;
        let mut steered = false;
        let mut recoveries = 0;
        loop {
            if let Some(end) = self.over_budget() {
                return end;
            }
            let asked = Instant::now();
            let answer = self.request();
            self.in_requests += asked.elapsed();
            let calls = match answer {
                Ok(calls) => calls,
                Err(end) => return self.interrupted(end),
            };
            if let Some(end) = self.over_budget() {
                return end;
            }
            if calls.is_empty() && self.continue_after_limit(&mut recoveries) {
                continue;
            }
            if calls.is_empty() {
                // The older version answers once more after messages that arrived in between.
                if std::mem::take(&mut steered) && self.sim.profile.is_old() {
                    continue;
                }
                return End::Done;
            }
            rounds += 1;
            if let Some(reason) = self.round(calls) {
                return self.interrupted(End::Stopped { reason, in_tool: true });
            }
            if self.gave_structured_output() {
                return End::Done;
            }
            match self.sim.options.max_turns {
                Some(limit) if self.agent.is_main() && rounds >= limit => return End::MaxTurns(limit),
                _ => {}
            }
            steered |= self.steer();
        }
    }

    /// The newer version ends the turn with the structured output.
    fn gave_structured_output(&mut self) -> bool {
        let structured = self.sim.state().structured.clone();
        let ends = self.agent.is_main() && !self.sim.profile.is_old();
        if let Some(structured) = structured.as_ref().filter(|_| ends) {
            self.text = structured.to_string();
        }
        ends && structured.is_some()
    }

    /// Stops the main agent before its next step if the budget is spent. What a resumed session had spent before does
    /// not count.
    fn over_budget(&self) -> Option<End> {
        let limit = self.sim.options.max_budget_usd?;
        (self.agent.is_main() && self.sim.ledger().own() >= limit).then_some(End::Budget(limit))
    }

    /// Writes that the user interrupted, if that is what happened.
    fn interrupted(&mut self, end: End) -> End {
        let End::Stopped { reason: Stop::Interrupt | Stop::Signal, in_tool } = end else { return end };
        if self.agent.is_main() && !(self.sim.profile.is_old() && end_is_signal(&end)) {
            let text = if in_tool {
                "[Request interrupted by user for tool use]"
            } else {
                "[Request interrupted by user]"
            };
            self.say_as_user(text, object! {});
            self.end_stream();
        }
        end
    }

    /// Asks the model to continue a truncated response, a few times.
    fn continue_after_limit(&mut self, recoveries: &mut u32) -> bool {
        if self.stop_reason.as_deref() != Some("max_tokens") || *recoveries >= 3 || !self.agent.is_main() {
            return false;
        }
        *recoveries += 1;
        if self.sim.profile.is_old() {
            self.say_limit();
        } else {
            let text = "Output token limit hit. Resume directly — no apology, no recap of what you were doing. Pick up mid-thought if that is where the cut happened. Break remaining work into smaller pieces.";
            self.say_as_user(text, object! { "isSynthetic" => true });
        }
        true
    }

    /// Writes a line on the user's behalf.
    fn say_as_user(&mut self, text: &str, extra: Json) {
        let content = array![object! { "type" => "text", "text" => text }];
        let uuid = self.agent.ids.uuid();
        self.sim.out.line(&lines::user(self.sim, &self.agent, content.clone(), &uuid, extra));
        self.history.user(content, &uuid, object! {});
        self.user_lines += 1;
    }

    /// Takes messages that arrived in the meantime into the turn. Returns whether there were any.
    fn steer(&mut self) -> bool {
        if !self.agent.is_main() {
            return false;
        }
        let messages = self.sim.queue.steer();
        for message in &messages {
            self.lifecycle(message, "started");
            if self.sim.options.replay_user_messages {
                let uuid = message.uuid.clone().unwrap_or_else(|| self.agent.ids.uuid());
                let line =
                    lines::replay(self.sim, &message.content, &uuid, true, object! { "isReplay" => true });
                self.sim.out.line(&line);
            }
            let uuid = self.agent.ids.uuid();
            self.history.user(message.content.clone(), &uuid, object! {});
            self.messages.extend(message.uuid.clone());
        }
        !messages.is_empty()
    }

    fn lifecycle(&self, message: &UserMessage, state: &str) {
        if let Some(uuid) = message.uuid.as_ref().filter(|_| self.sim.profile.coalesces()) {
            self.sim.out.line(&lines::lifecycle(self.sim, &self.agent.ids, uuid, state));
        }
    }

    /// Extra members of the next `assistant` line: the first one of a turn names the messages that it answers.
    fn line_extra(&mut self) -> Json {
        if std::mem::replace(&mut self.named_messages, true) || !self.sim.profile.coalesces() {
            return object! {};
        }
        match self.messages.last() {
            Some(last) => {
                object! { "user_message_uuid" => last, "user_message_uuids" => self.messages.clone() }
            }
            None => object! {},
        }
    }
}

fn end_is_signal(end: &End) -> bool {
    matches!(end, End::Stopped { reason: Stop::Signal, .. })
}
