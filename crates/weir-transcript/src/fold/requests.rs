//! Requests of the CLI to a person, and their decisions.

use serde_json::Value;
use weir_wire::{
    CanUseTool, ControlRequest, ControlRequestMessage, RequestId, Text, ToolInput, ToolUseId, TurnId,
};

use super::{Fold, Sink};
use crate::host::RequestAnswer;
use crate::view::{
    Change, EntryId, PLAN_TOOL, PermissionRequest, Request, RequestKind, RequestState, ToolDetail, ToolState,
    UnknownReason,
};

impl Fold {
    pub(super) fn control_request(&mut self, message: &ControlRequestMessage<'_>, sink: &mut Sink<'_>) {
        match &message.request {
            ControlRequest::CanUseTool(request) => {
                self.permission_asked(&message.request_id.to_id(), request, sink);
            }
            ControlRequest::Elicitation(request) => {
                let kind = RequestKind::Elicitation {
                    server: request.mcp_server_name.to_str().into(),
                    message: request.message.to_str().into(),
                    url: request.url.map(|url| url.to_str().into_owned()),
                    form: request.form(),
                };
                self.open_request(message.request_id.to_id(), None, kind, sink);
            }
            ControlRequest::Unknown { subtype, json } => {
                self.unknown_part(UnknownReason::UnknownBlock, None, *subtype, None, *json, sink);
            }
            // Decided by the program, not by a person.
            ControlRequest::HookCallback(_) | ControlRequest::McpMessage(_) | _ => {}
        }
    }

    fn permission_asked(&mut self, id: &RequestId, request: &CanUseTool<'_>, sink: &mut Sink<'_>) {
        let call = request.tool_use_id.map(|id| id.to_id());
        let tool = call.as_ref().and_then(|id| self.tools.get(id).copied());
        let name = request.tool_name.to_str();
        let input = request.input.to_value();
        let owned = |text: Option<Text<'_>>| text.map(|text| text.to_str().into_owned());
        let kind = match (&*name, ToolInput::from_value(&name, input.clone())) {
            // A call without questions is shown like any other call, with its input: a person can still deny
            // it.
            ("AskUserQuestion", ToolInput::AskUserQuestion(question)) if !question.questions.is_empty() => {
                RequestKind::Question { questions: question.questions, input }
            }
            (PLAN_TOOL, _) => RequestKind::Plan { plan: self.proposed_plan(tool, &input), input },
            _ => RequestKind::Permission(PermissionRequest {
                tool_name: name.clone().into_owned(),
                input,
                description: owned(request.description),
                reason: owned(request.decision_reason),
                blocked_path: owned(request.blocked_path),
                suggestions: request.suggestions(),
                context: Box::new(request.context()),
            }),
        };
        let is_new = self.open_request(id.clone(), call, kind, sink);
        if let Some(tool) = tool.filter(|_| is_new) {
            self.wait_for_permission(tool, id, sink);
        }
    }

    /// The model calls a tool of a client.
    pub(super) fn client_tool_called(
        &mut self,
        id: &RequestId,
        call: Option<&ToolUseId>,
        name: &str,
        input: &Value,
        sink: &mut Sink<'_>,
    ) {
        let named = call.and_then(|id| self.tools.get(id).copied());
        let entry = named.or_else(|| self.unanswered_call(name));
        let call = entry.and_then(|entry| self.tool(entry)).map(|tool| tool.id.clone());
        let kind = RequestKind::ClientTool { name: name.to_owned(), input: input.clone() };
        let is_new = self.open_request(id.clone(), call, kind, sink);
        if let Some(entry) = entry.filter(|_| is_new) {
            self.update_tool(entry, sink, |tool| tool.request = Some(id.clone()));
        }
    }

    /// The oldest call of a client's tool that has no request yet; the CLI's name of the tool is
    /// `mcp__SERVER__NAME`.
    fn unanswered_call(&self, name: &str) -> Option<EntryId> {
        self.open_tools.iter().copied().find(|entry| {
            self.tool(*entry).is_some_and(|tool| {
                let short = tool.name.strip_prefix("mcp__").and_then(|rest| rest.split_once("__"));
                tool.request.is_none() && short.is_some_and(|(_, short)| short == name)
            })
        })
    }

    /// Whether a person has to decide something.
    pub(super) fn is_a_person_asked(&self) -> bool {
        self.open_requests
            .iter()
            .any(|id| self.view.request(id).is_some_and(|request| request.kind.is_for_a_person()))
    }

    fn wait_for_permission(&mut self, tool: EntryId, request: &RequestId, sink: &mut Sink<'_>) {
        self.update_tool(tool, sink, |tool| {
            tool.request = Some(request.clone());
            if !tool.state.is_settled() {
                tool.state = ToolState::WaitingForPermission;
            }
        });
    }

    /// A call may arrive after the request about it.
    pub(super) fn link_request(&mut self, entry: EntryId, sink: &mut Sink<'_>) {
        if self.open_requests.is_empty() {
            return;
        }
        let Some((found, tool)) = self.view.tool(entry) else { return };
        let asked =
            self.view.requests.iter().rfind(|request| {
                request.state == RequestState::Open && request.tool.as_ref() == Some(&tool.id)
            });
        let Some(mut request) = asked.filter(|_| tool.request.is_none()).cloned() else { return };
        request.parent.clone_from(&found.parent);
        let id = request.id.clone();
        self.emit(Change::Request(Box::new(request)), sink);
        self.wait_for_permission(entry, &id, sink);
    }

    /// Newer versions leave the plan out of the request, but the call has it.
    fn proposed_plan(&self, tool: Option<EntryId>, input: &Value) -> Option<String> {
        if let Some(plan) = input.get("plan").and_then(Value::as_str) {
            return Some(plan.to_owned());
        }
        match &self.tool(tool?)?.detail {
            ToolDetail::Plan { text, .. } if !text.is_empty() => Some(text.clone()),
            _ => None,
        }
    }

    /// Opens a request and returns whether it is new.
    fn open_request(
        &mut self,
        id: RequestId,
        tool: Option<ToolUseId>,
        kind: RequestKind,
        sink: &mut Sink<'_>,
    ) -> bool {
        // The first decision counts, even if the CLI repeats the request.
        if self.view.request(&id).is_some() {
            return false;
        }
        let call = tool.as_ref().and_then(|id| self.tools.get(id)).and_then(|entry| self.view.entry(*entry));
        let request = Request {
            id: id.clone(),
            entry: call.map_or(EntryId(self.next_entry), |entry| entry.id),
            turn: call.and_then(|entry| entry.turn).or(self.turns.current()),
            parent: call.and_then(|entry| entry.parent.clone()),
            tool,
            kind,
            state: RequestState::Open,
        };
        self.open_requests.push(id);
        let waits = self.turn_that_waits(&request);
        self.emit(Change::Request(Box::new(request)), sink);
        if let (Some(turn), Some(now), None) = (waits, self.time(), self.waits_since) {
            self.waits_since = Some((turn, now));
        }
        true
    }

    /// The turn that stands still until a person has decided. Nothing waits for agents in the background.
    fn turn_that_waits(&self, request: &Request) -> Option<TurnId> {
        let in_background = request.parent.as_ref().is_some_and(|agent| self.view.is_in_background(agent));
        request.turn.filter(|_| request.kind.is_for_a_person() && !in_background)
    }

    /// Adds the time since the first of several requests to its turn, once none of them is open.
    fn count_waiting(&mut self, sink: &mut Sink<'_>) {
        let Some((turn, since)) = self.waits_since else { return };
        let still_waits = self.open_requests.iter().any(|id| {
            self.view.request(id).is_some_and(|request| self.turn_that_waits(request) == Some(turn))
        });
        if still_waits {
            return;
        }
        self.waits_since = None;
        let waited = self.time().and_then(|now| u64::try_from(now - since).ok()).unwrap_or(0);
        self.update_turn(turn, sink, |turn| turn.waited_ms += waited);
    }

    /// The first decision counts; later ones change nothing.
    fn close_request(&mut self, id: &RequestId, state: RequestState, sink: &mut Sink<'_>) -> Option<Request> {
        let before = self.view.request(id).filter(|request| request.state == RequestState::Open)?;
        let mut request = before.clone();
        request.state = state;
        self.open_requests.retain(|open| open != id);
        self.emit(Change::Request(Box::new(request.clone())), sink);
        self.count_waiting(sink);
        Some(request)
    }

    pub(super) fn request_answered(
        &mut self,
        id: &RequestId,
        answer: &RequestAnswer,
        by: Option<&str>,
        sink: &mut Sink<'_>,
    ) {
        let by = by.map(str::to_owned);
        let (state, tool_state) = match answer {
            RequestAnswer::Allow { answers } => {
                (RequestState::Allowed { by, answers: answers.clone() }, ToolState::Running)
            }
            RequestAnswer::Deny { message } => {
                (RequestState::Denied { by, message: Some(message.clone()) }, ToolState::Denied)
            }
            RequestAnswer::Expired => (RequestState::Expired, ToolState::Denied),
        };
        let Some(request) = self.close_request(id, state, sink) else {
            return;
        };
        let Some(entry) = request.tool.and_then(|tool| self.tools.get(&tool).copied()) else {
            return;
        };
        let answers = match answer {
            RequestAnswer::Allow { answers } => answers.clone(),
            _ => None,
        };
        let now = self.time();
        self.update_tool(entry, sink, |tool| {
            if tool.state == ToolState::WaitingForPermission {
                tool.state = tool_state;
                // It begins now: the time of the person is not the call's.
                tool.started_at = now.or(tool.started_at);
            }
            if let (ToolDetail::Questions { answers: given, .. }, Some(answers)) = (&mut tool.detail, answers)
            {
                *given = Some(answers);
            }
        });
    }

    pub(super) fn request_cancelled(&mut self, id: &RequestId, sink: &mut Sink<'_>) {
        let Some(request) = self.close_request(id, RequestState::Cancelled, sink) else { return };
        let Some(entry) = request.tool.and_then(|tool| self.tools.get(&tool).copied()) else { return };
        if self.tool(entry).is_some_and(|tool| tool.state == ToolState::WaitingForPermission) {
            self.emit(Change::ToolState { entry, state: ToolState::Running }, sink);
        }
    }

    /// A turn has ended, so its requests were decided elsewhere.
    pub(super) fn settle_requests_of(&mut self, turn: TurnId, sink: &mut Sink<'_>) {
        for id in self.open_requests.clone() {
            let request = self.view.request(&id);
            let in_background = |id: &ToolUseId| self.view.is_in_background(id);
            let is_over = request.is_none_or(|request| {
                request.turn == Some(turn) && !request.parent.as_ref().is_some_and(in_background)
            });
            if is_over {
                self.settle_request(&id, sink);
            }
        }
    }

    /// The tool's result has arrived, so the request was decided elsewhere.
    pub(super) fn request_settled(&mut self, tool: EntryId, sink: &mut Sink<'_>) {
        let request = self.tool(tool).and_then(|tool| tool.request.clone());
        if let Some(id) = request {
            self.settle_request(&id, sink);
        }
    }

    /// A request to a person was decided elsewhere; a client's answer can only come through us, so its request
    /// is no longer needed.
    fn settle_request(&mut self, id: &RequestId, sink: &mut Sink<'_>) {
        let is_for_a_person = self.view.request(id).is_none_or(|request| request.kind.is_for_a_person());
        let state = if is_for_a_person { RequestState::Settled } else { RequestState::Cancelled };
        self.close_request(id, state, sink);
    }

    /// The CLI has ended: its requests no longer need a decision.
    pub(super) fn cancel_requests(&mut self, sink: &mut Sink<'_>) {
        for id in std::mem::take(&mut self.open_requests) {
            self.close_request(&id, RequestState::Cancelled, sink);
        }
    }
}
