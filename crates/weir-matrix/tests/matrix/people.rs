//! Who may talk to the agent, and how people are paired.

use matrix_sdk::ruma::events::Mentions;
use matrix_sdk::ruma::events::room::message::RoomMessageEventContent;
use serde_json::json;
use weir_bridge::machine::Role;

use crate::person::Person;
use crate::place::Place;
use crate::{script, synapse};

#[tokio::test(flavor = "multi_thread")]
async fn strangers_cannot_invite_the_bot_and_are_not_answered() {
    if synapse::is_skipped() {
        return;
    }
    let (anna, stranger) = (Person::new("anna").await, Person::new("eve").await);
    let place = Place::new(&[&anna.id]).await;
    let mut bridge = place.plan.start().await;
    let lair = stranger.makes_room(false, &[place.bot()]).await;
    bridge.notes(&format!("{} may not invite", stranger.id)).await;
    let room = anna.makes_room(false, &[place.bot(), &stranger.id]).await;
    stranger.joins(&room).await;
    anna.sees_joined(&room, place.bot()).await;
    anna.sees_joined(&room, &stranger.id).await;
    for text in [script(&json!([{"text": "For strangers."}])), "!status".to_owned()] {
        let asked = RoomMessageEventContent::text_plain(text)
            .add_mentions(Mentions::with_user_ids([place.bot().to_owned()]));
        stranger.sends(&room, asked).await;
    }
    // Messages that are not addressed to the bot are not answered either, nor are notices of programs.
    anna.says(&room, &script(&json!([{"text": "Not asked."}]))).await;
    let notice = RoomMessageEventContent::notice_plain(script(&json!([{"text": "For programs."}])));
    anna.sends(&room, notice.add_mentions(Mentions::with_user_ids([place.bot().to_owned()]))).await;
    let asked =
        anna.says(&room, &format!("{}, {}", place.bot(), script(&json!([{"text": "For friends."}])))).await;
    let (answer, shown) = anna.sees("the answer", |shown| shown.text.contains("For friends.")).await;
    assert_eq!(shown.reply_to, Some(asked));
    // A reply to the bot is addressed to it.
    anna.replies(&room, &answer, &script(&json!([{"text": "Still for friends."}]))).await;
    anna.sees("the second answer", |shown| shown.text.contains("Still for friends.")).await;
    assert_eq!(anna.count_of(place.bot()), 2, "{:#?}", anna.seen().messages);
    let where_ = (lair.room_id().to_owned(), place.bot().to_owned());
    assert!(!stranger.seen().joined.contains(&where_));
    bridge.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pairing_code_admits_a_person() {
    if synapse::is_skipped() {
        return;
    }
    let newcomer = Person::new("ben").await;
    let place = Place::new(&[]).await;
    let mut bridge = place.plan.start().await;
    let room = newcomer.makes_room(true, &[place.bot()]).await;
    bridge.notes(&format!("{} may not invite", newcomer.id)).await;
    // While a code is valid, anyone can invite the bot to use it.
    bridge.store.add_code("ABCDEFGH", Role::User, i64::MAX).unwrap();
    newcomer.sees_joined(&room, place.bot()).await;
    newcomer.says(&room, "hello").await;
    newcomer.sees("the hint", |shown| shown.text.contains("pairing code")).await;
    newcomer.says(&room, "!pair WRONG").await;
    newcomer.sees("no", |shown| shown.text.contains("not valid")).await;
    newcomer.says(&room, "!pair abcd-efgh").await;
    newcomer.sees("yes", |shown| shown.text.contains("You are paired")).await;
    newcomer.says(&room, &script(&json!([{"text": "Welcome."}]))).await;
    newcomer.sees("the answer", |shown| shown.text.contains("Welcome.")).await;
    // From now on they can invite, without a code.
    let other = newcomer.makes_room(false, &[place.bot()]).await;
    newcomer.sees_joined(&other, place.bot()).await;
    bridge.end().await;
}
