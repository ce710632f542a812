//! Chats whose id changes: an upgraded room, or a group that became a supergroup.
//!
//! Scopes keep the original id of their chat, so the conversation, its model and its folder are preserved.

use crate::channel::{ChannelName, ChatId, Place};

use super::Bridge;
use super::records::{Kind, MovedRecord, put};

impl Bridge {
    /// A chat replaces another one.
    pub(super) fn moved(&mut self, place: &Place, from: &ChatId) {
        let Place { channel, chat, .. } = place;
        let from = self.original_chat(channel, from).clone();
        let has_its_own = self.scopes.keys().any(|key| is_in(key, channel, chat));
        let key = (channel.clone(), chat.clone());
        // A chat that already has messages of its own stays separate.
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

    /// The original id of a chat.
    pub(super) fn original_chat<'a>(&'a self, channel: &ChannelName, chat: &'a ChatId) -> &'a ChatId {
        self.moves.get(&(channel.clone(), chat.clone())).map_or(chat, |moved| &moved.from)
    }

    /// The current id of a chat, by its original id.
    pub(super) fn current_chat(&self, channel: &ChannelName, chat: &ChatId) -> ChatId {
        let later = self.moves.values().filter(|moved| moved.channel == *channel && moved.from == *chat);
        later.max_by_key(|moved| moved.number).map_or(chat, |moved| &moved.to).clone()
    }
}

/// Whether a scope belongs to this chat, judging by its key.
fn is_in(scope: &str, channel: &ChannelName, chat: &ChatId) -> bool {
    let mut fields = scope.splitn(4, '/');
    fields.next() == Some(channel.as_str()) && fields.nth(1) == Some(chat.as_str())
}
