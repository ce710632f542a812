//! Prompts: what they may hold, what is told of a turn, and how it ends.

use super::*;
use crate::peer::text_of;

/// A picture of one pixel.
const PICTURE: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

pub(super) async fn streams_before_it_answers(subject: &impl Subject) -> Checked {
    let (mut client, session) = Client::open(subject).await?;
    expect_end(&client.peer.ask(&session, &says("one two three four")).await, "end_turn")?;
    let said = text_of(&client.peer.updates(), "agent_message_chunk");
    expect(said == "one two three four", || format!("{said:?}"))
}

pub(super) async fn loses_nothing_of_a_long_answer(subject: &impl Subject) -> Checked {
    let (mut client, session) = Client::open(subject).await?;
    let text = (0..2_000).map(|number| format!("w{number}")).collect::<Vec<_>>().join(" ");
    expect_end(&client.peer.ask(&session, &says(&text)).await, "end_turn")?;
    let said = text_of(&client.peer.updates(), "agent_message_chunk");
    expect(said == text, || format!("{} of {} bytes", said.len(), text.len()))
}

pub(super) async fn shows_thoughts(subject: &impl Subject) -> Checked {
    let (mut client, session) = Client::open(subject).await?;
    let steps = json!([{"thinking": "Let me see.", "text": "Seen."}]);
    expect_end(&client.peer.ask(&session, &script(&steps)).await, "end_turn")?;
    let updates = client.peer.updates();
    let thought = text_of(&updates, "agent_thought_chunk");
    expect(thought == "Let me see." && text_of(&updates, "agent_message_chunk") == "Seen.", || {
        format!("{updates:?}")
    })
}

pub(super) async fn shows_tool_calls(subject: &impl Subject) -> Checked {
    let (mut client, session) = Client::open(subject).await?;
    let file = subject.folder().join("to-read.txt");
    std::fs::write(&file, "the content\n").map_err(|error| error.to_string())?;
    let steps = json!([{"tool": "Read", "input": {"file_path": file}}, {"text": "done"}]);
    client.peer.ask(&session, &script(&steps)).await?;
    let updates = client.peer.updates();
    let call = updates.iter().find(|update| update["sessionUpdate"] == "tool_call").ok_or("no tool_call")?;
    expect(call["title"].is_string(), || format!("{call}"))?;
    let mut later = updates.iter().filter(|update| update["toolCallId"] == call["toolCallId"]);
    expect(later.any(|update| update["status"] == "completed"), || format!("{updates:?}"))?;
    let located = updates.iter().any(|update| update["locations"][0]["path"] == json!(file));
    expect(located, || format!("no location: {updates:?}"))
}

pub(super) async fn shows_differences(subject: &impl Subject) -> Checked {
    let (mut client, session) = Client::open(subject).await?;
    let file = subject.folder().join("to-edit.txt");
    std::fs::write(&file, "one\ntwo\nthree\n").map_err(|error| error.to_string())?;
    let edit = json!({"file_path": file, "old_string": "two", "new_string": "2"});
    let steps = json!([
        {"tool": "Read", "input": {"file_path": file}}, {"tool": "Edit", "input": edit}, {"text": "done"},
    ]);
    let id = client.peer.prompt(&session, &script(&steps)).await;
    permissions::answer(&mut client.peer, "allow_once").await;
    client.peer.response(id).await?;
    let updates = client.peer.updates();
    let shown = updates.iter().filter_map(|update| update["content"].as_array()).flatten();
    let mut diffs = shown.filter(|content| content["type"] == "diff" && content["path"] == json!(file));
    let is_shown = diffs.any(|diff| diff["newText"].as_str().is_some_and(|text| text.contains('2')));
    expect(is_shown, || format!("{updates:?}"))
}

async fn takes(subject: &impl Subject, capability: &str, block: Value) -> Checked {
    let (mut client, session) = Client::open(subject).await?;
    offered(client.can(capability))?;
    let prompt = json!([{"type": "text", "text": says("taken")}, block]);
    let ended = client.peer.call("session/prompt", json!({"sessionId": session, "prompt": prompt})).await;
    expect_end(&ended, "end_turn")?;
    let said = text_of(&client.peer.updates(), "agent_message_chunk");
    expect(said == "taken", || format!("{said:?}"))
}

pub(super) async fn takes_pictures(subject: &impl Subject) -> Checked {
    let block = json!({"type": "image", "mimeType": "image/png", "data": PICTURE});
    takes(subject, "/promptCapabilities/image", block).await
}

pub(super) async fn takes_embedded_resources(subject: &impl Subject) -> Checked {
    let resource = json!({"uri": "file:///a.rs", "mimeType": "text/plain", "text": "let a = 1;"});
    let block = json!({"type": "resource", "resource": resource});
    takes(subject, "/promptCapabilities/embeddedContext", block).await
}

pub(super) async fn takes_a_prompt_of_a_megabyte(subject: &impl Subject) -> Checked {
    let (mut client, session) = Client::open(subject).await?;
    let prompt = json!([
        {"type": "text", "text": format!("{}\n", "x".repeat(1 << 20))}, {"type": "text", "text": says("taken")},
    ]);
    let ended = client.peer.call("session/prompt", json!({"sessionId": session, "prompt": prompt})).await;
    expect_end(&ended, "end_turn")
}

pub(super) async fn keeps_two_sessions_apart(subject: &impl Subject) -> Checked {
    let (mut client, one) = Client::open(subject).await?;
    let two = client.session(subject).await?;
    expect(one != two, || "the same id".into())?;
    let first = client.peer.prompt(&one, &says("said in one")).await;
    let second = client.peer.prompt(&two, &says("said in two")).await;
    expect_end(&client.peer.response(first).await, "end_turn")?;
    expect_end(&client.peer.response(second).await, "end_turn")?;
    for (session, text) in [(one, "said in one"), (two, "said in two")] {
        let of_it = |message: &&Value| message["params"]["sessionId"] == json!(session);
        let updates =
            client.peer.seen.iter().filter(of_it).map(|message| message["params"]["update"].clone());
        let said = text_of(&updates.collect::<Vec<_>>(), "agent_message_chunk");
        expect(said == text, || format!("{said:?}"))?;
    }
    Ok(())
}

fn slow() -> String {
    script(&json!([{"text": "one two three", "wdelay": 25}]))
}

pub(super) async fn cancels_a_running_turn(subject: &impl Subject) -> Checked {
    let (mut client, session) = Client::open(subject).await?;
    let id = client.peer.prompt(&session, &slow()).await;
    client.peer.update("agent_message_chunk").await;
    client.peer.notify("session/cancel", json!({"sessionId": session})).await;
    expect_end(&client.peer.response(id).await, "cancelled")?;
    expect_end(&client.peer.ask(&session, &says("fine")).await, "end_turn")
}

pub(super) async fn cancels_a_turn_that_has_not_begun(subject: &impl Subject) -> Checked {
    let (mut client, session) = Client::open(subject).await?;
    let id = client.peer.prompt(&session, &slow()).await;
    client.peer.notify("session/cancel", json!({"sessionId": session})).await;
    expect_end(&client.peer.response(id).await, "cancelled")
}

pub(super) async fn ignores_a_cancel_without_a_turn(subject: &impl Subject) -> Checked {
    let (mut client, session) = Client::open(subject).await?;
    client.peer.notify("session/cancel", json!({"sessionId": session})).await;
    // Answered after the cancellation was read.
    let _ = client.peer.call("session/nonsense", json!({})).await;
    expect_end(&client.peer.ask(&session, &says("fine")).await, "end_turn")
}

pub(super) async fn reports_an_error_of_the_api(subject: &impl Subject) -> Checked {
    let (mut client, session) = Client::open(subject).await?;
    let steps = json!([{"status": 400, "etype": "invalid_request_error", "msg": "bad things"}]);
    let ended = client.peer.ask(&session, &script(&steps)).await;
    expect(ended.is_err(), || format!("{ended:?}"))
}

pub(super) async fn reports_a_refusal(subject: &impl Subject) -> Checked {
    let (mut client, session) = Client::open(subject).await?;
    // Agents may ask again.
    let step = json!({"text": "no", "stop_reason": "refusal"});
    expect_end(&client.peer.ask(&session, &script(&json!(vec![step; 12]))).await, "refusal")
}

pub(super) async fn reports_the_limit_of_tokens(subject: &impl Subject) -> Checked {
    let (mut client, session) = Client::open(subject).await?;
    // Agents may ask the model to continue, which it does not.
    let step = json!({"text": "cut", "stop_reason": "max_tokens"});
    expect_end(&client.peer.ask(&session, &script(&json!(vec![step; 12]))).await, "max_tokens")
}
