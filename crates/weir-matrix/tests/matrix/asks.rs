//! Permissions and questions, answered by a reaction, a number or free text.

use matrix_sdk::ruma::OwnedEventId;
use serde_json::json;

use crate::person::Person;
use crate::place::Place;
use crate::{script, synapse};

fn number(number: usize) -> String {
    format!("{number}\u{fe0f}\u{20e3}")
}

async fn sees_choices(person: &Person, card: &OwnedEventId, count: usize) {
    let offered = |number_: usize| (card.clone(), number(number_));
    person
        .waits("the choices below the question", |seen| {
            (1..=count).all(|number| seen.reactions.contains(&offered(number))).then_some(())
        })
        .await;
}

async fn a_permission_is_given_by_a_reaction(encrypted: bool) {
    let (anna, stranger) = (Person::new("anna").await, Person::new("eve").await);
    let place = Place::new(&[&anna.id]).await;
    let bridge = place.plan.start().await;
    let room = anna.makes_room(encrypted, &[place.bot(), &stranger.id]).await;
    stranger.joins(&room).await;
    anna.sees_joined(&room, place.bot()).await;
    anna.sees_joined(&room, &stranger.id).await;
    let steps = json!([{"tool": "Bash", "input": {"command": "touch made.txt"}}, {"text": "It is made."}]);
    anna.says(&room, &format!("{}: {}", place.bot(), script(&steps))).await;
    let (card, shown) = anna.sees("the question", |shown| shown.text.contains("Allow Bash?")).await;
    assert!(shown.text.contains("touch made.txt") && shown.text.contains("1. Allow"), "{}", shown.text);
    sees_choices(&anna, &card, 2).await;
    // A stranger's reaction has no effect. Once the bridge answers a later message, it has seen the reaction.
    stranger.sees("the question", |shown| shown.text.contains("Allow Bash?")).await;
    stranger.reacts(&room, &card, &number(1)).await;
    anna.says(&room, &format!("{}: !status", place.bot())).await;
    anna.sees("the status", |shown| shown.text.contains("Scope:")).await;
    assert!(!place.path("work/made.txt").exists());
    anna.reacts(&room, &card, &number(1)).await;
    anna.sees("the answer", |shown| shown.text.contains("It is made.")).await;
    anna.sees("the closed question", |shown| shown.text.contains("Allowed by anna")).await;
    assert!(place.path("work/made.txt").exists());
    bridge.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_permission_in_a_plain_room() {
    if synapse::is_skipped() {
        return;
    }
    a_permission_is_given_by_a_reaction(false).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_permission_in_an_encrypted_room() {
    if synapse::is_skipped() {
        return;
    }
    a_permission_is_given_by_a_reaction(true).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_permission_is_denied_in_own_words() {
    if synapse::is_skipped() {
        return;
    }
    let anna = Person::new("anna").await;
    let place = Place::new(&[&anna.id]).await;
    let bridge = place.plan.start().await;
    let room = anna.makes_room(false, &[place.bot()]).await;
    anna.sees_joined(&room, place.bot()).await;
    let steps = json!([{"tool": "Bash", "input": {"command": "touch made.txt"}}, {"text": "Then not."}]);
    anna.says(&room, &script(&steps)).await;
    let (card, _) = anna.sees("the question", |shown| shown.text.contains("Allow Bash?")).await;
    anna.replies(&room, &card, "not on a Sunday").await;
    anna.sees("the answer", |shown| shown.text.contains("Then not.")).await;
    anna.sees("the closed question", |shown| shown.text.contains("Denied by anna")).await;
    assert!(!place.path("work/made.txt").exists());
    bridge.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_is_answered_with_a_number_and_with_a_reaction() {
    if synapse::is_skipped() {
        return;
    }
    let anna = Person::new("anna").await;
    let place = Place::new(&[&anna.id]).await;
    let bridge = place.plan.start().await;
    let room = anna.makes_room(true, &[place.bot()]).await;
    anna.sees_joined(&room, place.bot()).await;
    let question = |colour: &str| {
        json!({"questions": [{"question": format!("Which {colour}?"), "header": "Colour", "multiSelect": false,
            "options": [{"label": "Light", "description": "like water"}, {"label": "Dark", "description": "like wine"}]}]})
    };
    let steps = json!([{"tool": "AskUserQuestion", "input": question("red")},
        {"tool": "AskUserQuestion", "input": question("blue")}, {"text": "As you like."}]);
    anna.says(&room, &script(&steps)).await;
    anna.sees("the question", |shown| shown.text.contains("Which red?")).await;
    anna.says(&room, "2").await;
    anna.sees("what was chosen", |shown| shown.text.contains("**Which red?** Dark")).await;
    let (card, _) = anna.sees("the second question", |shown| shown.text.contains("Which blue?")).await;
    sees_choices(&anna, &card, 2).await;
    anna.reacts(&room, &card, &number(1)).await;
    anna.sees("what was chosen then", |shown| shown.text.contains("**Which blue?** Light")).await;
    anna.sees("the answer", |shown| shown.text.contains("As you like.")).await;
    bridge.end().await;
}
