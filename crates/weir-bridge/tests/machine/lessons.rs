//! Failures of other chat bridges that the machine must avoid.

use weir_bridge::channel::{Place, Sender};
use weir_bridge::engine::{Command, Ending, EndingOutcome, Facts, Report};
use weir_bridge::machine::{Bridge, Event, Kind, QueueMode, Role, Settings};

use crate::chat::{Chat, anna};

fn bot() -> Sender {
    Sender { id: "anna".into(), name: "Another bot".into(), is_bot: true }
}

#[test]
fn bots_are_ignored_whatever_their_name() {
    let mut chat = Chat::new();
    chat.says(bot(), "1", "hello, fellow bot");
    chat.says(bot(), "1", "/status");
    assert_eq!(chat.prompts(), []);
    assert!(chat.shown.is_empty(), "{:?}", chat.shown);
}

#[test]
fn a_program_that_answers_everything_is_ignored_after_a_while() {
    let mut chat = Chat::new();
    let mut answers = 0;
    // A program that does not identify itself as a bot and replies a second after each of our answers.
    for number in 0..2_000 {
        let before = chat.prompts().len();
        chat.says(anna(), "1", &format!("no, you are welcome ({number})"));
        if let Some((client_id, _)) = chat.prompts().get(before).cloned() {
            chat.answers("1", &client_id, "you are welcome");
            answers += 1;
        }
        chat.now += 1_000;
    }
    // 30 in a minute and 120 in ten: 2,000 seconds are three and a third times ten minutes.
    let settings = Settings::default();
    assert!(answers <= 4 * settings.messages_per_ten_minutes, "{answers} answers");
    assert!(answers >= 100, "{answers} answers: a person may write a lot");
    let told = chat.shown.values().filter(|text| text.contains("Too many messages in")).count();
    assert!(told <= 60, "the sender was told {told} times");
}

#[test]
fn conversations_do_not_wait_for_each_other() {
    let mut chat = Chat::new();
    chat.says(anna(), "1", "something slow");
    chat.says(anna(), "2", "something quick");
    let prompts = chat.prompts();
    assert_eq!(prompts.len(), 2, "both were sent to the engine: {prompts:?}");
    chat.answers("2", &prompts[1].0, "quick");
    assert!(chat.shown.values().any(|text| text == "quick"), "{:?}", chat.shown);
}

#[test]
fn messages_of_a_conversation_are_answered_in_order() {
    let mut settings = Settings::default();
    settings.default_scope.queue = QueueMode::Followup;
    let mut chat = Chat::with(settings);
    for text in ["one", "two", "three"] {
        chat.says(anna(), "1", text);
    }
    for number in 0..3 {
        let prompts = chat.prompts();
        assert_eq!(prompts.len(), number + 1, "one at a time: {prompts:?}");
        chat.answers("1", &prompts[number].0, "done");
    }
    let texts: Vec<String> = chat.prompts().into_iter().map(|(_, text)| text).collect();
    assert_eq!(texts, ["one", "two", "three"]);
    assert!(chat.bridge.is_quiet());
}

#[test]
fn nothing_is_scheduled_when_idle() {
    let mut chat = Chat::new();
    assert_eq!(Bridge::next_deadline(&chat.bridge), None, "a new bridge");
    chat.says(anna(), "1", "hello");
    let prompts = chat.prompts();
    chat.report(Report::Text { block: 1, text: "Hel".into(), replaces: false });
    chat.answers("1", &prompts[0].0, "Hello");
    assert!(chat.bridge.is_quiet());
    assert_eq!(chat.bridge.next_deadline(), None, "after a turn");
}

#[test]
fn a_streamed_answer_is_one_message() {
    let mut chat = Chat::new();
    chat.says(anna(), "1", "hello");
    let prompts = chat.prompts();
    for (text, replaces) in [("Hel", false), ("lo", false), ("Hello, all of it", true)] {
        chat.report(Report::Text { block: 1, text: text.into(), replaces });
    }
    chat.answers("1", &prompts[0].0, "Hello, all of it");
    assert_eq!(chat.shown.values().collect::<Vec<_>>(), ["Hello, all of it"]);
}

#[test]
fn the_scope_is_shown_and_every_command_is_answered() {
    let mut chat = Chat::new();
    for (command, expected) in [
        ("/help", "starts a new session"),
        ("!new", "Your next message starts a new session"),
        ("/stop", "Nothing is running here."),
        ("/model haiku", "The next turn uses `haiku`"),
        ("/resume", "There are no earlier sessions here."),
        ("/cd sub", "Only an administrator"),
    ] {
        chat.says(anna(), "1", command);
        assert!(chat.shown.values().any(|text| text.contains(expected)), "{command}: {:?}", chat.shown);
    }
    for (command, expected) in
        [("/status", "Scope: `test/chat/1`, shared by everyone"), ("/cost", "Cost: nothing yet")]
    {
        chat.says(anna(), "1", command);
        let Some(Command::Describe { number }) = chat.commands.last().cloned() else {
            panic!("{command} did not ask the engine: {:?}", chat.commands)
        };
        chat.report(Report::Facts { number, facts: None });
        assert!(chat.shown.values().any(|text| text.contains(expected)), "{command}: {:?}", chat.shown);
    }
    assert_eq!(chat.prompts(), [], "no command is a prompt");
}

#[test]
fn one_background_task_can_be_stopped() {
    let mut chat = Chat::new();
    chat.says(anna(), "1", "something with a task");
    chat.says(anna(), "1", "/status");
    let Some(Command::Describe { number }) = chat.commands.last().cloned() else {
        panic!("it did not ask the engine")
    };
    let facts = Facts { tasks: vec!["a long build".into(), "an agent".into()], ..Facts::default() };
    chat.report(Report::Facts { number, facts: Some(facts) });
    let told = |chat: &Chat, words: &str| chat.shown.values().any(|text| text.contains(words));
    assert!(told(&chat, "2: an agent (`/stop 2` stops it)"), "{:?}", chat.shown);
    chat.says(anna(), "1", "/stop 2");
    let Some(Command::StopTask { number, task }) = chat.commands.last().cloned() else {
        panic!("{:?}", chat.commands)
    };
    assert_eq!(task, "2");
    assert!(!chat.commands.contains(&Command::Interrupt), "the turn keeps running");
    chat.report(Report::Task { number, how: "Stopped: an agent".into() });
    assert!(told(&chat, "Stopped: an agent"), "{:?}", chat.shown);
}

#[test]
fn a_folder_is_checked_before_changing_to_it() {
    let mut settings = Settings::default();
    settings.default_scope.workspace = "/projects".into();
    let mut chat = Chat::with_role(settings, Role::Admin);
    let looks = |chat: &mut Chat, typed: &str| {
        chat.says(anna(), "1", typed);
        match chat.commands.last().cloned() {
            Some(Command::LookAt { number, folder }) => (number, folder),
            other => panic!("{typed} did not ask the engine: {other:?}"),
        }
    };
    chat.says(anna(), "1", "something slow");
    let (number, folder) = looks(&mut chat, "/cd no");
    assert_eq!(folder, "/projects/no");
    chat.report(Report::Folder { number, folder: Err("It is not there.".into()) });
    assert!(
        chat.shown.values().any(|text| text == "It is not there. Nothing has changed."),
        "{:?}",
        chat.shown
    );
    assert!(!chat.commands.contains(&Command::Interrupt), "the turn keeps running");
    let (number, _) = looks(&mut chat, "/cd sub");
    chat.report(Report::Folder { number, folder: Ok("/projects/sub".into()) });
    assert!(chat.shown.values().any(|text| text.ends_with("in `/projects/sub`.")), "{:?}", chat.shown);
    assert!(chat.commands.contains(&Command::Interrupt));
    // Relative to the current folder, as in a shell.
    assert_eq!(looks(&mut chat, "/cd deeper").1, "/projects/sub/deeper");
    assert_eq!(looks(&mut chat, "/cd /other").1, "/other");
    chat.says(anna(), "1", "/status");
    let Some(Command::Describe { number }) = chat.commands.last().cloned() else {
        panic!("it did not ask the engine")
    };
    chat.report(Report::Facts { number, facts: None });
    assert!(chat.shown.values().any(|text| text.contains("Folder: `/projects/sub`")), "{:?}", chat.shown);
}

#[test]
fn a_message_without_content_gets_a_reply() {
    let mut chat = Chat::new();
    chat.says(anna(), "1", "  ");
    assert!(
        chat.shown.values().any(|text| text.contains("nothing in this message that I can read")),
        "{:?}",
        chat.shown
    );
    assert_eq!(chat.prompts(), []);
    assert!(chat.bridge.is_quiet(), "it has its outcome");
}

#[test]
fn the_number_of_wrong_codes_is_limited() {
    let mut chat = Chat::new();
    let stranger = || Sender { id: "eve".into(), name: "Eve".into(), is_bot: false };
    let max = Settings::default().wrong_codes;
    for number in 0..max + 3 {
        chat.says(stranger(), "9", &format!("/pair WRONG{number}"));
        let place = Place { channel: "test".into(), chat: "9".into(), thread: None };
        if chat.codes.len() > number as usize {
            chat.event(Event::CodeChecked { place, sender: stranger(), role: None });
        }
    }
    assert_eq!(chat.codes.len(), max as usize, "no more are checked");
    let told = |words: &str| chat.shown.values().filter(|text| text.contains(words)).count();
    assert_eq!(told("No more codes are accepted"), 1, "{:?}", chat.shown);
    assert_eq!(chat.prompts(), []);
}

#[test]
fn many_codes_at_once_do_not_get_around_the_limit() {
    let mut chat = Chat::new();
    let stranger = || Sender { id: "eve".into(), name: "Eve".into(), is_bot: false };
    let max = Settings::default().wrong_codes;
    // All of them arrive before the first one is checked.
    for number in 0..40 {
        chat.says(stranger(), "9", &format!("/pair GUESS{number}"));
    }
    assert_eq!(chat.codes.len(), max as usize);
    let place = Place { channel: "test".into(), chat: "9".into(), thread: None };
    for _ in 0..max {
        chat.event(Event::CodeChecked { place: place.clone(), sender: stranger(), role: None });
    }
    chat.says(stranger(), "9", "/pair RIGHT");
    assert_eq!(chat.codes.len(), max as usize, "no more are checked");
}

#[test]
fn an_error_that_the_cli_reports_twice_is_shown_once() {
    for (said, expected) in [
        ("invalid API key", "invalid API key"),
        ("Some words.", "Some words.\n\nInvalid API key."),
        ("", "Invalid API key."),
    ] {
        let mut chat = Chat::new();
        chat.says(anna(), "1", "hello");
        let (client_id, _) = chat.prompts()[0].clone();
        if !said.is_empty() {
            chat.report(Report::Text { block: 1, text: said.into(), replaces: false });
        }
        let ending = Ending::new("1", EndingOutcome::Failed("Invalid API key.".into()));
        chat.report(Report::Finished { client_id, ending });
        assert_eq!(chat.shown.values().collect::<Vec<_>>(), [expected]);
    }
}

#[test]
fn an_answer_without_a_result_says_so() {
    let mut chat = Chat::new();
    chat.says(anna(), "1", "hello");
    let (client_id, _) = chat.prompts()[0].clone();
    chat.report(Report::Text { block: 1, text: "Let me look.".into(), replaces: false });
    let answered = Ending::new("1", EndingOutcome::Answered("Let me look.".into()));
    chat.report(Report::Finished { client_id, ending: Ending { degraded: true, ..answered } });
    let shown: Vec<_> = chat.shown.values().collect();
    assert_eq!(shown, ["Let me look.\n\nThe result was empty; this is the text written before it."]);
}

#[test]
fn text_shown_before_a_kill_stays() {
    let mut chat = Chat::new();
    chat.says(anna(), "1", "tell me");
    let client_id = chat.prompts()[0].0.clone();
    chat.report(Report::Text { block: 0, text: "The first. ".into(), replaces: false });
    chat.report(Report::Text { block: 1, text: "The second, which is not comp".into(), replaces: false });
    let shown = |chat: &Chat| chat.shown.values().last().cloned().unwrap_or_default();
    assert!(shown(&chat).ends_with("which is not comp"));
    chat.restarts();
    assert!(shown(&chat).ends_with("which is not comp"), "{}", shown(&chat));
    // The engine keeps complete texts only.
    let ending = Ending {
        said: "The first.".into(),
        ..Ending::new(client_id.as_str(), EndingOutcome::Failed("The bridge was restarted.".into()))
    };
    chat.report(Report::Finished { client_id, ending });
    let said = shown(&chat);
    assert!(said.contains("which is not comp") && said.ends_with("The bridge was restarted."), "{said}");
    assert_eq!(chat.shown.len(), 1);
}

#[test]
fn a_reply_stored_by_an_earlier_version_is_delivered_once() {
    let mut chat = Chat::new();
    // As in format 1 of the file: the text and the messages are in the record of the reply.
    let place = serde_json::json!({"channel": "test", "chat": "1"});
    let message = serde_json::json!({
        "id": 5, "delivery": "d1", "place": place, "sender": {"id": "anna", "name": "Anna"}, "direct": true,
        "order": 1, "message": null, "text": "hello", "attachments": [], "scope": "test/chat/1",
        "sent_to": "bridge/test/chat/1/1",
    });
    let text = "A sentence of the answer. ".repeat(60);
    let part = serde_json::json!({"message": "m1", "attempt": 0, "only_once": false});
    let reply = serde_json::json!({
        "id": 6, "scope": "test/chat/1", "messages": [5], "conversation": "bridge/test/chat/1/1",
        "place": place, "reply_to": null, "parts": [part],
        "settled": {"markdown": text, "outcome": {"outcome": "answered"}, "file": null, "file_sent": false},
    });
    chat.kept.insert((Kind::Inbox, "0000000000000005".into()), message);
    chat.kept.insert((Kind::Reply, "6".into()), reply);
    chat.restarts();
    assert!(chat.bridge.is_quiet(), "{:?}", chat.shown);
    let names: Vec<&str> = chat.shown.keys().map(String::as_str).collect();
    assert_eq!(names, ["m1", "r6-1-0"], "the existing message is edited, and the next one follows");
    assert_eq!(chat.shown.values().map(|shown| shown.matches("A sentence").count()).sum::<usize>(), 60);
    assert_eq!(chat.kept.keys().map(|(kind, _)| *kind).collect::<Vec<_>>(), [Kind::Done]);
}
