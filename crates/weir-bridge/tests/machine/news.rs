//! Pictures, edited messages, chats whose id changes, and scope rules.

use weir_bridge::channel::{Attachment, IncomingBody};
use weir_bridge::engine::Report;
use weir_bridge::machine::{Per, ScopeRule, ScopeSettings, Settings};
use weir_session::SessionSpec;

use crate::chat::{Chat, anna};

fn picture(name: &str, size: u64) -> Attachment {
    Attachment {
        name: format!("{name}.png"),
        media_type: "image/png".into(),
        size,
        blob: format!("out/{name}"),
    }
}

#[test]
fn each_picture_is_shown_once_and_their_number_is_limited() {
    let mut chat = Chat::with(Settings { max_pictures: 2, ..Settings::default() });
    chat.says(anna(), "1", "draw");
    for name in ["a", "b", "a", "c", "d"] {
        chat.report(Report::Pictures(vec![picture(name, 10)]));
    }
    assert_eq!(chat.uploads, ["out/a", "out/b"]);
    let (client_id, _) = chat.prompts().remove(0);
    chat.answers("1", &client_id, "There they are.");
    let answer = chat.shown.values().find(|text| text.contains("There they are.")).unwrap();
    assert!(answer.contains("2 more pictures are not shown here"), "{answer}");
    // The next turn may show the same again.
    chat.says(anna(), "1", "again");
    chat.report(Report::Pictures(vec![picture("a", 10)]));
    assert_eq!(chat.uploads.len(), 3);
}

#[test]
fn a_picture_that_is_too_large_is_reported() {
    let mut chat = Chat::new();
    chat.says(anna(), "1", "draw");
    chat.report(Report::Pictures(vec![picture("a", 1_000)]));
    assert!(chat.uploads.is_empty());
    assert!(chat.shown.values().any(|text| text.contains("too large for this chat")), "{:?}", chat.shown);
}

#[test]
fn an_edit_changes_waiting_messages_only() {
    let mut chat = Chat::new();
    chat.says_as(anna(), "1", "first", "m1");
    chat.says_as(anna(), "1", "not second", "m2");
    let edited =
        |message: &str, text: &str| IncomingBody::Edited { message: message.into(), text: text.into() };
    chat.incoming(anna(), "1", edited("m2", "second"));
    chat.incoming(anna(), "2", edited("m2", "of another chat"));
    chat.incoming(anna(), "1", edited("m1", "first!"));
    chat.incoming(anna(), "1", edited("m1", "first!!"));
    let told = chat.shown.values().filter(|text| text.contains("when you edited it")).count();
    assert_eq!(told, 1, "{:?}", chat.shown);
    let (client_id, _) = chat.prompts().remove(0);
    chat.answers("1", &client_id, "done");
    chat.now += 10_000;
    chat.event(weir_bridge::machine::Event::Tick);
    let texts: Vec<String> = chat.prompts().into_iter().map(|(_, text)| text).collect();
    assert_eq!(texts, ["first", "second"]);
}

#[test]
fn a_chat_that_moves_keeps_its_conversation() {
    let mut chat = Chat::new();
    chat.says(anna(), "old", "hello");
    let (client_id, _) = chat.prompts().remove(0);
    chat.answers("old", &client_id, "hello");
    let before = chat.conversation.clone();
    for (from, to) in [("old", "new"), ("new", "newest"), ("elsewhere", "newest")] {
        chat.incoming(anna(), to, IncomingBody::Moved { from: from.into() });
        chat.says(anna(), to, "are you there?");
        assert_eq!(chat.conversation, before, "in {to}");
        let (client_id, _) = chat.prompts().pop().unwrap();
        chat.answers("old", &client_id, "yes");
    }
    // A chat that already has a conversation keeps it.
    chat.says(anna(), "mine", "hello");
    let mine = chat.conversation.clone();
    let (client_id, _) = chat.prompts().pop().unwrap();
    chat.answers("mine", &client_id, "hello");
    chat.incoming(anna(), "mine", IncomingBody::Moved { from: "old".into() });
    chat.says(anna(), "mine", "and now?");
    assert_eq!(chat.conversation, mine);
}

#[test]
fn a_rule_can_be_for_one_person_or_one_thread() {
    let base = ScopeSettings { per: Per::User, ..ScopeSettings::default() };
    let rule = |user: &str, model: &str| ScopeRule {
        channel: "test".into(),
        chat: None,
        thread: None,
        user: Some(user.into()),
        settings: ScopeSettings {
            spec: SessionSpec { model: Some(model.into()), ..SessionSpec::default() },
            ..base.clone()
        },
    };
    let scopes = vec![rule("ben", "opus"), rule("anna", "haiku")];
    let mut chat = Chat::with(Settings { default_scope: base.clone(), scopes, ..Settings::default() });
    chat.says(anna(), "1", "hello");
    assert_eq!(chat.model.as_deref(), Some("haiku"));
    chat.says(anna(), "2", "hello there");
    assert_eq!(chat.model.as_deref(), Some("haiku"));
}
