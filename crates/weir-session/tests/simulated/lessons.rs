//! "The stream" among the lessons: each problem on a CLI that has it.

use serde_json::{Value, json};
use weir_session::{Session, SessionOptions, Update};
use weir_transcript::{Change, EntryBody, View};

use crate::place::{Place, running, script, soon};

/// The view after a turn in which the CLI misbehaves, and another one after it.
async fn after(misbehaviour: &Value, options: impl FnOnce(&Place) -> SessionOptions) -> Box<View> {
    let place = Place::new();
    let session = Session::new(options(&place));
    let steps = json!([{"misbehave": misbehaviour, "text": "gr\u{fc}\u{df}e \u{1f30a}"}]);
    let answer = soon(session.ask(script(&steps))).await.unwrap();
    assert_eq!(answer.text, "gr\u{fc}\u{df}e \u{1f30a}", "{misbehaviour}");
    let answer = soon(session.ask(script(&json!([{"text": "next"}])))).await.unwrap();
    assert_eq!(answer.text, "next", "{misbehaviour}");
    let view = session.view().await.unwrap();
    soon(session.stop()).await;
    place.assert_clean().await;
    view
}

async fn turn(misbehaviour: Value) -> Box<View> {
    after(&misbehaviour, Place::options).await
}

fn texts(view: &View) -> Vec<&str> {
    let texts = view.entries.iter().filter_map(|entry| match &entry.body {
        EntryBody::Text(text) => Some(text.text.as_str()),
        _ => None,
    });
    texts.collect()
}

#[tokio::test]
async fn a_new_event_type_or_subtype() {
    assert_eq!(turn(json!("unknown_type")).await.oddities.unknown_types, 1);
    let odd = turn(json!("unknown_subtype")).await.oddities;
    assert_eq!(odd.unknown_types + odd.mismatches, 1, "{odd:?}");
    assert_eq!(turn(json!("unknown_block")).await.oddities.blocks, 1);
}

#[tokio::test]
async fn a_known_type_whose_field_changed_its_type() {
    assert!(turn(json!("changed_type")).await.oddities.mismatches >= 1);
}

#[tokio::test]
async fn a_broken_json_line_or_a_line_of_text() {
    assert_eq!(turn(json!("broken_json")).await.oddities.not_json, 1);
    assert_eq!(turn(json!("sandbox_debug")).await.oddities.not_json, 1);
    assert_eq!(turn(json!("blank_lines")).await.oddities.not_json, 0);
}

#[tokio::test]
async fn a_line_of_two_mebibytes() {
    let view = turn(json!({"huge_line": 2})).await;
    assert!(texts(&view).iter().any(|text| text.len() == 2 << 20));
}

#[tokio::test]
async fn a_line_beyond_the_limit() {
    let options = |place: &Place| {
        let mut options = place.options();
        options.line_limit = Some(1 << 20);
        options.log = None;
        options
    };
    let place = Place::new();
    let session = Session::new(options(&place));
    let steps = json!([{"misbehave": {"huge_line": 2}, "text": "still here"}]);
    assert_eq!(soon(session.ask(script(&steps))).await.unwrap().text, "still here");
    assert_eq!(session.view().await.unwrap().oddities.oversize, 1);
    soon(session.stop()).await;
}

#[tokio::test]
async fn twelve_mebibytes_in_small_lines() {
    turn(json!({"small_lines": 12})).await;
}

#[tokio::test]
async fn three_thousand_quick_messages() {
    let place = Place::new();
    let mut options = place.options();
    options.fold.keep_entries = None;
    let session = Session::new(options);
    let mut updates = session.follow().await.unwrap();
    let follower = tokio::spawn(async move {
        let mut texts = Vec::new();
        while let Some(update) = updates.next().await {
            let Update::Changes(changes) = update else { continue };
            texts.extend(changes.iter().filter_map(|change| match change {
                Change::EntryAdded(entry) => match &entry.body {
                    EntryBody::Text(text) if text.text.starts_with("message ") => Some(text.text.clone()),
                    _ => None,
                },
                _ => None,
            }));
        }
        texts
    });
    let steps = json!([{"misbehave": {"messages": 3000}, "text": "done"}]);
    assert_eq!(soon(session.ask(script(&steps))).await.unwrap().text, "done");
    soon(session.stop()).await;
    let expected: Vec<String> = (1..=3000).map(|number| format!("message {number}")).collect();
    assert_eq!(soon(follower).await.unwrap(), expected);
    place.assert_clean().await;
}

#[tokio::test]
async fn updates_that_are_not_read() {
    let place = Place::new();
    let session = Session::new(place.options());
    let _unread = session.follow().await.unwrap();
    let steps = json!([{"misbehave": {"messages": 3000}, "sleep": 30, "text": "never"}]);
    let _sent = session.send(script(&steps)).await.unwrap();
    running(&session).await;
    assert!(soon(session.interrupt()).await.unwrap());
    soon(session.stop()).await;
    place.assert_clean().await;
}

#[tokio::test]
async fn a_flood_on_the_standard_error() {
    turn(json!({"stderr_flood": 4})).await;
}

#[tokio::test]
async fn an_unknown_control_request_is_answered_with_an_error() {
    let view = turn(json!("unknown_control_request")).await;
    assert!(texts(&view).iter().any(|text| text.contains("does not support")), "{:?}", texts(&view));
}

#[tokio::test]
async fn a_request_that_is_withdrawn_at_once() {
    let options = |place: &Place| place.options().handler(weir_session::LeaveOpen);
    let view = after(&json!("cancelled_request"), options).await;
    assert_eq!(view.requests.len(), 1);
    assert!(
        matches!(view.requests[0].state, weir_transcript::RequestState::Cancelled),
        "{:?}",
        view.requests
    );
}

#[tokio::test]
async fn characters_and_lines_in_pieces() {
    for how in ["split_utf8", "single_bytes", "crlf", "reordered_keys", "duplicate_responses", "keep_alive"] {
        after(&json!([]), |place| place.misbehaving(how)).await;
    }
}

#[tokio::test]
async fn text_both_in_pieces_and_whole_is_shown_once() {
    let view = turn(json!([])).await;
    assert_eq!(texts(&view), ["gr\u{fc}\u{df}e \u{1f30a}", "next"]);
}

#[tokio::test]
async fn a_result_that_is_a_message_object() {
    turn(json!("result_object")).await;
}

#[tokio::test]
async fn thinking_and_lists_as_tool_results() {
    let place = Place::new();
    let session = Session::new(place.options());
    let steps = json!([{"thinking": "hm", "text": "Reading.", "tool": "Bash", "input": {"command": "echo hi"}},
        {"text": "done"}]);
    assert_eq!(soon(session.ask(script(&steps))).await.unwrap().text, "done");
    let view = session.view().await.unwrap();
    let is_thinking = |entry: &EntryBody| matches!(entry, EntryBody::Thinking(entry) if entry.text == "hm");
    assert!(view.entries.iter().any(|entry| is_thinking(&entry.body)));
    soon(session.stop()).await;
    place.assert_clean().await;
}
