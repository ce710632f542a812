//! Requests of the CLI. Every request gets exactly one answer: the first.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use weir_transcript::{HostEvent, PermissionRequest, RequestAnswer, RequestKind};
use weir_wire::{
    ControlRequest, ControlRequestMessage, FormField, HostAnswer, Outgoing, RawJson, RequestId, check_form,
};

use super::action::{Action, Reply};
use super::event::{Now, Ticket};
use super::{Machine, Sink, guard};
use crate::ask::{Ask, Decision};
use crate::error::SessionError;

/// How many answered requests are remembered, so that a late answer can be told who was first.
const REMEMBERED: usize = 32;

/// What the model is told about a tool call in a turn that is being interrupted.
const INTERRUPTED: &str = "The turn was interrupted.";

/// Requests of the CLI.
#[derive(Debug, Default)]
pub(super) struct Asks {
    open: Vec<OpenAsk>,
    answered: VecDeque<(RequestId, Option<String>)>,
    /// What the CLI reported about itself at startup.
    introduction: Value,
}

#[derive(Debug)]
struct OpenAsk {
    ask: Ask,
    deadline: Option<Instant>,
}

impl Asks {
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.open.iter().filter_map(|open| open.deadline).min()
    }

    pub(super) fn awaits_a_person(&self) -> bool {
        self.open.iter().any(|open| open.ask.is_for_a_person())
    }

    pub(super) fn set_introduction(&mut self, answer: Value) {
        self.introduction = answer;
    }

    /// Releases unused memory.
    pub(super) fn release_memory(&mut self) {
        self.open.shrink_to_fit();
        self.answered.shrink_to_fit();
    }

    fn take(&mut self, id: &RequestId) -> Option<Ask> {
        let place = self.open.iter().position(|open| open.ask.id() == id)?;
        Some(self.open.swap_remove(place).ask)
    }
}

impl Machine {
    /// What the CLI reported about itself at startup: commands, models, account.
    pub fn introduction(&self) -> &Value {
        &self.asks.introduction
    }

    /// Whether a request waits for a person, however long that takes.
    pub fn awaits_person(&self) -> bool {
        self.asks.awaits_a_person()
    }

    /// The requests that wait for an answer.
    pub fn open_asks(&self) -> impl Iterator<Item = &Ask> {
        self.asks.open.iter().map(|open| &open.ask)
    }

    pub(super) fn asked(&mut self, now: Now, message: &ControlRequestMessage<'_>) {
        let id = message.request_id.to_id();
        if id.as_str().is_empty() || self.asks.open.iter().any(|open| *open.ask.id() == id) {
            return;
        }
        let Some(ask) = Ask::read(message, self.view()) else {
            let subtype = match &message.request {
                ControlRequest::Unknown { subtype: Some(subtype), .. } => subtype.to_str().into_owned(),
                _ => "without a subtype".to_owned(),
            };
            let answer = HostAnswer::Error(format!("the host does not support this request: {subtype}"));
            self.actions.push(Action::Write(Outgoing::Answer { id, answer }));
            return;
        };
        if let Ask::Hook(hook) = &ask
            && hook.callback == guard::CALLBACK
        {
            let objection = guard::objection(&hook.input, self.view());
            // A hook that says nothing leaves the decision to the CLI's own rules.
            let silent = || HostAnswer::Hook(json!({}));
            let answer = objection.map_or_else(silent, |reason| hook_denial(&hook.input, reason));
            self.actions.push(Action::Write(Outgoing::Answer { id, answer }));
            return;
        }
        let limit = self.settings.limits.answer.filter(|_| ask.is_for_a_person());
        self.asks.open.push(OpenAsk { ask: ask.clone(), deadline: limit.map(|limit| now.instant + limit) });
        self.actions.push(Action::Ask(ask));
    }

    /// The CLI no longer wants an answer.
    pub(super) fn withdrawn(&mut self, id: &RequestId) {
        if self.asks.take(id).is_some() {
            self.actions.push(Action::Withdraw(id.clone()));
        }
    }

    /// The subject of a request was settled without our answer. In case the CLI still waits, answer it anyway.
    pub(super) fn settled_elsewhere(&mut self, id: &RequestId) {
        if let Some(ask) = self.asks.take(id) {
            self.actions.push(Action::Withdraw(id.clone()));
            let answer = denial(&ask, "This was settled before it was answered.".to_owned());
            self.write_answer(id.clone(), answer, None);
        }
    }

    /// A handler has decided.
    pub(super) fn decided(&mut self, id: &RequestId, decision: Decision, sink: &mut dyn Sink) {
        let open = self.asks.open.iter().find(|open| open.ask.id() == id);
        // Only requests for people may stay open.
        if decision == Decision::LeaveOpen && open.is_some_and(|open| open.ask.is_for_a_person()) {
            return;
        }
        let Some(ask) = self.asks.take(id) else { return };
        let answer = if self.is_interrupted(&ask) {
            denial(&ask, INTERRUPTED.to_owned())
        } else {
            // A handler's answer that does not match must not leave the CLI waiting.
            answer_to(&ask, decision).unwrap_or_else(|reason| denial(&ask, reason))
        };
        self.give(&ask, answer, None, sink);
    }

    /// A caller answers a request by its id.
    pub(super) fn answer(
        &mut self,
        ticket: Ticket,
        id: &RequestId,
        decision: Decision,
        by: Option<String>,
        sink: &mut dyn Sink,
    ) {
        let place = self.asks.open.iter().position(|open| open.ask.id() == id);
        let Some(place) = place else {
            let first = self.asks.answered.iter().find(|(answered, _)| answered == id);
            let error = match first {
                Some((_, by)) => SessionError::AlreadyAnswered { by: by.clone() },
                None => SessionError::NoSuchRequest,
            };
            return self.reply(ticket, Err(error));
        };
        let Some(ask) = self.asks.open.get(place).map(|open| open.ask.clone()) else { return };
        if self.is_interrupted(&ask) {
            return self.reply(ticket, Err(SessionError::Interrupted));
        }
        match answer_to(&ask, decision) {
            Err(reason) => self.reply(ticket, Err(SessionError::BadAnswer(reason))),
            Ok(answer) => {
                self.asks.open.swap_remove(place);
                self.actions.push(Action::Withdraw(id.clone()));
                self.give(&ask, answer, by, sink);
                self.reply(ticket, Ok(Reply::Done));
            }
        }
    }

    pub(super) fn expire_asks(&mut self, now: Now, sink: &mut dyn Sink) {
        let is_late = |open: &mut OpenAsk| open.deadline.is_some_and(|deadline| deadline <= now.instant);
        let late: Vec<OpenAsk> = self.asks.open.extract_if(.., is_late).collect();
        for OpenAsk { ask, .. } in late {
            let id = ask.id().clone();
            self.actions.push(Action::Withdraw(id.clone()));
            let event =
                HostEvent::RequestAnswered { request: id.clone(), answer: RequestAnswer::Expired, by: None };
            self.record(event, sink);
            let answer = denial(&ask, expired(self.settings.limits.answer));
            self.write_answer(id, answer, None);
        }
    }

    /// The process is gone, and with it the recipient of every answer.
    pub(super) fn forget_asks(&mut self) {
        for open in std::mem::take(&mut self.asks.open) {
            self.actions.push(Action::Withdraw(open.ask.id().clone()));
        }
    }

    fn give(&mut self, ask: &Ask, answer: HostAnswer, by: Option<String>, sink: &mut dyn Sink) {
        let id = ask.id().clone();
        if ask.is_for_a_person() {
            let answer = match &answer {
                HostAnswer::Allow { updated_input, .. } => {
                    let answers = updated_input.get("answers").cloned();
                    RequestAnswer::Allow {
                        answers: answers.filter(|_| matches!(ask.kind(), Some(RequestKind::Question { .. }))),
                    }
                }
                HostAnswer::Deny { message, .. } => RequestAnswer::Deny { message: message.clone() },
                HostAnswer::Error(message) => RequestAnswer::Deny { message: message.clone() },
                HostAnswer::Success(answer) if is_decline(answer) => {
                    RequestAnswer::Deny { message: "declined".to_owned() }
                }
                _ => RequestAnswer::Allow { answers: None },
            };
            self.record(HostEvent::RequestAnswered { request: id.clone(), answer, by: by.clone() }, sink);
        }
        self.write_answer(id, answer, by);
    }

    fn write_answer(&mut self, id: RequestId, answer: HostAnswer, by: Option<String>) {
        if self.asks.answered.len() >= REMEMBERED {
            self.asks.answered.pop_front();
        }
        self.asks.answered.push_back((id.clone(), by));
        self.actions.push(Action::Write(Outgoing::Answer { id, answer }));
    }
}

/// What the model is told when no one has answered in time.
fn expired(limit: Option<Duration>) -> String {
    match limit.map(|limit| limit.as_secs()) {
        None | Some(0) => "No one answered in time, so this was denied.".to_owned(),
        Some(seconds) if seconds % 60 == 0 => {
            format!("No one answered within {} min, so this was denied.", seconds / 60)
        }
        Some(seconds) => format!("No one answered within {seconds} s, so this was denied."),
    }
}

/// A refusal in the form that the request expects.
fn denial(ask: &Ask, message: String) -> HostAnswer {
    let decision = Decision::Deny { message, interrupt: false };
    answer_to(ask, decision).unwrap_or_else(HostAnswer::Error)
}

/// The CLI would treat an error as a hook without an opinion, and run the tool.
fn hook_denial(input: &Value, message: String) -> HostAnswer {
    match input.get("hook_event_name").and_then(Value::as_str) {
        Some("PreToolUse") => HostAnswer::Hook(json!({
            "decision": "block",
            "reason": message,
            "hookSpecificOutput": {
                "hookEventName": "PreToolUse",
                "permissionDecision": "deny",
                "permissionDecisionReason": message,
            },
        })),
        Some("UserPromptSubmit") => HostAnswer::Hook(json!({"decision": "block", "reason": message})),
        // Nothing is about to happen that could be forbidden.
        _ => HostAnswer::Error(message),
    }
}

/// Whether an answer to an elicitation declines it.
fn is_decline(answer: &Value) -> bool {
    matches!(answer.get("action").and_then(Value::as_str), Some("decline" | "cancel"))
}

/// Checks and converts the answer to an elicitation.
fn elicited(form: Option<&[FormField]>, url: Option<&str>, answer: Value) -> Result<HostAnswer, String> {
    match answer.get("action").and_then(Value::as_str) {
        Some("decline" | "cancel") => return Ok(HostAnswer::Success(answer)),
        Some("accept") => {}
        _ => return Err("the action must be accept, decline or cancel".to_owned()),
    }
    match (form, url, answer.get("content")) {
        (Some(fields), _, Some(Value::Object(content))) => {
            check_form(fields, content)?;
            Ok(HostAnswer::Success(answer))
        }
        (Some(_), _, _) => Err("a form is answered with content, an object".to_owned()),
        (None, Some(_), None) => Ok(HostAnswer::Success(answer)),
        (None, Some(_), Some(_)) => Err("a link is answered without content".to_owned()),
        // A form that Weir does not know: the person answering has read its schema.
        (None, None, _) => Ok(HostAnswer::Success(answer)),
    }
}

/// The answer that follows from a decision, or why the decision does not match.
fn answer_to(ask: &Ask, decision: Decision) -> Result<HostAnswer, String> {
    let refused = |decision: Decision| match decision {
        Decision::Deny { message, interrupt } => Ok(HostAnswer::Deny { message, interrupt }),
        Decision::Error(message) => Ok(HostAnswer::Error(message)),
        _ => Err("this decision does not match the request".to_owned()),
    };
    const NEEDS_ANSWERS: &str = "a question needs answers: allowing it would answer nothing";
    let kind = match (ask, decision) {
        (Ask::Hook(_), Decision::Value(value)) => return Ok(HostAnswer::Hook(value)),
        (Ask::Hook(hook), Decision::Deny { message, .. }) => return Ok(hook_denial(&hook.input, message)),
        (Ask::Mcp(_), Decision::Value(value)) => return Ok(HostAnswer::Mcp(value)),
        (Ask::Mcp(_), Decision::Deny { message, .. }) => return Ok(HostAnswer::Error(message)),
        (Ask::Dialog(_), Decision::Value(result)) => {
            return Ok(HostAnswer::Success(json!({"behavior": "completed", "result": result})));
        }
        // The CLI then does what it does without a dialog.
        (Ask::Dialog(_), Decision::Deny { .. } | Decision::Error(_)) => {
            return Ok(HostAnswer::Success(json!({"behavior": "cancelled"})));
        }
        (Ask::Hook(_) | Ask::Mcp(_) | Ask::Dialog(_), decision) => return refused(decision),
        (Ask::Request(request), decision) => (&request.kind, decision),
    };
    match kind {
        // A question in a form that Weir does not know: allowing it would give an empty answer.
        (RequestKind::Permission(asked), Decision::Allow { input: None, .. })
            if asked.tool_name == "AskUserQuestion" =>
        {
            Err(NEEDS_ANSWERS.to_owned())
        }
        (RequestKind::Question { .. }, Decision::Allow { .. }) => Err(NEEDS_ANSWERS.to_owned()),
        (
            RequestKind::Permission(PermissionRequest { input: asked, .. })
            | RequestKind::Plan { input: asked, .. },
            Decision::Allow { input, remember },
        ) => Ok(HostAnswer::Allow {
            updated_input: input.unwrap_or_else(|| asked.clone()),
            updated_permissions: remember,
        }),
        (RequestKind::Question { input, .. }, Decision::Answers(answers)) => {
            let input = input.to_string();
            let input = RawJson::parse(input.as_bytes()).map_err(|fault| fault.to_string())?;
            HostAnswer::questions(input, &answers).map_err(|error| error.to_string())
        }
        (RequestKind::Elicitation { form, url, .. }, Decision::Value(value)) => {
            elicited(form.as_deref(), url.as_deref(), value)
        }
        (RequestKind::Elicitation { .. }, Decision::Deny { .. }) => {
            Ok(HostAnswer::Success(json!({"action": "decline"})))
        }
        (_, decision) => refused(decision),
    }
}
