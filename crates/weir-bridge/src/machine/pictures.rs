//! Shows the agent's pictures in the chat: each once per turn, and only a limited number.

use crate::channel::{Attachment, OperationError, Place};

use super::records::CardRecord;
use super::{Action, Bridge, Target, words};

impl Bridge {
    /// The engine has pictures of a conversation.
    pub(super) fn pictured(&mut self, key: &str, conversation: &str, files: Vec<Attachment>) {
        let max_pictures = self.settings.max_pictures;
        for file in files {
            let Some(scope) = self.scopes.get_mut(key) else { return };
            // A picture that arrives after its turn is still shown.
            let reply = scope.reply.as_mut().filter(|reply| reply.record.conversation == conversation);
            let place = reply.as_ref().map_or(&scope.place, |reply| &reply.record.place).clone();
            if !scope.pictures.insert(file.blob.clone()) {
                continue;
            }
            let is_shown = scope.pictures.len() <= max_pictures;
            if let Some(reply) = reply {
                // After a restart the engine reports all pictures of the turn again.
                reply.record.pictures.push(file.blob.clone());
                self.keep_reply(key);
            }
            if is_shown {
                self.show_picture(&place, file);
            }
        }
    }

    fn show_picture(&mut self, place: &Place, file: Attachment) {
        let max_bytes = self.channels.get(&place.channel).and_then(|channel| channel.largest_picture);
        match max_bytes {
            // The channel has no pictures.
            None => {}
            Some(max_bytes) if file.size > max_bytes => {
                self.tell(place, None, &words::no_picture(&file.name, "it is too large for this chat"));
            }
            Some(_) => {
                let id = self.next_id();
                self.insert_card(CardRecord { file: Some(file), ..CardRecord::new(id, place.clone()) });
            }
        }
    }

    /// Sends the picture of a card.
    pub(super) fn send_picture(&mut self, id: u64, file: Attachment) {
        let number = self.next_id();
        let Some(card) = self.cards.get_mut(&id) else { return };
        card.in_flight = true;
        let place = card.record.place.clone();
        self.operations.insert(number, Target::Picture { card: id });
        self.actions.push(Action::Upload { number, place, file, key: format!("c{id}") });
    }

    /// A picture was sent, or that failed.
    pub(super) fn picture_performed(&mut self, id: u64, failure: Option<&OperationError>) {
        let Some(reason) = self.upload_performed(id, failure) else { return };
        let Some(card) = self.cards.get(&id) else { return };
        let place = card.record.place.clone();
        let name = card.record.file.as_ref().map_or("", |file| file.name.as_str());
        let words = words::no_picture(name, "the channel did not accept it");
        self.actions.push(Action::Note(format!("a picture for {} was refused: {reason}", place.chat)));
        self.tell(&place, None, &words);
        self.drop_card(id);
    }
}
