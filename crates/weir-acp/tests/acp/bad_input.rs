//! What a broken or hostile editor sends: a proper error, nothing hangs, nothing is allowed.

use serde_json::{Value, json};
use weir_host::Host;
use weir_testkit::{soon, until};

use crate::peer::Peer;
use crate::place::{Place, end, says, script};

#[tokio::test]
async fn nothing_works_before_initialize_and_initialize_works_once() {
    let place = Place::new();
    let host = place.host().await;
    let mut editor = Place::silent_editor(&host);
    let early = [
        ("session/new", json!({"cwd": place.work(), "mcpServers": []})),
        ("session/list", json!({})),
        ("session/prompt", json!({"sessionId": "x", "prompt": []})),
        ("authenticate", json!({"methodId": "claude-login"})),
    ];
    for (method, params) in early {
        let error = editor.call(method, params).await.unwrap_err();
        assert!(error["code"].as_i64().unwrap() < 0, "{method}: {error}");
    }
    assert!(editor.call("initialize", json!({"protocolVersion": 1})).await.is_ok());
    assert!(editor.call("initialize", json!({"protocolVersion": 1})).await.is_err());
    end(&host).await;
}

#[tokio::test]
async fn malformed_messages_get_errors_and_the_connection_lives() {
    let place = Place::new();
    let host = place.host().await;
    malformed_messages(&place, place.editor(&host).await).await;
    end(&host).await;
}

#[tokio::test]
async fn malformed_messages_over_http_get_errors_and_the_connection_lives() {
    let place = Place::new();
    let host = place.host().await;
    malformed_messages(&place, place.editor_over_http(&host).await).await;
    end(&host).await;
}

async fn malformed_messages(place: &Place, mut editor: Peer) {
    let session = place.session(&mut editor).await;
    for bytes in [&b"{not json\n"[..], b"[]\n", b"17\n", b"\"text\"\n", b"{}\n", b"\xff\xfe\n"] {
        editor.write(bytes).await;
        let error = editor.until("an error", |message| message.get("error").is_some()).await;
        assert!(matches!(error["error"]["code"].as_i64(), Some(-32700 | -32600)), "{error}");
    }
    for (method, params, code) in [
        ("session/nonsense", json!({}), -32601),
        ("session/new", json!({"cwd": 7}), -32602),
        ("session/prompt", json!({"sessionId": session}), -32602),
        ("session/prompt", json!({"sessionId": session, "prompt": "text"}), -32602),
        ("session/prompt", json!({"sessionId": session, "prompt": []}), -32602),
        ("session/prompt", json!({"sessionId": session, "prompt": [{"type": "text", "text": "  "}]}), -32602),
        (
            "session/prompt",
            json!({"sessionId": session, "prompt": [{"type": "audio", "data": "", "mimeType": "a/b"}]}),
            -32602,
        ),
        ("session/prompt", json!({"sessionId": "nobody", "prompt": [{"type": "text", "text": "x"}]}), -32002),
        (
            "session/prompt",
            json!({"sessionId": "../../etc", "prompt": [{"type": "text", "text": "x"}]}),
            -32002,
        ),
        ("session/load", json!({"sessionId": "nobody", "cwd": place.work(), "mcpServers": []}), -32002),
        ("session/close", json!({"sessionId": "'; drop table"}), -32002),
        ("session/new", json!({"cwd": "relative", "mcpServers": []}), -32602),
        ("session/new", json!({"cwd": "/", "mcpServers": []}), -32602),
        ("session/new", json!({"cwd": place.directory().join("../home"), "mcpServers": []}), -32602),
    ] {
        let error = editor.call(method, params.clone()).await.unwrap_err();
        assert_eq!(error["code"], code, "{method} {params}: {error}");
    }
    // Responses to nothing, and notifications of nothing.
    editor.respond(&json!(999), json!({})).await;
    editor.notify("session/cancel", json!({"sessionId": "nobody"})).await;
    editor.notify("session/nonsense", json!({})).await;
    // Parameters of another shape, and methods and ids of other types: whoever waits gets an answer.
    for (line, code) in [
        (r#"{"jsonrpc":"2.0","id":"params","method":"session/new","params":[]}"#, -32602),
        (r#"{"jsonrpc":"2.0","id":"params","method":"session/prompt","params":{"sessionId":7}}"#, -32602),
        (r#"{"jsonrpc":"2.0","id":"params","method":"session/load"}"#, -32602),
    ] {
        editor.write(format!("{line}\n").as_bytes()).await;
        let error = editor.until("an error", |message| message.get("error").is_some()).await;
        assert_eq!(
            (&error["id"], &error["error"]["code"]),
            (&json!("params"), &json!(code)),
            "{line} {error}"
        );
    }
    let (deep, long) = ("[".repeat(200_000), "x".repeat(1 << 20));
    for line in [
        r#"{"jsonrpc":"2.0","id":1.5,"method":7}"#.to_owned(),
        r#"{"jsonrpc":"2.0","id":3,"method":"session/prompt","params":7}"#.to_owned(),
        r#"{"jsonrpc":"1.0","id":4,"method":"session/list"}"#.to_owned(),
        r#"{"jsonrpc":"2.0","id":{"a":1},"method":"session/list"}"#.to_owned(),
        r#"[{"jsonrpc":"2.0","id":9,"method":"session/list"}]"#.to_owned(),
        format!(r#"{{"jsonrpc":"2.0","id":5,"method":"session/list","params":{deep}"#),
        format!(r#"{{"jsonrpc":"2.0","id":6,"method":"{long}"}}"#),
    ] {
        editor.write(format!("{line}\n").as_bytes()).await;
        let start: String = line.chars().take(80).collect();
        let error = editor.until(&start, |message| message.get("error").is_some()).await;
        assert!(error["error"]["code"].as_i64().unwrap() <= -32600, "{start} {error}");
    }
    assert_eq!(editor.ask(&session, &says("still here")).await.unwrap()["stopReason"], "end_turn");
}

#[tokio::test]
async fn a_session_id_that_exists_in_form_only_is_not_found() {
    let place = Place::new();
    let host = place.host().await;
    let mut editor = place.editor(&host).await;
    let unknown = weir_host::SessionId::random().to_string();
    let error = editor.ask(&unknown, "hello").await.unwrap_err();
    assert_eq!((&error["code"], &error["data"]["sessionId"]), (&json!(-32002), &json!(unknown)));
    end(&host).await;
}

#[tokio::test]
async fn a_huge_prompt_is_refused_and_the_next_one_works() {
    let place = Place::new();
    let host = place.host().await;
    let mut editor = place.editor(&host).await;
    let session = place.session(&mut editor).await;
    let error = editor.ask(&session, &"x".repeat(33 << 20)).await.unwrap_err();
    assert_eq!(error["code"], -32602, "{error}");
    assert_eq!(editor.ask(&session, &says("fine")).await.unwrap()["stopReason"], "end_turn");
    end(&host).await;
}

#[tokio::test]
async fn an_editor_that_never_answers_can_still_cancel_and_leave() {
    let place = Place::new();
    let host = place.host().await;
    never_answers(&place, &host, place.editor(&host).await).await;
}

#[tokio::test]
async fn an_editor_over_http_that_never_answers_can_still_cancel_and_leave() {
    let place = Place::new();
    let host = place.host().await;
    never_answers(&place, &host, place.editor_over_http(&host).await).await;
}

async fn never_answers(place: &Place, host: &Host, mut editor: Peer) {
    let session = place.session(&mut editor).await;
    let file = place.directory().join("never.txt");
    let steps = json!([{"tool": "Write", "input": {"file_path": file, "content": "x"}}, {"text": "done"}]);
    let asked = editor.prompt(&session, &script(&steps)).await;
    editor.asked("session/request_permission").await;
    editor.notify("session/cancel", json!({"sessionId": session})).await;
    assert_eq!(editor.response(asked).await.unwrap()["stopReason"], "cancelled");
    let _asked = editor.prompt(&session, &script(&steps)).await;
    editor.asked("session/request_permission").await;
    editor.hang_up().await;
    drop(editor);
    // The request stays for others, and is not allowed.
    let id = session.parse().unwrap();
    assert_eq!(soon(host.open_requests(&id)).await.unwrap().len(), 1);
    end(host).await;
    assert!(!file.exists());
    until("the end of all processes", || place.living().is_empty()).await;
}

#[tokio::test]
async fn an_editor_that_does_not_read_does_not_hold_up_others_and_costs_little() {
    let place = Place::new();
    let host = place.host().await;
    // Nothing reads its end: the pipe fills.
    let (near, far) = tokio::io::duplex(1 << 10);
    let (input, output) = tokio::io::split(far);
    let agent = weir_acp::AcpAgent::new(
        host.clone(),
        std::sync::Arc::new(weir_acp::Owner::new(crate::place::offer())),
    );
    tokio::spawn(agent.serve(input, output));
    let (_unread, mut writer) = tokio::io::split(near);
    let hello: Value =
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": 1}});
    tokio::io::AsyncWriteExt::write_all(&mut writer, format!("{hello}\n").as_bytes()).await.unwrap();
    let mut editor = place.editor(&host).await;
    let session = place.session(&mut editor).await;
    let load = json!({"sessionId": session, "cwd": place.work(), "mcpServers": []});
    let load = json!({"jsonrpc": "2.0", "id": 2, "method": "session/load", "params": load});
    tokio::io::AsyncWriteExt::write_all(&mut writer, format!("{load}\n").as_bytes()).await.unwrap();
    let text = vec!["word"; 20_000].join(" ");
    for _ in 0..3 {
        assert_eq!(editor.ask(&session, &says(&text)).await.unwrap()["stopReason"], "end_turn");
    }
    end(&host).await;
}
