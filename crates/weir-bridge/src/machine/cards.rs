//! Messages of the bridge's own: things to know, and things to answer. Each is written once and kept until it is there.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use crate::channel::{Content, MessageRef, Operation, OperationError, Place};
use crate::markup::{Markup, Rendered, split};

use super::records::{AskRecord, CardRecord, Kind, put, remove};
use super::{Action, Bridge, Target, asks, words};

/// A message of our own.
#[derive(Debug)]
pub(super) struct Card {
    pub(super) record: CardRecord,
    pub(super) in_flight: bool,
    pub(super) shown: Option<u64>,
    /// What it was first posted with: a channel that recognises a post keeps that.
    pub(super) posted: Option<u64>,
    pub(super) plain: bool,
    pub(super) failures: u32,
    pub(super) not_before: i64,
    /// The engine was given our answer and has not said whether it was the first.
    pub(super) answering: Option<Answering>,
    /// Somebody who wrote something else knows that an answer is waited for.
    pub(super) said_to_wait: bool,
}

/// An answer of ours on its way to the engine.
#[derive(Debug)]
pub(super) struct Answering {
    pub(super) request: String,
    /// How the engine says that the request was settled, where it has said so.
    pub(super) settled: Option<String>,
}

impl Card {
    pub(super) fn new(record: CardRecord) -> Self {
        Self {
            record,
            in_flight: false,
            shown: None,
            posted: None,
            plain: false,
            failures: 0,
            not_before: 0,
            answering: None,
            said_to_wait: false,
        }
    }

    /// Whether nothing can change it any more.
    fn is_final(&self) -> bool {
        self.record.ask.is_none() && self.answering.is_none()
    }
}

/// How long to wait after so many failures.
pub(super) fn backoff(failures: u32) -> i64 {
    (500_i64 << failures.min(7)).min(60_000)
}

/// A number that tells contents apart.
pub(super) fn fingerprint(content: &Content) -> u64 {
    let mut hasher = DefaultHasher::new();
    content.hash(&mut hasher);
    hasher.finish()
}

/// A text in the channel's markup, or without any.
pub(super) fn rendered(markup: Markup, markdown: &str, plain: bool) -> Rendered {
    if plain { Rendered { plain: markdown.to_owned(), html: None } } else { markup.render(markdown) }
}

impl Bridge {
    /// Says something in a chat.
    pub(super) fn tell(&mut self, place: &Place, reply_to: Option<&MessageRef>, markdown: &str) {
        let Some(channel) = self.channels.get(&place.channel) else { return };
        for piece in split(markdown, channel.markup, channel.longest) {
            self.add_card(place, reply_to.cloned(), piece, None);
        }
    }

    pub(super) fn add_card(
        &mut self,
        place: &Place,
        reply_to: Option<MessageRef>,
        markdown: String,
        ask: Option<AskRecord>,
    ) {
        let id = self.next_id();
        let record =
            CardRecord { id, place: place.clone(), reply_to, markdown, message: None, ask, file: None };
        self.change(put(Kind::Card, id.to_string(), &record));
        self.cards.insert(id, Card::new(record));
        self.step_card(id);
    }

    pub(super) fn keep_card(&mut self, id: u64) {
        if let Some(card) = self.cards.get(&id) {
            let change = put(Kind::Card, id.to_string(), &card.record);
            self.change(change);
        }
    }

    pub(super) fn drop_card(&mut self, id: u64) {
        if let Some(card) = self.cards.remove(&id) {
            self.change(remove(Kind::Card, id.to_string()));
            // The next one in this chat waited for it.
            let next = self.cards.values().find(|other| other.record.place == card.record.place);
            if let Some(next) = next.map(|next| next.record.id) {
                self.step_card(next);
            }
        }
    }

    /// When a card is to be written, or its question is over, if nothing happens before.
    pub(super) fn card_deadline(&self, card: &Card) -> Option<i64> {
        let expires = card.record.ask.as_ref().map(|ask| ask.deadline);
        let writes = (!card.in_flight && self.card_wants(card)).then(|| {
            let pace = self.pace_of(&card.record.place);
            let edit = if card.record.message.is_some() { pace.next_edit } else { 0 };
            card.not_before.max(pace.not_before).max(edit)
        });
        expires.into_iter().chain(writes).min()
    }

    fn card_wants(&self, card: &Card) -> bool {
        let Some(content) = self.card_content(card) else { return false };
        card.shown != Some(fingerprint(&content)) && !self.waits_for_another(card)
    }

    /// Cards of a chat are posted in their order.
    pub(super) fn waits_for_another(&self, card: &Card) -> bool {
        card.record.message.is_none()
            && self
                .cards
                .range(..card.record.id)
                .any(|(_, other)| other.record.place == card.record.place && other.record.message.is_none())
    }

    fn card_content(&self, card: &Card) -> Option<Content> {
        let channel = self.channels.get(&card.record.place.channel)?;
        let text = rendered(channel.markup, &card.record.markdown, card.plain);
        let buttons = match &card.record.ask {
            Some(ask) if channel.buttons => asks::buttons(card.record.id, ask),
            _ => Vec::new(),
        };
        Some(Content { text, buttons })
    }

    /// Writes a card if it is not there as it should be.
    pub(super) fn step_card(&mut self, id: u64) {
        let Some(card) = self.cards.get(&id) else { return };
        let pace = self.pace_of(&card.record.place);
        let (Some(content), Some(channel)) =
            (self.card_content(card), self.channels.get(&card.record.place.channel))
        else {
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
        let shown = fingerprint(&content);
        if card.shown == Some(shown) {
            if card.is_final() {
                self.drop_card(id);
            }
            return;
        }
        let (place, edit_interval) = (card.record.place.clone(), channel.edit_interval_ms);
        let (operation, posted) = match card.record.message.clone() {
            Some(message) if channel.edits => {
                if self.now < pace.next_edit {
                    return;
                }
                self.pace(&place).next_edit = self.now + edit_interval;
                (Operation::Edit { place, message, content }, false)
            }
            _ => {
                let reply_to = card.record.reply_to.clone();
                let mut key = format!("c{id}");
                // What cannot be changed is said again, and that is another message.
                if card.record.message.is_some() {
                    key = format!("{key}-{shown:x}");
                }
                (Operation::Post { place, content, reply_to, key }, true)
            }
        };
        if let Some(card) = self.cards.get_mut(&id) {
            card.in_flight = true;
            if posted {
                card.posted.get_or_insert(shown);
            }
        }
        self.perform(operation, Target::Card { id, shown, posted });
    }

    /// A card was written, or was not.
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
                // It was deleted: whoever did that does not want to see it again.
                card.shown = Some(shown);
            }
            Err(OperationError::Refused(reason)) => {
                if card.plain {
                    self.actions
                        .push(Action::Note(format!("a message to {} was refused: {reason}", place.chat)));
                    card.shown = Some(shown);
                } else {
                    card.plain = true;
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

    /// Puts the choices below a question as reactions, where the channel has no buttons.
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
