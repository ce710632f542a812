//! Decides what to do with an incoming message: whether it is new, who sent it, and what it is for.

use crate::channel::{Incoming, IncomingBody, IncomingText, MessageRef};

use super::limits::{Excess, Verdict};
use super::records::{FileState, InboxId, InboxRecord, Kind, Outcome, put};
use super::{Bridge, QueueMode, delivery_mark, typed, words};

/// Maximum number of characters of a person's name that are shown.
const MAX_NAME_LENGTH: usize = 64;

/// Cleans the sender's name, which the sender chose, so that it cannot be mistaken for anything else.
fn with_plain_name(mut incoming: Incoming) -> Incoming {
    let is_plain = |character: &char| {
        let is_invisible =
            matches!(character, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}');
        !character.is_control() && !is_invisible && !"*_`[]<>".contains(*character)
    };
    let name: String = incoming.sender.name.chars().filter(is_plain).take(MAX_NAME_LENGTH).collect();
    let name = name.trim();
    incoming.sender.name =
        if name.is_empty() { incoming.sender.id.as_str().to_owned() } else { name.to_owned() };
    incoming
}

impl Bridge {
    /// Handles an incoming message. It is acknowledged once it is stored, or once it is clear that it is ignored.
    pub(super) fn accept(&mut self, incoming: &Incoming) {
        let channel = incoming.place.channel.clone();
        let key = incoming.key.clone();
        self.acknowledge(&channel, &key);
        if let IncomingBody::Moved { from } = &incoming.body {
            self.moved(&incoming.place, from);
            return;
        }
        if incoming.sender.is_bot || self.seen.contains(&delivery_mark(&channel, &key)) {
            return;
        }
        let incoming = &with_plain_name(incoming.clone());
        if self.role(incoming).is_none() {
            self.stranger(incoming);
            return;
        }
        match incoming.body.clone() {
            IncomingBody::Button { to, data } => self.button(incoming, &to, &data),
            IncomingBody::Reaction { to, key } => self.reaction(incoming, &to, &key),
            IncomingBody::Text(message) => self.text(incoming, message),
            IncomingBody::Edited { message, text } => self.edited(incoming, &message, &text),
            IncomingBody::Moved { .. } => {}
        }
    }

    fn text(&mut self, incoming: &Incoming, message: IncomingText) {
        let IncomingText { text, attachments, files, album, reply_to } = message;
        let reply_to = reply_to.as_ref();
        let is_empty = text.trim().is_empty() && attachments.is_empty() && files.is_empty();
        // Only one message of an album has the caption, which counts for the others too.
        let is_continued = album.as_deref().is_some_and(|album| self.is_open_album(incoming, album));
        let scope_key = self.scope_key(&incoming.place, &incoming.sender);
        let settings = self.settings_at(&incoming.place, Some(incoming.sender.id.as_str()));
        let for_us = incoming.direct || incoming.addressed || is_continued || !settings.only_when_addressed;
        // A number may answer a question, even in a group.
        let answers =
            self.open_ask(&scope_key, &incoming.place, reply_to).is_some() && words::choice(&text).is_some();
        // A message without content in a group is ignored unless it is addressed to the bot.
        if !(for_us || answers) || is_empty && !(incoming.direct || incoming.addressed) {
            return;
        }
        let id = InboxId(self.next_id());
        let record = InboxRecord {
            id,
            delivery: incoming.key.clone(),
            place: incoming.place.clone(),
            sender: incoming.sender.clone(),
            direct: incoming.direct,
            order: incoming.order,
            message: incoming.message.clone(),
            text,
            attachments,
            scope: scope_key,
            sent_to: None,
            told_of_edit: false,
            files: files.into_iter().map(FileState::Wanted).collect(),
            album,
            fetch_until: 0,
            held: false,
        };
        self.seen.insert(delivery_mark(&incoming.place.channel, &incoming.key));
        self.change(put(Kind::Inbox, id.key(), &record));
        self.inbox.insert(id, record.clone());
        if !is_continued && self.too_much(&record) {
            return;
        }
        if is_empty {
            self.refuse(&record, words::NOTHING_TO_READ);
            return;
        }
        self.route(&record, reply_to);
    }

    fn too_much(&mut self, record: &InboxRecord) -> bool {
        let (minute, ten) = (self.settings.messages_per_minute, self.settings.messages_per_ten_minutes);
        let verdict = self.limits.take(&record.place, &record.sender.id, self.now, minute, ten);
        let (excess, tell) = match verdict {
            Verdict::Fine => return false,
            Verdict::Tell(excess) => (excess, true),
            Verdict::Silent(excess) => (excess, false),
        };
        let reason = match excess {
            Excess::Hasty => words::TOO_FAST,
            Excess::Loop => words::TOO_MUCH,
        };
        if tell {
            self.tell(&record.place, record.message.as_ref(), reason);
        }
        self.settle(record.id, Outcome::Refused { reason: reason.to_owned() });
        true
    }

    /// Decides what a stored message is for.
    pub(super) fn route(&mut self, record: &InboxRecord, reply_to: Option<&MessageRef>) {
        if self.answered_by_text(record, reply_to) {
            return;
        }
        if let Some(command) = typed::command(&record.text) {
            self.command(record, &command);
            return;
        }
        if let Some(name) = typed::unknown_command(&record.text) {
            let role = self.role_of(&record.place, &record.sender);
            self.refuse(record, &typed::no_such_command(name, role));
            return;
        }
        let max_waiting = self.settings.max_waiting;
        let (now, id) = (self.now, record.id);
        let scope = self.scope_for(&record.scope, &record.place);
        if scope.waiting.len() >= max_waiting {
            self.refuse(record, words::QUEUE_FULL);
            return;
        }
        let busy = scope.reply.is_some() || scope.is_running();
        if scope.settings.queue != QueueMode::Interrupt {
            self.tell_that_it_waits(record);
        }
        let is_held = self.hold(record);
        let scope = self.scope_for(&record.scope, &record.place);
        match scope.settings.queue {
            QueueMode::Steer if scope.can_steer() && !is_held => {
                self.steer(record);
                return;
            }
            QueueMode::Collect if busy => scope.quiet_until = now + scope.settings.debounce_ms,
            QueueMode::Interrupt if scope.is_running() => self.interrupt(&record.scope),
            _ => {}
        }
        let scope = self.scope_for(&record.scope, &record.place);
        scope.enqueue(record.order, id);
        self.step_scope(&record.scope);
    }

    /// Refuses a message and tells its sender why.
    pub(super) fn refuse(&mut self, record: &InboxRecord, reason: &str) {
        self.tell(&record.place, record.message.as_ref(), reason);
        self.settle(record.id, Outcome::Refused { reason: reason.to_owned() });
    }
}
