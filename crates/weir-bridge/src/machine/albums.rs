//! Albums: several messages with a picture each, sent as one. They become one prompt.

use crate::channel::Incoming;

use super::records::{InboxId, InboxRecord, Kind, Outcome, put};
use super::scope::Scope;
use super::{Bridge, QueueMode};

/// An album is complete when no further part has arrived for this long. Channels deliver its parts almost at once.
const ALBUM_QUIET_MS: i64 = 1_500;

impl Bridge {
    /// Whether a part of this album is still waiting to be sent to the engine.
    pub(super) fn is_open_album(&self, incoming: &Incoming, album: &str) -> bool {
        self.inbox.values().any(|record| {
            record.album.as_deref() == Some(album)
                && record.sent_to.is_none()
                && record.place == incoming.place
                && record.sender.id == incoming.sender.id
        })
    }

    /// Holds a message with files, or of an album, until it is complete. Returns whether it is such a message.
    pub(super) fn hold(&mut self, record: &InboxRecord) -> bool {
        let is_held = !record.files.is_empty() || record.album.is_some();
        if record.waits_for_files() {
            self.fetch_files(record.id);
        }
        if let Some(record) = self.inbox.get_mut(&record.id) {
            record.held = is_held;
        }
        if record.album.is_some() {
            let quiet_until = self.now + ALBUM_QUIET_MS;
            let scope = self.scope_for(&record.scope, &record.place);
            scope.quiet_until = scope.quiet_until.max(quiet_until);
        }
        is_held
    }

    /// A waiting message and the rest of its album.
    fn album_of(&self, scope: &Scope, record: &InboxRecord) -> Vec<InboxId> {
        let is_part = |id: &InboxId| {
            *id == record.id || self.inbox.get(id).is_some_and(|other| are_one_album(record, other))
        };
        scope.waiting.iter().map(|(_, id)| *id).filter(is_part).collect()
    }

    /// The number of messages at the head of the queue that are complete: all files of them and of their albums have
    /// been fetched or given up.
    pub(super) fn complete_messages(&self, scope: &Scope) -> usize {
        let waits = |id: &InboxId| self.inbox.get(id).is_some_and(InboxRecord::waits_for_files);
        let is_complete = |(_, id): &&(i64, InboxId)| {
            let record = self.inbox.get(id);
            !record.is_some_and(|record| self.album_of(scope, record).iter().any(waits))
        };
        scope.waiting.iter().take_while(is_complete).count()
    }

    /// Whether the message at the head of the queue is complete.
    pub(super) fn head_is_ready(&self, scope: &Scope) -> bool {
        let record = scope.waiting.first().and_then(|(_, id)| self.inbox.get(id));
        let waits = |id: &InboxId| self.inbox.get(id).is_some_and(InboxRecord::waits_for_files);
        record.is_none_or(|record| !self.album_of(scope, record).iter().any(waits))
    }

    /// Merges the album at the head of the queue into one message.
    pub(super) fn fold_album(&mut self, key: &str) {
        let Some(scope) = self.scopes.get(key) else { return };
        let Some(first) = scope.waiting.first().and_then(|(_, id)| self.inbox.get(id)) else { return };
        let messages = self.album_of(scope, first);
        let [first, others @ ..] = messages.as_slice() else { return };
        let parts: Vec<InboxRecord> = others.iter().filter_map(|id| self.inbox.get(id).cloned()).collect();
        if parts.is_empty() {
            return;
        }
        let Some(record) = self.inbox.get_mut(first) else { return };
        for part in parts {
            record.attachments.extend(part.attachments);
            if !part.text.trim().is_empty() {
                let gap = if record.text.is_empty() { "" } else { "\n\n" };
                record.text = format!("{}{gap}{}", record.text, part.text);
            }
        }
        let change = put(Kind::Inbox, first.key(), record);
        self.change(change);
        if let Some(scope) = self.scopes.get_mut(key) {
            scope.waiting.retain(|(_, id)| !others.contains(id));
        }
        for other in others {
            self.settle(*other, Outcome::Merged { into: *first });
        }
    }

    /// Whether the message at the head of the queue can be added to the running turn once it is complete.
    pub(super) fn can_steer_head(&self, scope: &Scope) -> bool {
        let first = scope.waiting.first().and_then(|(_, id)| self.inbox.get(id));
        scope.settings.queue == QueueMode::Steer
            && scope.runs_current()
            && first.is_some_and(|record| record.held)
    }

    /// Adds complete messages to the running turn.
    pub(super) fn steer_complete(&mut self, key: &str) {
        while self.steer_head(key) {}
    }

    /// Adds the message at the head of the queue to the running turn. Returns whether it did.
    fn steer_head(&mut self, key: &str) -> bool {
        let Some(scope) = self.scopes.get(key) else { return false };
        let is_due = self.now >= scope.quiet_until && self.can_steer_head(scope) && self.head_is_ready(scope);
        if !is_due {
            return false;
        }
        self.fold_album(key);
        let Some(scope) = self.scopes.get_mut(key).filter(|scope| !scope.waiting.is_empty()) else {
            return false;
        };
        let (_, id) = scope.waiting.remove(0);
        let Some(record) = self.inbox.get_mut(&id) else { return false };
        record.held = false;
        let record = record.clone();
        self.steer(&record);
        true
    }
}

fn are_one_album(one: &InboxRecord, other: &InboxRecord) -> bool {
    one.album.is_some()
        && one.album == other.album
        && one.sender.id == other.sender.id
        && one.place == other.place
}
