//! Files that come with messages, and albums.

use weir_bridge::channel::{Attachment, IncomingBody, IncomingText, RemoteFile, Sender};
use weir_bridge::engine::Command;
use weir_bridge::machine::{Event, InboxId, QueueMode, Settings};

use crate::chat::{Chat, anna};

fn remote(name: &str) -> RemoteFile {
    RemoteFile {
        name: name.into(),
        media_type: "image/png".into(),
        size: None,
        reference: format!("ref-{name}"),
    }
}

fn message(text: &str, files: &[&str], album: Option<&str>) -> IncomingBody {
    IncomingBody::Text(IncomingText {
        files: files.iter().map(|name| remote(name)).collect(),
        album: album.map(str::to_owned),
        ..IncomingText::new(text)
    })
}

/// The file with this name has been fetched, or could not be.
fn arrives(chat: &mut Chat, name: &str, result: Result<(), &str>) {
    let at =
        chat.fetches.iter().position(|(_, _, file, _)| file.name == name).expect("the file is requested");
    let (message, index, file, blob) = chat.fetches.remove(at);
    let result = result.map_err(str::to_owned).map(|()| Attachment {
        name: file.name,
        media_type: file.media_type,
        size: 1,
        blob,
    });
    chat.event(Event::Fetched { message, index, result });
}

/// The prompts, with the names of their attachments.
fn prompts(chat: &Chat) -> Vec<(String, Vec<String>)> {
    let prompt = |command: &Command| match command {
        Command::Send { text, attachments, .. } => {
            Some((text.clone(), attachments.iter().map(|file| file.name.clone()).collect()))
        }
        _ => None,
    };
    chat.commands.iter().filter_map(prompt).collect()
}

fn with(queue: QueueMode) -> Chat {
    let mut settings = Settings::default();
    settings.default_scope.queue = queue;
    Chat::with(settings)
}

fn time_passes(chat: &mut Chat, ms: i64) {
    chat.now += ms;
    chat.event(Event::Tick);
}

#[test]
fn a_slow_file_holds_up_its_own_conversation_only() {
    for queue in [QueueMode::Collect, QueueMode::Followup, QueueMode::Steer, QueueMode::Interrupt] {
        let mut chat = with(queue);
        chat.incoming(anna(), "1", message("look", &["slow.png"], None));
        chat.says(anna(), "1", "and hurry");
        chat.says(anna(), "2", "hello");
        assert_eq!(prompts(&chat), [("hello".into(), vec![])], "{queue:?}");
        arrives(&mut chat, "slow.png", Ok(()));
        time_passes(&mut chat, 5_000);
        let (text, files) = prompts(&chat)[1].clone();
        assert!(text.starts_with("look"), "{queue:?}: {text}");
        assert_eq!(files, ["slow.png"], "{queue:?}");
    }
}

#[test]
fn a_file_that_never_arrives_is_given_up_and_mentioned() {
    for (queue, fails) in [(QueueMode::Collect, true), (QueueMode::Followup, false)] {
        let mut chat = with(queue);
        chat.incoming(anna(), "1", message("look", &["a.png", "b.png"], None));
        arrives(&mut chat, "b.png", Ok(()));
        assert_eq!(prompts(&chat), []);
        let expected = if fails {
            arrives(&mut chat, "a.png", Err("the line is down"));
            "look\n\n[a.png could not be read: the line is down]"
        } else {
            let due = chat.bridge.next_deadline().expect("there is a time limit");
            assert!(due - chat.now <= Settings::default().fetch_timeout_ms);
            chat.now = due;
            chat.event(Event::Tick);
            "look\n\n[a.png could not be read: it took too long]"
        };
        assert_eq!(prompts(&chat), [(expected.into(), vec!["b.png".to_owned()])]);
        // A result that arrives later is ignored.
        if let Some((message, index, ..)) = chat.fetches.pop() {
            chat.event(Event::Fetched { message, index, result: Err("late".into()) });
        }
        assert_eq!(prompts(&chat).len(), 1);
    }
}

#[test]
fn files_of_strangers_bots_and_unaddressed_messages_are_not_fetched() {
    let mut chat = Chat::new();
    let stranger = Sender { id: "eve".into(), name: "Eve".into(), is_bot: false };
    chat.incoming(stranger, "9", message("/pair nothing", &["a.png"], None));
    chat.incoming(Sender { is_bot: true, ..anna() }, "1", message("look", &["b.png"], None));
    chat.in_group(anna(), "7", message("look, everyone", &["c.png"], None), false);
    chat.incoming(anna(), "1", message("/status", &["d.png"], None));
    assert_eq!(chat.fetches, []);
    chat.in_group(anna(), "7", message("look, Weir", &["e.png"], None), true);
    assert_eq!(chat.fetches.len(), 1);
}

#[test]
fn an_album_is_one_prompt_with_all_its_pictures() {
    for queue in [QueueMode::Collect, QueueMode::Followup, QueueMode::Interrupt, QueueMode::Steer] {
        let mut chat = with(queue);
        for (text, file) in [("what is this?", "1.png"), ("", "2.png"), ("", "3.png")] {
            chat.incoming(anna(), "1", message(text, &[file], Some("album")));
        }
        chat.says(anna(), "1", "and this is something else");
        // They arrive in any order, some of them before the last part of the album.
        for name in ["2.png", "1.png"] {
            arrives(&mut chat, name, Ok(()));
        }
        chat.incoming(anna(), "1", message("", &["4.png"], Some("album")));
        arrives(&mut chat, "3.png", Ok(()));
        arrives(&mut chat, "4.png", Ok(()));
        assert_eq!(prompts(&chat), [], "{queue:?}: there may be more parts");
        time_passes(&mut chat, 2_000);
        let (text, mut files) = prompts(&chat).first().cloned().expect("it is sent to the engine");
        assert!(text.starts_with("what is this?"), "{queue:?}: {text}");
        files.sort();
        assert_eq!(files, ["1.png", "2.png", "3.png", "4.png"], "{queue:?}");
        let (client_id, _) = chat.prompts()[0].clone();
        chat.answers("1", &client_id, "A cat.");
        time_passes(&mut chat, 5_000);
        if let Some((client_id, _)) = chat.prompts().get(1).cloned() {
            chat.answers("1", &client_id, "Yes.");
        }
        assert!(chat.bridge.is_quiet(), "{queue:?}: each part has its outcome");
        let outcomes: Vec<&str> = chat.outcomes();
        assert_eq!(
            outcomes.iter().filter(|outcome| **outcome == "merged").count(),
            match queue {
                QueueMode::Collect => 4,
                _ => 3,
            }
        );
    }
}

#[test]
fn an_album_is_added_to_the_running_turn_as_one() {
    let mut chat = with(QueueMode::Steer);
    chat.says(anna(), "1", "something slow");
    for file in ["1.png", "2.png"] {
        chat.incoming(anna(), "1", message("", &[file], Some("album")));
        arrives(&mut chat, file, Ok(()));
    }
    time_passes(&mut chat, 2_000);
    let steered = chat.commands.iter().filter_map(|command| match command {
        Command::Send { steer: true, attachments, .. } => Some(attachments.len()),
        _ => None,
    });
    assert_eq!(steered.collect::<Vec<_>>(), [2]);
}

#[test]
fn in_a_group_the_caption_counts_for_the_whole_album() {
    let mut chat = Chat::new();
    chat.in_group(anna(), "7", message("Weir, look", &["1.png"], Some("album")), true);
    chat.in_group(anna(), "7", message("", &["2.png"], Some("album")), false);
    chat.in_group(anna(), "7", message("", &["3.png"], Some("another")), false);
    let ben = Sender { id: "ben".into(), name: "Ben".into(), is_bot: false };
    chat.in_group(ben, "7", message("", &["4.png"], Some("album")), false);
    let wanted: Vec<&str> = chat.fetches.iter().map(|(_, _, file, _)| file.name.as_str()).collect();
    assert_eq!(wanted, ["1.png", "2.png"]);
}

#[test]
fn files_are_fetched_again_after_a_restart() {
    let mut chat = Chat::new();
    chat.incoming(anna(), "1", message("look", &["a.png"], Some("album")));
    let before: Vec<(InboxId, String)> =
        chat.fetches.iter().map(|(message, _, _, blob)| (*message, blob.clone())).collect();
    chat.fetches.clear();
    chat.restarts();
    let after: Vec<(InboxId, String)> =
        chat.fetches.iter().map(|(message, _, _, blob)| (*message, blob.clone())).collect();
    assert_eq!(before, after);
    arrives(&mut chat, "a.png", Ok(()));
    time_passes(&mut chat, 2_000);
    assert_eq!(prompts(&chat), [("look".into(), vec!["a.png".to_owned()])]);
}

#[test]
fn stop_drops_a_message_whose_file_is_being_fetched() {
    let mut chat = Chat::new();
    chat.incoming(anna(), "1", message("look", &["a.png"], None));
    chat.says(anna(), "1", "/stop");
    arrives(&mut chat, "a.png", Ok(()));
    time_passes(&mut chat, 200_000);
    assert_eq!(prompts(&chat), []);
    assert!(chat.bridge.is_quiet());
    assert_eq!(chat.bridge.next_deadline(), None);
}
