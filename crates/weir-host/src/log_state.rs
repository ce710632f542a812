//! What the log says about a session beyond its view: its messages, whether it has a process, why it failed. Pure: steps
//! go in, frames for viewers come out.
//!
//! A session in memory and the replay of a log take the same steps; see [`crate::history`].

use serde::{Deserialize, Serialize};
use weir_store::{Check, Cursor};
use weir_transcript::{
    Agent, AgentState, ApiError, Change, EntryBody, Failure, FailureKind, HostEvent, MessageState, Request,
    RequestKind, RequestState, RewindPoint, Said, Status, Turn, TurnCause, TurnState, View, Vocabularies,
};
use weir_wire::{CliSessionId, MessageId, TurnId};

use crate::frame_builder::FrameBuilder;
use crate::info::{SessionStatus, WaitingFor};
use crate::item::{Item, Note};
use crate::message::queued;
use crate::message_queue::MessageQueue;
use crate::summary;

/// The action of a [`Note::Control`] when the session was stopped.
pub(crate) const STOP: &str = "stop";

/// What the log says about a session beyond its view.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct LogState {
    vocabularies: Vocabularies,
    pub(crate) messages: MessageQueue,
    newest: u64,
    /// Identifies the writer of the newest event.
    check: Option<Check>,
    has_process: bool,
    /// Set if the host was restarted while there was work to do, until the session is resumed. True if a turn was
    /// running.
    restarted: Option<bool>,
    failure: Option<Failure>,
    /// The session was stopped, so the outcome of its last turn is not a failure.
    is_stopped: bool,
    /// Set if the conversation was taken back and no process has continued it since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rewound: Option<Rewound>,
    /// Counts since the last [`LogState::take_tally`].
    tally: Tally,
}

/// Where a session that was taken back continues.
#[derive(Debug, Serialize, Deserialize)]
struct Rewound {
    /// The CLI's session when it was taken back. A process that was started for it has another one.
    session: Option<CliSessionId>,
    /// Where a process that is started next begins; at the very beginning if there is none.
    to: Option<RewindPoint>,
}

/// A step as [`LogState`] takes it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    pub(crate) at: i64,
    /// Its number in the log, if it is in there.
    pub(crate) seq: Option<u64>,
    pub(crate) size: usize,
}

/// Data for the counters.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Tally {
    /// Turns that have ended, each once.
    #[serde(skip)]
    pub(crate) ended: Vec<Turn>,
    /// How long the first text of a turn took, in milliseconds.
    #[serde(skip)]
    pub(crate) first_texts: Vec<i64>,
    /// Turns that have begun without a message.
    #[serde(skip)]
    pub(crate) unasked: Vec<TurnId>,
    /// Whether a process has ended after sub-agents had worked and before the CLI said what that cost.
    #[serde(skip)]
    pub(crate) has_cut_off_agents: bool,
    newest_ended: Option<TurnId>,
    newest_said: Option<TurnId>,
    /// Whether sub-agents have worked in the background since the CLI last said what something cost.
    #[serde(skip)]
    agents_worked: bool,
}

impl LogState {
    /// The session is being resumed; the log will say so in a moment.
    pub(crate) fn resuming(&mut self) {
        self.restarted = None;
    }

    /// The newest event was written by this opening of the store.
    pub(crate) fn set_check(&mut self, check: Option<Check>) {
        self.check = check;
    }

    /// The newest event has this number, whatever it is.
    pub(crate) fn set_newest(&mut self, seq: u64) {
        self.newest = seq;
    }

    /// Begins a step. Its changes follow, then [`LogState::end`].
    pub(crate) fn begin(&mut self, place: Place, item: Option<&Item>, frames: &mut FrameBuilder) {
        if let Some(seq) = place.seq {
            self.newest = seq;
        }
        frames.begin(place.size, place.seq);
        match item {
            Some(Item::Line(raw) | Item::Preview(raw)) => frames.line(raw, place.seq),
            Some(Item::Message(message) | Item::OldMessage(message)) => {
                self.restarted = None;
                self.messages.release();
                self.messages.accepted(message.clone(), self.newest, place.at);
            }
            Some(Item::Host(event)) => self.host(event),
            Some(Item::Note(note)) => self.note(note),
            Some(Item::Oversize(_) | Item::Stderr(_)) | None => {}
        }
    }

    /// Takes a change of a step. The view already has it. Viewers of the view are told by
    /// [`FrameBuilder::view_change`].
    pub(crate) fn change(
        &mut self,
        place: Place,
        view: &View,
        change: &Change<'_>,
        frames: &mut FrameBuilder,
    ) {
        self.notice(view, change);
        self.tally.said(place.at, view, change);
        frames.change(&mut self.vocabularies, view, change, place.seq);
    }

    /// Ends a step.
    pub(crate) fn end(&mut self, place: Place, view: &View, item: Option<&Item>, frames: &mut FrameBuilder) {
        if let Some(Item::Host(HostEvent::Rewound { to, .. })) = item {
            self.rewound = Some(Rewound { session: view.session.id.clone(), to: to.clone() });
        }
        match item {
            Some(Item::Host(event)) => frames.host(&mut self.vocabularies, view, event, place.seq),
            Some(Item::OldMessage(message)) => {
                frames.host(&mut self.vocabularies, view, &queued(message), place.seq);
            }
            Some(Item::Stderr(text)) => frames.stderr(text),
            _ => {}
        }
    }

    fn host(&mut self, event: &HostEvent) {
        match event {
            HostEvent::ProcessStarted { .. } => self.has_process = true,
            HostEvent::ProcessExited { .. } | HostEvent::RecordingEnded => {
                self.has_process = false;
                self.tally.has_cut_off_agents |= std::mem::take(&mut self.tally.agents_worked);
            }
            // Not only through the view: a caller waiting for the message must be told even if the view has dropped it.
            HostEvent::MessageCancelled { message } => {
                self.messages.delivered(message, MessageState::Cancelled, None);
            }
            HostEvent::MessageFailed { message, error } => {
                self.messages.delivered(message, MessageState::Failed, Some(error));
            }
            _ => {}
        }
    }

    /// Updates the messages, the tally and the failure after a change.
    fn notice(&mut self, view: &View, change: &Change<'_>) {
        if self.rewound.as_ref().is_some_and(|rewound| is_continued(rewound, view, change)) {
            self.rewound = None;
        }
        match change {
            Change::EntryAdded(entry) | Change::EntryReplaced(entry) => {
                if let EntryBody::User(user) = &entry.body
                    && let Some(id) = &user.message
                {
                    self.messages.shown(id);
                    self.messages.delivered(id, user.delivery, user.error.as_deref());
                }
            }
            Change::TurnAdded(turn) if matches!(turn.cause, TurnCause::Unasked { .. }) => {
                self.tally.unasked.push(turn.id);
            }
            Change::Agent(agent) if works_in_background(agent) => self.tally.agents_worked = true,
            Change::TurnReplaced(turn) if turn.state != TurnState::Running => {
                if turn.cost_usd.is_some() {
                    self.tally.agents_worked = view.agents.iter().any(works_in_background);
                }
                if turn.state == TurnState::Succeeded {
                    self.failure = None;
                }
                // A turn can be corrected after its end.
                if self.tally.newest_ended < Some(turn.id) {
                    self.tally.newest_ended = Some(turn.id);
                    self.tally.ended.push(Turn::clone(turn));
                }
            }
            _ => {}
        }
    }

    fn note(&mut self, note: &Note) {
        match note {
            Note::HandedOver { message_id } => {
                self.failure = None;
                self.is_stopped = false;
                self.messages.handed_over(message_id);
            }
            Note::MessageChanged { message_id, text, position, by, account } => {
                if let Some(text) = text {
                    self.messages.reworded(message_id, text, by, account.as_deref());
                }
                if let Some(position) = position {
                    self.messages.moved(message_id, *position);
                }
            }
            Note::Restarted { turn } => {
                self.restarted = Some(*turn || self.restarted == Some(true));
                self.messages.cut_off(&summary::restarted());
                self.messages.hold();
            }
            Note::Resumed { .. } => {
                self.restarted = None;
                self.messages.release();
            }
            Note::Failed { message_id, failure } => {
                if let Some(id) = message_id {
                    self.messages.failed(id, failure);
                }
                // An interrupt is not a failure of the session.
                if failure.kind != FailureKind::Interrupted {
                    self.failure = Some(failure.clone());
                }
            }
            Note::Control { action, .. } if action == STOP => {
                self.is_stopped = true;
                self.failure = None;
            }
            Note::Control { .. } => {}
        }
    }

    pub(crate) fn newest(&self) -> u64 {
        self.newest
    }

    /// Where the next process begins, if the conversation was taken back and has not been continued since. The inner
    /// none is the very beginning.
    pub(crate) fn rewound(&self) -> Option<Option<&RewindPoint>> {
        self.rewound.as_ref().map(|rewound| rewound.to.as_ref())
    }

    /// The cursor of the newest event in a log of this epoch.
    pub(crate) fn cursor(&self, epoch: &str) -> Cursor {
        Cursor::new(epoch, self.newest, self.check)
    }

    pub(crate) fn has_process(&self) -> bool {
        self.has_process
    }

    pub(crate) fn restarted(&self) -> Option<bool> {
        self.restarted
    }

    pub(crate) fn failure(&self) -> Option<&Failure> {
        self.failure.as_ref()
    }

    /// What was counted since the last call.
    pub(crate) fn take_tally(&mut self) -> Tally {
        let Tally { newest_ended, newest_said, agents_worked, .. } = self.tally;
        let rest = Tally { newest_ended, newest_said, agents_worked, ..Tally::default() };
        std::mem::replace(&mut self.tally, rest)
    }

    /// The status of the session, as far as the log and the stream tell.
    pub(crate) fn status(&self, view: &View) -> SessionStatus {
        match view.status {
            Status::WaitingForPerson => return SessionStatus::Waiting,
            Status::Running | Status::Compacting | Status::Background => return SessionStatus::Running,
            _ => {}
        }
        if self.messages.is_any_due() || self.messages.is_any_under_way() {
            return SessionStatus::Starting;
        }
        if self.restarted.is_some() {
            return SessionStatus::Interrupted;
        }
        if self.is_stopped {
            return SessionStatus::Idle;
        }
        let has_failed = view.turns.last().is_some_and(|turn| turn.state.is_error());
        if self.failure.is_some() || has_failed { SessionStatus::Failed } else { SessionStatus::Idle }
    }

    /// How many requests a person has to answer.
    pub(crate) fn waiting_for(view: &View) -> WaitingFor {
        let mut waiting = WaitingFor::default();
        let is_open =
            |request: &&Request| request.state == RequestState::Open && request.kind.is_for_a_person();
        for request in view.requests.iter().filter(is_open) {
            match request.kind {
                RequestKind::Question { .. } => waiting.questions += 1,
                _ => waiting.permissions += 1,
            }
        }
        waiting
    }

    /// The items that must be recorded when no process can be left, although the log may say that one is running.
    pub(crate) fn closing(&self, view: &View) -> Vec<Item> {
        let status = &view.status;
        let silent = self.messages.handed_and_silent();
        let turn = status.is_in_turn() || !silent.is_empty();
        let unseen = self.messages.accepted_only().map(|record| Item::Host(queued(&record.message)));
        let mut items: Vec<Item> = unseen.collect();
        items.extend(silent.into_iter().map(|message| Item::Host(HostEvent::MessageSent { message })));
        if turn || *status == Status::Background {
            items.push(Item::Host(HostEvent::Interrupted));
            items.push(Item::Host(HostEvent::ProcessExited {
                code: None,
                signal: None,
                stderr: "Weir restarted, so the agent's process ended.".to_owned(),
                wanted: false,
            }));
        } else if self.has_process {
            items.push(Item::Host(HostEvent::RecordingEnded));
        }
        if turn || self.messages.is_any_due() {
            items.push(Item::Note(Note::Restarted { turn }));
        }
        items
    }

    /// Whether something is running that would be cut off if the host ended.
    pub(crate) fn is_at_work(&self, view: &View) -> bool {
        view.status.is_in_turn() || view.status == Status::Background || self.messages.is_any_in_flight()
    }
}

/// Whether the CLI has continued a conversation that was taken back: as another session, or with an answer.
fn is_continued(rewound: &Rewound, view: &View, change: &Change<'_>) -> bool {
    match change {
        Change::EntryAdded(entry) => {
            let is_model =
                matches!(entry.body, EntryBody::Text(_) | EntryBody::Thinking(_) | EntryBody::Tool(_));
            entry.parent.is_none() && is_model
        }
        _ => view.session.id != rewound.session,
    }
}

fn works_in_background(agent: &Agent) -> bool {
    agent.background && agent.state == AgentState::Running
}

/// The result of the turn that answers a message.
pub(crate) fn answer_to(view: &View, message: &MessageId) -> TurnAnswer {
    let Some(turn) = view.turns.iter().rfind(|turn| turn.messages.contains(message)) else {
        return TurnAnswer::default();
    };
    let texts: Vec<_> = view.texts_of(turn.id).collect();
    let said: Said = texts.iter().copied().filter(|text| text.error.is_none()).collect();
    let limit = view.rate_limit.as_ref().filter(|limit| limit.status == "rejected");
    TurnAnswer {
        text: text_of(view, turn),
        said: said.into_text(),
        api_error: texts.iter().rev().find_map(|text| text.error.as_deref().cloned()),
        rate_limit_resets_at: limit.and_then(|limit| limit.resets_at),
        turn: Some(turn.clone()),
    }
}

/// The result of a turn.
#[derive(Debug, Default)]
pub(crate) struct TurnAnswer {
    pub(crate) text: String,
    pub(crate) said: String,
    pub(crate) api_error: Option<ApiError>,
    pub(crate) rate_limit_resets_at: Option<u64>,
    pub(crate) turn: Option<Turn>,
}

impl Tally {
    /// Notes when the main agent first says something in a turn.
    fn said(&mut self, at: i64, view: &View, change: &Change<'_>) {
        let entry = match change {
            Change::EntryAdded(entry) => Some(&**entry),
            Change::TextAppended { entry, .. } => view.entry(*entry),
            _ => None,
        };
        let Some(entry) = entry.filter(|entry| entry.turn > self.newest_said && entry.parent.is_none())
        else {
            return;
        };
        if matches!(&entry.body, EntryBody::Text(text) if !text.text.is_empty()) {
            self.newest_said = entry.turn;
            let began = entry.turn.and_then(|turn| view.turn(turn)?.started_at);
            self.first_texts.extend(began.map(|began| at - began));
        }
    }
}

/// The result's text, or what the main agent said in the turn.
fn text_of(view: &View, turn: &Turn) -> String {
    if let Some(text) = turn.result.as_ref().and_then(|result| result.text.clone()) {
        return text;
    }
    view.texts_of(turn.id).collect::<Said>().into_text()
}
