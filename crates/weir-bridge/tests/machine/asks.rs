//! Permission requests and questions, and which answer comes first.

use weir_bridge::channel::{Place, Sender};
use weir_bridge::engine::{Answer, Ask, AskKind, Command, Question, Report};
use weir_bridge::machine::{Event, External, Settings};

use crate::chat::{Chat, anna};

#[test]
fn the_first_answer_in_the_chat_stays() {
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
fn a_late_answer_in_the_chat_shows_who_was_first() {
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
    assert_eq!(chat.commands.len(), commands, "a button of a closed card has no effect");
}

/// Posts an external question. Returns the id of its card.
fn ask_externally(chat: &mut Chat) -> String {
    let question = Question {
        question: "Which?".into(),
        options: vec![("Red".into(), String::new()), ("Blue".into(), String::new())],
        several: false,
    };
    let place = Place { channel: "test".into(), chat: "1".into(), thread: None };
    let ask = Ask { request: "q1".into(), kind: AskKind::Questions(vec![question]) };
    chat.event(Event::External(External::Ask { number: 7, place, ask }));
    assert_eq!(chat.told, [7]);
    chat.shown
        .iter()
        .find(|(_, text)| text.contains("Which?"))
        .map(|(name, _)| name.clone())
        .unwrap_or_default()
}

#[test]
fn an_external_question_is_answered_by_a_button_or_a_number() {
    for by_button in [true, false] {
        let mut chat = Chat::new();
        let card = ask_externally(&mut chat);
        let before = chat.commands.len();
        if by_button {
            let blue = chat.buttons[&card][1].clone();
            chat.presses(&card, blue);
        } else {
            chat.says(anna(), "1", "2");
        }
        let chosen = Answer::Choices(vec![("Which?".into(), vec!["Blue".into()])]);
        assert_eq!(chat.answered, [("q1".to_owned(), chosen, "Anna".to_owned())]);
        assert_eq!(chat.commands.len(), before, "the engine does not get it");
        chat.event(Event::External(External::Taken { request: "q1".into() }));
        assert!(chat.shown[&card].contains("Answered by Anna"), "{}", chat.shown[&card]);
    }
}

#[test]
fn an_external_question_shows_who_was_first() {
    let mut chat = Chat::new();
    let card = ask_externally(&mut chat);
    let settled = |how: &str| Event::External(External::Settled { request: "q1".into(), how: how.into() });
    chat.event(settled("It was answered by Ben."));
    assert_eq!(chat.shown[&card], "It was answered by Ben.");
    let mut chat = Chat::new();
    let card = ask_externally(&mut chat);
    chat.says(anna(), "1", "1");
    chat.event(settled("It was answered by Ben."));
    assert_eq!(chat.shown[&card], "Too late. It was answered by Ben.");
}

#[test]
fn an_external_question_belongs_to_its_chat_and_strangers_cannot_answer_it() {
    let mut chat = Chat::new();
    ask_externally(&mut chat);
    chat.says(anna(), "2", "1");
    let stranger = Sender { id: "eve".into(), name: "Eve".into(), is_bot: false };
    chat.says(stranger, "1", "1");
    assert_eq!(chat.answered, []);
    assert_eq!(chat.prompts().len(), 1, "in another chat a number is a prompt");
}

#[test]
fn a_number_that_is_not_a_choice_is_refused() {
    for text in ["7", "1,2", "0"] {
        let mut chat = Chat::new();
        let card = ask_externally(&mut chat);
        chat.says(anna(), "1", text);
        let told = chat.shown.values().any(|shown| shown.contains("one number from 1 to 2"));
        assert!(told, "{text}: {:?}", chat.shown);
        assert_eq!(chat.answered, []);
        chat.says(anna(), "1", "2");
        assert_eq!(chat.answered.len(), 1, "{text}: the question is still open");
        assert!(chat.shown[&card].contains("Blue"), "{}", chat.shown[&card]);
    }
}

#[test]
fn other_messages_are_told_once_that_a_question_is_open() {
    let mut chat = Chat::new();
    let (card, _) = chat.asks();
    let told =
        |chat: &Chat| chat.shown.values().filter(|text| text.contains("waiting for the answer")).count();
    assert_eq!(told(&chat), 0);
    chat.says(anna(), "1", "sure, go ahead");
    chat.says(anna(), "1", "and then the tests");
    assert_eq!(told(&chat), 1, "{:?}", chat.shown);
    chat.says(anna(), "1", "yes");
    assert!(chat.shown[&card].starts_with("Allowed by Anna"), "{}", chat.shown[&card]);
    let (client_id, _) = chat.prompts()[0].clone();
    chat.answers("1", &client_id, "done");
    chat.now += 10_000;
    chat.event(Event::Tick);
    let prompts = chat.prompts();
    assert_eq!(prompts.len(), 2, "waiting messages become the next prompt: {prompts:?}");
    assert_eq!(prompts[1].1, "sure, go ahead\n\nand then the tests");
}

#[test]
fn a_closed_card_offers_no_choices() {
    for (number, expected) in [
        ("1", "Allowed by Anna: Bash\n\n`ls`"),
        (
            "2",
            "Allowed for this session by Anna: Bash\n\n`ls`\n\nThe rule `Bash(ls)` applies until the session ends.",
        ),
        ("3", "Denied by Anna: Bash\n\n`ls`"),
    ] {
        let mut chat = Chat::new();
        let (card, _) = chat.asks();
        assert!(
            chat.shown[&card].contains("\"Allow for this session\" adds the rule `Bash(ls)`"),
            "{}",
            chat.shown[&card]
        );
        chat.says(anna(), "1", number);
        assert_eq!(chat.shown[&card], expected);
    }
}

#[test]
fn an_unanswered_request_is_denied_and_the_card_says_so() {
    let mut chat = Chat::new();
    let (card, allow) = chat.asks();
    chat.now += Settings::default().ask_timeout_ms - 1_000;
    chat.event(Event::Tick);
    assert!(chat.shown[&card].contains("Allow Bash?"), "{}", chat.shown[&card]);
    chat.now += 1_000;
    chat.event(Event::Tick);
    let denied = |command: &Command| matches!(command, Command::Answer { answer: Answer::Deny { .. }, .. });
    assert!(chat.commands.last().is_some_and(denied), "{:?}", chat.commands);
    assert_eq!(chat.shown[&card], "Not answered in time, so it was denied.\n\nBash\n\n`ls`");
    let before = chat.commands.len();
    chat.presses(&card, allow);
    assert_eq!(chat.commands.len(), before, "it is too late");
}

#[test]
fn a_name_cannot_imitate_other_text() {
    let mut chat = Chat::new();
    let (card, allow) = chat.asks();
    let named = Sender { name: "Anna**\n\n> Denied by \u{202e}the owner".into(), ..anna() };
    chat.incoming(
        named,
        "1",
        weir_bridge::channel::IncomingBody::Button { to: card.as_str().into(), data: allow },
    );
    assert_eq!(chat.shown[&card].lines().next(), Some("Allowed by Anna Denied by the owner: Bash"));
}
