//! Chats on Telegram, with a fake Bot API that enforces the documented rules.
#![cfg(test)]

mod double;
mod files;
mod html;
mod news;
mod place;
mod real;

use std::time::Duration;

use serde_json::json;
use teloxide_core::payloads::GetUpdatesSetters as _;
use teloxide_core::requests::Requester as _;
use weir_bridge::machine::{QueueMode, Role};

use place::{ANNA, Place};

pub(crate) const BEN: i64 = 200;
pub(crate) const STRANGER: i64 = 666;
pub(crate) const GROUP: i64 = -500;

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_is_one_message_that_is_edited() {
    let place = Place::new().await;
    let bridge = place.start().await;
    let long = "A sentence of the answer with <angle> & **bold** words. ".repeat(60);
    place.double.says(ANNA, &format!("@@{}", json!([{"text": long, "wdelay": 0.004}])));
    let (_, shown) =
        place.double.sees("the whole answer", |shown| shown.text.matches("A sentence").count() == 60).await;
    assert!(shown.edits >= 2, "it was streamed: {} edits", shown.edits);
    for pair in shown.edited_at.windows(2) {
        assert!(pair[1] - pair[0] >= Duration::from_millis(900), "edits are a second apart");
    }
    assert!(shown.text.contains("<angle> & bold words"));
    assert_eq!(place.double.lock().messages.len(), 1);
    bridge.end(&place).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn long_answers_are_split_and_longer_ones_are_files() {
    let place = Place::new().await;
    let bridge = place.start().await;
    let code: String = (0..300).map(|number| format!("let line_{number} = \"<{number}>\";\n")).collect();
    place
        .double
        .says(ANNA, &format!("@@{}", json!([{"text": format!("Code:\n\n```rust\n{code}```\n\nThe end.")}])));
    place.double.sees("the end", |shown| shown.text.contains("The end.")).await;
    assert!(place.double.lock().messages.len() >= 2);
    let huge = "A paragraph of some length that continues.\n\n".repeat(800);
    place.double.says(ANNA, &format!("@@{}", json!([{"text": huge}])));
    place.double.sees("the file", |shown| shown.text.contains("in the file below")).await;
    let file = place.double.gets("the file", |upload| upload.name == "answer.md").await;
    assert_eq!((file.kind, file.chat), ("document", ANNA));
    assert!(String::from_utf8(file.data).unwrap().contains("A paragraph of some length"));
    bridge.end(&place).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_permission_is_a_button_and_the_first_answer_wins() {
    let place = Place::new().await;
    let bridge = place.start().await;
    let script = json!([{"tool": "Bash", "input": {"command": "touch made.txt"}}, {"text": "It is made."}]);
    place.double.says(ANNA, &format!("@@{script}"));
    let (number, shown) = place.double.sees("the question", |shown| shown.text.contains("Allow Bash?")).await;
    assert!(shown.text.contains("touch made.txt"));
    let (_, allow) = shown.buttons.iter().find(|(label, _)| label == "Allow").unwrap().clone();
    // A stranger's press has no effect.
    place.double.presses(STRANGER, number, &allow);
    place.double.all_taken().await;
    assert!(!place.path("work/made.txt").exists());
    place.double.presses(ANNA, number, &allow);
    place.double.presses(ANNA, number, &allow);
    place.double.sees("the answer", |shown| shown.text.contains("It is made.")).await;
    let (_, closed) =
        place.double.sees("the closed question", |shown| shown.text.contains("Allowed by User100")).await;
    assert!(closed.buttons.is_empty());
    assert!(place.path("work/made.txt").exists());
    bridge.end(&place).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_button_works_in_its_own_chat_and_until_its_question_is_closed() {
    let mut place = Place::new().await;
    place.settings.people.insert(("telegram".into(), BEN.to_string().into()), Role::User);
    let bridge = place.start().await;
    let script = json!([{"tool": "Bash", "input": {"command": "touch made.txt"}}, {"text": "It is made."}]);
    place.double.says(ANNA, &format!("@@{script}"));
    let (number, shown) = place.double.sees("the question", |shown| shown.text.contains("Allow Bash?")).await;
    let (_, allow) = shown.buttons.iter().find(|(label, _)| label == "Allow").unwrap().clone();
    let refused = |chat: i64| {
        move |shown: &double::Shown| shown.chat == chat && shown.text.contains("That button has no effect")
    };
    // Ben knows the data of the button, and sends it for a message in his own chat.
    place.double.says(BEN, "/help");
    let (other, _) = place.double.sees("another chat", |shown| shown.chat == BEN).await;
    place.double.presses(BEN, other, &allow);
    place.double.sees("the refusal", refused(BEN)).await;
    assert!(!place.path("work/made.txt").exists());
    place.double.presses(ANNA, number, &allow);
    place.double.sees("the closed question", |shown| shown.text.contains("Allowed by User100")).await;
    place.double.presses(ANNA, number, &allow);
    place.double.sees("the refusal", refused(ANNA)).await;
    bridge.settled(2).await;
    bridge.end(&place).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_is_answered_with_a_number() {
    let place = Place::new().await;
    let bridge = place.start().await;
    let question = json!({"questions": [{"question": "Which colour?", "header": "Colour", "multiSelect": false,
        "options": [{"label": "Red", "description": "like fire"}, {"label": "Blue", "description": "like water"}]}]});
    let script = json!([{"tool": "AskUserQuestion", "input": question}, {"text": "As you like."}]);
    place.double.says(ANNA, &format!("@@{script}"));
    let (_, shown) = place.double.sees("the question", |shown| shown.text.contains("Which colour?")).await;
    assert_eq!(shown.buttons.len(), 2);
    place.double.says(ANNA, "2");
    place.double.sees("the answer", |shown| shown.text.contains("As you like.")).await;
    place.double.sees("what was chosen", |shown| shown.text.contains("Which colour? Blue")).await;
    bridge.end(&place).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn strangers_get_one_hint_and_are_paired_by_a_code() {
    let place = Place::new().await;
    let bridge = place.start().await;
    for text in ["hello", "hello?", "/status"] {
        place.double.says(STRANGER, text);
    }
    place.double.message(STRANGER, GROUP, "supergroup", &json!({"text": "@weir_bot hello"}));
    place.double.all_taken().await;
    place.double.sees("the hint", |shown| shown.text.contains("pairing code")).await;
    place.double.says(STRANGER, "/pair WRONG");
    place.double.sees("no", |shown| shown.text.contains("not valid")).await;
    assert_eq!(place.double.lock().messages.values().filter(|shown| shown.chat == STRANGER).count(), 2);
    assert_eq!(place.double.lock().messages.values().filter(|shown| shown.chat == GROUP).count(), 0);
    bridge.store.add_code("ABCDEFGH", Role::User, i64::MAX).unwrap();
    place.double.says(STRANGER, "/pair abcd-efgh");
    place.double.sees("yes", |shown| shown.text.contains("You are paired")).await;
    place.double.says(STRANGER, &format!("@@{}", json!([{"text": "Welcome."}])));
    place.double.sees("the answer", |shown| shown.text.contains("Welcome.")).await;
    bridge.end(&place).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_burst_is_answered_without_loss() {
    let place = Place::new().await;
    let bridge = place.start().await;
    place.double.says(ANNA, &format!("@@{}", json!([{"text": "First.", "sleep": 0.5}])));
    for number in 0..19 {
        place.double.says(ANNA, &format!("and number {number}"));
    }
    place.double.sees("the first answer", |shown| shown.text.contains("First.")).await;
    // Messages that arrived in the meantime become one prompt with one answer.
    bridge.settled(20).await;
    let messages = place.double.lock().messages.clone();
    assert_eq!(messages.len(), 2, "{messages:#?}");
    let outcomes = bridge.outcomes();
    assert_eq!(outcomes.iter().filter(|outcome| *outcome == "merged").count(), 18);
    bridge.end(&place).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_is_added_to_the_running_turn() {
    let mut place = Place::new().await;
    place.settings.default_scope.queue = QueueMode::Steer;
    place.settings.default_scope.spec.allowed_tools = vec!["Bash".into()];
    let bridge = place.start().await;
    let waits = "until [ -e go ]; do sleep 0.05; done";
    let script = json!([{"tool": "Bash", "input": {"command": waits}}, {"text": "One answer for both."}]);
    place.double.says(ANNA, &format!("@@{script}"));
    place.double.sees("the running tool", |shown| shown.text.contains("Bash")).await;
    place.double.says(ANNA, "and think of the tests, too");
    place.double.all_taken().await;
    bridge.sent(2).await;
    std::fs::write(place.path("work/go"), "").unwrap();
    place.double.sees("the answer", |shown| shown.text.contains("One answer for both.")).await;
    bridge.settled(2).await;
    assert_eq!(bridge.outcomes(), ["answered", "merged"]);
    let messages = place.double.lock().messages.clone();
    assert_eq!(messages.len(), 1, "{messages:#?}");
    bridge.end(&place).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_conversation_does_not_hold_up_another() {
    let mut place = Place::new().await;
    place.settings.people.insert(("telegram".into(), BEN.to_string().into()), Role::User);
    let bridge = place.start().await;
    place.double.says(ANNA, &format!("@@{}", json!([{"text": "word ".repeat(500), "wdelay": 0.1}])));
    place.double.sees("the slow answer", |shown| shown.text.contains("word word")).await;
    place.double.says(BEN, &format!("@@{}", json!([{"text": "Quick."}])));
    let (_, shown) = place.double.sees("the quick answer", |shown| shown.text.contains("Quick.")).await;
    assert_eq!(shown.chat, BEN);
    place.double.says(ANNA, "/stop");
    place.double.sees("the end", |shown| shown.text.contains("Stopped.")).await;
    bridge.end(&place).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn topics_groups_commands_and_files() {
    let mut place = Place::new().await;
    place.settings.default_scope.per = weir_bridge::machine::Per::Thread;
    let bridge = place.start().await;
    let says = format!("@weir_bot @@{}", json!([{"text": "In the topic."}]));
    place.double.message(ANNA, GROUP, "supergroup", &json!({"text": "not for the bot"}));
    place.double.message(
        ANNA,
        GROUP,
        "supergroup",
        &json!({"text": says, "message_thread_id": 7, "is_topic_message": true}),
    );
    let (_, shown) = place.double.sees("the answer", |shown| shown.text.contains("In the topic.")).await;
    assert_eq!((shown.chat, shown.topic), (GROUP, Some(7)));
    place.double.message(
        ANNA,
        GROUP,
        "supergroup",
        &json!({"text": "/status@weir_bot", "message_thread_id": 7, "is_topic_message": true}),
    );
    let (_, shown) = place.double.sees("the status", |shown| shown.text.contains("Scope:")).await;
    assert!(shown.text.contains("telegram/thread/-500/7"), "{}", shown.text);
    place.double.lock().files.insert("f1".into(), b"contents of the file".to_vec());
    let caption = format!("@@{}", json!([{"text": "Got it."}]));
    place.double.message(ANNA, ANNA, "private", &json!({"caption": caption, "document": {"file_id": "f1", "file_unique_id": "u", "file_name": "../notes.txt", "mime_type": "text/plain", "file_size": 20}}));
    place.double.sees("the answer to the file", |shown| shown.text.contains("Got it.")).await;
    assert_eq!(std::fs::read(place.path("work/.weir-incoming/notes.txt")).unwrap(), b"contents of the file");
    bridge.end(&place).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn limits_failures_and_a_second_poller_are_survived() {
    let place = Place::new().await;
    place.double.lock().fail_polls = 1;
    place.double.lock().throttle = 2;
    let bridge = place.start().await;
    place.double.says(ANNA, &format!("@@{}", json!([{"text": "In the end."}])));
    place.double.sees("the answer", |shown| shown.text.contains("In the end.")).await;
    // Another program polls once with the same token.
    let other = teloxide_core::Bot::new(double::TOKEN).set_api_url(place.double.url.parse().unwrap());
    let _ = other.get_updates().timeout(0).await;
    place.double.says(ANNA, &format!("@@{}", json!([{"text": "Still here."}])));
    place.double.sees("the second answer", |shown| shown.text.contains("Still here.")).await;
    assert!(place.double.lock().conflicts >= 1);
    bridge.end(&place).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn stop_and_new_and_model() {
    let place = Place::new().await;
    let bridge = place.start().await;
    place.double.says(ANNA, &format!("@@{}", json!([{"text": "word ".repeat(500), "wdelay": 0.1}])));
    place.double.sees("the beginning", |shown| shown.text.contains("word word")).await;
    place.double.says(ANNA, "/stop");
    place
        .double
        .sees("the end of it", |shown| shown.text.contains("word") && shown.text.contains("Stopped."))
        .await;
    place.double.says(ANNA, "!new");
    place.double.sees("the confirmation", |shown| shown.text.contains("starts a new session")).await;
    place.double.says(ANNA, "/model haiku");
    place.double.sees("the model", |shown| shown.text.contains("The next turn uses haiku")).await;
    place.double.says(ANNA, "/resume");
    place.double.sees("the list", |shown| shown.text.contains("Return to one")).await;
    bridge.end(&place).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn unreadable_messages_are_reported_to_the_sender() {
    let place = Place::new().await;
    let bridge = place.start().await;
    let sticker = json!({"file_id": "s", "file_unique_id": "u", "type": "regular", "width": 1, "height": 1,
        "is_animated": false, "is_video": false});
    place.double.message(ANNA, ANNA, "private", &json!({"sticker": sticker}));
    place
        .double
        .sees("the word", |shown| shown.text.contains("nothing in this message that I can read"))
        .await;
    // Service messages, and a sticker that is not addressed to the bot, are ignored.
    place.double.message(ANNA, ANNA, "private", &json!({"pinned_message": {"message_id": 1}}));
    place.double.message(ANNA, GROUP, "supergroup", &json!({"new_chat_members": []}));
    place.double.message(ANNA, GROUP, "supergroup", &json!({"sticker": sticker}));
    place.double.lock().files.insert("round".into(), b"a round video".to_vec());
    let round =
        json!({"file_id": "round", "file_unique_id": "u", "length": 1, "duration": 1, "file_size": 13});
    place.double.message(ANNA, ANNA, "private", &json!({"video_note": round}));
    // It has no script, so the demonstration plays.
    let begins = |shown: &double::Shown| shown.text.len() > 3 && !shown.text.contains("can read");
    place.double.sees("the beginning of an answer", begins).await;
    place.double.says(ANNA, "/stop");
    bridge.settled(3).await;
    assert_eq!(bridge.outcomes(), ["refused", "failed", "answered"]);
    let file = place.path("work/.weir-incoming/video-message.mp4");
    assert_eq!(std::fs::read(file).unwrap(), b"a round video");
    let told = place.double.lock().messages.values().filter(|shown| shown.text.contains("can read")).count();
    assert_eq!(told, 1);
    bridge.end(&place).await;
}
