//! Turns: when they begin, which messages they answer, and how they end.
//!
//! Every turn begins with `system/init` and ends with `result`. The CLI may delay a result until after the next
//! turn has begun, so several turns can be open, and a result without message ids belongs to the oldest.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use weir_wire::{IdRef, InitMessage, MessageId, ResultMessage, Text, ToolUseId, TurnId};

use super::messages::MAX_MESSAGES;
use super::{Fold, Sink};
use crate::view::{
    Change, Denial, Entry, EntryBody, EntryId, McpServer, MessageState, Notice, Plugin, Said, Session,
    TextEntry, TokenUsage, ToolState, Turn, TurnCause, TurnResult, TurnState,
};

/// Maximum number of turns that wait for their result at once; beyond that, the oldest will not get one.
const MAX_OPEN: usize = 64;

/// The turns that have not ended.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Turns {
    open: Vec<OpenTurn>,
    /// Tool calls that failed since the model last wrote: an interrupt may turn out to be the cause.
    pub(super) failed: Vec<EntryId>,
    /// Whether the turn that is about to begin has already been interrupted.
    interrupt_next: bool,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct OpenTurn {
    id: TurnId,
    interrupted: bool,
    /// The number of the next entry when it began: while that is unchanged, nothing has happened in the turn.
    began_at: u64,
    /// The text of the turn that was dropped from the view.
    said: Option<Box<Said>>,
}

/// Maximum size of the kept text that was dropped from the view, in bytes; its end is kept.
const MAX_KEPT_TEXT: usize = 1 << 20;

impl Turns {
    /// The turn that is running.
    pub(super) fn current(&self) -> Option<TurnId> {
        self.open.last().map(|turn| turn.id)
    }

    pub(super) fn all_open(&self) -> impl Iterator<Item = TurnId> {
        self.open.iter().map(|turn| turn.id)
    }

    pub(super) fn is_running(&self) -> bool {
        !self.open.is_empty()
    }

    /// Keeps a text that is dropped from the view. The turn may need it for its answer.
    pub(super) fn remember_text(&mut self, turn: TurnId, text: &TextEntry) {
        if let Some(turn) = self.open.iter_mut().find(|open| open.id == turn) {
            let said = turn.said.get_or_insert_default();
            said.add(text);
            said.keep_last(MAX_KEPT_TEXT);
        }
    }

    pub(super) fn release_memory(&mut self) {
        self.open.shrink_to_fit();
        self.failed.shrink_to_fit();
    }

    /// Whether we have interrupted this turn, which has not ended yet.
    pub(super) fn is_interrupted(&self, turn: Option<TurnId>) -> bool {
        self.open.iter().any(|open| open.interrupted && Some(open.id) == turn)
    }

    pub(super) fn interrupt(&mut self) {
        match self.open.last_mut() {
            Some(turn) => turn.interrupted = true,
            // The CLI has not reported its start yet.
            None => self.interrupt_next = true,
        }
    }

    /// The turn that was interrupted before it began will not begin.
    pub(super) fn forget_interrupt(&mut self) {
        self.interrupt_next = false;
    }
}

impl Fold {
    /// The turn that a line belongs to: an agent's lines belong to the turn that started the agent.
    pub(super) fn turn_for(&self, parent: Option<IdRef<'_, ToolUseId>>) -> Option<TurnId> {
        let started = parent.and_then(|parent| self.view.agent(&parent.to_id())).and_then(|agent| agent.turn);
        started.or(self.turns.current())
    }

    pub(super) fn init(&mut self, init: &InitMessage<'_>, sink: &mut Sink<'_>) {
        let session = session_of(&self.view.session, init, self.reset);
        self.reset = false;
        self.set_session(session, sink);
        // If repeated with nothing in between and no message waiting, it is the same turn.
        let is_repeated = self.turns.open.last().is_some_and(|turn| turn.began_at == self.next_entry)
            && self.messages.waiting.is_empty()
            && init.user_message_uuids.is_empty();
        if !is_repeated {
            self.begin_turn(sink);
        }
        self.turn_answers(init.user_message_uuids.iter().copied(), sink);
    }

    /// The model writes, so there must be a turn, announced or not.
    pub(super) fn ensure_turn(&mut self, sink: &mut Sink<'_>) {
        self.turns.failed.clear();
        if !self.turns.is_running() {
            self.begin_turn(sink);
        }
    }

    fn begin_turn(&mut self, sink: &mut Sink<'_>) {
        let message = self.messages.waiting.pop_front();
        self.add_turn(message, sink);
    }

    /// Begins a turn that no message of ours has caused, although some may be waiting.
    fn begin_turn_without_message(&mut self, sink: &mut Sink<'_>) {
        self.add_turn(None, sink);
    }

    fn add_turn(&mut self, message: Option<MessageId>, sink: &mut Sink<'_>) {
        let id = TurnId(self.next_turn);
        self.next_turn += 1;
        let cause = match message {
            Some(_) => TurnCause::Message,
            None if self.messages.known_from_host => TurnCause::Unasked { origin: None },
            None => TurnCause::Presumed,
        };
        let turn = Turn {
            id,
            cause,
            messages: message.iter().cloned().collect(),
            state: TurnState::Running,
            started_at: self.time(),
            waited_ms: 0,
            result: None,
            cost_usd: None,
            models: Vec::new(),
        };
        if self.turns.open.len() >= MAX_OPEN {
            let oldest = self.turns.open.remove(0).id;
            self.settle_tools_of(oldest, ToolState::Unknown, sink);
            self.settle_requests_of(oldest, sink);
            self.update_turn(oldest, sink, |turn| turn.state = TurnState::Lost);
        }
        let interrupted = std::mem::take(&mut self.turns.interrupt_next);
        self.turns.open.push(OpenTurn { id, interrupted, began_at: self.next_entry, said: None });
        self.emit(Change::TurnAdded(Box::new(turn)), sink);
        if let Some(message) = message {
            self.set_delivery(&message, MessageState::Started, sink);
        }
    }

    pub(super) fn update_turn(&mut self, id: TurnId, sink: &mut Sink<'_>, change: impl FnOnce(&mut Turn)) {
        let Some(before) = self.view.turn(id) else { return };
        let mut after = before.clone();
        change(&mut after);
        if after != *before {
            self.emit(Change::TurnReplaced(Box::new(after)), sink);
        }
    }

    /// Records which messages the running turn answers, according to a line.
    pub(super) fn turn_answers<'a>(
        &mut self,
        messages: impl Iterator<Item = IdRef<'a, MessageId>>,
        sink: &mut Sink<'_>,
    ) {
        let Some(turn) = self.turns.current() else { return };
        for message in messages {
            let message = message.to_id();
            self.messages.waiting.retain(|waiting| *waiting != message);
            self.add_message_to(turn, &message, sink);
        }
    }

    pub(super) fn add_message_to(&mut self, turn: TurnId, message: &MessageId, sink: &mut Sink<'_>) {
        self.update_turn(turn, sink, |turn| {
            turn.cause = TurnCause::Message;
            if turn.messages.len() < MAX_MESSAGES && !turn.messages.contains(message) {
                turn.messages.push(message.clone());
            }
        });
    }

    pub(super) fn result(&mut self, line: &ResultMessage<'_>, sink: &mut Sink<'_>) {
        self.learn_session_id(line, sink);
        let mut said: Vec<MessageId> = line.user_message_uuids.iter().map(IdRef::to_id).collect();
        if said.is_empty() {
            said.extend(line.user_message_uuid.map(|id| id.to_id()));
        }
        let origin = unasked_origin(line).filter(|_| said.is_empty());
        let mut result = turn_result(line);
        let is_error = result.is_error || result.subtype.starts_with("error");
        // Old versions report these only as an error of the API.
        let cut_off = self.cut_off.take().filter(|_| is_error);
        result.stop_reason = result.stop_reason.or(cut_off);
        if !self.turns.is_running() && said.is_empty() && !is_error {
            // No turn has begun, so this is a second result of a turn that has ended, and answers no message.
            // An error is different: it can be the reason why no turn began.
            self.begin_turn_without_message(sink);
        }
        self.keep_answer_so_far();
        let OpenTurn { id, interrupted, said: dropped, .. } =
            self.turn_of_result(&said, origin.is_some(), sink);
        let mut state = turn_state(line, &result, interrupted);
        if state == TurnState::Empty && self.view.texts_of(id).any(|text| !is_no_answer(&text.text)) {
            // Old versions answer a command, such as `/compact` with nothing to compact, with text and then
            // write a result without text and turns. Unlike the empty result after a resume, this is an answer.
            state = TurnState::Succeeded;
        }
        if state == TurnState::Succeeded && !self.complete_result(id, dropped, &mut result) {
            // Old versions report an interrupted compaction as a success.
            state = if interrupted { TurnState::Interrupted } else { TurnState::Failed };
            if !interrupted {
                result.errors.push("the model ended its turn without an answer".to_owned());
            }
        }
        let is_late = !said.is_empty() && said.iter().all(|message| self.is_answered(message));
        let charge = self.costs.charge(line, self.view.session.model.as_deref(), is_late);
        let error = (state == TurnState::Failed).then(|| result.error());
        self.attribute_messages(id, said, origin, (state, error.as_deref()), sink);
        self.deny_tools(&result.denials, sink);
        let tool_state =
            if state == TurnState::Interrupted { ToolState::Interrupted } else { ToolState::Unknown };
        self.settle_tools_of(id, tool_state, sink);
        self.settle_requests_of(id, sink);
        if !self.turns.is_running() {
            self.break_off_streams(sink);
            self.compacting = false;
        }
        let total = self.costs.add(&self.view.cost, &charge, line.total_cost_usd);
        if total != self.view.cost {
            self.emit(Change::Cost(total), sink);
        }
        if does_not_identify_its_turn(line) && !self.is_held_back(id, &result) {
            self.end_turns_without_message(state, &result, sink);
        }
        self.update_turn(id, sink, |turn| {
            turn.state = state;
            turn.result = Some(result);
            turn.cost_usd = charge.usd;
            turn.models = charge.models;
        });
    }

    /// Whether the history was compacted in a turn, which was all that its message asked for.
    fn has_compacted(&self, id: TurnId) -> bool {
        let is_compaction = |entry: &Arc<Entry>| {
            entry.turn == Some(id)
                && matches!(&entry.body, EntryBody::Notice { notice: Notice::Compaction { .. } })
        };
        self.view.entries.iter().any(is_compaction)
    }

    /// Completes a successful result that has no text: the answer is the text of the turn. Returns whether
    /// there is an answer of any kind: text, an object, or an action.
    fn complete_result(&self, id: TurnId, dropped: Option<Box<Said>>, result: &mut TurnResult) -> bool {
        let is_empty = result.text.as_deref().is_none_or(|text| text.trim().is_empty());
        if !is_empty || !result.structured_output.is_null() {
            return true;
        }
        let mut said = dropped.map(|dropped| *dropped).unwrap_or_default();
        self.view.texts_of(id).for_each(|text| said.add(text));
        let of_turn = |entry: &&Arc<Entry>| entry.turn == Some(id) && entry.parent.is_none();
        let is_action = |entry: &Arc<Entry>| {
            let is_noise = matches!(&entry.body, EntryBody::Notice { notice: Notice::PlainText { .. } });
            !is_noise
                && !matches!(entry.body, EntryBody::User(_) | EntryBody::Thinking(_) | EntryBody::Text(_))
        };
        let has_actions =
            self.view.dropped_entries > 0 || self.view.entries.iter().filter(of_turn).any(is_action);
        if said.as_str().trim().is_empty() {
            return has_actions;
        }
        result.text = Some(said.into_text());
        result.degraded = true;
        true
    }

    /// Whether a result repeats the last text of its own turn and not that of the newest turn: then another
    /// result will follow.
    fn is_held_back(&self, id: TurnId, result: &TurnResult) -> bool {
        let of_turn = |id: TurnId| {
            self.view.entries.iter().rev().find_map(|entry| match &entry.body {
                EntryBody::Text(text) if entry.turn == Some(id) && entry.parent.is_none() => Some(&text.text),
                _ => None,
            })
        };
        let newest = self.turns.current().and_then(of_turn);
        of_turn(id) == result.text.as_ref() && newest != result.text.as_ref()
    }

    /// One result was for all open turns: those that no message caused end with it.
    fn end_turns_without_message(&mut self, state: TurnState, result: &TurnResult, sink: &mut Sink<'_>) {
        let view = &self.view;
        let has_no_message =
            |turn: &mut OpenTurn| view.turn(turn.id).is_none_or(|turn| turn.messages.is_empty());
        let without_message: Vec<OpenTurn> = self.turns.open.extract_if(.., has_no_message).collect();
        for OpenTurn { id, .. } in without_message {
            self.settle_tools_of(id, ToolState::Unknown, sink);
            self.settle_requests_of(id, sink);
            self.update_turn(id, sink, |turn| {
                turn.state = state;
                turn.result = Some(result.clone());
            });
        }
    }

    /// Removes and returns the turn that a result ends: the one with these messages, else the oldest. A result
    /// of an unasked turn does not end a turn that was asked for, if there is another.
    fn turn_of_result(&mut self, said: &[MessageId], unasked: bool, sink: &mut Sink<'_>) -> OpenTurn {
        if self.turns.open.is_empty() {
            self.begin_turn(sink);
        }
        let messages = |turn: &OpenTurn| {
            self.view.turn(turn.id).map(|turn| turn.messages.as_slice()).unwrap_or_default()
        };
        let answers = |turn: &OpenTurn| messages(turn).iter().any(|message| said.contains(message));
        let place = self.turns.open.iter().position(answers).or_else(|| {
            let has_no_message = |turn: &OpenTurn| messages(turn).is_empty();
            self.turns.open.iter().position(has_no_message).filter(|_| unasked)
        });
        self.turns.open.remove(place.unwrap_or(0))
    }

    /// Records which messages a turn has answered. Messages that were only assigned by order and not answered
    /// go back to waiting.
    fn attribute_messages(
        &mut self,
        id: TurnId,
        said: Vec<MessageId>,
        origin: Option<String>,
        (state, error): (TurnState, Option<&str>),
        sink: &mut Sink<'_>,
    ) {
        let taken = self.view.turn(id).map(|turn| turn.messages.clone()).unwrap_or_default();
        // Versions that do not name messages end a compaction like the empty turn after a resume.
        let is_empty = state == TurnState::Empty && said.is_empty() && !self.has_compacted(id);
        let answers_nothing = origin.is_some() || is_empty;
        let answered = match (answers_nothing, said.is_empty()) {
            (true, _) => Vec::new(),
            (false, true) => taken.clone(),
            (false, false) => said,
        };
        for message in taken.into_iter().rev().filter(|message| !answered.contains(message)) {
            self.set_delivery(&message, MessageState::Sent, sink);
            self.messages.waiting.push_front(message);
        }
        self.messages.waiting.retain(|waiting| !answered.contains(waiting));
        for message in &answered {
            self.set_turn(message, id, sink);
            match error {
                Some(error) => self.message_failed(message, error, sink),
                None => self.set_delivery(message, MessageState::Answered, sink),
            }
        }
        self.update_turn(id, sink, |turn| {
            if let Some(origin) = origin {
                turn.cause = TurnCause::Unasked { origin: Some(origin) };
            } else if !answered.is_empty() {
                turn.cause = TurnCause::Message;
            }
            turn.messages = answered;
        });
    }

    /// Some versions report denials only in the result.
    fn deny_tools(&mut self, denials: &[Denial], sink: &mut Sink<'_>) {
        for tool in denials.iter().filter_map(|denial| denial.tool_use_id.as_ref()) {
            if let Some(entry) = self.tools.get(tool).copied() {
                self.deny_tool(entry, sink);
            }
        }
    }

    fn learn_session_id(&mut self, line: &ResultMessage<'_>, sink: &mut Sink<'_>) {
        if self.view.session.id.is_none()
            && let Some(id) = line.session_id
        {
            let mut session = self.view.session.clone();
            session.id = Some(id.to_id());
            self.set_session(session, sink);
        }
    }

    /// No more lines will come: everything that is open ends in its current state. If the end was requested, it
    /// counts as interrupted.
    pub(super) fn stream_ended(&mut self, is_wanted: bool, sink: &mut Sink<'_>) {
        self.break_off_all_streams(sink);
        self.cancel_requests(sink);
        for entry in std::mem::take(&mut self.open_tools) {
            let state = if is_wanted { ToolState::Interrupted } else { ToolState::Unknown };
            self.settle_tool_as(entry, state, sink);
        }
        self.dropped_calls.clear();
        self.forget_running_agents(sink);
        for turn in std::mem::take(&mut self.turns.open) {
            let has_text = self.view.entries.iter().rev().any(|entry| {
                entry.turn == Some(turn.id)
                    && entry.parent.is_none()
                    && matches!(entry.body, EntryBody::Text(_))
            });
            let state = match (turn.interrupted || is_wanted, has_text) {
                (true, _) => TurnState::Interrupted,
                (false, true) => TurnState::Degraded,
                (false, false) => TurnState::Lost,
            };
            self.update_turn(turn.id, sink, |turn| turn.state = state);
        }
        self.lose_messages(sink);
        if !self.view.tasks.is_empty() {
            self.emit(Change::Tasks { tasks: Vec::new() }, sink);
        }
        self.compacting = false;
        self.turns.interrupt_next = false;
    }
}

fn session_of(before: &Session, init: &InitMessage<'_>, was_reset: bool) -> Session {
    let owned = |text: Option<Text<'_>>| text.map(|text| text.to_str().into_owned());
    let list = |texts: &[Text<'_>]| texts.iter().map(|text| text.to_str().into_owned()).collect();
    let id = init.session_id.map(|id| id.to_id());
    let is_other = before.id.is_some() && id.is_some() && before.id != id;
    Session {
        id: id.or_else(|| before.id.clone()),
        title: before.title.clone(),
        model: owned(init.model),
        version: owned(init.claude_code_version),
        cwd: owned(init.cwd),
        permission_mode: owned(init.permission_mode),
        api_key_source: owned(init.api_key_source),
        tools: list(&init.tools),
        mcp_servers: init
            .mcp_servers
            .iter()
            .map(|server| McpServer {
                name: server.name.to_str().into(),
                status: server.status.to_str().into(),
            })
            .collect(),
        slash_commands: list(&init.slash_commands),
        skills: list(&init.skills),
        plugins: init.plugins.iter().map(plugin).collect(),
        forked: before.forked || (is_other && !was_reset),
    }
}

/// A plugin as reported by `init`: an object, or just its name.
fn plugin(json: &weir_wire::RawJson<'_>) -> Plugin {
    let member = |name: &str| Some(json.get(name)?.as_text()?.to_str().into_owned());
    let name = member("name").or_else(|| Some(json.as_text()?.to_str().into_owned()));
    Plugin { name: name.unwrap_or_default(), path: member("path") }
}

fn turn_result(line: &ResultMessage<'_>) -> TurnResult {
    let owned = |text: Option<Text<'_>>| text.map(|text| text.to_str().into_owned());
    let is_error = line.is_error == Some(true);
    let words = || line.content.as_ref().filter(|_| is_error).map(weir_wire::Content::to_text);
    let text = line.result.as_ref().map(weir_wire::ResultText::to_text);
    let text = text.filter(|text| !is_error || !text.trim().is_empty()).or_else(words);
    let status = || text.as_deref().filter(|_| is_error).and_then(status_in_text);
    TurnResult {
        subtype: line.subtype.to_str().into(),
        is_error,
        api_error_status: line.api_error_status.or_else(status),
        text,
        degraded: false,
        errors: line.errors.iter().map(|error| error.to_str().into()).collect(),
        terminal_reason: owned(line.terminal_reason),
        stop_reason: owned(line.stop_reason),
        num_turns: line.num_turns,
        duration_ms: line.duration_ms,
        duration_api_ms: line.duration_api_ms,
        usage: TokenUsage::of(line.usage.as_ref()),
        denials: line
            .permission_denials
            .iter()
            .map(|denial| Denial {
                tool_name: denial.tool_name.to_str().into(),
                tool_use_id: denial.tool_use_id.map(|id| id.to_id()),
                tool_input: denial.tool_input.map(|input| input.to_value()).unwrap_or_default(),
            })
            .collect(),
        structured_output: line.structured_output.map(|output| output.to_value()).unwrap_or_default(),
    }
}

fn turn_state(line: &ResultMessage<'_>, result: &TurnResult, interrupted: bool) -> TurnState {
    let aborted = result.terminal_reason.as_deref().is_some_and(|reason| reason.starts_with("aborted"));
    let says_error = result.subtype.starts_with("error");
    if aborted || (interrupted && says_error) {
        TurnState::Interrupted
    } else if result.is_error || says_error {
        TurnState::Failed
    } else if line.num_turns == Some(0) && result.text.as_deref().is_none_or(is_no_answer) {
        TurnState::Empty
    } else {
        TurnState::Succeeded
    }
}

/// Whether a result says neither which turn it belongs to nor why the turn ended. Versions that write such
/// results may write one result for a turn and for the one that they began on their own in the meantime: 2.1.61
/// does, when an agent in the background ends after the last text of the turn that started it.
fn does_not_identify_its_turn(line: &ResultMessage<'_>) -> bool {
    line.user_message_uuids.is_empty()
        && line.user_message_uuid.is_none()
        && line.origin.is_none()
        && line.terminal_reason.is_none()
}

/// The HTTP status of an API error, parsed from the CLI's text: older versions do not report it anywhere else.
fn status_in_text(text: &str) -> Option<u64> {
    let (status, _) = text.strip_prefix("API Error: ")?.split_once(' ')?;
    status.parse().ok().filter(|status| (400..600).contains(status))
}

/// Whether this is the CLI's text for an empty answer.
fn is_no_answer(text: &str) -> bool {
    text.is_empty() || text == "No response requested."
}

fn unasked_origin(line: &ResultMessage<'_>) -> Option<String> {
    let kind = line.origin.as_ref()?.kind?.to_str().into_owned();
    (kind != "human").then_some(kind)
}
