//! Lines that broke other programs.

use serde_json::json;
use weir_session::SessionOptions;
use weir_transcript::{EntryBody, Notice, UnknownReason, View};

use crate::played::{asking, session};

/// The view after a turn in which the CLI writes these bytes.
async fn after(bytes: &[u8]) -> Box<View> {
    let (session, stage) = session(SessionOptions::new());
    let asked = asking(&session, "one");
    let mut cli = stage.ready().await;
    let id = cli.begins("one").await;
    cli.says_raw(bytes).await;
    cli.text("still here").await;
    cli.result("still here", &[&id]).await;
    assert_eq!(asked.await.unwrap().unwrap().text, "still here");
    let view = session.view().await.unwrap();
    session.stop().await;
    view
}

fn unknown(view: &View) -> Vec<(UnknownReason, &str)> {
    let entries = view.entries.iter().filter_map(|entry| match &entry.body {
        EntryBody::Unknown(unknown) => Some((unknown.reason, unknown.raw.as_str())),
        _ => None,
    });
    entries.collect()
}

/// The lines that were not understood, whether or not they are shown as text.
fn kept(view: &View) -> Vec<&str> {
    let entries = view.entries.iter().filter_map(|entry| match &entry.body {
        EntryBody::Unknown(unknown) => Some(unknown.raw.as_str()),
        EntryBody::Notice { notice: Notice::PlainText { text } } => Some(text.as_str()),
        _ => None,
    });
    entries.collect()
}

#[tokio::test(start_paused = true)]
async fn a_new_event_type_is_passed_on_and_counted() {
    let view = after(b"{\"type\":\"brand_new\",\"x\":1}\n").await;
    assert_eq!(view.oddities.unknown_types, 1);
    assert_eq!(unknown(&view), [(UnknownReason::UnknownType, "{\"type\":\"brand_new\",\"x\":1}")]);
}

#[tokio::test(start_paused = true)]
async fn a_known_type_whose_field_changed_its_type_is_a_mismatch() {
    let view = after(b"{\"type\":\"assistant\",\"message\":[1,2]}\n").await;
    assert_eq!(view.oddities.mismatches, 1);
    assert_eq!(unknown(&view)[0].0, UnknownReason::Mismatch);
}

#[tokio::test(start_paused = true)]
async fn a_broken_line_does_not_end_the_session() {
    for broken in ["{\"type\":\"assistant\"", "[SandboxDebug] gr\u{fc}\u{df}e \u{1f30a}", "\u{fffd}}", "null"]
    {
        let view = after(format!("{broken}\n").as_bytes()).await;
        let odd = view.oddities;
        assert_eq!(odd.not_json + odd.unknown_types + odd.mismatches, 1, "{broken}");
        assert_eq!(kept(&view), [broken]);
    }
    let view = after(b"not utf-8: \xff\xfe\n").await;
    assert_eq!(view.oddities.not_json, 1);
}

#[tokio::test(start_paused = true)]
async fn blank_lines_are_ignored() {
    let view = after(b"\n\r\n\n").await;
    assert_eq!(unknown(&view), []);
}

#[tokio::test(start_paused = true)]
async fn a_line_of_two_mebibytes_is_whole() {
    let text = "x".repeat(2 << 20);
    let line =
        json!({"type": "assistant", "message": {"id": "big", "content": [{"type": "text", "text": text}]}});
    let view = after(format!("{line}\n").as_bytes()).await;
    let is_whole = |entry: &EntryBody| matches!(entry, EntryBody::Text(entry) if entry.text.len() == 2 << 20);
    assert!(view.entries.iter().any(|entry| is_whole(&entry.body)));
}

#[tokio::test(start_paused = true)]
async fn a_multi_byte_character_split_over_two_reads_is_whole() {
    let (session, stage) = session(SessionOptions::new());
    let asked = asking(&session, "one");
    let mut cli = stage.ready().await;
    let id = cli.begins("one").await;
    let line = format!(
        "{}\n",
        json!({"type": "assistant", "message": {"id": "wave", "content": [{"type": "text", "text": "a \u{1f30a} wave"}]}})
    );
    for byte in line.as_bytes() {
        cli.says_raw(&[*byte]).await;
        tokio::task::yield_now().await;
    }
    cli.says(&json!({"type": "result", "subtype": "success", "is_error": false, "num_turns": 1,
        "user_message_uuids": [id]}))
        .await;
    assert_eq!(asked.await.unwrap().unwrap().text, "a \u{1f30a} wave");
    session.stop().await;
}

#[tokio::test(start_paused = true)]
async fn the_last_line_counts_even_without_a_line_feed() {
    let (session, stage) = session(SessionOptions::new());
    let asked = asking(&session, "one");
    let mut cli = stage.ready().await;
    let id = cli.begins("one").await;
    let mut line = crate::played::result("the end");
    line["user_message_uuids"] = json!([id]);
    cli.says_raw(line.to_string().as_bytes()).await;
    cli.exits(0);
    assert_eq!(asked.await.unwrap().unwrap().text, "the end");
    session.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_truncated_last_line_with_exit_0_is_an_error() {
    let (session, stage) = session(SessionOptions::new());
    let asked = asking(&session, "one");
    let mut cli = stage.ready().await;
    cli.begins("one").await;
    cli.says_raw(b"{\"type\":\"result\",\"subtype\":\"succ").await;
    cli.exits(0);
    assert!(asked.await.unwrap().is_err());
    assert_eq!(session.view().await.unwrap().oddities.not_json, 1);
    session.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_flood_of_stderr_blocks_nothing() {
    let (session, stage) = session(SessionOptions::new());
    let asked = asking(&session, "one");
    let mut cli = stage.ready().await;
    let id = cli.begins("one").await;
    for _ in 0..1000 {
        cli.peer_mut().write_stderr(&"noise ".repeat(1000));
    }
    cli.result("fine", &[&id]).await;
    assert_eq!(asked.await.unwrap().unwrap().text, "fine");
    session.stop().await;
}

#[tokio::test(start_paused = true)]
async fn text_in_pieces_and_whole_is_shown_once() {
    let piece = |event| format!("{}\n", json!({"type": "stream_event", "event": event, "session_id": "s"}));
    let mut bytes = piece(json!({"type": "message_start", "message": {"id": "m1", "role": "assistant"}}));
    bytes += &piece(
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
    );
    for text in ["on", "ce"] {
        bytes += &piece(
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}}),
        );
    }
    let whole =
        json!({"type": "assistant", "message": {"id": "m1", "content": [{"type": "text", "text": "once"}]}});
    bytes += &format!("{whole}\n");
    bytes += &piece(json!({"type": "content_block_stop", "index": 0}));
    let view = after(bytes.as_bytes()).await;
    let texts = view.entries.iter().filter_map(|entry| match &entry.body {
        EntryBody::Text(text) => Some(text.text.as_str()),
        _ => None,
    });
    assert_eq!(texts.collect::<Vec<_>>(), ["once", "still here"]);
}
