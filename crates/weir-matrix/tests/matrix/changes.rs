//! Edited messages and upgraded rooms.

use serde_json::json;
use weir_bridge::machine::QueueMode;

use crate::person::Person;
use crate::place::Place;
use crate::{script, synapse};

#[tokio::test(flavor = "multi_thread")]
async fn an_edit_changes_a_waiting_message() {
    if synapse::is_skipped() {
        return;
    }
    let anna = Person::new("anna").await;
    let mut place = Place::new(&[&anna.id]).await;
    place.plan.settings.default_scope.queue = QueueMode::Followup;
    place.plan.settings.default_scope.spec.allowed_tools = vec!["Bash".into()];
    let bridge = place.plan.start().await;
    let room = anna.makes_room(true, &[place.bot()]).await;
    anna.sees_joined(&room, place.bot()).await;
    let waits = "until [ -e go ]; do sleep 0.05; done";
    let steps = json!([{"tool": "Bash", "input": {"command": waits}}, {"text": "The first."}]);
    let first = anna.says(&room, &script(&steps)).await;
    anna.sees("the running tool", |shown| shown.text.contains("Bash")).await;
    let second = anna.says(&room, "something wrong").await;
    anna.changes(&room, &second, &script(&json!([{"text": "The second, corrected."}]))).await;
    anna.changes(&room, &first, "too late").await;
    let (_, told) = anna.sees("the notice", |shown| shown.text.contains("when you edited it")).await;
    assert_eq!(told.reply_to, Some(first));
    std::fs::write(place.path("work/go"), "").unwrap();
    anna.sees("the first answer", |shown| shown.text.contains("The first.")).await;
    anna.sees("the second answer", |shown| shown.text.contains("The second, corrected.")).await;
    assert_eq!(bridge.settles(2).await, ["answered", "answered"]);
    bridge.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_continues_in_an_upgraded_room() {
    if synapse::is_skipped() {
        return;
    }
    let (anna, eve) = (Person::new("anna").await, Person::new("eve").await);
    let place = Place::new(&[&anna.id]).await;
    let mut bridge = place.plan.start().await;
    let room = anna.makes_room(false, &[place.bot()]).await;
    anna.sees_joined(&room, place.bot()).await;
    anna.says(&room, &script(&json!([{"text": "In the old room."}]))).await;
    anna.sees("the answer", |shown| shown.text.contains("In the old room.")).await;
    let new = anna.upgrades(&room).await;
    bridge.notes("needs an invitation").await;
    anna.room(&new).invite_user_by_id(place.bot()).await.unwrap();
    anna.sees_joined(&new, place.bot()).await;
    bridge.notes(&format!("continues in {}", new.room_id())).await;
    anna.says(&new, "!status").await;
    let (_, status) = anna.sees("the status", |shown| shown.text.contains("Scope:")).await;
    assert!(status.text.contains(&format!("matrix/chat/{}", room.room_id())), "{}", status.text);
    assert!(!status.text.contains("none yet"), "it is another session: {}", status.text);
    // A person who may not talk to the agent cannot move the bot.
    let shared = anna.makes_room(false, &[place.bot(), &eve.id]).await;
    eve.joins(&shared).await;
    anna.sees_joined(&shared, place.bot()).await;
    anna.sees_joined(&shared, &eve.id).await;
    anna.makes_admin(&shared, &eve.id).await;
    let lair = eve.upgrades(&shared).await;
    bridge.notes(&format!("{} may not move the bot out of {}", eve.id, shared.room_id())).await;
    assert!(!eve.seen().joined.contains(&(lair.room_id().to_owned(), place.bot().to_owned())));
    bridge.end().await;
}
