//! Buttons cannot be forged, and work only where they were shown and for people who may answer.

use std::collections::BTreeSet;

use weir_bridge::channel::{IncomingBody, Sender};
use weir_bridge::engine::{Ask, AskKind, Command, Question, Report};
use weir_bridge::machine::{Event, Per, Role, Settings};

use crate::chat::{Chat, anna};

const NO_EFFECT: &str = "That button has no effect";

fn ben() -> Sender {
    Sender { id: "ben".into(), name: "Ben".into(), is_bot: false }
}

fn answers(chat: &Chat) -> usize {
    chat.commands.iter().filter(|command| matches!(command, Command::Answer { .. })).count()
}

fn told(chat: &Chat, words: &str) -> usize {
    chat.shown.values().filter(|text| text.contains(words)).count()
}

fn press(card: &str, data: &str) -> IncomingBody {
    IncomingBody::Button { to: card.into(), data: data.into() }
}

#[test]
fn button_data_cannot_be_forged() {
    let mut chat = Chat::new();
    let (card, allow) = chat.asks();
    let deny = chat.buttons[&card].last().cloned().unwrap_or_default();
    assert!(allow.len() <= 64 && allow != deny, "{allow} {deny}");
    let (numbers, signature) = allow.rsplit_once('.').unwrap();
    let (front, _) = numbers.rsplit_once('.').unwrap();
    let forged = [
        String::new(),
        "a1:0:1".into(),
        numbers.to_owned(),
        format!("{numbers}."),
        format!("{numbers}.{}", "0".repeat(signature.len())),
        // The signature of another choice, part of a signature, and more than a signature.
        format!("{front}.2.{signature}"),
        format!("{numbers}.{}", &signature[..signature.len() - 1]),
        format!("{allow}0"),
        allow.to_uppercase(),
    ];
    for (number, data) in forged.iter().enumerate() {
        chat.incoming(anna(), "1", press(&card, data));
        assert_eq!((answers(&chat), told(&chat, NO_EFFECT)), (0, number + 1), "{data}");
    }
    chat.incoming(anna(), "1", press(&card, &allow));
    assert_eq!(answers(&chat), 1);
}

#[test]
fn signatures_of_buttons_are_unique() {
    let mut chat = Chat::new();
    chat.says(anna(), "1", "do it");
    let mut seen = BTreeSet::new();
    for number in 0..50 {
        let kind = AskKind::Permission { tool: "Bash".into(), details: "`ls`".into(), always: None };
        chat.report(Report::Asked(Ask { request: format!("r{number}"), kind }));
    }
    for data in chat.buttons.values().flatten() {
        let signature = data.rsplit('.').next().unwrap_or_default().to_owned();
        assert!(signature.len() >= 32, "{data}");
        assert!(seen.insert(signature), "{data}");
    }
    assert_eq!(seen.len(), 100);
}

#[test]
fn a_button_works_only_in_its_chat_and_on_its_message() {
    let mut chat = Chat::new();
    let (card, allow) = chat.asks();
    chat.incoming(anna(), "2", press(&card, &allow));
    chat.incoming(anna(), "1", press("another message", &allow));
    assert_eq!((answers(&chat), told(&chat, NO_EFFECT)), (0, 2), "{:?}", chat.shown);
    let stranger = Sender { id: "eve".into(), name: "Eve".into(), is_bot: false };
    chat.incoming(stranger, "1", press(&card, &allow));
    chat.incoming(Sender { is_bot: true, ..anna() }, "1", press(&card, &allow));
    assert_eq!((answers(&chat), told(&chat, NO_EFFECT)), (0, 2));
    chat.incoming(anna(), "1", press(&card, &allow));
    assert_eq!(answers(&chat), 1);
}

#[test]
fn an_old_button_has_no_effect_and_says_so() {
    let mut chat = Chat::new();
    let (card, allow) = chat.asks();
    chat.incoming(anna(), "1", press(&card, &allow));
    chat.report(Report::Taken { request: "r1".into() });
    chat.incoming(anna(), "1", press(&card, &allow));
    assert_eq!((answers(&chat), told(&chat, NO_EFFECT)), (1, 1));
    // Nor do buttons from before a restart work.
    let mut chat = Chat::new();
    let (card, allow) = chat.asks();
    chat.restarts();
    chat.incoming(anna(), "1", press(&card, &allow));
    assert_eq!((answers(&chat), told(&chat, NO_EFFECT)), (0, 1));
}

#[test]
fn the_same_delivery_again_is_the_same_press() {
    let question = |question: &str| Question {
        question: question.into(),
        options: vec![("Red".into(), String::new()), ("Blue".into(), String::new())],
        several: false,
    };
    let mut chat = Chat::new();
    chat.says(anna(), "1", "do it");
    let kind = AskKind::Questions(vec![question("Which?"), question("And then?")]);
    chat.report(Report::Asked(Ask { request: "q".into(), kind }));
    let (card, buttons) = chat
        .buttons
        .iter()
        .find(|(_, buttons)| !buttons.is_empty())
        .map(|(a, b)| (a.clone(), b.clone()))
        .unwrap();
    let first = chat.incoming_of(anna(), "1", press(&card, &buttons[0]));
    chat.event(Event::Incoming(first.clone()));
    chat.event(Event::Incoming(first.clone()));
    assert!(chat.shown[&card].contains("And then?"), "one question is answered: {}", chat.shown[&card]);
    assert_eq!(told(&chat, NO_EFFECT), 0, "a repeated delivery gets no reply");
    // If pressed again, the button of the first question does not answer the second.
    chat.incoming(anna(), "1", press(&card, &buttons[0]));
    assert_eq!((answers(&chat), told(&chat, NO_EFFECT)), (0, 1));
}

#[test]
fn a_personal_question_is_answered_by_its_owner_or_an_administrator() {
    for (role, expected) in [(Role::User, 0), (Role::Admin, 1)] {
        let mut settings = Settings::default();
        settings.default_scope.per = Per::User;
        settings.people.insert(("test".into(), "ben".into()), role);
        let mut chat = Chat::with(settings);
        chat.in_group(
            anna(),
            "1",
            IncomingBody::Text(weir_bridge::channel::IncomingText::new("do it")),
            true,
        );
        let kind = AskKind::Permission { tool: "Bash".into(), details: "`ls`".into(), always: None };
        let (scope, conversation) = ("test/user/1/anna".to_owned(), chat.conversation.clone());
        let report = Report::Asked(Ask { request: "r1".into(), kind });
        chat.event(Event::Reported { scope, conversation, report });
        let (card, buttons) = chat
            .buttons
            .iter()
            .find(|(_, buttons)| !buttons.is_empty())
            .map(|(a, b)| (a.clone(), b.clone()))
            .unwrap();
        chat.in_group(ben(), "1", press(&card, &buttons[0]), true);
        assert_eq!(answers(&chat), expected, "{role:?}");
        assert_eq!(told(&chat, "for someone else"), 1 - expected, "{role:?}");
        chat.in_group(anna(), "1", press(&card, &buttons[0]), true);
        assert_eq!(answers(&chat), 1);
    }
}

#[test]
fn replies_to_bad_presses_are_rate_limited() {
    let mut chat = Chat::new();
    let (card, _) = chat.asks();
    for number in 0..500 {
        chat.incoming(anna(), "1", press(&card, &format!("a{number}.0.1.00")));
    }
    assert!(told(&chat, NO_EFFECT) <= 30, "{}", told(&chat, NO_EFFECT));
    assert_eq!(answers(&chat), 0);
}
