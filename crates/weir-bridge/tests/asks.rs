//! Who was first: an answer in the chat, or one elsewhere.
#![cfg(test)]

use std::collections::BTreeMap;

use weir_bridge::channel::{Capabilities, Incoming, IncomingBody, MessageRef, Operation, Place, Sender};
use weir_bridge::engine::{Answer, Ask, AskKind, Command, Report};
use weir_bridge::machine::{Action, Bridge, Event, Role, Settings};
use weir_bridge::markup::Markup;

/// A chat in which every operation is done at once.
struct Chat {
    bridge: Bridge,
    now: i64,
    shown: BTreeMap<String, String>,
    buttons: BTreeMap<String, Vec<String>>,
    commands: Vec<Command>,
    conversation: String,
}

fn place() -> Place {
    Place { channel: "test".into(), chat: "1".into(), thread: None }
}

fn anna() -> Sender {
    Sender { id: "anna".into(), name: "Anna".into(), is_bot: false }
}

impl Chat {
    fn new() -> Self {
        let mut settings = Settings::default();
        settings.people.insert(("test".into(), "anna".into()), Role::User);
        let capabilities = Capabilities {
            markup: Markup::Plain,
            longest: 1_000,
            edits: true,
            deletes: true,
            typing: false,
            buttons: true,
            reactions: false,
            files: false,
            posts_once: true,
            edit_interval_ms: 0,
        };
        let channels = BTreeMap::from([("test".into(), capabilities)]);
        Self {
            bridge: Bridge::new(settings, channels),
            now: 1_000,
            shown: BTreeMap::new(),
            buttons: BTreeMap::new(),
            commands: Vec::new(),
            conversation: String::new(),
        }
    }

    fn event(&mut self, event: Event) {
        self.now += 10;
        let mut actions = self.bridge.handle(event, self.now);
        while !actions.is_empty() {
            let mut next = Vec::new();
            for action in actions {
                match action {
                    Action::Perform { number, operation } => {
                        let message = self.perform(operation);
                        next.extend(
                            self.bridge.handle(Event::Performed { number, result: Ok(message) }, self.now),
                        );
                    }
                    Action::Command { conversation, command, .. } => {
                        self.conversation = conversation.key;
                        self.commands.push(command);
                    }
                    _ => {}
                }
            }
            actions = next;
        }
    }

    fn perform(&mut self, operation: Operation) -> Option<MessageRef> {
        let (name, content, posted) = match operation {
            Operation::Post { content, key, .. } => (key, content, true),
            Operation::Edit { message, content, .. } => (message.as_str().to_owned(), content, false),
            _ => return None,
        };
        self.shown.insert(name.clone(), content.text.plain);
        let data = content.buttons.into_iter().map(|button| button.data).collect();
        self.buttons.insert(name.clone(), data);
        posted.then(|| name.as_str().into())
    }

    fn incoming(&mut self, key: &str, body: IncomingBody) {
        self.event(Event::Incoming(Incoming {
            key: key.into(),
            place: place(),
            sender: anna(),
            direct: true,
            addressed: true,
            order: self.now,
            message: None,
            body,
        }));
    }

    fn report(&mut self, report: Report) {
        let conversation = self.conversation.clone();
        self.event(Event::Reported { scope: "test/chat/1".into(), conversation, report });
    }

    /// A turn runs and asks; gives the name of the card and its first button.
    fn asks(&mut self) -> (String, String) {
        self.incoming(
            "1",
            IncomingBody::Text { text: "do it".into(), attachments: Vec::new(), reply_to: None },
        );
        let kind =
            AskKind::Permission { tool: "Bash".into(), details: "`ls`".into(), can_be_remembered: false };
        self.report(Report::Asked(Ask { request: "r1".into(), kind }));
        let card = self.buttons.iter().find(|(_, buttons)| !buttons.is_empty());
        let (name, buttons) = card.map(|(name, buttons)| (name.clone(), buttons.clone())).unwrap_or_default();
        (name, buttons.first().cloned().unwrap_or_default())
    }

    fn presses(&mut self, card: &str, data: String) {
        self.incoming("2", IncomingBody::Button { to: card.into(), data });
    }
}

#[test]
fn an_answer_in_the_chat_that_is_the_first_stays() {
    let mut chat = Chat::new();
    let (card, allow) = chat.asks();
    chat.presses(&card, allow);
    assert!(matches!(chat.commands.last(), Some(Command::Answer { answer: Answer::Allow { .. }, .. })));
    chat.report(Report::Settled { request: "r1".into(), how: "Allowed by Anna.".into() });
    chat.report(Report::Taken { request: "r1".into() });
    assert!(chat.shown[&card].starts_with("Allowed by Anna: Bash"), "{}", chat.shown[&card]);
    assert!(chat.buttons[&card].is_empty());
}

#[test]
fn an_answer_in_the_chat_that_comes_too_late_says_who_was_first() {
    for settled_first in [true, false] {
        let mut chat = Chat::new();
        let (card, allow) = chat.asks();
        chat.presses(&card, allow);
        if settled_first {
            chat.report(Report::Settled { request: "r1".into(), how: "Denied by Ben.".into() });
        }
        chat.report(Report::TooLate { request: "r1".into(), how: "It was answered by Ben.".into() });
        let expected =
            if settled_first { "Too late. Denied by Ben." } else { "Too late. It was answered by Ben." };
        assert_eq!(chat.shown[&card], expected);
    }
}

#[test]
fn an_answer_elsewhere_closes_the_card() {
    let mut chat = Chat::new();
    let (card, allow) = chat.asks();
    chat.report(Report::Settled { request: "r1".into(), how: "Allowed by the page.".into() });
    assert_eq!(chat.shown[&card], "Allowed by the page.");
    let commands = chat.commands.len();
    chat.presses(&card, allow);
    assert_eq!(chat.commands.len(), commands, "a button of a closed card does nothing");
}
