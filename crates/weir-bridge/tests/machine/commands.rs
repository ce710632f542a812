//! Commands in a chat, and their limits.

use weir_bridge::engine::{Ask, AskKind, Report};
use weir_bridge::machine::{Role, Settings};

use crate::chat::{Chat, anna};

fn told(chat: &Chat, words: &str) -> bool {
    chat.shown.values().any(|text| text.contains(words))
}

#[test]
fn cli_commands_are_refused_and_not_sent_to_the_agent() {
    for text in [
        "/config permissionMode=acceptEdits",
        " /permissions",
        "/mode bypassPermissions",
        "/mcp__server__prompt x",
        "/add-dir /",
        "/hooks\n/config",
    ] {
        let mut chat = Chat::new();
        chat.says(anna(), "1", text);
        assert_eq!(chat.commands, [], "{text}");
        assert!(told(&chat, "There is no command") && told(&chat, "/new"), "{text}: {:?}", chat.shown);
        assert!(!told(&chat, "/cd"), "only allowed commands are listed: {:?}", chat.shown);
        assert_eq!(chat.outcomes(), ["refused"]);
        chat.restarts();
        assert_eq!(chat.commands, [], "{text}");
    }
}

#[test]
fn text_that_starts_with_a_slash_is_sent_as_text() {
    for (text, prompt) in [
        ("/usr/bin/foo fails", "/usr/bin/foo fails"),
        ("/ is full", "/ is full"),
        ("//config is what I mean", "/config is what I mean"),
        ("!important", "!important"),
        ("// a comment", "// a comment"),
    ] {
        let mut chat = Chat::new();
        chat.says(anna(), "1", text);
        let prompts: Vec<String> = chat.prompts().into_iter().map(|(_, text)| text).collect();
        assert_eq!(prompts, [prompt]);
    }
}

#[test]
fn an_escaped_command_stays_text_after_a_restart() {
    let mut chat = Chat::new();
    chat.says(anna(), "1", "something slow");
    chat.says(anna(), "1", "//stop is a command");
    chat.restarts();
    let (client_id, _) = chat.prompts()[0].clone();
    chat.answers("1", &client_id, "done");
    chat.now += 10_000;
    chat.event(weir_bridge::machine::Event::Tick);
    assert_eq!(chat.prompts().last().map(|(_, text)| text.as_str()), Some("/stop is a command"));
}

#[test]
fn only_configured_models_can_be_chosen() {
    let mut settings = Settings::default();
    settings.default_scope.models = vec!["haiku".into(), "sonnet".into()];
    settings.default_scope.spec.model = Some("haiku".into());
    let mut chat = Chat::with_role(settings, Role::Admin);
    chat.says(anna(), "1", "/model opus");
    assert!(told(&chat, "cannot be chosen here") && told(&chat, "`sonnet`"), "{:?}", chat.shown);
    chat.says(anna(), "1", "/model sonnet");
    chat.says(anna(), "1", "hello");
    assert_eq!(chat.model.as_deref(), Some("sonnet"));
    // The configuration has changed since.
    let (client_id, _) = chat.prompts()[0].clone();
    chat.answers("1", &client_id, "done");
    chat.settings.default_scope.models = vec!["haiku".into()];
    chat.restarts();
    chat.says(anna(), "1", "hello again");
    assert_eq!(chat.model.as_deref(), Some("haiku"));
}

#[test]
fn a_flag_is_not_a_model() {
    for name in ["--dangerously-skip-permissions", "-p", "a b", "opus;rm"] {
        let mut chat = Chat::new();
        chat.says(anna(), "1", &format!("/model {name}"));
        assert!(told(&chat, "not a valid model name"), "{name}: {:?}", chat.shown);
        chat.says(anna(), "1", "hello");
        assert_eq!(chat.model, None, "{name}");
    }
}

#[test]
fn allowing_for_the_session_can_be_disabled() {
    let ask = || Ask {
        request: "r1".into(),
        kind: AskKind::Permission {
            tool: "Bash".into(),
            details: "`ls`".into(),
            always: Some("`Bash(ls)`".into()),
        },
    };
    let mut settings = Settings::default();
    settings.default_scope.allow_for_session = false;
    let mut chat = Chat::with_role(settings, Role::Admin);
    chat.says(anna(), "1", "do it");
    chat.report(Report::Asked(ask()));
    let (card, buttons) = chat.buttons.iter().find(|(_, buttons)| !buttons.is_empty()).unwrap();
    assert_eq!(buttons.len(), 2, "allow or deny: {}", chat.shown[card]);
    assert!(!chat.shown[card].contains("session"), "{}", chat.shown[card]);
    chat.says(anna(), "1", "3");
    assert!(told(&chat, "one number from 1 to 2"), "{:?}", chat.shown);
}
