//! Gets a reply into the chat: one step at a time, each in its order, within the channel's limits.

use crate::channel::{Content, MessageRef, Operation, OperationError, OutgoingFile};

use super::cards::{backoff, fingerprint, rendered};
use super::records::{Kind, Outcome, put, remove};
use super::reply::Reply;
use super::{Action, Bridge, PartOperation, Target, words};

/// The next step of a reply.
enum Step {
    Post {
        index: usize,
        content: Content,
    },
    Edit {
        index: usize,
        message: MessageRef,
        content: Content,
    },
    Delete {
        index: usize,
        message: MessageRef,
    },
    File {
        text: String,
    },
    /// Nothing, for now.
    Rest,
    /// All of it is there.
    Done,
}

impl Bridge {
    /// When a reply is to be written on, if nothing happens before.
    pub(super) fn reply_deadline(&self, reply: &Reply) -> Option<i64> {
        let pace = self.pace_of(&reply.record.place);
        let wanted = reply.dirty && !reply.in_flight;
        let begun = reply.record.parts.iter().any(|part| part.message.is_some());
        let next_edit = if begun { pace.next_edit } else { 0 };
        wanted.then(|| reply.not_before.max(pace.not_before).max(next_edit))
    }

    /// Does the next step of the reply of a scope.
    pub(super) fn step_reply(&mut self, key: &str) {
        let Some(scope) = self.scopes.get(key) else { return };
        let Some(reply) = &scope.reply else { return };
        if reply.in_flight || self.reply_deadline(reply).is_none_or(|due| self.now < due) {
            return;
        }
        match self.next_step(key) {
            Step::Rest => {
                if let Some(reply) = self.reply_mut(key) {
                    reply.dirty = false;
                }
            }
            Step::Done => self.finish_reply(key),
            step => self.do_step(key, step),
        }
    }

    pub(super) fn reply_mut(&mut self, key: &str) -> Option<&mut Reply> {
        self.scopes.get_mut(key)?.reply.as_mut()
    }

    fn next_step(&self, key: &str) -> Step {
        let Some(scope) = self.scopes.get(key) else { return Step::Rest };
        let Some(reply) = &scope.reply else { return Step::Rest };
        let settled = reply.record.settled.as_ref();
        let Some(channel) = self.channels.get(&reply.record.place.channel) else { return Step::Done };
        if reply.undeliverable.is_some() {
            return if settled.is_some() { Step::Done } else { Step::Rest };
        }
        let pieces = reply.pieces(channel, scope.settings.show_tools, self.settings.most_parts);
        let content = |markdown: &str| Content {
            text: rendered(channel.markup, markdown, reply.plain),
            buttons: Vec::new(),
        };
        for (index, piece) in pieces.iter().enumerate() {
            let part = reply.record.parts.get(index).cloned().unwrap_or_default();
            let wanted = content(piece);
            match part.message {
                None => {
                    let at_once = channel.edits && !part.only_once;
                    if settled.is_none() && !at_once {
                        return Step::Rest;
                    }
                    // A post whose fate a crash leaves open must not be the answer; an edit can be repeated.
                    let first =
                        if at_once && !channel.posts_once { content(words::PLACEHOLDER) } else { wanted };
                    return Step::Post { index, content: first };
                }
                Some(_) if part.only_once || !channel.edits => {}
                Some(message) => {
                    if reply.shown.get(index).copied().flatten() != Some(fingerprint(&wanted)) {
                        return Step::Edit { index, message, content: wanted };
                    }
                }
            }
        }
        let Some(settled) = settled else { return Step::Rest };
        let surplus = reply.record.parts.iter().enumerate().skip(pieces.len());
        if let Some((index, message)) =
            surplus.filter_map(|(index, part)| Some((index, part.message.clone()?))).next_back()
        {
            if channel.deletes {
                return Step::Delete { index, message };
            }
            let wanted = content(words::PLACEHOLDER);
            let shown = reply.shown.get(index).copied().flatten();
            if channel.edits && shown != Some(fingerprint(&wanted)) {
                return Step::Edit { index, message, content: wanted };
            }
        }
        match &settled.file {
            Some(text) if !settled.file_sent => Step::File { text: text.clone() },
            _ => Step::Done,
        }
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
                if reply.record.settled.is_none() {
                    reply.remember_said();
                }
                self.keep_reply(key);
                let operation =
                    Operation::Post { place, content, reply_to, key: format!("r{id}-{index}-{attempt}") };
                self.perform(operation, Target::Part { scope, index, shown, kind: PartOperation::Post });
            }
            Step::Edit { index, message, content } => {
                let shown = fingerprint(&content);
                if reply.record.settled.is_none() && reply.remember_said() {
                    self.keep_reply(key);
                }
                let interval =
                    self.channels.get(&place.channel).map_or(0, |channel| channel.edit_interval_ms);
                self.pace(&place).next_edit = now + interval;
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
            Step::Rest | Step::Done => {}
        }
    }

    /// A step was done, or was not.
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
        let plain = reply.plain;
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
                        let interval =
                            self.channels.get(&place.channel).map_or(0, |channel| channel.edit_interval_ms);
                        self.pace(&place).next_edit = now + interval;
                    }
                    PartOperation::Post | PartOperation::Delete => self.keep_reply(key),
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
                if kind != PartOperation::Delete {
                    part.attempt += 1;
                    part.only_once = part.attempt > 1;
                }
                self.keep_reply(key);
            }
            // A message that cannot be taken away stays.
            Err(OperationError::Refused(_)) if kind == PartOperation::Delete => {
                part.message = None;
                self.keep_reply(key);
            }
            Err(OperationError::Refused(reason)) => {
                if plain {
                    reply.undeliverable = Some(reason);
                } else {
                    reply.plain = true;
                }
            }
        }
        self.step_scope(key);
    }

    /// A file was sent, or was not.
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
                // Then all of it comes as messages.
                if let Some(settled) = &mut reply.record.settled
                    && let Some(whole) = settled.file.take()
                {
                    settled.markdown = whole;
                }
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

    /// All of a reply is there: its messages have their outcome, and the next turn may begin.
    fn finish_reply(&mut self, key: &str) {
        let Some(reply) = self.scopes.get_mut(key).and_then(|scope| scope.reply.take()) else { return };
        self.change(remove(Kind::Reply, reply.record.id.to_string()));
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
