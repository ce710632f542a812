//! Sends a reply to the chat: one step at a time, in order and within the channel's limits.

use crate::channel::{ChannelName, MessageRef, Operation, OperationError, OutgoingFile};

use super::cards::{backoff, fingerprint};
use super::records::{Kind, Outcome, part_key, put, remove};
use super::reply::Reply;
use super::reply_step::Step;
use super::{Action, Bridge, PartOperation, Target};

impl Bridge {
    /// When the next step of a reply is due, unless another event comes first.
    pub(super) fn reply_deadline(&self, reply: &Reply) -> Option<i64> {
        let pace = self.pace_of(&reply.record.place);
        let wanted = reply.dirty && !reply.in_flight;
        let begun = reply.record.parts.iter().any(|part| part.message.is_some());
        let next_edit = if begun { pace.next_edit } else { 0 };
        // A growing text is not processed more often than it may be edited, however little is new each time.
        let next_look = if reply.record.settled.is_some() { 0 } else { reply.next_look };
        wanted.then(|| reply.not_before.max(pace.not_before).max(next_edit).max(next_look))
    }

    /// Takes the next step of the reply of a scope.
    pub(super) fn step_reply(&mut self, key: &str) {
        let Some(scope) = self.scopes.get(key) else { return };
        let Some(reply) = &scope.reply else { return };
        if reply.in_flight || self.reply_deadline(reply).is_none_or(|due| self.now < due) {
            return;
        }
        let interval = self.edit_interval(&reply.record.place.channel);
        let next_look = self.now + interval;
        match self.next_step(key) {
            Step::Wait => {
                if let Some(reply) = self.reply_mut(key) {
                    reply.dirty = false;
                    reply.next_look = next_look;
                }
            }
            Step::Done => self.finish_reply(key),
            step => self.do_step(key, step),
        }
    }

    pub(super) fn reply_mut(&mut self, key: &str) -> Option<&mut Reply> {
        self.scopes.get_mut(key)?.reply.as_mut()
    }

    fn edit_interval(&self, channel: &ChannelName) -> i64 {
        self.channels.get(channel).map_or(0, |channel| channel.edit_interval_ms)
    }

    fn next_step(&mut self, key: &str) -> Step {
        let Some(scope) = self.scopes.get_mut(key) else { return Step::Wait };
        let Some(reply) = &mut scope.reply else { return Step::Wait };
        let Some(channel) = self.channels.get(&reply.record.place.channel) else { return Step::Done };
        let step = reply.next_step(channel, scope.settings.show_tools, self.settings.max_parts);
        self.bytes_processed += std::mem::take(&mut reply.bytes_processed);
        step
    }

    fn do_step(&mut self, key: &str, step: Step) {
        let now = self.now;
        let Some(reply) = self.reply_mut(key) else { return };
        reply.in_flight = true;
        let (place, id) = (reply.record.place.clone(), reply.record.id);
        let scope = key.to_owned();
        match step {
            Step::Post { index, content } => {
                let shown = fingerprint(&content);
                reply.post(index, shown);
                let attempt = reply.record.parts.get(index).map_or(0, |part| part.attempt);
                let reply_to = reply.record.reply_to.clone().filter(|_| index == 0);
                let said_more = reply.record.settled.is_none() && reply.remember_said();
                self.keep_part(key, index);
                if said_more {
                    self.keep_reply(key);
                }
                let operation =
                    Operation::Post { place, content, reply_to, key: format!("r{id}-{index}-{attempt}") };
                self.perform(operation, Target::Part { scope, index, shown, kind: PartOperation::Post });
            }
            Step::Edit { index, message, content } => {
                let shown = fingerprint(&content);
                if reply.record.settled.is_none() && reply.remember_said() {
                    self.keep_reply(key);
                }
                self.pace(&place).next_edit = now + self.edit_interval(&place.channel);
                let operation = Operation::Edit { place, message, content };
                self.perform(operation, Target::Part { scope, index, shown, kind: PartOperation::Edit });
            }
            Step::Delete { index, message } => {
                let operation = Operation::Delete { place, message };
                self.perform(operation, Target::Part { scope, index, shown: 0, kind: PartOperation::Delete });
            }
            Step::File { text } => {
                let file = OutgoingFile::text("answer.md", text);
                let operation = Operation::Upload { place, file, key: format!("r{id}-file") };
                self.perform(operation, Target::File { scope });
            }
            Step::Wait | Step::Done => {}
        }
    }

    /// A step succeeded or failed.
    pub(super) fn part_performed(
        &mut self,
        key: &str,
        index: usize,
        shown: u64,
        kind: PartOperation,
        result: Result<Option<MessageRef>, OperationError>,
    ) {
        let now = self.now;
        let Some(reply) = self.reply_mut(key) else { return };
        let place = reply.record.place.clone();
        reply.in_flight = false;
        reply.dirty = true;
        let Some(part) = reply.record.parts.get_mut(index) else { return };
        match result {
            Ok(message) => {
                reply.failures = 0;
                match kind {
                    PartOperation::Post => part.message = message,
                    PartOperation::Edit => {}
                    PartOperation::Delete => part.message = None,
                }
                let first = reply.posted.get(index).copied().flatten();
                if let Some(known) = reply.shown.get_mut(index) {
                    *known = Some(shown).filter(|_| kind != PartOperation::Post || first == Some(shown));
                }
                match kind {
                    PartOperation::Edit => {
                        self.pace(&place).next_edit = now + self.edit_interval(&place.channel);
                    }
                    PartOperation::Post | PartOperation::Delete => self.keep_part(key, index),
                }
            }
            Err(OperationError::RateLimited { retry_after_ms }) => {
                self.pace(&place).not_before = now + retry_after_ms;
            }
            Err(OperationError::Passing(_)) => {
                reply.failures += 1;
                reply.not_before = now + backoff(reply.failures);
            }
            Err(OperationError::Gone(_)) => {
                part.message = None;
                if let Some(posted) = reply.posted.get_mut(index) {
                    *posted = None;
                }
                reply.done_before = 0;
                if kind != PartOperation::Delete {
                    part.attempt += 1;
                    part.only_once = part.attempt > 1;
                }
                self.keep_part(key, index);
            }
            // A message that cannot be deleted stays.
            Err(OperationError::Refused(_)) if kind == PartOperation::Delete => {
                part.message = None;
                self.keep_part(key, index);
            }
            Err(OperationError::Refused(reason)) => {
                if !reply.drop_markup() {
                    reply.undeliverable = Some(reason);
                }
            }
        }
        self.step_scope(key);
    }

    /// A file was sent, or that failed.
    pub(super) fn file_performed(&mut self, key: &str, failure: Option<&OperationError>) {
        let now = self.now;
        let Some(reply) = self.reply_mut(key) else { return };
        let place = reply.record.place.clone();
        reply.in_flight = false;
        reply.dirty = true;
        match failure {
            None => {
                if let Some(settled) = &mut reply.record.settled {
                    settled.file_sent = true;
                }
                self.keep_reply(key);
            }
            Some(OperationError::RateLimited { retry_after_ms }) => {
                self.pace(&place).not_before = now + retry_after_ms;
            }
            Some(OperationError::Passing(_)) => {
                reply.failures += 1;
                reply.not_before = now + backoff(reply.failures);
            }
            Some(OperationError::Gone(_) | OperationError::Refused(_)) => {
                // Send all of it as messages instead.
                if let Some(settled) = &mut reply.record.settled
                    && let Some(whole) = settled.file.take()
                {
                    settled.markdown = whole;
                    reply.split_again();
                }
                self.keep_text(key);
                self.keep_reply(key);
            }
        }
        self.step_scope(key);
    }

    pub(super) fn keep_reply(&mut self, key: &str) {
        if let Some(reply) = self.scopes.get(key).and_then(|scope| scope.reply.as_ref()) {
            let change = put(Kind::Reply, reply.record.id.to_string(), &reply.record);
            self.change(change);
        }
    }

    /// Stores one message of a reply.
    pub(super) fn keep_part(&mut self, key: &str, index: usize) {
        let Some(reply) = self.scopes.get(key).and_then(|scope| scope.reply.as_ref()) else { return };
        if let Some(part) = reply.record.parts.get(index) {
            let change = put(Kind::Part, part_key(reply.record.id, index), part);
            self.change(change);
        }
    }

    /// Stores the final text of a reply. It has its own record, so that the one stored after each message stays small.
    pub(super) fn keep_text(&mut self, key: &str) {
        let Some(reply) = self.scopes.get(key).and_then(|scope| scope.reply.as_ref()) else { return };
        if let Some(settled) = &reply.record.settled {
            let change = put(Kind::Text, reply.record.id.to_string(), &settled.text_record());
            self.change(change);
        }
    }

    /// Ends a reply that has been sent completely: its messages get their outcome, and the next turn may start.
    fn finish_reply(&mut self, key: &str) {
        let Some(reply) = self.scopes.get_mut(key).and_then(|scope| scope.reply.take()) else { return };
        self.change(remove(Kind::Reply, reply.record.id.to_string()));
        self.change(remove(Kind::Text, reply.record.id.to_string()));
        for index in 0..reply.record.parts.len() {
            self.change(remove(Kind::Part, part_key(reply.record.id, index)));
        }
        let mut outcome = reply.record.settled.map_or(Outcome::Answered, |settled| settled.outcome);
        if let Some(reason) = reply.undeliverable {
            self.actions.push(Action::Note(format!("an answer could not be delivered: {reason}")));
            outcome = Outcome::Failed { reason: format!("the answer could not be delivered: {reason}") };
        }
        let mut messages = reply.record.messages.into_iter();
        if let Some(first) = messages.next() {
            for other in messages {
                let outcome = match &outcome {
                    Outcome::Answered => Outcome::Merged { into: first },
                    other => other.clone(),
                };
                self.settle(other, outcome);
            }
            self.settle(first, outcome);
        }
        self.step_scope(key);
    }
}
