//! Pictures of the agent, edited messages, groups that become supergroups, and updates of unknown kinds.

use serde_json::json;
use weir_bridge::engine::Pictures;
use weir_bridge::machine::{Per, QueueMode};

use crate::GROUP;
use crate::place::{ANNA, Place};

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n a very small picture";

#[tokio::test(flavor = "multi_thread")]
async fn a_picture_that_a_tool_returns_is_shown_once() {
    let mut place = Place::new().await;
    place.settings.default_scope.spec.allowed_tools = vec!["Read".into()];
    std::fs::write(place.path("work/chart.png"), PNG).unwrap();
    let bridge = place.start().await;
    let read = json!({"tool": "Read", "input": {"file_path": place.path("work/chart.png")}});
    place.double.says(ANNA, &format!("@@{}", json!([read, read, {"text": "Here it is."}])));
    let picture = place.double.gets("the picture", |upload| upload.kind == "photo").await;
    assert_eq!((picture.chat, picture.topic, picture.data.as_slice()), (ANNA, None, PNG));
    assert_eq!(picture.name, "picture.png");
    place.double.sees("the answer", |shown| shown.text.contains("Here it is.")).await;
    bridge.settled(1).await;
    assert_eq!(place.double.lock().uploads.len(), 1);
    assert_eq!(bridge.pictures_of_the_first_turn().await, [PNG, PNG], "both calls returned it");
    // A picture that Telegram does not accept as a photo is sent as a document.
    place.double.lock().refuse_photos = true;
    place.double.says(ANNA, &format!("@@{}", json!([read, {"text": "Again."}])));
    let document = place.double.gets("the document", |upload| upload.kind == "document").await;
    assert_eq!(document.data, PNG);
    bridge.settled(2).await;
    bridge.end(&place).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_picture_that_the_agent_wrote_and_names_is_shown_if_configured() {
    let mut place = Place::new().await;
    place.settings.default_scope.spec.allowed_tools = vec!["Bash".into()];
    place.settings.default_scope.pictures = Pictures::Named;
    std::fs::write(place.path("work/old.png"), PNG).unwrap();
    let bridge = place.start().await;
    let writes = json!({"tool": "Bash", "input": {"command": "cp old.png new.png && touch new.png && touch -d '2 days ago' old.png"}});
    let says = json!({"text": "The chart is in `new.png`, made of `old.png`."});
    place.double.says(ANNA, &format!("@@{}", json!([writes, says])));
    let picture = place.double.gets("the picture", |_| true).await;
    assert_eq!(picture.name, "new.png");
    bridge.settled(1).await;
    assert_eq!(place.double.lock().uploads.len(), 1);
    bridge.end(&place).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edit_changes_a_waiting_message_but_not_a_running_one() {
    let mut place = Place::new().await;
    place.settings.default_scope.queue = QueueMode::Followup;
    place.settings.default_scope.spec.allowed_tools = vec!["Bash".into()];
    let bridge = place.start().await;
    let waits = "until [ -e go ]; do sleep 0.05; done";
    let script = json!([{"tool": "Bash", "input": {"command": waits}}, {"text": "The first."}]);
    let first = place.double.says(ANNA, &format!("@@{script}"));
    place.double.sees("the running tool", |shown| shown.text.contains("Bash")).await;
    let second = place.double.says(ANNA, "something wrong");
    place.double.changes(ANNA, second, &format!("@@{}", json!([{"text": "The second, corrected."}])));
    for text in ["too late", "too late again"] {
        place.double.changes(ANNA, first, text);
    }
    place.double.all_taken().await;
    place.double.sees("the notice", |shown| shown.text.contains("when you edited it")).await;
    std::fs::write(place.path("work/go"), "").unwrap();
    place.double.sees("the first answer", |shown| shown.text.contains("The first.")).await;
    place.double.sees("the second answer", |shown| shown.text.contains("The second, corrected.")).await;
    bridge.settled(2).await;
    // Edits of answered messages are ignored.
    place.double.changes(ANNA, second, "another wish");
    place.double.all_taken().await;
    assert_eq!(bridge.outcomes(), ["answered", "answered"]);
    let messages = place.double.lock().messages.clone();
    assert_eq!(messages.len(), 3, "{messages:#?}");
    bridge.end(&place).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_group_that_becomes_a_supergroup_keeps_its_session() {
    const SUPERGROUP: i64 = -1_000_500;
    let mut place = Place::new().await;
    place.settings.default_scope.per = Per::Chat;
    place.settings.default_scope.only_when_addressed = false;
    let bridge = place.start().await;
    let says = |text: &str| json!({"text": format!("@@{}", json!([{"text": text}]))});
    place.double.message(ANNA, GROUP, "group", &says("In the group."));
    place.double.sees("the first answer", |shown| shown.text.contains("In the group.")).await;
    bridge.settled(1).await;
    place.double.lock().migrated = Some((GROUP, SUPERGROUP));
    // The answer to an earlier message is sent to the new group.
    place.double.message(ANNA, GROUP, "group", &json!({"text": "/cost"}));
    let (_, shown) = place.double.sees("the cost", |shown| shown.text.starts_with("Cost:")).await;
    assert_eq!(shown.chat, SUPERGROUP);
    place.double.message(ANNA, SUPERGROUP, "supergroup", &json!({"migrate_from_chat_id": GROUP}));
    place.double.message(ANNA, SUPERGROUP, "supergroup", &json!({"text": "/status"}));
    let (_, shown) = place.double.sees("the status", |shown| shown.text.contains("Scope:")).await;
    assert!(
        shown.text.contains(&format!("telegram/chat/{GROUP}")) && shown.text.contains("Session:"),
        "{}",
        shown.text
    );
    assert!(!shown.text.contains("none yet"), "it is another session: {}", shown.text);
    bridge.end(&place).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn updates_of_unknown_kinds_do_not_stop_the_polling() {
    let place = Place::new().await;
    let bridge = place.start().await;
    place.double.happens("telepathy", &json!({"thought": "hm"}));
    place.double.happens("message", &json!({"no": "message"}));
    // A message with an unknown field is still read.
    let text = format!("@@{}", json!([{"text": "Understood."}]));
    place.double.message(ANNA, ANNA, "private", &json!({"text": text, "entities": {"kind": "hologram"}}));
    place.double.sees("the answer", |shown| shown.text.contains("Understood.")).await;
    place.double.all_taken().await;
    bridge.settled(1).await;
    bridge.end(&place).await;
}
