//! Who was first: an answer in the chat, or one elsewhere.

use weir_bridge::engine::{Answer, Command, Report};

use crate::chat::Chat;

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
