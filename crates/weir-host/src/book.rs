//! The current state of a session, made from its log and its previews. Pure: events go in, frames for viewers come out.
//!
//! There are two folds. The durable one has what the log has, so a session that is opened again looks the same. While
//! a turn runs and previews arrive, a copy of it takes those as well, and that is what viewers see. When the turn has
//! ended the copy is dropped: everything previewed has arrived in full. If both still differ (a preview that was never
//! completed, entries in a different order), viewers get the durable view.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use weir_store::{Check, Cursor, Event};
use weir_transcript::{
    ApiError, Change, EntryBody, Fold, FoldOptions, HostEvent, Request, RequestKind, RequestState, Said,
    Sink, Status, Turn, TurnState, View, Vocabularies,
};
use weir_wire::{Body, Decoder, Line, MessageId, TurnId};

use crate::facts;
use crate::frame_builder::FrameBuilder;
use crate::info::{SessionStatus, WaitingFor};
use crate::item::{Item, Note};
use crate::ledger::Ledger;
use crate::message::{Failure, FailureKind, MessageState, queued};
use crate::same::is_same;

/// The action of a [`Note::Control`] when the session was stopped.
pub(crate) const STOP: &str = "stop";

/// The current state of a session.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Book {
    durable: Fold,
    /// With previews, while there are some.
    #[serde(skip)]
    live: Option<Box<Fold>>,
    #[serde(skip)]
    decoder: Decoder,
    vocabularies: Vocabularies,
    pub(crate) ledger: Ledger,
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
    /// Counts since the last [`Book::take_tally`].
    tally: Tally,
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
    newest_ended: Option<TurnId>,
    newest_said: Option<TurnId>,
}

impl Book {
    /// An empty book that keeps this many entries; the rest is in the log.
    pub(crate) fn new(keep_entries: usize) -> Self {
        Self::with(bounded(keep_entries))
    }

    /// Reads what [`Book::to_json`] wrote; none if it cannot be read.
    pub(crate) fn from_json(data: &[u8], keep_entries: usize) -> Option<Self> {
        let mut book: Self = serde_json::from_slice(data).ok()?;
        book.durable.set_options(bounded(keep_entries));
        Some(book)
    }

    /// The durable state, without previews.
    pub(crate) fn to_json(&self) -> Option<Vec<u8>> {
        serde_json::to_vec(self).ok()
    }

    fn with(options: FoldOptions) -> Self {
        Self {
            durable: Fold::new(options),
            live: None,
            decoder: Decoder::new(),
            vocabularies: Vocabularies::default(),
            ledger: Ledger::default(),
            newest: 0,
            check: None,
            has_process: false,
            restarted: None,
            failure: None,
            is_stopped: false,
            tally: Tally::default(),
        }
    }

    /// Takes an event of the log.
    pub(crate) fn replay(&mut self, event: Event, frames: &mut FrameBuilder) {
        let (seq, at) = (event.seq, event.at);
        self.check = event.check;
        match Item::of(event) {
            Some(item) => self.apply(at, Some(seq), &item, frames),
            None => self.newest = seq,
        }
    }

    /// Takes an event of the log, for a caller that wants the changes themselves.
    pub(crate) fn replay_with(&mut self, event: Event, sink: &mut Sink<'_>) {
        let Event { seq, at, check, .. } = event;
        (self.newest, self.check) = (seq, check);
        self.durable.set_time(at);
        match Item::of(event) {
            Some(Item::Line(raw)) => self.durable.line(&self.decoder.decode(&raw), sink),
            Some(Item::Host(event)) => self.durable.host(&event, sink),
            Some(Item::Message(message)) => self.durable.host(&queued(&message), sink),
            Some(Item::Oversize(line)) => {
                let raw = line.head.as_bytes();
                self.durable.line(&Line { raw, body: Body::Oversize { length: line.length } }, sink);
            }
            _ => {}
        }
    }

    /// The session is being resumed; the log will say so in a moment.
    pub(crate) fn resuming(&mut self) {
        self.restarted = None;
    }

    /// Events that are taken from now on were written by this opening of the store.
    pub(crate) fn set_check(&mut self, check: Check) {
        self.check = Some(check);
    }

    /// Takes what happened; `seq` is its number in the log.
    pub(crate) fn apply(&mut self, at: i64, seq: Option<u64>, item: &Item, frames: &mut FrameBuilder) {
        self.set_time(at);
        if let Some(seq) = seq {
            self.newest = seq;
        }
        frames.begin(item.size(), seq);
        match item {
            Item::Line(raw) => {
                frames.line(raw, seq);
                let mut decoder = std::mem::take(&mut self.decoder);
                let line = decoder.decode(raw);
                self.line(at, &line, seq, frames);
                self.decoder = decoder;
            }
            Item::Preview(raw) => {
                frames.line(raw, None);
                let mut decoder = std::mem::take(&mut self.decoder);
                let line = decoder.decode(raw);
                self.preview(at, &line, frames);
                self.decoder = decoder;
            }
            Item::Oversize(line) => {
                let raw = line.head.as_bytes();
                self.line(at, &Line { raw, body: Body::Oversize { length: line.length } }, seq, frames);
            }
            Item::Host(event) => self.host(event, seq, frames),
            Item::Message(message) => {
                self.restarted = None;
                self.ledger.release();
                self.ledger.accepted(message.clone(), self.newest, at);
                self.host(&queued(message), seq, frames);
            }
            Item::Note(note) => self.note(note),
            Item::Stderr(text) => frames.stderr(text),
        }
        self.settle(frames);
    }

    fn set_time(&mut self, at: i64) {
        self.durable.set_time(at);
        if let Some(live) = &mut self.live {
            live.set_time(at);
        }
    }

    fn line(&mut self, at: i64, line: &Line<'_>, seq: Option<u64>, frames: &mut FrameBuilder) {
        let Self { durable, live, vocabularies, ledger, tally, failure, .. } = self;
        match live {
            Some(live) => {
                live.line(line, &mut |view, change| {
                    tally.said(at, view, change);
                    frames.change(vocabularies, view, change, seq);
                });
                durable.line(line, &mut |_, change| notice(change, ledger, tally, failure));
            }
            None => durable.line(line, &mut |view, change| {
                notice(change, ledger, tally, failure);
                tally.said(at, view, change);
                frames.change(vocabularies, view, change, seq);
            }),
        }
    }

    fn host(&mut self, event: &HostEvent, seq: Option<u64>, frames: &mut FrameBuilder) {
        match event {
            HostEvent::ProcessStarted { .. } => self.has_process = true,
            HostEvent::ProcessExited { .. } | HostEvent::RecordingEnded => self.has_process = false,
            // Not only through the view: a caller waiting for the message must be told even if the view has dropped it.
            HostEvent::MessageCancelled { message } => {
                self.ledger.delivered(message, MessageState::Cancelled, None);
            }
            HostEvent::MessageFailed { message, error } => {
                self.ledger.delivered(message, MessageState::Failed, Some(error));
            }
            _ => {}
        }
        let Self { durable, live, vocabularies, ledger, tally, failure, .. } = self;
        match live {
            Some(live) => {
                live.host(event, &mut |view, change| frames.change(vocabularies, view, change, seq));
                durable.host(event, &mut |_, change| notice(change, ledger, tally, failure));
            }
            None => durable.host(event, &mut |view, change| {
                notice(change, ledger, tally, failure);
                frames.change(vocabularies, view, change, seq);
            }),
        }
        frames.host(vocabularies, durable.view(), event, seq);
    }

    fn preview(&mut self, at: i64, line: &Line<'_>, frames: &mut FrameBuilder) {
        let durable = &self.durable;
        let live = self.live.get_or_insert_with(|| Box::new(durable.clone()));
        live.set_time(at);
        let (vocabularies, tally) = (&mut self.vocabularies, &mut self.tally);
        live.line(line, &mut |view, change| {
            tally.said(at, view, change);
            frames.change(vocabularies, view, change, None);
        });
    }

    fn note(&mut self, note: &Note) {
        match note {
            Note::HandedOver { message_id } => {
                self.failure = None;
                self.is_stopped = false;
                self.ledger.handed_over(message_id);
            }
            Note::Restarted { turn } => {
                self.restarted = Some(*turn || self.restarted == Some(true));
                self.ledger.cut_off(&facts::restarted());
                self.ledger.hold();
            }
            Note::Resumed { .. } => {
                self.restarted = None;
                self.ledger.release();
            }
            Note::Failed { message_id, failure } => {
                if let Some(id) = message_id {
                    self.ledger.failed(id, failure);
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

    /// Drops the previews once nothing runs.
    fn settle(&mut self, frames: &mut FrameBuilder) {
        let Some(live) = self.live.take_if(|live| !is_at_work(&live.view().status)) else { return };
        if is_at_work(&self.durable.view().status) {
            self.live = Some(live);
        } else if !is_same(live.view(), self.durable.view()) {
            frames.is_replaced = true;
        }
    }

    /// The current view, with previews.
    pub(crate) fn view(&self) -> &View {
        self.live.as_deref().unwrap_or(&self.durable).view()
    }

    /// The view as the log has it.
    pub(crate) fn into_view(self) -> View {
        self.durable.into_view()
    }

    /// The fold of the log, to continue from.
    pub(crate) fn history(&self) -> &Fold {
        &self.durable
    }

    /// The first entry that is not dropped; the next one where there is none.
    pub(crate) fn first_entry(&self) -> u64 {
        self.durable.view().dropped_entries + 1
    }

    pub(crate) fn newest(&self) -> u64 {
        self.newest
    }

    /// The cursor of the newest event in a log of this epoch.
    pub(crate) fn cursor(&self, epoch: &str) -> Cursor {
        Cursor::new(epoch, self.newest, self.check)
    }

    pub(crate) fn has_process(&self) -> bool {
        self.has_process
    }

    /// Whether a turn runs, asked for or not.
    pub(crate) fn is_turn_running(&self) -> bool {
        let status = &self.history().view().status;
        matches!(status, Status::Running | Status::Compacting | Status::WaitingForPerson)
    }

    pub(crate) fn restarted(&self) -> Option<bool> {
        self.restarted
    }

    pub(crate) fn failure(&self) -> Option<&Failure> {
        self.failure.as_ref()
    }

    /// The ended turns and first-text times since the last call.
    pub(crate) fn take_tally(&mut self) -> (Vec<Turn>, Vec<i64>) {
        (std::mem::take(&mut self.tally.ended), std::mem::take(&mut self.tally.first_texts))
    }

    /// Adds the entries that are being written at the moment, for a viewer that has only seen the log.
    pub(crate) fn tell_previews(&self, frames: &mut FrameBuilder) {
        let Some(live) = &self.live else { return };
        let logged = self.durable.view().entries.last().map_or(0, |entry| entry.id.0);
        let mut vocabularies = Vocabularies::default();
        for entry in live.view().entries.iter().filter(|entry| entry.id.0 > logged) {
            let change = Change::EntryAdded(Arc::clone(entry));
            frames.change(&mut vocabularies, live.view(), &change, None);
        }
    }

    /// How many requests a person has to answer.
    pub(crate) fn waiting_for(&self) -> WaitingFor {
        let mut waiting = WaitingFor::default();
        let is_open =
            |request: &&Request| request.state == RequestState::Open && request.kind.is_for_a_person();
        for request in self.view().requests.iter().filter(is_open) {
            match request.kind {
                RequestKind::Question { .. } => waiting.questions += 1,
                _ => waiting.permissions += 1,
            }
        }
        waiting
    }

    /// The status of the session, as far as the log and the stream tell.
    pub(crate) fn status(&self) -> SessionStatus {
        let view = self.view();
        match view.status {
            Status::WaitingForPerson => return SessionStatus::Waiting,
            Status::Running | Status::Compacting | Status::Background => return SessionStatus::Running,
            _ => {}
        }
        if self.ledger.is_any_due() || self.ledger.is_any_under_way() {
            return SessionStatus::Starting;
        }
        if self.restarted.is_some() {
            return SessionStatus::Interrupted;
        }
        if self.is_stopped {
            return SessionStatus::Idle;
        }
        let last = view.turns.last().map(|turn| turn.state);
        let has_failed = matches!(last, Some(TurnState::Failed | TurnState::Degraded | TurnState::Lost));
        if self.failure.is_some() || has_failed { SessionStatus::Failed } else { SessionStatus::Idle }
    }

    /// The items that must be recorded when no process can be left, although the log may say that one is running.
    pub(crate) fn closing(&self) -> Vec<Item> {
        let status = &self.durable.view().status;
        let silent = self.ledger.handed_and_silent();
        let turn = is_at_work(status) && *status != Status::Background || !silent.is_empty();
        let mut items: Vec<Item> = Vec::new();
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
        if turn || self.ledger.is_any_due() {
            items.push(Item::Note(Note::Restarted { turn }));
        }
        items
    }

    /// Whether something is running that would be cut off if the host ended.
    pub(crate) fn is_at_work(&self) -> bool {
        is_at_work(&self.view().status) || self.ledger.is_any_in_flight()
    }

    /// The result of the turn that answers a message.
    pub(crate) fn answer_to(&self, message: &MessageId) -> TurnAnswer {
        let view = self.durable.view();
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

fn bounded(keep_entries: usize) -> FoldOptions {
    FoldOptions { keep_entries: Some(keep_entries), ..FoldOptions::default() }
}

fn is_at_work(status: &Status) -> bool {
    matches!(status, Status::Running | Status::Compacting | Status::WaitingForPerson | Status::Background)
}

/// Updates the ledger, the tally and the failure after a change.
fn notice(change: &Change<'_>, ledger: &mut Ledger, tally: &mut Tally, failure: &mut Option<Failure>) {
    match change {
        Change::EntryAdded(entry) | Change::EntryReplaced(entry) => {
            if let EntryBody::User(user) = &entry.body
                && let Some(id) = &user.message
            {
                ledger.delivered(id, MessageState::of(user.delivery), user.error.as_deref());
            }
        }
        Change::TurnReplaced(turn) if turn.state != TurnState::Running => {
            if turn.state == TurnState::Succeeded {
                *failure = None;
            }
            // A turn can be corrected after its end.
            if tally.newest_ended < Some(turn.id) {
                tally.newest_ended = Some(turn.id);
                tally.ended.push(Turn::clone(turn));
            }
        }
        _ => {}
    }
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
