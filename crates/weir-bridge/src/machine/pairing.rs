//! Who may talk to the agent, and how people are paired.

use crate::channel::{Incoming, IncomingBody, Place, Sender};

use super::records::{Kind, PersonRecord, Role, person_key, put};
use super::{Action, Bridge, typed, words};

impl Bridge {
    /// The sender's role, or `None` for a stranger.
    pub(super) fn role(&self, incoming: &Incoming) -> Option<Role> {
        self.role_of(&incoming.place, &incoming.sender)
    }

    /// A person's role, or `None` for a stranger.
    pub(super) fn role_of(&self, place: &Place, sender: &Sender) -> Option<Role> {
        let key = (place.channel.clone(), sender.id.clone());
        let configured = self.settings.people.get(&key).copied();
        configured.or_else(|| self.people.get(&key).and_then(|person| person.role))
    }

    /// Handles a message from a stranger: a pairing code is checked, and anything else gets a hint about pairing,
    /// once and only in a direct chat.
    pub(super) fn stranger(&mut self, incoming: &Incoming) {
        let IncomingBody::Text(message) = &incoming.body else { return };
        if !incoming.direct {
            return;
        }
        let max_wrong_codes = self.settings.wrong_codes;
        let person = self.person(&incoming.place, &incoming.sender);
        if person.wrong_codes >= max_wrong_codes {
            return;
        }
        if let Some(code) = typed::pairing_code(&message.text) {
            // Count it before it is checked, because more may arrive in the meantime.
            person.wrong_codes += 1;
            self.keep_person(&incoming.place, &incoming.sender);
            self.actions.push(Action::CheckCode {
                place: incoming.place.clone(),
                sender: incoming.sender.clone(),
                code,
            });
            return;
        }
        if !person.hinted {
            person.hinted = true;
            self.keep_person(&incoming.place, &incoming.sender);
            self.tell(&incoming.place, incoming.message.as_ref(), words::PAIRING_HINT);
        }
    }

    /// A code was checked.
    pub(super) fn code_checked(&mut self, place: &Place, sender: &Sender, role: Option<Role>) {
        let max_wrong_codes = self.settings.wrong_codes;
        let person = self.person(place, sender);
        let text = match role {
            Some(role) => {
                person.role = Some(role);
                person.wrong_codes = 0;
                words::PAIRED
            }
            None if person.wrong_codes >= max_wrong_codes => words::NO_MORE_CODES,
            None => words::WRONG_CODE,
        };
        self.keep_person(place, sender);
        self.tell(place, None, text);
    }

    fn person(&mut self, place: &Place, sender: &Sender) -> &mut PersonRecord {
        let key = (place.channel.clone(), sender.id.clone());
        self.people.entry(key).or_insert_with(|| PersonRecord {
            channel: place.channel.clone(),
            id: sender.id.clone(),
            name: sender.name.clone(),
            role: None,
            hinted: false,
            wrong_codes: 0,
        })
    }

    fn keep_person(&mut self, place: &Place, sender: &Sender) {
        let key = (place.channel.clone(), sender.id.clone());
        if let Some(person) = self.people.get(&key) {
            let change = put(Kind::Person, person_key(&place.channel, &sender.id), person);
            self.change(change);
        }
    }
}
