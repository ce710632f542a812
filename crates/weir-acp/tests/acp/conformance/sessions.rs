//! Sessions as a whole, as far as the agent says that it can do these things.

use super::*;
use crate::peer::text_of;

fn load(subject: &impl Subject, session: &str) -> Value {
    json!({"sessionId": session, "cwd": subject.folder(), "mcpServers": []})
}

pub(super) async fn replays_a_session(subject: &impl Subject) -> Checked {
    let (mut client, session) = Client::open(subject).await?;
    offered(client.can("/loadSession"))?;
    client.peer.ask(&session, &says("remember me")).await?;
    client.peer.updates();
    client.peer.call("session/load", load(subject, &session)).await?;
    let updates = client.peer.updates();
    let said = text_of(&updates, "agent_message_chunk");
    expect(said.contains("remember me"), || format!("{updates:?}"))?;
    expect(!text_of(&updates, "user_message_chunk").is_empty(), || "the prompt is missing".into())
}

pub(super) async fn replays_a_session_to_another_client(subject: &impl Subject) -> Checked {
    let (mut client, session) = Client::open(subject).await?;
    offered(client.can("/loadSession"))?;
    client.peer.ask(&session, &says("remember me")).await?;
    client.peer.hang_up().await;
    while client.peer.next().await.is_some() {}
    let mut other = Client::greet(subject).await?;
    other.peer.call("session/load", load(subject, &session)).await?;
    let updates = other.peer.updates();
    let said = text_of(&updates, "agent_message_chunk");
    expect(said == "remember me", || format!("{updates:?}"))?;
    expect_end(&other.peer.ask(&session, &says("and go on")).await, "end_turn")
}

pub(super) async fn resumes_without_a_replay(subject: &impl Subject) -> Checked {
    let (mut client, session) = Client::open(subject).await?;
    offered(client.can("/sessionCapabilities/resume"))?;
    client.peer.ask(&session, &says("remember me")).await?;
    client.peer.hang_up().await;
    while client.peer.next().await.is_some() {}
    let mut other = Client::greet(subject).await?;
    other.peer.call("session/resume", load(subject, &session)).await?;
    let updates = other.peer.updates();
    expect(text_of(&updates, "agent_message_chunk").is_empty(), || format!("{updates:?}"))?;
    expect_end(&other.peer.ask(&session, &says("and go on")).await, "end_turn")
}

async fn listed(client: &mut Client, query: Value) -> Result<Vec<String>, Outcome> {
    let (mut found, mut cursor) = (Vec::new(), Value::Null);
    loop {
        let mut query = query.clone();
        if !cursor.is_null() {
            query["cursor"] = cursor;
        }
        let page = client.peer.call("session/list", query).await?;
        let sessions = page["sessions"].as_array().ok_or("no list")?.iter();
        found.extend(sessions.filter_map(|session| session["sessionId"].as_str()).map(str::to_owned));
        cursor = page["nextCursor"].clone();
        if cursor.is_null() {
            return Ok(found);
        }
    }
}

pub(super) async fn lists_sessions_by_folder(subject: &impl Subject) -> Checked {
    let (mut client, session) = Client::open(subject).await?;
    offered(client.can("/sessionCapabilities/list"))?;
    client.peer.ask(&session, &says("listed")).await?;
    let all = listed(&mut client, json!({})).await?;
    expect(all.contains(&session), || format!("{session} is not among {all:?}"))?;
    let here = listed(&mut client, json!({"cwd": subject.folder()})).await?;
    expect(here.contains(&session), || format!("{session} is not among {here:?}"))?;
    let elsewhere = listed(&mut client, json!({"cwd": subject.folder().join("elsewhere")})).await?;
    expect(elsewhere.is_empty(), || format!("{elsewhere:?}"))
}

pub(super) async fn closes_a_session(subject: &impl Subject) -> Checked {
    let (mut client, session) = Client::open(subject).await?;
    offered(client.can("/sessionCapabilities/close"))?;
    let id = client.peer.prompt(&session, &script(&json!([{"text": "one two", "wdelay": 25}]))).await;
    client.peer.update("agent_message_chunk").await;
    client.peer.call("session/close", json!({"sessionId": session})).await?;
    // What ran is cancelled.
    expect_end(&client.peer.response(id).await, "cancelled")
}

pub(super) async fn deletes_a_session(subject: &impl Subject) -> Checked {
    let (mut client, session) = Client::open(subject).await?;
    offered(client.can("/sessionCapabilities/delete"))?;
    client.peer.ask(&session, &says("soon gone")).await?;
    client.peer.call("session/delete", json!({"sessionId": session})).await?;
    let loaded = client.peer.call("session/load", load(subject, &session)).await;
    expect(loaded.is_err(), || format!("{loaded:?}"))
}

pub(super) async fn forks_a_session(subject: &impl Subject) -> Checked {
    let (mut client, session) = Client::open(subject).await?;
    offered(client.can("/sessionCapabilities/fork"))?;
    client.peer.ask(&session, &says("before")).await?;
    let forked = client.peer.call("session/fork", load(subject, &session)).await?;
    let fork = forked["sessionId"].as_str().ok_or("no sessionId")?.to_owned();
    expect(fork != session, || "the same id".into())?;
    expect_end(&client.peer.ask(&fork, &says("after")).await, "end_turn")
}

pub(super) async fn changes_the_mode(subject: &impl Subject) -> Checked {
    let mut client = Client::greet(subject).await?;
    let opened = client.new_session(subject).await?;
    let (session, modes) = (&opened["sessionId"], &opened["modes"]);
    offered(modes.is_object())?;
    let all = modes["availableModes"].as_array().ok_or("no modes")?;
    let other = all.iter().find(|mode| mode["id"] != modes["currentModeId"]).ok_or("one mode")?;
    let set = |mode: &Value| json!({"sessionId": session, "modeId": mode});
    client.peer.call("session/set_mode", set(&other["id"])).await?;
    let unknown = client.peer.call("session/set_mode", set(&json!("no-such-mode"))).await;
    expect(unknown.is_err(), || format!("{unknown:?}"))
}

pub(super) async fn changes_an_option(subject: &impl Subject) -> Checked {
    let mut client = Client::greet(subject).await?;
    let opened = client.new_session(subject).await?;
    let session = &opened["sessionId"];
    let options = opened["configOptions"].as_array().cloned().unwrap_or_default();
    offered(!options.is_empty())?;
    let of = |option: &Value| option["options"].as_array().cloned().unwrap_or_default();
    let another =
        |option: &Value| of(option).into_iter().find(|value| value["value"] != option["currentValue"]);
    let found =
        options.iter().find_map(|option| Some((option["id"].clone(), another(option)?["value"].clone())));
    let (option, value) = found.ok_or("no option with two values")?;
    let set = |value: &Value| json!({"sessionId": session, "configId": option, "value": value});
    let changed = client.peer.call("session/set_config_option", set(&value)).await?;
    let changed = changed["configOptions"].as_array().ok_or("no options")?;
    let now = changed.iter().find(|now| now["id"] == option).ok_or("the option is gone")?;
    expect(now["currentValue"] == value, || now.to_string())?;
    let unknown = client.peer.call("session/set_config_option", set(&json!("no-such-value"))).await;
    expect(unknown.is_err(), || format!("{unknown:?}"))
}
