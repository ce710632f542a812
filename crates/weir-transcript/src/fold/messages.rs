//! Messages to the model, and what has become of each.

use std::sync::Arc;

use std::collections::{HashMap, VecDeque};

use serde::{Deserialize, Serialize};
use weir_wire::{CommandLifecycleMessage, CommandState, IdRef, MessageId, Text, ToolUseId, TurnId};

use super::{Fold, Sink};
use crate::view::{Change, Delivery, Entry, EntryBody, EntryId, UserEntry, UserSource};

/// The messages that we know of.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Messages {
    /// Set once the host told of a message: from then on, a turn without one is a turn that nobody asked for.
    pub(super) known_from_host: bool,
    pub(super) entries: HashMap<MessageId, EntryId>,
    /// Written to the CLI and not yet taken up by a turn, oldest first.
    pub(super) waiting: VecDeque<MessageId>,
}

/// Most messages that wait, or that one turn is said to answer. Nobody sends that many.
pub(super) const MOST_MESSAGES: usize = 1000;

impl Messages {
    /// A message waits for its turn.
    fn wait(&mut self, id: &MessageId) {
        if self.waiting.contains(id) {
            return;
        }
        if self.waiting.len() >= MOST_MESSAGES {
            self.waiting.pop_front();
        }
        self.waiting.push_back(id.clone());
    }
}

impl Fold {
    pub(super) fn add_user_entry(
        &mut self,
        parent: Option<IdRef<'_, ToolUseId>>,
        message: Option<MessageId>,
        text: String,
        images: u32,
        source: UserSource,
        sink: &mut Sink<'_>,
    ) {
        let delivery = if source == UserSource::Host { Delivery::Queued } else { Delivery::Sent };
        let body = EntryBody::User(UserEntry {
            message: message.clone(),
            text,
            images,
            source,
            delivery,
            error: None,
        });
        let turn = if source == UserSource::Host { None } else { self.turn_for(parent) };
        let entry = self.add_entry(turn, parent.map(|id| id.to_id()), body, sink);
        if let Some(message) = message {
            self.messages.entries.insert(message, entry);
        }
    }

    pub(super) fn message_queued(&mut self, id: &MessageId, text: &str, images: u32, sink: &mut Sink<'_>) {
        self.messages.known_from_host = true;
        if self.messages.entries.contains_key(id) {
            // It waits again: nobody took it, or whoever was to send it is gone.
            self.messages.waiting.retain(|waiting| waiting != id);
            self.set_delivery(id, Delivery::Queued, sink);
        } else {
            self.add_user_entry(None, Some(id.clone()), text.to_owned(), images, UserSource::Host, sink);
        }
    }

    pub(super) fn message_sent(&mut self, id: &MessageId, sink: &mut Sink<'_>) {
        self.messages.known_from_host = true;
        self.messages.wait(id);
        self.set_delivery(id, Delivery::Sent, sink);
    }

    pub(super) fn message_cancelled(&mut self, id: &MessageId, sink: &mut Sink<'_>) {
        self.messages.waiting.retain(|waiting| waiting != id);
        self.set_delivery(id, Delivery::Cancelled, sink);
    }

    /// A message has no answer and will not have one.
    pub(super) fn message_failed(&mut self, id: &MessageId, error: &str, sink: &mut Sink<'_>) {
        self.messages.waiting.retain(|waiting| waiting != id);
        self.set_fate(id, Delivery::Failed, Some(error), sink);
    }

    /// The CLI repeats a message that it was sent. In a recording this is how the message is known at all.
    pub(super) fn message_echoed(
        &mut self,
        uuid: Option<Text<'_>>,
        text: &str,
        images: u32,
        sink: &mut Sink<'_>,
    ) {
        let id = uuid.map(MessageId::from);
        if let Some(id) = id.as_ref().filter(|id| self.messages.entries.contains_key(*id)) {
            return self.set_delivery(&id.clone(), Delivery::Started, sink);
        }
        self.add_user_entry(None, id.clone(), text.to_owned(), images, UserSource::Host, sink);
        let Some(id) = id else { return };
        // By order it belongs to the running turn, or else to the next; a result that names messages corrects it.
        match self.turns.current() {
            Some(turn) => self.add_message_to(turn, &id, sink),
            None => self.messages.wait(&id),
        }
        self.set_delivery(&id, Delivery::Started, sink);
    }

    pub(super) fn command_lifecycle(&mut self, line: &CommandLifecycleMessage<'_>, sink: &mut Sink<'_>) {
        let id = line.command_uuid.to_id();
        match line.state {
            // It was sent before that, and waits with the CLI now; nothing new.
            CommandState::Queued => {}
            CommandState::Started => {
                self.turn_answers([line.command_uuid].into_iter(), sink);
                self.set_delivery(&id, Delivery::Started, sink);
            }
            // The result came first and has said more: a turn that failed ends in one or the other of these.
            CommandState::Completed | CommandState::Cancelled if self.has_failed(&id) => {}
            CommandState::Completed => self.set_delivery(&id, Delivery::Answered, sink),
            CommandState::Cancelled => self.message_cancelled(&id, sink),
            CommandState::Other(_) | _ => {}
        }
    }

    fn has_failed(&self, id: &MessageId) -> bool {
        let entry = self.messages.entries.get(id).and_then(|entry| self.view.entry(*entry));
        entry.is_some_and(
            |entry| matches!(&entry.body, EntryBody::User(user) if user.delivery == Delivery::Failed),
        )
    }

    pub(super) fn set_delivery(&mut self, id: &MessageId, delivery: Delivery, sink: &mut Sink<'_>) {
        self.set_fate(id, delivery, None, sink);
    }

    fn set_fate(&mut self, id: &MessageId, delivery: Delivery, error: Option<&str>, sink: &mut Sink<'_>) {
        let Some(entry) = self.messages.entries.get(id).and_then(|entry| self.view.entry(*entry)) else {
            return;
        };
        let EntryBody::User(user) = &entry.body else {
            return;
        };
        let is_over = matches!(user.delivery, Delivery::Answered | Delivery::Failed);
        let goes_back = delivery == Delivery::Started && is_over;
        if user.delivery == delivery || goes_back {
            return;
        }
        let mut entry = entry.clone();
        if delivery == Delivery::Started {
            entry.turn = entry.turn.or(self.turns.current());
        }
        if matches!(delivery, Delivery::Queued | Delivery::Sent) {
            entry.turn = None;
        }
        if let EntryBody::User(user) = &mut entry.body {
            user.delivery = delivery;
            user.error = error.map(str::to_owned);
        }
        self.emit(Change::EntryReplaced(Arc::new(entry)), sink);
    }

    /// A message belongs to this turn.
    pub(super) fn set_turn(&mut self, id: &MessageId, turn: TurnId, sink: &mut Sink<'_>) {
        let Some(entry) = self.messages.entries.get(id).and_then(|entry| self.view.entry(*entry)) else {
            return;
        };
        if entry.turn != Some(turn) {
            let entry = Entry { turn: Some(turn), ..entry.clone() };
            self.emit(Change::EntryReplaced(Arc::new(entry)), sink);
        }
    }

    /// The CLI has ended: what it did with messages that it had taken is not known.
    pub(super) fn lose_messages(&mut self, sink: &mut Sink<'_>) {
        self.messages.waiting.clear();
        let unsure = self.view.entries.iter().filter_map(|entry| match &entry.body {
            EntryBody::User(UserEntry {
                message: Some(id),
                delivery: Delivery::Sent | Delivery::Started,
                ..
            }) => Some(id.clone()),
            _ => None,
        });
        let unsure: Vec<MessageId> = unsure.collect();
        for id in unsure {
            self.set_delivery(&id, Delivery::Indeterminate, sink);
        }
    }
}
