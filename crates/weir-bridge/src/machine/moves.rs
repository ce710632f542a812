//! Chats that go on under another name: a room that was upgraded, a group that became a supergroup.
//!
//! Scopes keep the name of the chat that they began in, so the conversation, its model and its folder stay.

use crate::channel::{ChannelName, ChatId, Place};

use super::Bridge;
use super::records::{Kind, MovedRecord, put};

impl Bridge {
    /// A chat goes on from another one.
    pub(super) fn moved(&mut self, place: &Place, from: &ChatId) {
        let Place { channel, chat, .. } = place;
        let from = self.called_before(channel, from).clone();
        let has_its_own = self.scopes.keys().any(|key| is_in(key, channel, chat));
        let key = (channel.clone(), chat.clone());
        // A chat in which somebody talked to us already is one of its own.
        if from == *chat || has_its_own || self.moves.contains_key(&key) {
            return;
        }
        for (name, scope) in &mut self.scopes {
            if is_in(name, channel, &from) {
                scope.place.chat = chat.clone();
            }
        }
        let number = self.next_id();
        let record = MovedRecord { channel: channel.clone(), to: chat.clone(), from, number };
        self.change(put(Kind::Moved, format!("{channel}/{chat}"), &record));
        self.moves.insert(key, record);
    }

    /// What a chat was called at the beginning.
    pub(super) fn called_before<'a>(&'a self, channel: &ChannelName, chat: &'a ChatId) -> &'a ChatId {
        self.moves.get(&(channel.clone(), chat.clone())).map_or(chat, |moved| &moved.from)
    }

    /// What a chat is called now, by its name at the beginning.
    pub(super) fn called_now(&self, channel: &ChannelName, chat: &ChatId) -> ChatId {
        let later = self.moves.values().filter(|moved| moved.channel == *channel && moved.from == *chat);
        later.max_by_key(|moved| moved.number).map_or(chat, |moved| &moved.to).clone()
    }
}

/// Whether a scope is one of this chat, by its name.
fn is_in(scope: &str, channel: &ChannelName, chat: &ChatId) -> bool {
    let mut fields = scope.splitn(4, '/');
    fields.next() == Some(channel.as_str()) && fields.nth(1) == Some(chat.as_str())
}
