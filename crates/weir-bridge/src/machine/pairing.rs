//! Who may talk to the agent, and how somebody is let in.

use crate::channel::{Incoming, IncomingBody, Place, Sender};

use super::records::{Kind, PersonRecord, Role, person_key, put};
use super::{Action, Bridge, typed, words};

impl Bridge {
    /// What the sender may do; none for a stranger.
    pub(super) fn role(&self, incoming: &Incoming) -> Option<Role> {
        self.role_of(&incoming.place, &incoming.sender)
    }

    /// What somebody may do; none for a stranger.
    pub(super) fn role_of(&self, place: &Place, sender: &Sender) -> Option<Role> {
        let key = (place.channel.clone(), sender.id.clone());
        let configured = self.settings.people.get(&key).copied();
        configured.or_else(|| self.people.get(&key).and_then(|person| person.role))
    }

    /// A stranger can say a code. Apart from that they are told once, in a chat of their own, how to be let in.
    pub(super) fn stranger(&mut self, incoming: &Incoming) {
        let IncomingBody::Text(message) = &incoming.body else { return };
        if !incoming.direct {
            return;
        }
        let most = self.settings.wrong_codes;
        let person = self.person(&incoming.place, &incoming.sender);
        if person.wrong_codes >= most {
            return;
        }
        if let Some(code) = typed::pairing_code(&message.text) {
            // It counts before it is looked up: while one is, others may come.
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

    /// A code was looked up.
    pub(super) fn code_checked(&mut self, place: &Place, sender: &Sender, role: Option<Role>) {
        let most = self.settings.wrong_codes;
        let person = self.person(place, sender);
        let text = match role {
            Some(role) => {
                person.role = Some(role);
                person.wrong_codes = 0;
                words::PAIRED
            }
            None if person.wrong_codes >= most => words::NO_MORE_CODES,
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
