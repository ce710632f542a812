//! Files that people send: slow ones, large ones, those of strangers, and albums. Also large answers.

use serde_json::{Value, json};
use weir_bridge::channel::Channel as _;
use weir_bridge::config::Secret;
use weir_bridge::machine::{QueueMode, Role};
use weir_telegram::{TelegramChannel, TelegramOptions};

use crate::place::{ANNA, Place};
use crate::{BEN, STRANGER};

fn photo(file: &str, caption: Option<&str>, album: Option<&str>) -> Value {
    let mut message = json!({"photo": [{"file_id": file, "file_unique_id": "u", "width": 1, "height": 1}]});
    for (name, value) in [("caption", caption), ("media_group_id", album)] {
        if let (Some(message), Some(value)) = (message.as_object_mut(), value) {
            message.insert(name.into(), value.into());
        }
    }
    message
}

fn script(text: &str) -> String {
    format!("@@{}", json!([{"text": text}]))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_never_arrives_does_not_delay_others() {
    let mut place = Place::new().await;
    place.settings.people.insert(("telegram".into(), BEN.to_string().into()), Role::User);
    let bridge = place.start().await;
    place.double.lock().stalled.insert("slow".into());
    place.double.message(ANNA, ANNA, "private", &photo("slow", Some(&script("Seen.")), None));
    place.double.stalls("slow").await;
    place.double.says(BEN, &script("Quick."));
    let (_, shown) = place.double.sees("the other answer", |shown| shown.text.contains("Quick.")).await;
    assert_eq!(shown.chat, BEN);
    // Commands work in the same chat as well: the waiting message can be dropped.
    place.double.says(ANNA, "/stop");
    place.double.sees("the end", |shown| shown.text.contains("One waiting message")).await;
    bridge.settled(3).await;
    bridge.end(&place).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_takes_too_long_or_is_too_large_is_left_out() {
    let mut place = Place::new().await;
    place.settings.fetch_timeout_ms = 300;
    place.settings.default_scope.queue = QueueMode::Followup;
    let bridge = place.start().await;
    place.double.lock().stalled.insert("slow".into());
    place.double.message(ANNA, ANNA, "private", &photo("slow", Some(&script("Without it.")), None));
    place.double.sees("the answer", |shown| shown.text.contains("Without it.")).await;
    bridge.settled(1).await;
    // Its size is not announced.
    place.double.lock().files.insert("large".into(), vec![7; (20 << 20) + 1]);
    place.double.message(ANNA, ANNA, "private", &photo("large", Some(&script("Too large.")), None));
    place.double.sees("the second answer", |shown| shown.text.contains("Too large.")).await;
    bridge.settled(2).await;
    let prompts = bridge.prompts().await;
    assert!(prompts[0].0.ends_with("[photo.jpg could not be read: it took too long]"), "{prompts:?}");
    assert!(prompts[1].0.contains("[photo.jpg could not be read: it "), "{prompts:?}");
    assert_eq!(prompts.iter().map(|(_, images)| *images).collect::<Vec<_>>(), [0, 0]);
    bridge.end(&place).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn files_of_strangers_are_not_fetched() {
    let place = Place::new().await;
    let bridge = place.start().await;
    place.double.lock().files.insert("theirs".into(), b"anything".to_vec());
    for caption in ["hello", "/pair WRONG"] {
        place.double.message(STRANGER, STRANGER, "private", &photo("theirs", Some(caption), None));
    }
    place.double.all_taken().await;
    place.double.sees("no", |shown| shown.text.contains("not valid")).await;
    let fetched = place.double.lock().calls.iter().filter(|(method, _)| method == "getFile").count();
    assert_eq!(fetched, 0);
    assert_eq!(bridge.store.blobs().unwrap(), 0);
    bridge.end(&place).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_album_is_one_prompt() {
    let mut place = Place::new().await;
    place.settings.default_scope.queue = QueueMode::Followup;
    let bridge = place.start().await;
    let names = ["one", "two", "three"];
    for name in names {
        place.double.lock().files.insert(name.into(), b"\x89PNG\r\n\x1a\n".to_vec());
    }
    let caption = script("Three pictures.");
    for (name, caption) in names.iter().zip([Some(caption.as_str()), None, None]) {
        place.double.message(ANNA, ANNA, "private", &photo(name, caption, Some("album")));
    }
    place.double.sees("the answer", |shown| shown.text.contains("Three pictures.")).await;
    bridge.settled(3).await;
    assert_eq!(bridge.outcomes(), ["answered", "merged", "merged"]);
    assert_eq!(bridge.prompts().await, [(caption, 3)]);
    bridge.end(&place).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_of_a_megabyte_comes_as_a_file_and_holds_up_no_other_chat() {
    let mut place = Place::new().await;
    place.settings.people.insert(("telegram".into(), BEN.to_string().into()), Role::User);
    let bridge = place.start().await;
    let huge: String =
        (0..20_000).map(|number| format!("Paragraph {number} of a very long answer.\n\n")).collect();
    place.double.says(ANNA, &script(&huge));
    place.double.says(BEN, &script("Quick."));
    place.double.sees("the quick answer", |shown| shown.text.contains("Quick.")).await;
    let file = place.double.gets("the file", |upload| upload.name == "answer.md").await;
    assert!(String::from_utf8(file.data).unwrap().contains("Paragraph 19999 of"), "it is complete");
    bridge.settled(2).await;
    bridge.end(&place).await;
}

/// The machine's tests of large replies use these numbers.
#[test]
fn capabilities_match_those_in_the_machine_tests() {
    let options = TelegramOptions { token: Secret::new("42:x"), api_url: None };
    let can = TelegramChannel::new(options).unwrap().capabilities();
    assert_eq!((can.longest, can.edits, can.posts_once, can.files), (4_096, true, false, true));
    assert_eq!(can.markup, weir_bridge::markup::Markup::TelegramHtml);
}
