//! Resumes from the stored records after a stop or a crash.

use std::collections::BTreeMap;

use crate::channel::{Capabilities, ChannelName};

use super::cards::Card;
use super::records::{
    CardRecord, DoneRecord, InboxId, InboxRecord, Kept, Kind, MovedRecord, PartRecord, PersonRecord,
    ReplyRecord, ScopeRecord, TextRecord, read, read_part_key,
};
use super::reply::Reply;
use super::settings::{Per, Settings};
use super::turns::prompt_text;
use super::{Action, Bridge, ButtonKey, delivery_mark, typed, words};

impl Bridge {
    /// Restores a bridge from its stored records. Also returns its first actions.
    pub fn restore(
        settings: Settings,
        channels: BTreeMap<ChannelName, Capabilities>,
        button_key: ButtonKey,
        kept: Vec<Kept>,
        now: i64,
    ) -> (Self, Vec<Action>) {
        let mut bridge = Self::new(settings, channels, button_key);
        bridge.now = now;
        // The last edit may have been just before the stop.
        let slowest = bridge.channels.values().map(|channel| channel.edit_interval_ms).max();
        bridge.first_edit = now + slowest.unwrap_or(0);
        let mut scopes: BTreeMap<String, ScopeRecord> = BTreeMap::new();
        let mut replies = Vec::new();
        let mut texts: BTreeMap<String, TextRecord> = BTreeMap::new();
        let mut parts: BTreeMap<u64, BTreeMap<usize, PartRecord>> = BTreeMap::new();
        for kept in kept {
            match kept.kind {
                Kind::Inbox => bridge.load_inbox(&kept),
                Kind::Done => bridge.load_done(&kept),
                Kind::Reply => replies.extend(read::<ReplyRecord>(&kept)),
                Kind::Text => {
                    if let Some(text) = read(&kept) {
                        texts.insert(kept.key, text);
                    }
                }
                Kind::Part => {
                    if let (Some((reply, index)), Some(part)) = (read_part_key(&kept.key), read(&kept)) {
                        parts.entry(reply).or_default().insert(index, part);
                    }
                }
                Kind::Card => {
                    if let Some(record) = read::<CardRecord>(&kept) {
                        bridge.cards.insert(record.id, Card::new(record));
                    }
                }
                Kind::Scope => {
                    if let Some(record) = read(&kept) {
                        scopes.insert(kept.key, record);
                    }
                }
                Kind::Person => {
                    if let Some(person) = read::<PersonRecord>(&kept) {
                        bridge.people.insert((person.channel.clone(), person.id.clone()), person);
                    }
                }
                Kind::Moved => {
                    if let Some(moved) = read::<MovedRecord>(&kept) {
                        bridge.moves.insert((moved.channel.clone(), moved.to.clone()), moved);
                    }
                }
            }
        }
        let moves = bridge.moves.values().map(|moved| moved.number);
        let numbers = replies.iter().map(|reply| reply.id).chain(bridge.cards.keys().copied()).chain(moves);
        bridge.last_id = numbers.fold(bridge.last_id, u64::max);
        bridge.done.make_contiguous().sort_by_key(|(id, _)| *id);
        bridge.load_scopes(scopes, &replies);
        for reply in &mut replies {
            if let (Some(settled), Some(text)) = (&mut reply.settled, texts.remove(&reply.id.to_string())) {
                (settled.markdown, settled.file) = (text.markdown, text.file);
            }
            for (index, part) in parts.remove(&reply.id).unwrap_or_default() {
                if reply.parts.len() <= index {
                    reply.parts.resize(index + 1, PartRecord::default());
                }
                if let Some(place) = reply.parts.get_mut(index) {
                    *place = part;
                }
            }
        }
        bridge.resume_work(replies);
        bridge.close_asks();
        bridge.tick();
        let actions = bridge.finish_step();
        (bridge, actions)
    }

    fn load_inbox(&mut self, kept: &Kept) {
        if let Some(record) = read::<InboxRecord>(kept) {
            self.seen.insert(delivery_mark(&record.place.channel, &record.delivery));
            self.last_id = self.last_id.max(record.id.0);
            self.inbox.insert(record.id, record);
        }
    }

    fn load_done(&mut self, kept: &Kept) {
        if let (Some(record), Ok(number)) = (read::<DoneRecord>(kept), kept.key.parse()) {
            let mark = delivery_mark(&record.channel, &record.delivery);
            self.seen.insert(mark);
            self.last_id = self.last_id.max(number);
            self.done.push_back((InboxId(number), mark));
        }
    }

    /// Restores the scopes that have a record, a message or a reply.
    fn load_scopes(&mut self, mut records: BTreeMap<String, ScopeRecord>, replies: &[ReplyRecord]) {
        let of_messages = self.inbox.values().map(|record| (record.scope.clone(), record.place.clone()));
        let of_replies = replies.iter().map(|reply| (reply.scope.clone(), reply.place.clone()));
        let places: BTreeMap<_, _> = of_messages.chain(of_replies).collect();
        for (key, place) in places {
            let record = records.remove(&key).unwrap_or_default();
            self.scope_for(&key, &place).record = record;
        }
        // For a scope without messages and replies, the key tells its place.
        for (key, record) in records {
            let mut fields = key.splitn(4, '/');
            let (Some(channel), Some(_), Some(chat)) = (fields.next(), fields.next(), fields.next()) else {
                continue;
            };
            let thread = key.split('/').nth(1).filter(|per| *per == "thread").and(fields.next());
            let mut place = crate::channel::Place {
                channel: channel.into(),
                chat: chat.into(),
                thread: thread.map(Into::into),
            };
            place.chat = self.current_chat(&place.channel, &place.chat);
            self.scope_for(&key, &place).record = record;
        }
    }

    fn resume_work(&mut self, replies: Vec<ReplyRecord>) {
        let mut answered: Vec<InboxId> = Vec::new();
        for record in replies {
            answered.extend(&record.messages);
            let (key, settled) = (record.scope.clone(), record.settled.is_some());
            if let Some(scope) = self.scopes.get_mut(&key) {
                scope.pictures = record.pictures.iter().cloned().collect();
                scope.reply = Some(Reply::new(record));
            }
            // An earlier version stored the text and the messages in the reply's record.
            self.keep_text(&key);
            let count = self.reply_mut(&key).map_or(0, |reply| reply.record.parts.len());
            for index in 0..count {
                self.keep_part(&key, index);
            }
            if !settled {
                // The engine recognises a prompt that it already has.
                self.send_prompt(&key);
            }
        }
        let open: Vec<InboxRecord> =
            self.inbox.values().filter(|record| !answered.contains(&record.id)).cloned().collect();
        for record in open {
            match &record.sent_to {
                Some(conversation) => self.steer_again(&record, conversation.clone()),
                None => match typed::command(&record.text) {
                    Some(command) => self.command(&record, &command),
                    None => {
                        let scope = self.scope_for(&record.scope, &record.place);
                        scope.enqueue(record.order, record.id);
                        self.hold(&record);
                    }
                },
            }
        }
    }

    fn steer_again(&mut self, record: &InboxRecord, conversation: String) {
        let scope = self.scope_for(&record.scope, &record.place);
        scope.steered.push(record.id);
        let conversation = scope.conversation_named(conversation);
        let text = prompt_text(record, scope.settings.per != Per::User);
        self.send_steered(record, conversation, text);
    }

    /// Closes open questions: the processes that asked them have ended.
    fn close_asks(&mut self) {
        let open: Vec<u64> =
            self.cards.values().filter(|card| card.record.ask.is_some()).map(|card| card.record.id).collect();
        for id in open {
            if let Some(card) = self.cards.get_mut(&id) {
                // It may have been posted as a question.
                card.posted = Some(0);
            }
            self.close_card(id, words::RESTARTED);
        }
    }
}
