//! Edits that people make to their messages.

use crate::channel::{Incoming, MessageRef};

use super::records::{InboxRecord, Kind, put};
use super::{Bridge, words};

impl Bridge {
    /// A person edited a message. If it is still waiting, it gets the new text. If the agent already has it, it is not
    /// answered twice; the sender is told so, once, while it is being answered.
    pub(super) fn edited(&mut self, incoming: &Incoming, message: &MessageRef, text: &str) {
        let is_it = |record: &&mut InboxRecord| {
            record.place.channel == incoming.place.channel
                && record.place.chat == incoming.place.chat
                && record.sender.id == incoming.sender.id
                && record.message.as_ref() == Some(message)
        };
        // Edits of messages with an outcome are ignored.
        let Some(record) = self.inbox.values_mut().find(is_it) else { return };
        let scope = self.scopes.get(&record.scope);
        let waits = scope.is_some_and(|scope| scope.waiting.iter().any(|(_, id)| *id == record.id));
        if record.text == text || text.trim().is_empty() {
            return;
        }
        let is_late = record.sent_to.is_some() && !record.told_of_edit;
        if waits {
            text.clone_into(&mut record.text);
        }
        record.told_of_edit |= is_late;
        let place = record.place.clone();
        let change = put(Kind::Inbox, record.id.key(), record);
        self.change(change);
        if is_late {
            self.tell(&place, Some(message), words::EDITED_TOO_LATE);
        }
    }
}
