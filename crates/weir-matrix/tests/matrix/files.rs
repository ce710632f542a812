//! Pictures and files, in plain and in encrypted rooms.

use serde_json::json;

use crate::person::Person;
use crate::place::Place;
use crate::{script, synapse};

/// A tiny picture.
const PICTURE: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0\x1f\x15\xc4\x89\0\0\0\rIDATx\x9cc\xf8\xcf\xc0\xf0\x1f\0\x05\0\x01\xff\x89\x99=\x1d\0\0\0\0IEND\xaeB`\x82";

async fn pictures_come_in_and_long_answers_go_out_as_files(encrypted: bool) {
    let anna = Person::new("anna").await;
    let mut place = Place::new(&[&anna.id]).await;
    place.plan.settings.max_parts = 1;
    place.plan.settings.default_scope.spec.allowed_tools = vec!["Read".into()];
    let bridge = place.plan.start().await;
    let room = anna.makes_room(encrypted, &[place.bot()]).await;
    anna.sees_joined(&room, place.bot()).await;
    let sent = anna.sends_picture(&room, PICTURE, &script(&json!([{"text": "A fine cat."}]))).await;
    anna.sees("the answer", |shown| shown.text.contains("A fine cat.")).await;
    assert_eq!(bridge.store.blob(&format!("matrix/{sent}/0")).unwrap().as_deref(), Some(PICTURE));
    let huge = "A paragraph of some length that continues.\n\n".repeat(300);
    anna.says(&room, &script(&json!([{"text": huge}]))).await;
    anna.sees("that there is a file", |shown| shown.text.contains("in the file below")).await;
    let (_, shown) = anna.sees("the file", |shown| shown.file.is_some()).await;
    assert_eq!((shown.text.as_str(), shown.encrypted), ("answer.md", encrypted));
    let text = String::from_utf8(anna.opens(shown.file.unwrap()).await).unwrap();
    assert_eq!(text.matches("A paragraph of some length").count(), 300);
    // A picture that a tool returns.
    std::fs::write(place.path("work/chart.png"), PICTURE).unwrap();
    let read = json!({"tool": "Read", "input": {"file_path": place.path("work/chart.png")}});
    anna.says(&room, &script(&json!([read, {"text": "Here it is."}]))).await;
    let (_, shown) = anna.sees("the picture", |shown| shown.text == "picture.png").await;
    assert_eq!((shown.encrypted, shown.sender.as_ref()), (encrypted, place.bot()));
    assert_eq!(anna.opens(shown.file.unwrap()).await, PICTURE);
    bridge.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn files_in_a_plain_room() {
    if synapse::is_skipped() {
        return;
    }
    pictures_come_in_and_long_answers_go_out_as_files(false).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn files_in_an_encrypted_room() {
    if synapse::is_skipped() {
        return;
    }
    pictures_come_in_and_long_answers_go_out_as_files(true).await;
}
