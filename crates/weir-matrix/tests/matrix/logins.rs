//! Logins: stored ones, wrong passwords, tokens, and logouts.

use std::sync::Arc;

use serde_json::{Value, json};
use weir_bridge::channel::Channel;
use weir_bridge::config::{MatrixLogin, Secret};
use weir_matrix::MatrixChannel;

use crate::person::Person;
use crate::place::Place;
use crate::{script, synapse};

fn device(place: &Place) -> String {
    let text = std::fs::read_to_string(place.path("matrix/login.json")).unwrap();
    let kept: Value = serde_json::from_str(&text).unwrap();
    kept["device"].as_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_device_comes_back() {
    if synapse::is_skipped() {
        return;
    }
    let anna = Person::new("anna").await;
    let place = Place::new(&[&anna.id]).await;
    let bridge = place.plan.start().await;
    let room = anna.makes_room(true, &[place.bot()]).await;
    anna.sees_joined(&room, place.bot()).await;
    anna.says(&room, &script(&json!([{"text": "Once."}]))).await;
    anna.sees("the answer", |shown| shown.text.contains("Once.")).await;
    bridge.end().await;
    let before = device(&place);
    // It is answered when the bridge is back, and earlier messages are not answered again.
    anna.says(&room, &script(&json!([{"text": "Twice."}]))).await;
    let bridge = place.plan.start().await;
    anna.sees("the second answer", |shown| shown.text.contains("Twice.")).await;
    assert_eq!(device(&place), before);
    assert_eq!(anna.count_of(place.bot()), 2);
    bridge.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_check_says_who_is_logged_in() {
    if synapse::is_skipped() {
        return;
    }
    let place = Place::new(&[]).await;
    let channel = MatrixChannel::new(place.plan.options());
    let lines = channel.check().await.unwrap().join("\n");
    assert!(lines.contains(&format!("the password of {} is correct", place.bot())), "{lines}");
    assert!(!place.path("matrix/login.json").exists(), "a check leaves nothing behind");
    let mut bridge = place.plan.start().await;
    let anna = Person::new("anna").await;
    let _room = anna.makes_room(false, &[place.bot()]).await;
    // This shows that it has logged in.
    bridge.notes("may not invite").await;
    let lines = channel.check().await.unwrap().join("\n");
    assert!(lines.contains(&format!("logged in as {}, device {}", place.bot(), device(&place))), "{lines}");
    bridge.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_password_is_reported() {
    if synapse::is_skipped() {
        return;
    }
    let mut place = Place::new(&[]).await;
    place.plan.password = "wrong".to_owned();
    let error = MatrixChannel::new(place.plan.options()).check().await.unwrap_err().to_string();
    assert!(error.contains("the login failed"), "{error}");
    let error = place.plan.start().await.fails().await;
    assert!(error.contains(&format!("refuses the password of {}", place.bot())), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_works_until_it_is_revoked() {
    if synapse::is_skipped() {
        return;
    }
    let anna = Person::new("anna").await;
    let place = Place::new(&[&anna.id]).await;
    let bot = anna.homeserver_client().await;
    bot.matrix_auth().login_username(place.bot(), crate::person::PASSWORD).send().await.unwrap();
    let token = bot.session_tokens().unwrap().access_token;
    let mut options = place.plan.options();
    options.login = MatrixLogin::AccessToken(Secret::new(&token));
    let lines = MatrixChannel::new(options.clone()).check().await.unwrap().join("\n");
    assert!(lines.contains(&format!("logged in as {}", place.bot())), "{lines}");
    let bridge = place.plan.start_with(Arc::new(MatrixChannel::new(options.clone()))).await;
    let room = anna.makes_room(true, &[place.bot()]).await;
    anna.sees_joined(&room, place.bot()).await;
    anna.says(&room, &script(&json!([{"text": "By token."}]))).await;
    anna.sees("the answer", |shown| shown.text.contains("By token.")).await;
    bot.matrix_auth().logout().await.unwrap();
    let error = bridge.fails().await;
    assert!(error.contains("the homeserver has ended this login"), "{error}");
    let error = MatrixChannel::new(options).check().await.unwrap_err().to_string();
    assert!(error.contains("refuses the access token"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unreachable_homeserver_is_retried() {
    if synapse::is_skipped() {
        return;
    }
    let mut place = Place::new(&[]).await;
    // Nothing listens on this port.
    place.plan.homeserver = "http://127.0.0.1:9".to_owned();
    let mut bridge = place.plan.start().await;
    let note = bridge.notes("trying again").await;
    assert!(note.contains("cannot be reached"), "{note}");
    bridge.notes("trying again").await;
    bridge.end().await;
}
