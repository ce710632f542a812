//! Messages and questions from a program outside the chats, such as the unattended loop.
//!
//! The program names the chat. Anyone who may talk to the agent there may answer, and the answer goes to the program
//! instead of the engine. After a restart its questions are closed like all others, and it has to ask again.

use crate::channel::Place;
use crate::engine::Ask;

use super::asks;
use super::records::AskRecord;
use super::{Action, Bridge};

/// The scope of questions that do not belong to a conversation.
pub(super) const EXTERNAL: &str = "";

/// Input from a program outside the chats.
#[derive(Debug, Clone, PartialEq)]
pub enum External {
    /// Posts a message.
    Tell {
        /// Number of the message, for [`Action::Told`].
        number: u64,
        /// Where to post it.
        place: Place,
        /// The message.
        markdown: String,
    },
    /// Posts a question. The answer is an [`Action::Answered`].
    Ask {
        /// Number of the question, for [`Action::Told`].
        number: u64,
        /// Where to post it.
        place: Place,
        /// The question.
        ask: Ask,
    },
    /// The answer from the chat was the first and counts.
    Taken {
        /// Id of the question.
        request: String,
    },
    /// The question was answered elsewhere or withdrawn.
    Settled {
        /// Id of the question.
        request: String,
        /// The outcome, in a sentence.
        how: String,
    },
}

impl Bridge {
    pub(super) fn external(&mut self, external: External) {
        match external {
            External::Tell { number, place, markdown } => {
                self.tell(&place, None, &markdown);
                self.actions.push(Action::Told { number });
            }
            External::Ask { number, place, ask } => {
                let cards = self.cards.values().filter_map(|card| card.record.ask.as_ref());
                let is_asked = cards.into_iter().any(|other| other.ask.request == ask.request);
                if !is_asked && self.channels.contains_key(&place.channel) {
                    // The program decides when the question expires.
                    let deadline = i64::MAX;
                    let (scope, conversation) = (EXTERNAL.to_owned(), String::new());
                    let record = AskRecord { scope, conversation, ask, deadline, answers: Vec::new() };
                    self.add_card(&place, None, asks::text(&record), Some(record));
                }
                self.actions.push(Action::Told { number });
            }
            External::Taken { request } => self.answer_taken(&request),
            External::Settled { request, how } => {
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
