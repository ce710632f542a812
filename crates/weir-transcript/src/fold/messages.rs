//! Messages to the model and their delivery.

use std::sync::Arc;

use std::collections::{HashMap, VecDeque};

use serde::{Deserialize, Serialize};
use weir_wire::{CommandLifecycleMessage, CommandState, IdRef, MessageId, Text, ToolUseId, TurnId};

use super::{Fold, Sink};
use crate::view::{Change, Entry, EntryBody, EntryId, MessageState, UserEntry, UserSource};

/// The messages that we know of.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Messages {
    /// Set once the host has reported a message: from then on, a turn without a message is an unasked turn.
    pub(super) known_from_host: bool,
    pub(super) entries: HashMap<MessageId, EntryId, foldhash::fast::RandomState>,
    /// Entries that the view has dropped although the delivery of their messages is still open: a caller that
    /// waits for one must still be notified. Few, and the oldest first.
    dropped: Vec<(MessageId, Arc<Entry>)>,
    /// Messages that the host composes by itself and that are not queued yet.
    #[serde(default)]
    composed: Vec<MessageId>,
    /// Messages written to the CLI that no turn has taken yet, oldest first.
    pub(super) waiting: VecDeque<MessageId>,
}

/// Maximum number of messages that wait, or that one turn answers. Far more than any client sends.
pub(super) const MAX_MESSAGES: usize = 1000;

impl Messages {
    /// Adds a message that waits for its turn.
    fn wait(&mut self, id: &MessageId) {
        if self.waiting.contains(id) {
            return;
        }
        if self.waiting.len() >= MAX_MESSAGES {
            self.waiting.pop_front();
        }
        self.waiting.push_back(id.clone());
    }

    fn dropped(&self, id: &MessageId) -> Option<&Arc<Entry>> {
        self.dropped.iter().find(|(dropped, _)| dropped == id).map(|(_, entry)| entry)
    }

    fn is_known(&self, id: &MessageId) -> bool {
        self.entries.contains_key(id) || self.dropped(id).is_some()
    }
}

/// How much is attached to a message.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Attached {
    pub(super) images: u32,
    pub(super) documents: u32,
}

impl Fold {
    pub(super) fn add_user_entry(
        &mut self,
        parent: Option<IdRef<'_, ToolUseId>>,
        message: Option<MessageId>,
        text: String,
        attached: Attached,
        source: UserSource,
        sink: &mut Sink<'_>,
    ) {
        let delivery = if source == UserSource::Host { MessageState::Queued } else { MessageState::Sent };
        let composed =
            message.as_ref().and_then(|id| self.messages.composed.iter().position(|other| other == id));
        let automatic = composed.map(|place| self.messages.composed.remove(place)).is_some();
        let body = EntryBody::User(UserEntry {
            message: message.clone(),
            text,
            images: attached.images,
            documents: attached.documents,
            source,
            automatic,
            delivery,
            error: None,
        });
        let turn = if source == UserSource::Host { None } else { self.turn_for(parent) };
        let entry = self.add_entry(turn, parent.map(|id| id.to_id()), body, sink);
        if let Some(message) = message {
            self.messages.entries.insert(message, entry);
        }
    }

    pub(super) fn message_queued(
        &mut self,
        id: &MessageId,
        text: &str,
        attached: Attached,
        sink: &mut Sink<'_>,
    ) {
        self.messages.known_from_host = true;
        if self.messages.is_known(id) {
            // It is waiting again: no process took it, or the sender is gone.
            self.messages.waiting.retain(|waiting| waiting != id);
            self.set_delivery(id, MessageState::Queued, sink);
        } else {
            self.add_user_entry(None, Some(id.clone()), text.to_owned(), attached, UserSource::Host, sink);
        }
    }

    pub(super) fn message_reworded(&mut self, id: &MessageId, text: &str, sink: &mut Sink<'_>) {
        let Some(mut entry) = self.message_entry(id).cloned() else { return };
        match &mut entry.body {
            EntryBody::User(user) if user.delivery == MessageState::Queued => text.clone_into(&mut user.text),
            _ => return,
        }
        self.replace_message_entry(id, entry, sink);
    }

    pub(super) fn message_composed(&mut self, id: &MessageId) {
        if self.messages.composed.len() >= MAX_MESSAGES {
            self.messages.composed.remove(0);
        }
        self.messages.composed.push(id.clone());
    }

    pub(super) fn message_sent(&mut self, id: &MessageId, sink: &mut Sink<'_>) {
        self.messages.known_from_host = true;
        self.messages.wait(id);
        self.set_delivery(id, MessageState::Sent, sink);
    }

    pub(super) fn message_cancelled(&mut self, id: &MessageId, sink: &mut Sink<'_>) {
        self.stop_waiting(id);
        self.set_delivery(id, MessageState::Cancelled, sink);
    }

    /// No turn will take this message. An interrupt that was meant for it must not hit the next turn.
    fn stop_waiting(&mut self, id: &MessageId) {
        self.messages.waiting.retain(|waiting| waiting != id);
        if self.messages.waiting.is_empty() {
            self.turns.forget_interrupt();
        }
    }

    /// A message has no answer and will not get one.
    pub(super) fn message_failed(&mut self, id: &MessageId, error: &str, sink: &mut Sink<'_>) {
        self.stop_waiting(id);
        self.set_delivery_and_error(id, MessageState::Failed, Some(error), sink);
    }

    /// The CLI echoes a message that was sent to it. In a recording, the echo is the only trace of the message.
    pub(super) fn message_echoed(
        &mut self,
        uuid: Option<Text<'_>>,
        text: &str,
        attached: Attached,
        sink: &mut Sink<'_>,
    ) {
        let id = uuid.map(MessageId::from);
        if let Some(id) = id.as_ref().filter(|id| self.messages.is_known(id)) {
            return self.set_delivery(&id.clone(), MessageState::Started, sink);
        }
        self.add_user_entry(None, id.clone(), text.to_owned(), attached, UserSource::Host, sink);
        let Some(id) = id else { return };
        // By its position it belongs to the running turn, or else to the next one; a result that names messages
        // corrects this.
        match self.turns.current() {
            Some(turn) => self.add_message_to(turn, &id, sink),
            None => self.messages.wait(&id),
        }
        self.set_delivery(&id, MessageState::Started, sink);
    }

    pub(super) fn command_lifecycle(&mut self, line: &CommandLifecycleMessage<'_>, sink: &mut Sink<'_>) {
        let id = line.command_uuid.to_id();
        match line.state {
            // It was already sent and is now waiting in the CLI; nothing new.
            CommandState::Queued => {}
            CommandState::Started => {
                self.turn_answers([line.command_uuid].into_iter(), sink);
                self.set_delivery(&id, MessageState::Started, sink);
            }
            // The result came first and said more: the messages of a failed turn end in one of these states.
            CommandState::Completed
            | CommandState::Cancelled
            | CommandState::Discarded
            | CommandState::Refused
                if self.has_failed(&id) => {}
            // Its turn had begun and was interrupted. It does not count as cancelled: something may have been
            // done.
            CommandState::Cancelled if self.is_answered(&id) => {}
            CommandState::Completed => self.set_delivery(&id, MessageState::Answered, sink),
            CommandState::Cancelled => self.message_cancelled(&id, sink),
            CommandState::Discarded => {
                self.message_failed(&id, "the CLI discarded the message without answering it", sink);
            }
            CommandState::Refused => self.message_failed(&id, "the CLI refused the message", sink),
            CommandState::Other(_) | _ => {}
        }
    }

    fn has_failed(&self, id: &MessageId) -> bool {
        let body = self.message_entry(id).map(|entry| &entry.body);
        matches!(body, Some(EntryBody::User(user)) if user.delivery == MessageState::Failed)
    }

    pub(super) fn set_delivery(&mut self, id: &MessageId, delivery: MessageState, sink: &mut Sink<'_>) {
        self.set_delivery_and_error(id, delivery, None, sink);
    }

    fn set_delivery_and_error(
        &mut self,
        id: &MessageId,
        delivery: MessageState,
        error: Option<&str>,
        sink: &mut Sink<'_>,
    ) {
        let Some(entry) = self.message_entry(id) else { return };
        let EntryBody::User(user) = &entry.body else { return };
        let is_over = matches!(user.delivery, MessageState::Answered | MessageState::Failed);
        let is_step_back = delivery == MessageState::Started && is_over;
        if user.delivery == delivery || is_step_back {
            return;
        }
        let mut entry = entry.clone();
        if delivery == MessageState::Started {
            entry.turn = entry.turn.or(self.turns.current());
        }
        if matches!(delivery, MessageState::Queued | MessageState::Sent) {
            entry.turn = None;
        }
        if let EntryBody::User(user) = &mut entry.body {
            user.delivery = delivery;
            user.error = error.map(str::to_owned);
        }
        self.replace_message_entry(id, entry, sink);
    }

    /// Whether a result has answered this message, successfully or with an error.
    pub(super) fn is_answered(&self, id: &MessageId) -> bool {
        let body = self.message_entry(id).map(|entry| &entry.body);
        matches!(body, Some(EntryBody::User(user)) if matches!(user.delivery, MessageState::Answered | MessageState::Failed))
    }

    /// The entry of a message, in the view or dropped from it.
    fn message_entry(&self, id: &MessageId) -> Option<&Entry> {
        let shown = self.messages.entries.get(id).and_then(|entry| self.view.entry(*entry));
        shown.or_else(|| self.messages.dropped(id).map(|entry| &**entry))
    }

    fn replace_message_entry(&mut self, id: &MessageId, entry: Entry, sink: &mut Sink<'_>) {
        let entry = Arc::new(entry);
        let dropped = &mut self.messages.dropped;
        if let Some(place) = dropped.iter().position(|(dropped, _)| dropped == id) {
            if is_open(&entry) {
                dropped.splice(place..=place, [(id.clone(), Arc::clone(&entry))]);
            } else {
                dropped.remove(place);
            }
        }
        // A view that has dropped the entry does not change by this.
        self.emit(Change::EntryReplaced(entry), sink);
    }

    /// Remembers the open messages that the view is about to drop, which are those before this entry.
    pub(super) fn remember_open_messages(&mut self, first: EntryId) {
        let Messages { entries, dropped, .. } = &mut self.messages;
        for (id, place) in entries.iter().filter(|(_, place)| **place < first) {
            if let Some(entry) = self.view.shared_entry(*place).filter(|entry| is_open(entry)) {
                dropped.push((id.clone(), Arc::clone(entry)));
            }
        }
        dropped.sort_unstable_by_key(|(_, entry)| entry.id);
        dropped.truncate(MAX_MESSAGES);
    }

    /// Assigns a message to a turn.
    pub(super) fn set_turn(&mut self, id: &MessageId, turn: TurnId, sink: &mut Sink<'_>) {
        let Some(entry) = self.message_entry(id) else { return };
        if entry.turn != Some(turn) {
            let entry = Entry { turn: Some(turn), ..entry.clone() };
            self.replace_message_entry(id, entry, sink);
        }
    }

    /// The CLI has ended: what it did with the messages it had taken is not known.
    pub(super) fn lose_messages(&mut self, sink: &mut Sink<'_>) {
        self.messages.waiting.clear();
        let dropped = self.messages.dropped.iter().map(|(_, entry)| entry);
        let unsure = dropped.chain(&self.view.entries).filter_map(|entry| match &entry.body {
            EntryBody::User(UserEntry {
                message: Some(id),
                delivery: MessageState::Sent | MessageState::Started,
                ..
            }) => Some(id.clone()),
            _ => None,
        });
        let unsure: Vec<MessageId> = unsure.collect();
        for id in unsure {
            self.set_delivery(&id, MessageState::Indeterminate, sink);
        }
    }
}

/// Whether it is a message whose delivery is still open.
fn is_open(entry: &Entry) -> bool {
    matches!(&entry.body, EntryBody::User(user) if !user.delivery.is_final())
}
