//! Several viewers of one session, and editors that come and go.

use serde_json::json;
use weir_host::{Actor, NewMessage};
use weir_testkit::{soon, until};

use crate::peer::text_of;
use crate::place::{Place, end, id_of, says, script};

#[tokio::test]
async fn everybody_sees_every_turn() {
    let place = Place::new();
    let host = place.host().await;
    let (mut one, mut two) = (place.editor(&host).await, place.editor(&host).await);
    let session = place.session(&mut one).await;
    soon(two.call("session/resume", json!({"sessionId": session, "cwd": place.work()}))).await.unwrap();
    let id = id_of(&session);
    one.ask(&session, &says("to one")).await.unwrap();
    let from_page =
        soon(host.send(&id, NewMessage::text(says("to the page")), &Actor::new("page"))).await.unwrap();
    soon(host.finished(&id, &from_page.message_id)).await.unwrap();
    two.ask(&session, &says("to two")).await.unwrap();
    // The prompt of the other editor is the last thing that one hears of.
    one.until("the last answer", |m| {
        m["params"]["update"]["content"]["text"].as_str().is_some_and(|t| t.ends_with("two"))
    })
    .await;
    let (ones, twos) = (one.updates(), two.updates());
    let said = text_of(&twos, "agent_message_chunk");
    assert_eq!(said, "to oneto the pageto two");
    let prompts = |updates: &[serde_json::Value]| text_of(updates, "user_message_chunk");
    assert_eq!(prompts(&ones), format!("{}{}", says("to the page"), says("to two")));
    assert_eq!(prompts(&twos), format!("{}{}", says("to one"), says("to the page")));
    end(&host).await;
}

#[tokio::test]
async fn a_running_session_is_loaded_without_a_gap_and_its_open_request_is_asked_at_once() {
    let place = Place::new();
    let host = place.host().await;
    let mut one = place.editor(&host).await;
    let session = place.session(&mut one).await;
    one.ask(&session, &says("before")).await.unwrap();
    let file = place.directory().join("a.txt");
    let steps = json!([
        {"text": "Now I write.", "tool": "Write", "input": {"file_path": file, "content": "x\n"}},
        {"text": "after"},
    ]);
    let asked = one.prompt(&session, &script(&steps)).await;
    one.asked("session/request_permission").await;
    // The first editor dies without an answer.
    one.hang_up().await;
    drop((one, asked));
    let mut two = place.editor(&host).await;
    let load = json!({"sessionId": session, "cwd": place.work(), "mcpServers": []});
    let id = two.request("session/load", load).await;
    let loaded = two.response(id).await.unwrap();
    assert_eq!(loaded["modes"]["currentModeId"], "default");
    let ask = two.asked("session/request_permission").await;
    let replayed = text_of(&two.updates(), "agent_message_chunk");
    assert_eq!(replayed, "beforeNow I write.");
    two.respond(&ask["id"], json!({"outcome": {"outcome": "selected", "optionId": "allow"}})).await;
    two.until("the end", |m| {
        m["params"]["update"]["content"]["text"].as_str().is_some_and(|t| t.ends_with("after"))
    })
    .await;
    assert!(file.exists());
    end(&host).await;
}

#[tokio::test]
async fn a_long_history_is_replayed_whole_and_in_order() {
    let place = Place::new();
    let host = place.host().await;
    let mut one = place.editor(&host).await;
    let session = place.session(&mut one).await;
    // More entries than a view has.
    let calls: Vec<serde_json::Value> = (0..60)
        .map(|at| json!({"text": format!("[{at}]"), "tool": "Glob", "input": {"pattern": "*.rs"}}))
        .collect();
    for round in 0..3 {
        let mut steps = calls.clone();
        steps.push(json!({"text": format!("end {round}")}));
        one.ask(&session, &script(&json!(steps))).await.unwrap();
    }
    let live = text_of(&one.updates(), "agent_message_chunk");
    let mut two = place.editor(&host).await;
    let load = json!({"sessionId": session, "cwd": place.work(), "mcpServers": []});
    soon(two.call("session/load", load)).await.unwrap();
    let replayed = two.updates();
    assert_eq!(text_of(&replayed, "agent_message_chunk"), live);
    let calls = replayed.iter().filter(|update| update["sessionUpdate"] == "tool_call").count();
    assert_eq!(calls, 180);
    let prompts = replayed.iter().filter(|update| update["sessionUpdate"] == "user_message_chunk").count();
    assert_eq!(prompts, 3);
    end(&host).await;
}

#[tokio::test]
async fn an_editor_that_dies_leaves_the_session_and_the_next_one_goes_on() {
    let place = Place::new();
    let host = place.host().await;
    let mut one = place.editor(&host).await;
    let session = place.session(&mut one).await;
    let slow = script(&json!([{"sleep": 0.2, "text": "I finish alone."}]));
    let _asked = one.prompt(&session, &slow).await;
    until("the message", || host.metrics().processes > 0).await;
    one.hang_up().await;
    drop(one);
    let mut two = place.editor(&host).await;
    let load = json!({"sessionId": session, "cwd": place.work(), "mcpServers": []});
    soon(two.call("session/load", load)).await.unwrap();
    assert_eq!(two.ask(&session, &says("And I go on.")).await.unwrap()["stopReason"], "end_turn");
    assert_eq!(text_of(&two.updates(), "agent_message_chunk"), "I finish alone.And I go on.");
    end(&host).await;
}

#[tokio::test]
async fn a_cancel_ends_the_own_prompt_and_not_the_turn_of_another() {
    let place = Place::new();
    let host = place.host().await;
    let (mut one, mut two) = (place.editor(&host).await, place.editor(&host).await);
    let session = place.session(&mut one).await;
    soon(two.call("session/resume", json!({"sessionId": session, "cwd": place.work()}))).await.unwrap();
    let file = place.directory().join("a.txt");
    let steps = json!([{"tool": "Write", "input": {"file_path": file, "content": "x\n"}}, {"text": "mine"}]);
    let first = one.prompt(&session, &script(&steps)).await;
    let ask = one.asked("session/request_permission").await;
    let second = two.prompt(&session, &says("queued")).await;
    two.notify("session/cancel", json!({"sessionId": session})).await;
    assert_eq!(two.response(second).await.unwrap()["stopReason"], "cancelled");
    one.respond(&ask["id"], json!({"outcome": {"outcome": "selected", "optionId": "allow"}})).await;
    assert_eq!(one.response(first).await.unwrap()["stopReason"], "end_turn");
    assert!(file.exists());
    end(&host).await;
}

#[tokio::test]
async fn a_restart_of_the_host_loses_nothing_and_the_next_prompt_works() {
    let place = Place::new();
    let host = place.host().await;
    let mut one = place.editor(&host).await;
    let session = place.session(&mut one).await;
    one.ask(&session, &says("before")).await.unwrap();
    one.hang_up().await;
    end(&host).await;
    drop((host, one));
    let host = place.host().await;
    let mut two = place.editor(&host).await;
    // Without opening the session again.
    assert_eq!(two.ask(&session, &says("after")).await.unwrap()["stopReason"], "end_turn");
    let mut three = place.editor(&host).await;
    let load = json!({"sessionId": session, "cwd": place.work(), "mcpServers": []});
    soon(three.call("session/load", load)).await.unwrap();
    assert_eq!(text_of(&three.updates(), "agent_message_chunk"), "beforeafter");
    end(&host).await;
}
