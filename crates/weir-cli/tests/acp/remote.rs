//! The remote transport at `/acp`: the same tokens and roles as everything else.

use std::collections::HashMap;

use serde_json::{Value, json};

use crate::common::{Answer, Client, Events, eventually};
use crate::support::{Served, says};

/// An editor over HTTP with a token.
struct Remote {
    client: Client,
    connection: String,
    stream: Events,
    sessions: HashMap<String, Events>,
    next_id: u64,
}

const ACCEPT: (&str, &str) = ("Accept", "text/event-stream");

fn post(client: &Client, more: &[(&str, &str)], body: &Value) -> Answer {
    client.ask("POST", "/acp", more, Some(body))
}

/// A request with these headers instead of the usual ones, apart from the token.
fn raw(client: &Client, method: &str, more: &[(&str, &str)], body: &[u8]) -> Answer {
    let authorization = format!("Bearer {}", client.token);
    let mut headers = vec![("Authorization", authorization.as_str())];
    if !more.iter().any(|(name, _)| *name == "Host") {
        headers.push(("Host", &client.address));
    }
    headers.extend_from_slice(more);
    client.raw(method, "/acp", &headers, body)
}

/// The next message of a stream.
fn next(stream: &mut Events) -> Value {
    let event = stream.find(|event| !event.data.is_empty()).expect("the stream continues");
    event.json()
}

fn hello() -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": 1}})
}

impl Remote {
    fn connect(client: Client) -> Self {
        let answer = post(&client, &[], &hello()).expect(200);
        assert_eq!(answer.json()["result"]["agentInfo"]["name"], "weir");
        let connection = answer.header("acp-connection-id").to_owned();
        let stream = client.events_with("/acp", &[("Acp-Connection-Id", &connection), ACCEPT]);
        Self { client, connection, stream, sessions: HashMap::new(), next_id: 1 }
    }

    fn send(&mut self, method: &str, params: &Value) -> (u64, Answer) {
        self.next_id += 1;
        let body = json!({"jsonrpc": "2.0", "id": self.next_id, "method": method, "params": params});
        (self.next_id, post(&self.client, &[("acp-connection-id", &self.connection)], &body))
    }

    /// Calls a method that is not about a session that was opened.
    fn call(&mut self, method: &str, params: &Value) -> Value {
        let (id, answer) = self.send(method, params);
        answer.expect(202);
        loop {
            let message = next(&mut self.stream);
            if message["id"] == id {
                return message;
            }
        }
    }

    fn open(&mut self, session: &str) {
        let headers = [("Acp-Connection-Id", self.connection.as_str()), ("Acp-Session-Id", session), ACCEPT];
        let stream = self.client.events_with("/acp", &headers);
        self.sessions.insert(session.to_owned(), stream);
    }

    /// Calls a method about a session.
    fn ask(&mut self, session: &str, method: &str, mut params: Value) -> Value {
        params["sessionId"] = json!(session);
        let (id, answer) = self.send(method, &params);
        answer.expect(202);
        let stream = self.sessions.get_mut(session).unwrap();
        loop {
            let message = next(stream);
            if message["id"] == id && message.get("method").is_none() {
                return message;
            }
        }
    }
}

fn prompt(text: &str) -> Value {
    json!({"prompt": [{"type": "text", "text": text}]})
}

#[test]
fn an_editor_with_a_token_works_as_a_driver() {
    let mut served = Served::start();
    let (_, token) = served.token("ann", "driver");
    let mut editor = Remote::connect(served.client.with(&token));
    let new = json!({"cwd": served.place.workspace(), "mcpServers": [{"name": "x", "command": "/bin/true", "args": [], "env": []}]});
    let opened = editor.call("session/new", &new);
    assert_eq!(opened["result"]["_meta"]["weir"]["ignoredMcpServers"], json!(["x"]), "{opened}");
    let session = opened["result"]["sessionId"].as_str().unwrap().to_owned();
    editor.open(&session);
    let ended = editor.ask(&session, "session/prompt", prompt(&says("hello")));
    assert_eq!(ended["result"]["stopReason"], "end_turn", "{ended}");
    let audit = served.client.get("/v1/audit").expect(200).text().to_owned();
    assert!(audit.contains("acp prompt") && audit.contains("ann"), "{audit}");
    // With the session go its share links.
    served.client.post(&format!("/v1/sessions/{session}/share"), &json!({})).expect(201);
    let shares = || served.client.get("/v1/tokens").expect(200).text().contains(&session);
    assert!(shares());
    assert!(editor.ask(&session, "session/delete", json!({}))["result"].is_object());
    eventually("no share link", || (!shares()).then_some(()));
    drop(editor);
    served.stop();
}

#[test]
fn roles_and_tokens_are_checked_at_each_call() {
    let mut served = Served::start();
    let own = served.session();
    let other = served.session();
    // Nobody without a token, from a foreign page, or with a token in the address.
    let host = ("Host", served.client.address.as_str());
    let of_type = ("Content-Type", "application/json");
    let hi = hello().to_string();
    served.client.raw("POST", "/acp", &[host, of_type], hi.as_bytes()).expect(401);
    let in_address = format!("/acp?token={}", served.client.token);
    served.client.raw("POST", &in_address, &[host, of_type], hi.as_bytes()).expect(400);
    post(&served.client, &[("Origin", "https://evil.example")], &hello()).expect(403);
    let foreign = raw(&served.client, "POST", &[("Host", "evil.example"), of_type], hi.as_bytes());
    assert!((400..500).contains(&foreign.status), "{}", foreign.status);
    // A viewer watches and does nothing else.
    let (viewer_id, viewer) = served.token("viewer", "viewer");
    let mut viewer = Remote::connect(served.client.with(&viewer));
    let new = json!({"cwd": served.place.workspace(), "mcpServers": []});
    assert_eq!(viewer.call("session/new", &new)["error"]["code"], -32600);
    assert_eq!(viewer.call("session/list", &json!({}))["result"]["sessions"].as_array().unwrap().len(), 2);
    viewer.open(&own);
    let load = json!({"cwd": served.place.workspace(), "mcpServers": []});
    assert!(viewer.ask(&own, "session/load", load.clone())["result"].is_object());
    for (method, params) in [
        ("session/prompt", prompt("x")),
        ("session/set_mode", json!({"modeId": "acceptEdits"})),
        ("session/set_config_option", json!({"configId": "model", "value": "opus"})),
        ("session/delete", json!({})),
    ] {
        let refused = viewer.ask(&own, method, params);
        assert_eq!(refused["error"]["data"]["code"], "forbidden", "{method}: {refused}");
    }
    // A share link knows of its own session only.
    let share = served.client.post(&format!("/v1/sessions/{own}/share"), &json!({})).expect(201);
    let mut shared = Remote::connect(served.client.with(share.json()["token"].as_str().unwrap()));
    let listed = shared.call("session/list", &json!({}));
    assert_eq!(listed["result"]["sessions"][0]["sessionId"], json!(own), "{listed}");
    assert_eq!(listed["result"]["sessions"].as_array().unwrap().len(), 1, "{listed}");
    assert!(shared.call("session/new", &new)["error"].is_object());
    shared.open(&own);
    assert!(shared.ask(&own, "session/load", load)["result"].is_object());
    let headers =
        [("Acp-Connection-Id", shared.connection.as_str()), ("Acp-Session-Id", other.as_str()), ACCEPT];
    raw(&shared.client, "GET", &headers, b"").expect(404);
    post(&shared.client, &[("Acp-Connection-Id", &shared.connection), ("Acp-Session-Id", &other)], &hello())
        .expect(404);
    // A connection belongs to its token.
    let (_, thief) = served.token("thief", "driver");
    let thief = served.client.with(&thief);
    let stolen = json!({"jsonrpc": "2.0", "id": 9, "method": "session/list", "params": {}});
    post(&thief, &[("acp-connection-id", &viewer.connection)], &stolen).expect(404);
    raw(&thief, "DELETE", &[("Acp-Connection-Id", &viewer.connection)], b"").expect(404);
    // A token that is revoked ends its streams and its connections.
    served.client.ask("DELETE", &format!("/v1/tokens/{viewer_id}"), &[], None).expect(204);
    viewer.stream.rest();
    viewer.sessions.get_mut(&own).unwrap().rest();
    let (_, answer) = viewer.send("session/list", &json!({}));
    answer.expect(401);
    drop(viewer);
    served.stop();
}

#[test]
fn connections_of_a_token_are_limited_and_can_be_closed() {
    let mut served = Served::start();
    let (_, token) = served.token("many", "driver");
    let client = served.client.with(&token);
    let opened: Vec<String> = (0..32)
        .map(|_| post(&client, &[], &hello()).expect(200).header("acp-connection-id").to_owned())
        .collect();
    post(&client, &[], &hello()).expect(429);
    raw(&client, "DELETE", &[("Acp-Connection-Id", &opened[0])], b"").expect(202);
    post(&client, &[], &hello()).expect(200);
    // Naming a connection, which need not exist, opens no other one.
    for named in ["none", opened[1].as_str()] {
        let answer = post(&client, &[("Acp-Connection-Id", named)], &hello());
        assert_eq!((answer.status, answer.header("acp-connection-id")), (400, ""), "{named}");
    }
    // Nor do requests at the same time.
    let (_, token) = served.token("crowd", "viewer");
    let opened = std::thread::scope(|scope| {
        let open = |_| scope.spawn(|| post(&served.client.with(&token), &[], &hello()).status);
        let all: Vec<_> = (0..64).map(open).collect();
        all.into_iter().map(|one| one.join().unwrap()).filter(|status| *status == 200).count()
    });
    assert!((1..=32).contains(&opened), "{opened}");
    served.stop();
}

/// What is said to an editor that does not read is not collected without end.
#[test]
fn an_editor_that_does_not_read_is_told_nothing_more() {
    let mut served = Served::start();
    let new = json!({"name": "quick", "role": "viewer", "requests_per_minute": 10_000_000});
    let made = served.client.post("/v1/tokens", &new).expect(201).json();
    let client = served.client.with(made["token"].as_str().unwrap());
    let connection = post(&client, &[], &hello()).expect(200).header("acp-connection-id").to_owned();
    let list = |id: u32| {
        let body = json!({"jsonrpc": "2.0", "id": id, "method": "session/list", "params": {}});
        post(&client, &[("Acp-Connection-Id", &connection)], &body)
    };
    let refused = (2..6000).map(list).find(|answer| answer.status != 202).expect("a limit");
    assert!(refused.status == 429 && refused.text().contains("unread"), "{}", refused.text());
    let mut stream = client.events_with("/acp", &[("Acp-Connection-Id", &connection), ACCEPT]);
    assert!(next(&mut stream)["result"].is_object());
    eventually("room for more", || (list(9999).status == 202).then_some(()));
    served.stop();
}

#[test]
fn malformed_requests_have_a_proper_answer() {
    let mut served = Served::start();
    let client = &served.client;
    let of_type = [("Content-Type", "application/json")];
    for body in [&b"{not json"[..], b"[]", b"\xff", b"{}"] {
        let answer = raw(client, "POST", &of_type, body);
        assert!((400..500).contains(&answer.status), "{} {}", answer.status, answer.text());
    }
    raw(client, "POST", &[("Content-Type", "text/plain")], b"{}").expect(415);
    raw(client, "GET", &[], b"").expect(406);
    let upgrade = [
        ("Upgrade", "websocket"),
        ("Sec-WebSocket-Version", "13"),
        ("Sec-WebSocket-Key", "AAAAAAAAAAAAAAAAAAAAAA=="),
    ];
    raw(client, "GET", &upgrade, b"").expect(406);
    served.stop();
}
