//! Messages of the bridge itself: notices and questions. Each is stored until it has been posted.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use crate::channel::{Content, MessageRef, Place};
use crate::markup::{Markup, Rendered, Splitter};

use super::records::{AskRecord, CardRecord, Kind, put, remove};
use super::{Bridge, words};

/// A message of the bridge itself.
#[derive(Debug)]
pub(super) struct Card {
    pub(super) record: CardRecord,
    pub(super) in_flight: bool,
    pub(super) shown: Option<u64>,
    /// Fingerprint of what it should show, or `None` until it is rendered.
    pub(super) wanted: Option<u64>,
    /// Fingerprint of the first post. A channel that recognises a repeated post keeps the first content.
    pub(super) posted: Option<u64>,
    pub(super) plain: bool,
    pub(super) failures: u32,
    pub(super) not_before: i64,
    /// Our answer was sent, and it is not yet known whether it was the first.
    pub(super) answering: Option<Answering>,
    /// A sender of another message was told that it waits for the answer.
    pub(super) told_to_wait: bool,
}

/// An answer of ours on its way to the engine.
#[derive(Debug)]
pub(super) struct Answering {
    pub(super) request: String,
    /// How the request was settled, if the engine has reported it.
    pub(super) settled: Option<String>,
}

impl Card {
    pub(super) fn new(record: CardRecord) -> Self {
        Self {
            record,
            in_flight: false,
            shown: None,
            wanted: None,
            posted: None,
            plain: false,
            failures: 0,
            not_before: 0,
            answering: None,
            told_to_wait: false,
        }
    }

    /// Marks it as changed, so that it is rendered again.
    pub(super) fn changed(&mut self) {
        self.wanted = None;
    }

    /// Whether it can no longer change.
    pub(super) fn is_final(&self) -> bool {
        self.record.ask.is_none() && self.answering.is_none()
    }
}

/// How long to wait after this many failures, in milliseconds.
pub(super) fn backoff(failures: u32) -> i64 {
    (500_i64 << failures.min(7)).min(60_000)
}

/// A hash that tells contents apart.
pub(super) fn fingerprint(content: &Content) -> u64 {
    let mut hasher = DefaultHasher::new();
    content.hash(&mut hasher);
    hasher.finish()
}

/// Renders a text in the channel's markup, or as plain text.
pub(super) fn rendered(markup: Markup, markdown: &str, plain: bool) -> Rendered {
    if plain { Rendered { plain: markdown.to_owned(), html: None } } else { markup.render(markdown) }
}

impl Bridge {
    /// Posts a text in a chat. If it is too long for a few messages, it is sent as a file, if the channel has files.
    pub(super) fn tell(&mut self, place: &Place, reply_to: Option<&MessageRef>, markdown: &str) {
        let Some(channel) = self.channels.get(&place.channel) else { return };
        let max_parts = if channel.files { self.settings.max_parts.max(1) } else { usize::MAX };
        let mut splitter = Splitter::new(channel.markup, channel.longest);
        let open = splitter.advance(markdown, max_parts);
        self.bytes_processed += splitter.bytes_processed();
        if splitter.closed().len() >= max_parts && splitter.has_more(markdown) {
            let mut half = Splitter::new(channel.markup, channel.longest / 2);
            let open = half.advance(markdown, 1);
            let first = half.closed().first().cloned().or(open).unwrap_or_default();
            self.add_card(place, reply_to.cloned(), format!("{first}\n\n{}", words::IN_FILE), None);
            self.add_document(place, markdown.to_owned());
            return;
        }
        for piece in splitter.closed().iter().cloned().chain(open) {
            self.add_card(place, reply_to.cloned(), piece, None);
        }
    }

    /// Posts a text in as many messages as it takes.
    pub(super) fn tell_in_messages(&mut self, place: &Place, markdown: &str) {
        let Some(channel) = self.channels.get(&place.channel) else { return };
        let mut splitter = Splitter::new(channel.markup, channel.longest);
        let open = splitter.advance(markdown, usize::MAX);
        self.bytes_processed += splitter.bytes_processed();
        for piece in splitter.closed().iter().cloned().chain(open) {
            self.add_card(place, None, piece, None);
        }
    }

    fn add_document(&mut self, place: &Place, text: String) {
        let id = self.next_id();
        let mut record = CardRecord::new(id, place.clone());
        record.document = Some(text);
        self.insert_card(record);
    }

    pub(super) fn add_card(
        &mut self,
        place: &Place,
        reply_to: Option<MessageRef>,
        markdown: String,
        ask: Option<AskRecord>,
    ) {
        let id = self.next_id();
        self.insert_card(CardRecord { reply_to, markdown, ask, ..CardRecord::new(id, place.clone()) });
    }

    /// Stores a new card, and posts it when it is its turn.
    pub(super) fn insert_card(&mut self, record: CardRecord) {
        let id = record.id;
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
            // The next one in this chat was waiting for it.
            let next = self.cards.values().find(|other| other.record.place == card.record.place);
            if let Some(next) = next.map(|next| next.record.id) {
                self.step_card(next);
            }
        }
    }

    /// When a card needs attention next, unless another event comes first.
    pub(super) fn cards_deadline(&self) -> Option<i64> {
        let expires = self.cards.values().filter_map(|card| Some(card.record.ask.as_ref()?.deadline)).min();
        let is_wanted =
            |card: &&Card| !card.in_flight && (card.wanted.is_none() || card.shown != card.wanted);
        let writes = self.cards_in_turn().filter(is_wanted).map(|card| {
            let pace = self.pace_of(&card.record.place);
            let edit = if card.record.message.is_some() { pace.next_edit } else { 0 };
            card.not_before.max(pace.not_before).max(edit)
        });
        expires.into_iter().chain(writes.min()).min()
    }

    /// The cards that may be posted or edited now. Cards of a chat are posted in order, so of those that have not been
    /// posted yet only the first one counts.
    pub(super) fn cards_in_turn(&self) -> impl Iterator<Item = &Card> {
        let mut waiting: HashSet<Place> = HashSet::new();
        let is_in_turn =
            move |card: &&'_ Card| card.record.message.is_some() || waiting.insert(card.record.place.clone());
        self.cards.values().filter(is_in_turn)
    }

    pub(super) fn waits_for_another(&self, card: &Card) -> bool {
        card.record.message.is_none()
            && self
                .cards
                .range(..card.record.id)
                .any(|(_, other)| other.record.place == card.record.place && other.record.message.is_none())
    }

    pub(super) fn card_content(&self, card: &Card) -> Option<Content> {
        let channel = self.channels.get(&card.record.place.channel)?;
        let text = rendered(channel.markup, &card.record.markdown, card.plain);
        let buttons = match &card.record.ask {
            Some(ask) if channel.buttons => self.buttons(card, ask),
            _ => Vec::new(),
        };
        Some(Content { text, buttons })
    }
}
