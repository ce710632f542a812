//! Buttons: their data, and who may press them where.
//!
//! The data of a button is signed with a key that lives as long as the bridge runs. It names the card, the question and
//! the choice, and is valid only in the chat and on the message in which it was shown, until the card is closed. So it
//! cannot be guessed, and a press copied from elsewhere or replayed has no effect.

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

use crate::channel::{Button, Incoming, MessageRef, Place, Sender};
use crate::engine::AskKind;

use super::asks::labels;
use super::cards::Card;
use super::limits::Verdict;
use super::records::{AskRecord, Role};
use super::scope::owner;
use super::words::{self, Choice};
use super::{Bridge, delivery_mark};

/// Number of presses remembered to recognise repeated deliveries.
const MAX_PRESSES: usize = 1_000;
/// Hex digits of the signature on a button: 128 bits.
const SIGNATURE_LENGTH: usize = 32;

/// Signs buttons. Generated randomly when the bridge starts, and never stored.
#[derive(Clone, PartialEq, Eq)]
pub struct ButtonKey([u8; 32]);

impl ButtonKey {
    /// A key of these bytes, which must not be guessable.
    pub fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    fn sign(&self, card: &Card, ask: &AskRecord, step: usize, number: usize) -> Option<String> {
        let place = &card.record.place;
        let numbers = format!("{}.{step}.{number}", card.record.id);
        let fields =
            [place.channel.as_str(), place.chat.as_str(), ask.ask.request.as_str(), numbers.as_str()];
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0).ok()?;
        for field in fields {
            mac.update(&u64::try_from(field.len()).unwrap_or(u64::MAX).to_be_bytes());
            mac.update(field.as_bytes());
        }
        let digest = mac.finalize().into_bytes();
        Some(digest.iter().take(SIGNATURE_LENGTH / 2).map(|byte| format!("{byte:02x}")).collect())
    }
}

impl std::fmt::Debug for ButtonKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ButtonKey(…)")
    }
}

/// The parsed data of a button, not yet verified.
struct Claim<'a> {
    card: u64,
    step: usize,
    number: usize,
    signature: &'a str,
}

impl<'a> Claim<'a> {
    fn read(data: &'a str) -> Option<Self> {
        let mut fields = data.strip_prefix('a')?.splitn(4, '.');
        let card = fields.next()?.parse().ok()?;
        let step = fields.next()?.parse().ok()?;
        let number = fields.next()?.parse().ok()?;
        Some(Self { card, step, number, signature: fields.next()? })
    }
}

/// Compares two strings in constant time.
fn is_same(one: &str, other: &str) -> bool {
    let differences = one.bytes().zip(other.bytes()).fold(0, |all, (one, other)| all | (one ^ other));
    one.len() == other.len() && differences == 0
}

impl Bridge {
    /// The buttons of a card.
    pub(super) fn buttons(&self, card: &Card, ask: &AskRecord) -> Vec<Button> {
        let step = ask.answers.len();
        let button = |(index, label): (usize, String)| {
            let number = index + 1;
            let signature = self.button_key.sign(card, ask, step, number)?;
            Some(Button { label, data: format!("a{}.{step}.{number}.{signature}", card.record.id) })
        };
        labels(ask).into_iter().enumerate().filter_map(button).collect()
    }

    /// A button was pressed. If the press has no effect, the person is told.
    pub(super) fn button(&mut self, incoming: &Incoming, to: &MessageRef, data: &str) {
        if self.remember_press(incoming) {
            return;
        }
        let taken = self.pressed(incoming, to, data).and_then(|(card, choice)| {
            let is_taken = self.choose(card, &choice, &incoming.sender);
            is_taken.then_some(()).ok_or(words::OLD_BUTTON)
        });
        if let Err(words) = taken {
            self.refuse_press(incoming, words);
        }
    }

    /// A reaction was added to one of our messages.
    pub(super) fn reaction(&mut self, incoming: &Incoming, to: &MessageRef, key: &str) {
        let card = self.cards.values().find(|card| {
            self.is_same_chat(&card.record.place, &incoming.place)
                && card.record.ask.is_some()
                && card.record.message.as_ref() == Some(to)
        });
        let (Some(card), Some(choice)) = (card, words::reacted(key)) else { return };
        let (id, refusal) = (card.record.id, self.refusal(card, &incoming.sender));
        if self.remember_press(incoming) {
            return;
        }
        match refusal {
            Some(words) => self.refuse_press(incoming, words),
            None => {
                self.choose(id, &choice, &incoming.sender);
            }
        }
    }

    /// The choice of a press, or why it has no effect.
    fn pressed(
        &self,
        incoming: &Incoming,
        to: &MessageRef,
        data: &str,
    ) -> Result<(u64, Choice), &'static str> {
        let claim = Claim::read(data).ok_or(words::OLD_BUTTON)?;
        let card = self.cards.get(&claim.card).ok_or(words::OLD_BUTTON)?;
        let ask = card.record.ask.as_ref().ok_or(words::OLD_BUTTON)?;
        let expected = self.button_key.sign(card, ask, claim.step, claim.number);
        let is_ours = expected.is_some_and(|expected| is_same(&expected, claim.signature));
        // The message id is unknown until the post is confirmed.
        let is_below = card.record.message.as_ref().is_none_or(|message| message == to);
        let is_here = is_below && self.is_same_chat(&card.record.place, &incoming.place);
        // The step differs for a button of an earlier question on the same card.
        if !is_ours || !is_here || claim.step != ask.answers.len() {
            return Err(words::OLD_BUTTON);
        }
        match self.refusal(card, &incoming.sender) {
            Some(words) => Err(words),
            None => Ok((claim.card, Choice::Numbers(vec![claim.number]))),
        }
    }

    /// Why a person may not answer a card, or `None` if they may.
    pub(super) fn refusal(&self, card: &Card, sender: &Sender) -> Option<&'static str> {
        let ask = card.record.ask.as_ref()?;
        let is_admin = self.role_of(&card.record.place, sender) >= Some(Role::Admin);
        if is_admin {
            return None;
        }
        let is_permission = matches!(ask.ask.kind, AskKind::Permission { .. });
        if is_permission && self.settings.only_admins_allow {
            return Some(words::ONLY_ADMINS);
        }
        let is_of_another = owner(&ask.scope).is_some_and(|owner| owner != sender.id.as_str());
        is_of_another.then_some(words::NOT_YOURS)
    }

    /// Whether two places are in the same chat, whose id may have changed.
    fn is_same_chat(&self, one: &Place, other: &Place) -> bool {
        one.channel == other.channel
            && self.original_chat(&one.channel, &one.chat) == self.original_chat(&other.channel, &other.chat)
    }

    /// Remembers a press. Returns whether it was delivered before.
    fn remember_press(&mut self, incoming: &Incoming) -> bool {
        let mark = delivery_mark(&incoming.place.channel, &incoming.key);
        if self.presses.contains(&mark) {
            return true;
        }
        if self.presses.len() >= MAX_PRESSES {
            self.presses.pop_front();
        }
        self.presses.push_back(mark);
        false
    }

    /// Tells a person why a press has no effect, within the limits for messages.
    fn refuse_press(&mut self, incoming: &Incoming, words: &str) {
        let (minute, ten) = (self.settings.messages_per_minute, self.settings.messages_per_ten_minutes);
        let verdict = self.limits.take(&incoming.place, &incoming.sender.id, self.now, minute, ten);
        if verdict == Verdict::Fine {
            self.tell(&incoming.place, None, words);
        }
    }
}
