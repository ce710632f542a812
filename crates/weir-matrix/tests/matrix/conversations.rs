//! Replies: edited, long, in threads, many at once.

use serde_json::json;
use weir_bridge::machine::Per;

use crate::person::Person;
use crate::place::Place;
use crate::{script, synapse};

async fn an_answer_is_one_message_that_is_edited(encrypted: bool) {
    let anna = Person::new("anna").await;
    let place = Place::new(&[&anna.id]).await;
    let bridge = place.plan.start().await;
    let room = anna.makes_room(encrypted, &[place.bot()]).await;
    anna.sees_joined(&room, place.bot()).await;
    let long = "A sentence of the answer with <angle> & **bold** words. ".repeat(60);
    anna.says(&room, &script(&json!([{"text": long, "wdelay": 0.005}]))).await;
    let is_whole = |text: &str| text.matches("A sentence").count() == 60;
    let (_, shown) = anna.sees("the whole answer", |shown| is_whole(&shown.text)).await;
    assert!(shown.edits >= 2, "it was streamed: {} edits", shown.edits);
    assert_eq!(shown.sender, place.bot());
    assert_eq!(shown.encrypted, encrypted);
    assert!(shown.html.unwrap().contains("&lt;angle&gt; &amp; <strong>bold</strong> words"));
    assert_eq!(anna.count_of(place.bot()), 1);
    bridge.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_in_a_plain_room() {
    if synapse::is_skipped() {
        return;
    }
    an_answer_is_one_message_that_is_edited(false).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_in_an_encrypted_room() {
    if synapse::is_skipped() {
        return;
    }
    an_answer_is_one_message_that_is_edited(true).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn each_thread_has_its_own_session() {
    if synapse::is_skipped() {
        return;
    }
    let anna = Person::new("anna").await;
    let mut place = Place::new(&[&anna.id]).await;
    place.plan.settings.default_scope.per = Per::Thread;
    let bridge = place.plan.start().await;
    let room = anna.makes_room(true, &[place.bot()]).await;
    anna.sees_joined(&room, place.bot()).await;
    let root = anna.says(&room, &script(&json!([{"text": "Outside."}]))).await;
    let (_, outside) = anna.sees("the answer outside", |shown| shown.text.contains("Outside.")).await;
    assert_eq!(outside.thread, None);
    anna.says_in_thread(&room, &root, &script(&json!([{"text": "Inside."}]))).await;
    let (_, inside) = anna.sees("the answer inside", |shown| shown.text.contains("Inside.")).await;
    assert_eq!(inside.thread.as_ref(), Some(&root));
    anna.says_in_thread(&room, &root, "!status").await;
    let (_, status) = anna.sees("the status", |shown| shown.text.contains("Scope:")).await;
    assert!(status.text.contains(&format!("matrix/thread/{}/{root}", room.room_id())), "{}", status.text);
    assert_eq!(status.thread, Some(root));
    bridge.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_burst_is_answered_without_loss() {
    if synapse::is_skipped() {
        return;
    }
    let anna = Person::new("anna").await;
    let place = Place::new(&[&anna.id]).await;
    let bridge = place.plan.start().await;
    let room = anna.makes_room(true, &[place.bot()]).await;
    anna.sees_joined(&room, place.bot()).await;
    anna.says(&room, &script(&json!([{"text": "First.", "sleep": 1.0}]))).await;
    for number in 0..19 {
        anna.says(&room, &format!("and number {number}")).await;
    }
    anna.sees("the first answer", |shown| shown.text.contains("First.")).await;
    let outcomes = bridge.settles(20).await;
    let count = |wanted: &str| outcomes.iter().filter(|outcome| *outcome == wanted).count();
    // Messages that arrived during the first answer become one prompt, or a few if the machine is slow.
    assert_eq!(count("answered") + count("merged"), 20, "{outcomes:?}");
    assert!(count("merged") > 0, "{outcomes:?}");
    bridge.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_before_the_invitation_are_not_answered() {
    if synapse::is_skipped() {
        return;
    }
    let anna = Person::new("anna").await;
    let place = Place::new(&[&anna.id]).await;
    let room = anna.makes_room(false, &[]).await;
    anna.says(&room, &script(&json!([{"text": "Too old."}]))).await;
    anna.room(&room).invite_user_by_id(place.bot()).await.unwrap();
    anna.says(&room, &script(&json!([{"text": "In time."}]))).await;
    let bridge = place.plan.start().await;
    anna.sees("the answer", |shown| shown.text.contains("In time.")).await;
    anna.says(&room, "!status").await;
    anna.sees("the status", |shown| shown.text.contains("Scope:")).await;
    assert!(
        anna.seen()
            .messages
            .values()
            .all(|shown| shown.sender == anna.id || !shown.text.contains("Too old."))
    );
    bridge.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn stop_and_new_and_model() {
    if synapse::is_skipped() {
        return;
    }
    let anna = Person::new("anna").await;
    let place = Place::new(&[&anna.id]).await;
    let bridge = place.plan.start().await;
    let room = anna.makes_room(false, &[place.bot()]).await;
    anna.sees_joined(&room, place.bot()).await;
    anna.says(&room, &script(&json!([{"text": "word ".repeat(500), "wdelay": 0.1}]))).await;
    anna.sees("the beginning", |shown| shown.text.contains("word word")).await;
    anna.says(&room, "!stop").await;
    anna.sees("the end of it", |shown| shown.text.contains("word") && shown.text.contains("Stopped.")).await;
    anna.says(&room, "!new").await;
    anna.sees("the confirmation", |shown| shown.text.contains("starts a new session")).await;
    anna.says(&room, "!model haiku").await;
    anna.sees("the model", |shown| shown.text.contains("The next turn uses `haiku`")).await;
    bridge.end().await;
}
