//! The protocol itself: versions, errors, and input that is not a message.

use super::*;

pub(super) async fn greets(subject: &impl Subject) -> Checked {
    let client = Client::greet(subject).await?;
    expect(client.hello["protocolVersion"] == 1, || format!("version {}", client.hello["protocolVersion"]))?;
    expect(client.hello["agentCapabilities"].is_object(), || "no capabilities".into())
}

pub(super) async fn negotiates_the_version(subject: &impl Subject) -> Checked {
    let mut peer = subject.connect().await;
    let hello = peer.call("initialize", json!({"protocolVersion": 999})).await?;
    expect(hello["protocolVersion"].as_u64().is_some_and(|version| version < 999), || hello.to_string())
}

pub(super) async fn refuses_a_session_before_initialize(subject: &impl Subject) -> Checked {
    let mut peer = subject.connect().await;
    let opened = peer.call("session/new", json!({"cwd": subject.folder(), "mcpServers": []})).await;
    expect(opened.is_err(), || format!("{opened:?}"))
}

pub(super) async fn refuses_unknown_methods(subject: &impl Subject) -> Checked {
    let mut client = Client::greet(subject).await?;
    let error = client.peer.call("session/nonsense", json!({})).await;
    expect(matches!(&error, Err(error) if error["code"] == -32601), || format!("{error:?}"))
}

pub(super) async fn refuses_bad_parameters(subject: &impl Subject) -> Checked {
    let mut client = Client::greet(subject).await?;
    let error = client.peer.call("session/new", json!({"cwd": 7})).await;
    expect(matches!(&error, Err(error) if error["code"] == -32602), || format!("{error:?}"))
}

pub(super) async fn refuses_unknown_sessions(subject: &impl Subject) -> Checked {
    let mut client = Client::greet(subject).await?;
    let error = client.peer.ask("00000000-0000-4000-8000-000000000000", "hello").await;
    expect(error.is_err(), || format!("{error:?}"))
}

pub(super) async fn survives_malformed_lines(subject: &impl Subject) -> Checked {
    let (mut client, session) = Client::open(subject).await?;
    client.peer.write(b"{not json\n").await;
    expect_end(&client.peer.ask(&session, &says("still here")).await, "end_turn")
}

pub(super) async fn survives_unknown_notifications_and_responses(subject: &impl Subject) -> Checked {
    let (mut client, session) = Client::open(subject).await?;
    client.peer.notify("session/nonsense", json!({"a": 1})).await;
    client.peer.notify("session/cancel", json!({"sessionId": "nobody"})).await;
    client.peer.respond(&json!(4711), json!({})).await;
    expect_end(&client.peer.ask(&session, &says("still here")).await, "end_turn")
}

pub(super) async fn ends_when_the_client_leaves(subject: &impl Subject) -> Checked {
    let (mut client, session) = Client::open(subject).await?;
    client.peer.ask(&session, &says("hello")).await?;
    client.peer.hang_up().await;
    while client.peer.next().await.is_some() {}
    Ok(())
}
