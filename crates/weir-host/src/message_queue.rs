//! The messages of a session: which are queued, which may be sent to the CLI next, and the state of the rest. Pure.

use std::collections::VecDeque;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use weir_transcript::{Failure, MessageState};
use weir_wire::MessageId;

use crate::message::{MessageInfo, MessageMode, StoredMessage};

/// How many ended messages are still listed.
const REMEMBERED: usize = 64;
/// How many bytes of the text of an ended message are listed. The log has the whole text.
const REMEMBERED_TEXT: usize = 16 << 10;

/// A message and its state.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Record {
    /// Complete while it may still have to be sent; shortened when it has ended.
    pub(crate) message: Arc<StoredMessage>,
    images: u32,
    #[serde(default)]
    documents: u32,
    pub(crate) seq: u64,
    pub(crate) at: i64,
    pub(crate) state: MessageState,
    /// It waits until the session is resumed.
    pub(crate) held: bool,
    /// The log says that it is being sent to the CLI.
    pub(crate) handed: bool,
    /// The view has it.
    is_shown: bool,
    /// A task is sending or cancelling it, so no other task may.
    #[serde(skip)]
    pub(crate) claimed: bool,
    /// It was cancelled while it waited for a process or for money.
    #[serde(skip)]
    pub(crate) is_unwanted: bool,
    /// It was sent to a session that has not answered yet.
    #[serde(skip)]
    pub(crate) in_flight: bool,
    /// It was interrupted while it was being sent to the CLI, or later.
    #[serde(skip)]
    pub(crate) interrupted: bool,
    pub(crate) failure: Option<Failure>,
    /// The error that the view shows.
    error: Option<String>,
}

impl Record {
    fn waits(&self) -> bool {
        self.state == MessageState::Queued && !self.handed
    }

    /// Whether it waits, and no task is sending or cancelling it. One that is in flight may already be read.
    fn may_be_claimed(&self) -> bool {
        self.waits() && !self.claimed && !self.in_flight
    }

    pub(crate) fn info(&self) -> MessageInfo {
        MessageInfo {
            message_id: self.message.message_id.clone(),
            client_id: self.message.client_id.clone(),
            text: self.message.text.clone(),
            images: self.images,
            documents: self.documents,
            state: self.state,
            error: self.error.clone(),
            held: self.held && self.state == MessageState::Queued,
            mode: self.message.mode,
            by: self.message.by.clone(),
            at: self.at,
        }
    }

    /// Drops the parts that only the CLI needs.
    fn slim(&mut self) {
        let text = &self.message.text;
        if !self.message.has_attachments() && text.len() <= REMEMBERED_TEXT {
            return;
        }
        let text = weir_base::text::head(text, REMEMBERED_TEXT).to_owned();
        let message = &self.message;
        self.message = Arc::new(StoredMessage {
            message_id: message.message_id.clone(),
            client_id: message.client_id.clone(),
            by: message.by.clone(),
            account: message.account.clone(),
            mode: message.mode,
            goes_first: message.goes_first,
            text,
            images: Vec::new(),
            documents: Vec::new(),
            links: Vec::new(),
            files: Vec::new(),
            command: message.command.clone(),
        });
    }

    /// Whether its state is final.
    pub(crate) fn is_over(&self) -> bool {
        self.state.is_final() && !self.in_flight && !self.claimed
    }
}

/// The messages of a session.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct MessageQueue {
    records: VecDeque<Record>,
    /// Changes whenever the queue does.
    revision: u64,
}

impl MessageQueue {
    /// A message was accepted.
    pub(crate) fn accepted(&mut self, message: Arc<StoredMessage>, seq: u64, at: i64) {
        let record = Record {
            images: u32::try_from(message.images.len()).unwrap_or(u32::MAX),
            documents: message.document_count(),
            message,
            seq,
            at,
            state: MessageState::Queued,
            held: false,
            handed: false,
            is_shown: false,
            claimed: false,
            is_unwanted: false,
            in_flight: false,
            interrupted: false,
            failure: None,
            error: None,
        };
        if record.message.goes_first {
            self.records.push_front(record);
        } else {
            self.records.push_back(record);
        }
        self.revision += 1;
        self.forget();
    }

    /// Forgets the oldest ended messages. Only called when another message is accepted, so that a caller waiting for
    /// the end of a message still finds it.
    fn forget(&mut self) {
        let over = self.records.iter().filter(|record| record.is_over()).count();
        let mut excess = over.saturating_sub(REMEMBERED);
        if excess > 0 {
            self.records.retain(|record| {
                let goes = excess > 0 && record.is_over();
                excess -= usize::from(goes);
                !goes
            });
        }
    }

    pub(crate) fn get(&self, id: &MessageId) -> Option<&Record> {
        self.records.iter().rfind(|record| record.message.message_id == *id)
    }

    pub(crate) fn get_mut(&mut self, id: &MessageId) -> Option<&mut Record> {
        self.records.iter_mut().rfind(|record| record.message.message_id == *id)
    }

    pub(crate) fn by_seq(&self, seq: u64) -> Option<&Record> {
        self.records.iter().rfind(|record| record.seq == seq)
    }

    /// Takes over the state of a message from the view.
    pub(crate) fn delivered(&mut self, id: &MessageId, state: MessageState, error: Option<&str>) {
        if let Some(record) = self.get_mut(id)
            && record.state != state
        {
            record.state = state;
            record.error = error.map(str::to_owned);
            if state.is_final() {
                record.slim();
            }
            self.revision += 1;
        }
    }

    /// The view has the message.
    pub(crate) fn shown(&mut self, id: &MessageId) {
        if let Some(record) = self.get_mut(id) {
            record.is_shown = true;
        }
    }

    /// Messages that were accepted and that the view does not have yet.
    pub(crate) fn accepted_only(&self) -> impl Iterator<Item = &Record> {
        self.queued().filter(|record| !record.is_shown)
    }

    /// A message that waits says something else now.
    pub(crate) fn reworded(&mut self, id: &MessageId, text: &str, by: &str, account: Option<&str>) {
        if let Some(record) = self.get_mut(id).filter(|record| record.waits()) {
            let message = Arc::make_mut(&mut record.message);
            text.clone_into(&mut message.text);
            by.clone_into(&mut message.by);
            message.account = account.map(str::to_owned);
            self.revision += 1;
        }
    }

    /// A message that waits has another place among those that do.
    pub(crate) fn moved(&mut self, id: &MessageId, position: u32) {
        let is_it = |record: &Record| record.message.message_id == *id && record.waits();
        let Some(record) = self.records.iter().position(is_it).and_then(|at| self.records.remove(at)) else {
            return;
        };
        let waiting = self.records.iter().enumerate().filter(|(_, record)| record.waits());
        let place = waiting.map(|(at, _)| at).nth(position as usize).unwrap_or(self.records.len());
        self.records.insert(place, record);
        self.revision += 1;
    }

    /// The log says that a message is being sent to the CLI.
    pub(crate) fn handed_over(&mut self, id: &MessageId) {
        if let Some(record) = self.get_mut(id) {
            record.handed = true;
            record.held = false;
            self.revision += 1;
        }
    }

    pub(crate) fn failed(&mut self, id: &MessageId, failure: &Failure) {
        if let Some(record) = self.get_mut(id) {
            record.failure = Some(failure.clone());
        }
    }

    /// Holds queued messages until the session is resumed.
    pub(crate) fn hold(&mut self) {
        for record in self.records.iter_mut().filter(|record| record.waits()) {
            record.held = true;
            self.revision += 1;
        }
    }

    /// After a restart of the host: records the restart as the reason for messages whose outcome is unknown.
    pub(crate) fn cut_off(&mut self, failure: &Failure) {
        let is_unknown =
            |record: &&mut Record| record.state == MessageState::Indeterminate && record.failure.is_none();
        for record in self.records.iter_mut().filter(is_unknown) {
            record.failure = Some(failure.clone());
        }
    }

    /// Releases held messages. Returns how many.
    pub(crate) fn release(&mut self) -> u32 {
        let mut released = 0;
        for record in self.records.iter_mut().filter(|record| record.held) {
            record.held = false;
            released += u32::from(record.state == MessageState::Queued);
        }
        self.revision += u64::from(released > 0);
        released
    }

    /// Claims and returns the message that may be sent to the CLI now.
    pub(crate) fn claim_next(&mut self) -> Option<Record> {
        let is_busy = self.is_any_in_flight();
        let record = self.records.iter_mut().find(|record| {
            let may = !is_busy || record.message.mode == MessageMode::Steer;
            record.waits() && !record.held && !record.claimed && may
        })?;
        record.claimed = true;
        Some(record.clone())
    }

    /// Whether [`MessageQueue::claim_next`] would return a message.
    pub(crate) fn has_next(&self) -> bool {
        let is_busy = self.is_any_in_flight();
        self.records.iter().any(|record| {
            let may = !is_busy || record.message.mode == MessageMode::Steer;
            record.waits() && !record.held && !record.claimed && may
        })
    }

    /// Claims a queued message, so that it can be cancelled.
    pub(crate) fn claim(&mut self, id: &MessageId) -> bool {
        match self.get_mut(id) {
            Some(record) if record.may_be_claimed() => {
                record.claimed = true;
                true
            }
            _ => false,
        }
    }

    /// Marks messages that are being sent, or were sent, to the CLI as interrupted. Returns their ids.
    pub(crate) fn interrupt(&mut self) -> Vec<MessageId> {
        let mut marked = Vec::new();
        let is_at_hand =
            |record: &&mut Record| (record.claimed || record.in_flight) && !record.state.is_final();
        for record in self.records.iter_mut().filter(is_at_hand) {
            record.interrupted = true;
            marked.push(record.message.message_id.clone());
        }
        marked
    }

    /// Claims the first queued message, so that it can be cancelled.
    pub(crate) fn claim_first(&mut self) -> Option<MessageId> {
        let record = self.records.iter_mut().find(|record| record.may_be_claimed() && !record.held)?;
        record.claimed = true;
        Some(record.message.message_id.clone())
    }

    /// Whether a message was interrupted on its way to the CLI.
    pub(crate) fn is_interrupted(&self, id: &MessageId) -> bool {
        self.get(id).is_some_and(|record| record.interrupted)
    }

    /// The queued messages.
    pub(crate) fn queued_ids(&self) -> Vec<MessageId> {
        self.queued().map(|record| record.message.message_id.clone()).collect()
    }

    /// Claims all queued messages, so that they can be cancelled.
    pub(crate) fn claim_all(&mut self) -> Vec<MessageId> {
        self.claim_these(&self.queued_ids())
    }

    /// Claims those of these messages that are queued, so that they can be cancelled.
    pub(crate) fn claim_these(&mut self, ids: &[MessageId]) -> Vec<MessageId> {
        let waiting = self.records.iter_mut().filter(|record| record.may_be_claimed());
        let waiting = waiting.filter(|record| ids.contains(&record.message.message_id));
        waiting
            .map(|record| {
                record.claimed = true;
                record.message.message_id.clone()
            })
            .collect()
    }

    /// Cancels a claimed message that waits for a process or for money. Returns whether it was in time.
    pub(crate) fn reject(&mut self, id: &MessageId) -> bool {
        match self.get_mut(id) {
            Some(record) if record.waits() && record.claimed && !record.in_flight => {
                record.is_unwanted = true;
                true
            }
            _ => false,
        }
    }

    /// Whether a message was cancelled while it waited for a process or for money.
    pub(crate) fn is_unwanted(&self, id: &MessageId) -> bool {
        self.get(id).is_some_and(|record| record.is_unwanted)
    }

    pub(crate) fn unclaim(&mut self, id: &MessageId) {
        if let Some(record) = self.get_mut(id) {
            record.claimed = false;
        }
    }

    /// A message was sent to a session, or its answer has arrived.
    pub(crate) fn set_in_flight(&mut self, id: &MessageId, in_flight: bool) {
        if let Some(record) = self.get_mut(id) {
            record.in_flight = in_flight;
            record.claimed = false;
        }
    }

    pub(crate) fn is_any_in_flight(&self) -> bool {
        self.records.iter().any(|record| record.in_flight)
    }

    /// Whether a message was sent to a session and its end is not recorded yet. The end is recorded a moment before the
    /// answer arrives.
    pub(crate) fn is_any_under_way(&self) -> bool {
        self.records.iter().any(|record| record.in_flight && !record.state.is_final())
    }

    /// Messages that were not sent yet.
    pub(crate) fn queued(&self) -> impl Iterator<Item = &Record> {
        self.records.iter().filter(|record| record.state == MessageState::Queued)
    }

    /// Messages that, according to the log, were sent to the CLI but not confirmed.
    pub(crate) fn handed_and_silent(&self) -> Vec<MessageId> {
        let silent = self.queued().filter(|record| record.handed);
        silent.map(|record| record.message.message_id.clone()).collect()
    }

    /// Whether a message is queued and not held.
    pub(crate) fn is_any_due(&self) -> bool {
        self.queued().any(|record| !record.held)
    }

    pub(crate) fn records(&self) -> impl Iterator<Item = &Record> {
        self.records.iter()
    }

    pub(crate) fn revision(&self) -> u64 {
        self.revision
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(id: &str, mode: MessageMode) -> Arc<StoredMessage> {
        Arc::new(StoredMessage {
            message_id: MessageId::from(id),
            client_id: None,
            by: "me".into(),
            account: None,
            mode,
            goes_first: false,
            text: id.into(),
            images: Vec::new(),
            documents: Vec::new(),
            links: Vec::new(),
            files: Vec::new(),
            command: None,
        })
    }

    fn queue(messages: &[(&str, MessageMode)]) -> MessageQueue {
        let mut queue = MessageQueue::default();
        for (number, (id, mode)) in messages.iter().enumerate() {
            queue.accepted(message(id, *mode), number as u64 + 1, 0);
        }
        queue
    }

    fn next(queue: &mut MessageQueue) -> Option<String> {
        queue.claim_next().map(|record| record.message.text.clone())
    }

    #[test]
    fn messages_go_one_by_one_in_order() {
        use MessageMode::Queue;
        let mut queue = queue(&[("a", Queue), ("b", Queue)]);
        assert_eq!(next(&mut queue).as_deref(), Some("a"));
        queue.set_in_flight(&"a".into(), true);
        assert_eq!((next(&mut queue), queue.has_next()), (None, false));
        queue.delivered(&"a".into(), MessageState::Answered, None);
        assert!(!queue.has_next(), "the answer has not come");
        queue.set_in_flight(&"a".into(), false);
        assert_eq!(next(&mut queue).as_deref(), Some("b"));
        assert_eq!(next(&mut queue), None, "b is claimed");
        queue.unclaim(&"b".into());
        assert!(queue.has_next());
    }

    #[test]
    fn a_message_in_flight_cannot_be_cancelled_here() {
        use MessageMode::Queue;
        let mut queue = queue(&[("a", Queue), ("b", Queue)]);
        assert_eq!(next(&mut queue).as_deref(), Some("a"));
        queue.set_in_flight(&"a".into(), true);
        // The log does not say yet that it was handed over, but the CLI may have it.
        assert!(!queue.claim(&"a".into()));
        assert_eq!(queue.claim_first(), Some("b".into()));
        queue.unclaim(&"b".into());
        assert_eq!(queue.claim_all(), ["b".into()]);
    }

    #[test]
    fn a_message_that_steers_does_not_wait_for_the_turn() {
        use MessageMode::{Queue, Steer};
        let mut queue = queue(&[("a", Queue), ("b", Queue), ("c", Steer)]);
        assert_eq!(next(&mut queue).as_deref(), Some("a"));
        queue.set_in_flight(&"a".into(), true);
        assert_eq!(next(&mut queue).as_deref(), Some("c"));
    }

    #[test]
    fn a_message_that_waits_can_be_moved_and_reworded() {
        use MessageMode::Queue;
        let mut queue = queue(&[("a", Queue), ("b", Queue), ("c", Queue), ("d", Queue)]);
        queue.handed_over(&"a".into());
        let waiting = |queue: &MessageQueue| -> String {
            queue
                .queued()
                .filter(|record| record.waits())
                .map(|record| record.message.text.as_str())
                .collect()
        };
        let places = [("d", 0, "dbc"), ("d", 1, "bdc"), ("b", 7, "dcb"), ("b", 2, "dcb"), ("a", 0, "dcb")];
        for (id, position, order) in places {
            queue.moved(&id.into(), position);
            assert_eq!(waiting(&queue), order, "{id} {position}");
        }
        queue.reworded(&"c".into(), "C", "bob", Some("purse"));
        queue.reworded(&"a".into(), "A", "bob", None);
        assert_eq!(waiting(&queue), "dCb");
        let message = &queue.get(&"c".into()).unwrap().message;
        assert_eq!((message.by.as_str(), message.account.as_deref()), ("bob", Some("purse")));
        assert_eq!(queue.get(&"a".into()).unwrap().message.text, "a", "it is with the CLI");
    }

    #[test]
    fn what_is_held_waits_until_it_is_released() {
        let mut queue = queue(&[("a", MessageMode::Queue), ("b", MessageMode::Queue)]);
        queue.handed_over(&"a".into());
        queue.hold();
        assert_eq!(next(&mut queue), None);
        assert_eq!(queue.handed_and_silent(), ["a".into()]);
        assert!(queue.get(&"b".into()).unwrap().info().held);
        assert_eq!(queue.release(), 1);
        assert_eq!(next(&mut queue).as_deref(), Some("b"));
    }

    #[test]
    fn only_one_task_may_claim_a_message() {
        let mut queue = queue(&[("a", MessageMode::Queue)]);
        assert!(queue.claim(&"a".into()));
        assert!(!queue.claim(&"a".into()) && queue.claim_all().is_empty());
        assert_eq!(next(&mut queue), None);
    }

    #[test]
    fn it_does_not_grow_with_the_session() {
        let mut queue = MessageQueue::default();
        for number in 0..1000u64 {
            let id = number.to_string();
            queue.accepted(message(&id, MessageMode::Queue), number, 0);
            if number != 3 {
                queue.delivered(&id.as_str().into(), MessageState::Answered, None);
            }
        }
        assert_eq!(queue.records().count(), REMEMBERED + 2);
        assert!(queue.get(&"3".into()).is_some(), "a queued message is kept");
    }
}
