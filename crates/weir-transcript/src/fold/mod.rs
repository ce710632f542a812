//! The fold: from lines and host events to a view, step by step.
//!
//! Synchronous and pure. Each part is in its own file; all of them read the view, decide, and change it only
//! through [`Fold::emit`], so the emitted changes are exactly what happened.

use std::sync::Arc;

mod agents;
mod assistant;
mod costs;
mod messages;
mod notices;
mod requests;
mod results;
mod retention;
mod streams;
mod tools;
mod turns;
mod unknown;
mod usages;

use std::collections::{BTreeMap, HashMap};

use serde::{Deserialize, Serialize};
use weir_wire::{
    ApiMessageId, Body, Line, Message, RateLimitMessage, RequestId, SystemMessage, ToolUseId, TurnId,
};

use self::messages::Attached;
use crate::host::HostEvent;
use crate::view::{
    BackgroundTask, Change, Entry, EntryBody, EntryId, Notice, RateLimit, Session, Status, Todo, ToolCall,
    Turn, TurnState, View,
};

/// How a fold limits its memory.
#[derive(Debug, Clone)]
pub struct FoldOptions {
    /// Maximum number of entries in the view; older ones are dropped. `None` keeps everything.
    pub keep_entries: Option<usize>,
    /// Maximum length of a tool's output that is kept, in bytes of the line.
    pub output_limit: usize,
    /// Maximum length of an unknown item that is kept, in bytes.
    pub unknown_limit: usize,
}

impl Default for FoldOptions {
    fn default() -> Self {
        Self { keep_entries: None, output_limit: 4 << 10, unknown_limit: 4 << 10 }
    }
}

/// Receives the changes, each with the view after it.
pub type Sink<'s> = dyn FnMut(&View, &Change<'_>) + 's;

/// Folds lines and host events into a view.
///
/// ```
/// use weir_transcript::{EntryBody, Fold, FoldOptions};
/// use weir_wire::Decoder;
///
/// let mut decoder = Decoder::new();
/// let mut fold = Fold::new(FoldOptions::default());
/// let line = br#"{"type":"assistant","message":{"id":"m","content":[{"type":"text","text":"Hello"}]}}"#;
/// let mut changes = 0;
/// fold.line(&decoder.decode(line), &mut |_view, _change| changes += 1);
/// assert!(changes > 0);
/// assert!(matches!(&fold.view().entries[0].body, EntryBody::Text(text) if text.text == "Hello"));
/// ```
///
/// A fold can be serialised, and a deserialised one continues where it was; its options are not included. The
/// serialised form is only valid for the same version of this crate.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Fold {
    #[serde(skip)]
    options: FoldOptions,
    view: View,
    /// The host's clock, for lines without a timestamp.
    now: Option<i64>,
    /// The time of the current line.
    line_time: Option<i64>,
    /// Number of lines so far, without transient ones.
    lines: u64,
    /// Bytes of lines since entries were last dropped.
    bytes: usize,
    next_entry: u64,
    next_turn: u64,
    /// The entry of each tool call.
    tools: HashMap<ToolUseId, EntryId, foldhash::fast::RandomState>,
    /// The entry of each hook run.
    hooks: BTreeMap<String, EntryId>,
    streams: streams::Streams,
    /// The model's message that the last `assistant` line was a part of.
    last_message: Option<ApiMessageId>,
    /// How the main agent's last message stopped, if it was cut off or refused.
    #[serde(default)]
    cut_off: Option<String>,
    turns: turns::Turns,
    messages: messages::Messages,
    costs: costs::Costs,
    agents: agents::Agents,
    /// Tool calls that are not settled.
    open_tools: Vec<EntryId>,
    /// Tool calls that are not settled and whose entries were dropped.
    dropped_calls: BTreeMap<ToolUseId, ToolCall>,
    /// The to-do lists as they were before calls that have no result yet.
    todos_before: BTreeMap<EntryId, Vec<Todo>>,
    /// Requests that are waiting for a decision.
    open_requests: Vec<RequestId>,
    /// The turn that waits for a person, and since when.
    #[serde(default)]
    waits_since: Option<(TurnId, i64)>,
    /// Whether the next session id is a new one because the session was reset.
    reset: bool,
    compacting: bool,
    ended: bool,
    /// See [`Fold::take_streamed`].
    #[serde(skip)]
    streamed: Vec<HostEvent>,
}

impl Fold {
    /// A fold with an empty view.
    pub fn new(options: FoldOptions) -> Self {
        Self {
            options,
            view: View::default(),
            now: None,
            line_time: None,
            lines: 0,
            bytes: 0,
            next_entry: 1,
            next_turn: 1,
            tools: HashMap::default(),
            hooks: BTreeMap::new(),
            streams: streams::Streams::default(),
            last_message: None,
            cut_off: None,
            turns: turns::Turns::default(),
            messages: messages::Messages::default(),
            costs: costs::Costs::default(),
            agents: agents::Agents::default(),
            open_tools: Vec::new(),
            dropped_calls: BTreeMap::new(),
            todos_before: BTreeMap::new(),
            open_requests: Vec::new(),
            waits_since: None,
            reset: false,
            compacting: false,
            ended: false,
            streamed: Vec::new(),
        }
    }

    /// Changes the limits.
    pub fn set_options(&mut self, options: FoldOptions) {
        self.options = options;
    }

    /// The limits.
    pub fn options(&self) -> &FoldOptions {
        &self.options
    }

    /// The current view.
    pub fn view(&self) -> &View {
        &self.view
    }

    /// Whether a tool call has neither ended nor been settled otherwise.
    pub fn has_open_tools(&self) -> bool {
        !self.open_tools.is_empty()
    }

    /// Releases memory that is needed only while something is running. The view is unchanged.
    pub fn release_memory(&mut self) {
        self.messages.waiting.shrink_to_fit();
        self.turns.release_memory();
        self.open_tools.shrink_to_fit();
        self.open_requests.shrink_to_fit();
    }

    /// Ends the fold and returns its view.
    pub fn into_view(self) -> View {
        self.view
    }

    /// Sets the clock for what follows, in milliseconds since 1970. Lines with their own timestamp use that
    /// instead.
    pub fn set_time(&mut self, milliseconds: i64) {
        self.now = Some(milliseconds);
    }

    /// Whether a log can leave this line out: blank lines, and pieces of a block that a complete line repeats. To
    /// be asked before the line is folded.
    ///
    /// Folding a log without transient lines gives the same view, with the same ids, as soon as nothing is being
    /// written, if the log has what [`Fold::take_streamed`] returns. Until then only the text of what is being
    /// written is missing.
    pub fn is_transient(&self, line: &Line<'_>) -> bool {
        match &line.body {
            Body::Known(Message::StreamEvent(event)) => self.is_transient_event(event),
            Body::Blank => true,
            _ => false,
        }
    }

    /// What a log without transient lines needs in addition, before the line or host event that was folded last.
    pub fn take_streamed(&mut self) -> Vec<HostEvent> {
        std::mem::take(&mut self.streamed)
    }

    /// Takes a line of the CLI.
    pub fn line(&mut self, line: &Line<'_>, sink: &mut Sink<'_>) {
        self.line_time = None;
        self.streamed.clear();
        if let Body::Known(Message::StreamEvent(event)) = &line.body {
            // Most lines are stream events, and few of them can change the status: those update it themselves.
            if !self.append_delta(event, sink) {
                if !self.is_transient_event(event) {
                    self.count(line);
                }
                self.stream_event(event, sink);
            }
            return;
        }
        if !matches!(line.body, Body::Blank) {
            self.count(line);
        }
        match &line.body {
            Body::Known(message) => self.message(message, sink),
            Body::Mismatch { partial, .. } => {
                self.unknown_line(line, sink);
                // A stream event with a mismatch might be added in the wrong place, and the whole block follows
                // anyway.
                if let Some(message) =
                    partial.as_ref().filter(|message| !matches!(message, Message::StreamEvent(_)))
                {
                    self.message(message, sink);
                }
            }
            Body::Blank => return,
            Body::UnknownType { .. } | Body::NotJson { .. } | Body::Oversize { .. } => {
                self.unknown_line(line, sink);
            }
        }
        self.update_status(sink);
        self.drop_old_entries(sink);
    }

    /// Counts a line that is not transient.
    fn count(&mut self, line: &Line<'_>) {
        self.lines += 1;
        self.bytes = self.bytes.saturating_add(kept_bytes(line));
    }

    /// Takes a host event.
    pub fn host(&mut self, event: &HostEvent, sink: &mut Sink<'_>) {
        self.line_time = None;
        self.streamed.clear();
        match event {
            HostEvent::ProcessStarted { resumes } => {
                // The end of the previous process may not have been reported.
                self.stream_ended(false, sink);
                self.ended = false;
                self.costs.process_started();
                if let (Some(id), None) = (resumes, &self.view.session.id) {
                    let session = Session { id: Some(id.clone()), ..self.view.session.clone() };
                    self.set_session(session, sink);
                }
            }
            HostEvent::MessageQueued { message, text, images, documents } => {
                let attached = Attached { images: *images, documents: *documents };
                self.message_queued(message, text, attached, sink);
            }
            HostEvent::MessageReworded { message, text } => self.message_reworded(message, text, sink),
            HostEvent::MessageComposed { message } => self.message_composed(message),
            HostEvent::MessageSent { message } => self.message_sent(message, sink),
            HostEvent::MessageCancelled { message } => self.message_cancelled(message, sink),
            HostEvent::MessageFailed { message, error } => self.message_failed(message, error, sink),
            HostEvent::RequestAnswered { request, answer, by } => {
                self.request_answered(request, answer, by.as_deref(), sink);
            }
            HostEvent::ToolCalled { request, tool_use_id, name, input } => {
                self.client_tool_called(request, tool_use_id.as_ref(), name, input, sink);
            }
            HostEvent::RequestWithdrawn { request } => self.request_cancelled(request, sink),
            HostEvent::Interrupted => self.turns.interrupt(),
            // It repeats what a live fold already knows, so it must have no other effect than what it says.
            HostEvent::TextStreamed { entry, text } => return self.text_streamed(*entry, text, sink),
            HostEvent::TextKept { entry, after, text } => return self.text_kept(*entry, *after, text, sink),
            HostEvent::Stderr { .. } => {}
            HostEvent::LogFailed { message } => {
                self.add_notice(Notice::Error { message: message.clone() }, sink);
            }
            HostEvent::Warning { message } => {
                let text = message.as_str().into();
                self.add_notice(Notice::Info { level: Some("warning".to_owned()), text }, sink);
            }
            HostEvent::ProcessExited { code, signal, stderr, wanted } => {
                let was_running = self.turns.is_running();
                self.stream_ended(*wanted, sink);
                if *code != Some(0) && !(*wanted && self.explains_exit(was_running, *code)) {
                    let notice =
                        Notice::ProcessEnded { code: *code, signal: *signal, stderr: stderr.clone() };
                    self.add_notice(notice, sink);
                }
                self.ended = true;
            }
            HostEvent::RecordingEnded => {
                self.stream_ended(false, sink);
                self.ended = true;
            }
            HostEvent::Rewound { message, to } => self.rewound(message, to.is_none(), sink),
            HostEvent::Branched => self.costs.branched(),
        }
        self.update_status(sink);
        self.drop_old_entries(sink);
    }

    /// Whether the exit code of a process that was ended on request is expected: it was ended while a turn was
    /// running, or by our signals, or its last result was an error, which old versions also report by their
    /// exit code.
    fn explains_exit(&self, was_running: bool, code: Option<i32>) -> bool {
        let ended_well = |turn: &Turn| matches!(turn.state, TurnState::Succeeded | TurnState::Empty);
        let is_signal = code.is_none_or(|code| code > 128);
        was_running || is_signal || !self.view.turns.last().is_none_or(ended_well)
    }

    /// The changes that a line makes, as a list.
    pub fn line_changes(&mut self, line: &Line<'_>) -> Vec<Change<'static>> {
        let mut changes = Vec::new();
        self.line(line, &mut |_, change| changes.push(change.clone().into_owned()));
        changes
    }

    /// The changes that a host event makes, as a list.
    pub fn host_changes(&mut self, event: &HostEvent) -> Vec<Change<'static>> {
        let mut changes = Vec::new();
        self.host(event, &mut |_, change| changes.push(change.clone().into_owned()));
        changes
    }

    fn message(&mut self, message: &Message<'_>, sink: &mut Sink<'_>) {
        match message {
            Message::System(system) => self.system(system, sink),
            Message::Assistant(message) => self.assistant(message, sink),
            Message::User(message) => self.user(message, sink),
            // Handled before, or not usable.
            Message::StreamEvent(_) => {}
            Message::Result(result) => self.result(result, sink),
            Message::ControlRequest(request) => self.control_request(request, sink),
            Message::ControlCancel(cancel) => self.request_cancelled(&cancel.request_id.to_id(), sink),
            Message::CommandLifecycle(lifecycle) => self.command_lifecycle(lifecycle, sink),
            Message::RateLimit(limit) => self.rate_limit(limit, sink),
            Message::ToolUseSummary(summary) => {
                let tools = summary.preceding_tool_use_ids.iter().map(weir_wire::IdRef::to_id).collect();
                self.add_notice(Notice::ToolSummary { text: summary.summary.to_str().into(), tools }, sink);
            }
            Message::AuthStatus(status) => {
                let lines: Vec<_> = status.output.iter().map(weir_wire::Text::to_str).collect();
                let error = status.error.map(|error| error.to_str().into_owned());
                self.add_notice(Notice::Login { text: lines.join("\n"), error }, sink);
            }
            Message::ToolProgress(progress) => self.tool_progress(progress, sink),
            Message::ConversationReset(reset) => {
                self.reset = true;
                let trigger = reset.trigger.map(|trigger| trigger.to_str().into_owned());
                self.add_notice(Notice::Reset { trigger }, sink);
            }
            Message::PromptSuggestion(message) => {
                let text = message.suggestion.to_str().into_owned();
                self.add_notice(Notice::Info { level: Some("suggestion".into()), text }, sink);
            }
            // Answers to our own requests are handled by `weir-session`; the rest has no lasting interest.
            Message::ControlResponse(_)
            | Message::KeepAlive(_)
            | Message::ActiveGoal(_)
            | Message::TranscriptMirror(_)
            | _ => {}
        }
    }

    fn system(&mut self, message: &SystemMessage<'_>, sink: &mut Sink<'_>) {
        match message {
            SystemMessage::Init(init) => self.init(init, sink),
            SystemMessage::Status(status) => {
                self.compacting = status.status.is_some_and(|status| status == "compacting");
                if let Some(mode) = status.permission_mode {
                    let mut session = self.view.session.clone();
                    session.permission_mode = Some(mode.to_str().into());
                    self.set_session(session, sink);
                }
            }
            SystemMessage::SessionTitleChanged(changed) => {
                let mut session = self.view.session.clone();
                session.title = changed.title.map(|title| title.to_str().into());
                self.set_session(session, sink);
            }
            SystemMessage::HookStarted(hook)
            | SystemMessage::HookProgress(hook)
            | SystemMessage::HookResponse(hook) => {
                self.hook(hook, sink);
            }
            SystemMessage::TaskStarted(task) => self.task_started(task, sink),
            SystemMessage::TaskProgress(task) => self.task_progress(task, sink),
            SystemMessage::TaskUpdated(task) => self.task_updated(task, sink),
            SystemMessage::TaskNotification(task) => self.task_notification(task, sink),
            SystemMessage::BackgroundTasksChanged(changed) => {
                let task = |task: &weir_wire::BackgroundTask<'_>| BackgroundTask {
                    id: task.task_id.to_id(),
                    task_type: task.task_type.map(|text| text.to_str().into()),
                    description: task.description.map(|text| text.to_str().into()).unwrap_or_default(),
                    parent: task.parent_task_id.map(|id| id.to_id()),
                    ambient: task.ambient.unwrap_or(false),
                };
                self.emit(Change::Tasks { tasks: changed.tasks.iter().map(task).collect() }, sink);
            }
            SystemMessage::PermissionDenied(denied) => self.permission_denied(denied, sink),
            _ => self.system_notice(message, sink),
        }
    }

    fn rate_limit(&mut self, message: &RateLimitMessage<'_>, sink: &mut Sink<'_>) {
        let info = &message.rate_limit_info;
        let limit = RateLimit {
            status: info.status.as_str().into(),
            resets_at: info.resets_at,
            limit: info.rate_limit_type.map(|text| text.to_str().into()),
            utilization: info.utilization,
        };
        let before = self.view.rate_limit.as_ref().map(|limit| limit.status.as_str());
        let has_changed = before.unwrap_or("allowed") != limit.status;
        if has_changed {
            let notice = Notice::RateLimit {
                status: limit.status.clone(),
                resets_at: limit.resets_at,
                limit: limit.limit.clone(),
            };
            self.add_notice(notice, sink);
        }
        self.emit(Change::RateLimit(limit), sink);
    }

    /// The only way in which the view changes.
    #[expect(clippy::needless_pass_by_value, reason = "every caller creates the change for this call")]
    fn emit(&mut self, change: Change<'_>, sink: &mut Sink<'_>) {
        self.keep_arguments(&change);
        self.view.apply(&change);
        sink(&self.view, &change);
    }

    fn add_entry(
        &mut self,
        turn: Option<TurnId>,
        parent: Option<ToolUseId>,
        body: EntryBody,
        sink: &mut Sink<'_>,
    ) -> EntryId {
        let id = EntryId(self.next_entry);
        self.next_entry += 1;
        let entry = Entry { id, turn, parent, at: self.time(), body };
        self.emit(Change::EntryAdded(Arc::new(entry)), sink);
        id
    }

    fn add_notice(&mut self, notice: Notice, sink: &mut Sink<'_>) -> EntryId {
        self.add_entry(self.turns.current(), None, EntryBody::Notice { notice }, sink)
    }

    fn time(&self) -> Option<i64> {
        self.line_time.or(self.now)
    }

    fn update_status(&mut self, sink: &mut Sink<'_>) {
        let status = if self.ended {
            Status::Ended
        } else if self.is_a_person_asked() {
            Status::WaitingForPerson
        } else if self.compacting {
            Status::Compacting
        } else if self.turns.is_running() {
            Status::Running
        } else if self.view.has_background_work() {
            Status::Background
        } else if self.view.turns.is_empty() {
            Status::Starting
        } else {
            Status::Idle
        };
        if self.view.status != status {
            self.emit(Change::Status { status }, sink);
        }
    }

    fn set_session(&mut self, session: Session, sink: &mut Sink<'_>) {
        if self.view.session != session {
            self.emit(Change::Session(Box::new(session)), sink);
        }
    }
}

/// How much of a line the view may hold. Of a line that was too long to be read, only its beginning is known, and how
/// much of it depends on who read it.
fn kept_bytes(line: &Line<'_>) -> usize {
    match &line.body {
        Body::Oversize { .. } => 0,
        _ => line.raw.len(),
    }
}
