//! Posts cards in their chats, in order and within the channel's limits.

use crate::channel::{MessageRef, Operation, OperationError, OutgoingFile};

use super::cards::{Card, backoff, fingerprint};
use super::{Action, Bridge, Target, asks, words};

impl Bridge {
    /// Posts or edits a card if the chat does not show its current content.
    pub(super) fn step_card(&mut self, id: u64) {
        let Some(card) = self.cards.get(&id) else { return };
        let pace = self.pace_of(&card.record.place);
        let Some(channel) = self.channels.get(&card.record.place.channel) else {
            self.drop_card(id);
            return;
        };
        let not_before = card.not_before.max(pace.not_before);
        if card.in_flight || self.now < not_before || self.waits_for_another(card) {
            return;
        }
        if let Some(file) = card.record.file.clone() {
            self.send_picture(id, file);
            return;
        }
        if let Some(text) = card.record.document.clone() {
            self.send_document(id, text);
            return;
        }
        if card.wanted.is_some() && card.shown == card.wanted {
            if card.is_final() {
                self.drop_card(id);
            }
            return;
        }
        self.bytes_processed += u64::try_from(card.record.markdown.len()).unwrap_or(u64::MAX);
        let Some(content) = self.card_content(card) else { return };
        let shown = fingerprint(&content);
        let place = card.record.place.clone();
        let (edits, edit_interval) = (channel.edits, channel.edit_interval_ms);
        let Some(card) = self.cards.get_mut(&id) else { return };
        card.wanted = Some(shown);
        if card.shown == card.wanted {
            if card.is_final() {
                self.drop_card(id);
            }
            return;
        }
        let (operation, posted) = match card.record.message.clone() {
            Some(message) if edits => {
                if self.now < pace.next_edit {
                    return;
                }
                (Operation::Edit { place: place.clone(), message, content }, false)
            }
            before => {
                let reply_to = card.record.reply_to.clone();
                // Without edits, the new content is posted as another message.
                let key = if before.is_some() { format!("c{id}-{shown:x}") } else { format!("c{id}") };
                (Operation::Post { place: place.clone(), content, reply_to, key }, true)
            }
        };
        card.in_flight = true;
        if posted {
            card.posted.get_or_insert(shown);
        } else {
            self.pace(&place).next_edit = self.now + edit_interval;
        }
        self.perform(operation, Target::Card { id, shown, posted });
    }

    /// A card was posted or edited, or that failed.
    pub(super) fn card_performed(
        &mut self,
        id: u64,
        shown: u64,
        posted: bool,
        result: Result<Option<MessageRef>, OperationError>,
    ) {
        let now = self.now;
        let Some(card) = self.cards.get_mut(&id) else { return };
        let place = card.record.place.clone();
        card.in_flight = false;
        match result {
            Ok(message) => {
                card.failures = 0;
                card.shown = Some(shown)
                    .filter(|_| !posted || card.record.message.is_some() || card.posted == Some(shown));
                if posted {
                    card.record.message = message.or(card.record.message.take());
                    self.keep_card(id);
                    self.offer_reactions(id);
                }
            }
            Err(OperationError::RateLimited { retry_after_ms }) => {
                self.pace(&place).not_before = now + retry_after_ms;
            }
            Err(OperationError::Passing(_)) => {
                card.failures += 1;
                card.not_before = now + backoff(card.failures);
            }
            Err(OperationError::Gone(_)) => {
                // A person deleted it, so it is not posted again.
                card.shown = Some(shown);
            }
            Err(OperationError::Refused(reason)) => {
                if card.plain {
                    self.actions
                        .push(Action::Note(format!("a message to {} was refused: {reason}", place.chat)));
                    card.shown = Some(shown);
                } else {
                    card.plain = true;
                    card.changed();
                }
            }
        }
        let refused_for_good =
            self.cards.get(&id).is_some_and(|card| card.plain && card.shown == Some(shown));
        if refused_for_good && self.cards.get(&id).is_some_and(Card::is_final) {
            self.drop_card(id);
            return;
        }
        self.step_card(id);
        let next =
            self.cards.range(id + 1..).find(|(_, other)| other.record.place == place).map(|(id, _)| *id);
        if let Some(next) = next {
            self.step_card(next);
        }
    }

    /// Sends the text of a card as a file.
    fn send_document(&mut self, id: u64, text: String) {
        let Some(card) = self.cards.get_mut(&id) else { return };
        card.in_flight = true;
        let place = card.record.place.clone();
        let file = OutgoingFile::text("answer.md", text);
        let operation = Operation::Upload { place, file, key: format!("c{id}") };
        self.perform(operation, Target::Document { card: id });
    }

    /// The text of a card was sent as a file, or that failed.
    pub(super) fn document_performed(&mut self, id: u64, failure: Option<&OperationError>) {
        if self.upload_performed(id, failure).is_none() {
            return;
        }
        // Send all of it as messages instead.
        let Some(card) = self.cards.get_mut(&id) else { return };
        let (place, text) = (card.record.place.clone(), card.record.document.take().unwrap_or_default());
        self.drop_card(id);
        self.tell_in_messages(&place, &text);
    }

    /// The file of a card was sent, which completes the card, or that failed. A failure that may pass is tried again
    /// later; the reason of any other is returned, with the card still there.
    pub(super) fn upload_performed<'f>(
        &mut self,
        id: u64,
        failure: Option<&'f OperationError>,
    ) -> Option<&'f str> {
        let now = self.now;
        let card = self.cards.get_mut(&id)?;
        card.in_flight = false;
        match failure {
            None => self.drop_card(id),
            Some(OperationError::RateLimited { retry_after_ms }) => {
                let place = card.record.place.clone();
                self.pace(&place).not_before = now + retry_after_ms;
            }
            Some(OperationError::Passing(_)) => {
                card.failures += 1;
                card.not_before = now + backoff(card.failures);
            }
            Some(OperationError::Gone(reason) | OperationError::Refused(reason)) => return Some(reason),
        }
        None
    }

    /// Adds the choices of a question as reactions, if the channel has no buttons.
    fn offer_reactions(&mut self, id: u64) {
        let Some(card) = self.cards.get(&id) else { return };
        let Some(channel) = self.channels.get(&card.record.place.channel) else { return };
        let (Some(ask), Some(message)) = (&card.record.ask, &card.record.message) else { return };
        if channel.buttons || !channel.reactions {
            return;
        }
        let (place, message) = (card.record.place.clone(), message.clone());
        for number in 1..=asks::labels(ask).len().min(9) {
            let reaction = words::reaction(number);
            let operation = Operation::React { place: place.clone(), message: message.clone(), reaction };
            self.perform(operation, Target::Nothing);
        }
    }
}
