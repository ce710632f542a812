//! What somebody says and asks in a chat who is no conversation of it: a loop that works unattended.
//!
//! They name the chat themselves. Whoever may talk to the agent there may answer, and an answer goes to whoever asked
//! and not to the engine. After a restart their questions are closed like all others: they have to ask again.

use crate::channel::Place;
use crate::engine::Ask;

use super::asks;
use super::records::AskRecord;
use super::{Action, Bridge};

/// The scope of questions that belong to no conversation.
pub(super) const BESIDE: &str = "";

/// What somebody wants who is no conversation.
#[derive(Debug, Clone, PartialEq)]
pub enum Beside {
    /// Says something.
    Tell {
        /// Names it, for [`Action::Told`].
        number: u64,
        /// Where.
        place: Place,
        /// What.
        markdown: String,
    },
    /// Asks something. The answer is [`Action::Answered`].
    Ask {
        /// Names it, for [`Action::Told`].
        number: u64,
        /// Where.
        place: Place,
        /// What.
        ask: Ask,
    },
    /// The answer that came from the chat was the first.
    Taken {
        /// Names the question.
        request: String,
    },
    /// Somebody else has answered, or it is no longer asked.
    Settled {
        /// Names the question.
        request: String,
        /// How, in a sentence.
        how: String,
    },
}

impl Bridge {
    pub(super) fn beside(&mut self, beside: Beside) {
        match beside {
            Beside::Tell { number, place, markdown } => {
                self.tell(&place, None, &markdown);
                self.actions.push(Action::Told { number });
            }
            Beside::Ask { number, place, ask } => {
                let cards = self.cards.values().filter_map(|card| card.record.ask.as_ref());
                let is_asked = cards.into_iter().any(|other| other.ask.request == ask.request);
                if !is_asked && self.channels.contains_key(&place.channel) {
                    // Whoever asks says when it is over.
                    let deadline = i64::MAX;
                    let (scope, conversation) = (BESIDE.to_owned(), String::new());
                    let record = AskRecord { scope, conversation, ask, deadline, answers: Vec::new() };
                    self.add_card(&place, None, asks::text(&record), Some(record));
                }
                self.actions.push(Action::Told { number });
            }
            Beside::Taken { request } => self.answer_taken(&request),
            Beside::Settled { request, how } => {
                if self.is_answering(&request) {
                    self.too_late(&request, &how);
                } else {
                    self.settled_elsewhere(&request, &how);
                }
            }
        }
    }

    fn is_answering(&self, request: &str) -> bool {
        let mut answers = self.cards.values().filter_map(|card| card.answering.as_ref());
        answers.any(|answering| answering.request == request)
    }
}
