//! Attacks that have worked against other servers.

use std::io::Write as _;
use std::net::TcpStream;
use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use crate::common::{Answer, Client, TOUCHES, eventually};
use crate::support::Served;

/// A request with these headers in addition to the token.
fn with(served: &Served, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
    let authorization = format!("Bearer {}", served.client.token);
    let mut all = vec![("Authorization", authorization.as_str()), ("Content-Type", "application/json")];
    all.extend_from_slice(headers);
    served.client.raw(method, path, &all, body.as_bytes())
}

fn code(answer: &Answer) -> String {
    answer.json()["code"].as_str().unwrap().to_owned()
}

#[test]
fn dns_rebinding() {
    let served = Served::start();
    let port = served.client.address.split(':').nth(1).unwrap().to_owned();
    for host in
        ["evil.example".to_owned(), format!("evil.example:{port}"), format!("127.0.0.1.evil.example:{port}")]
    {
        for path in ["/v1/sessions", "/v1/me", "/healthz", "/", "/metrics", "/v1/events"] {
            let answer = with(&served, "GET", path, &[("Host", &host)], "").expect(421);
            assert_eq!(code(&answer), "host", "{host} {path}");
        }
    }
    let twice = [("Host", served.client.address.as_str()), ("Host", "evil.example")];
    let answer = with(&served, "GET", "/v1/me", &twice, "");
    assert!(answer.status == 400 || answer.status == 421, "{}", answer.status);
    assert!(served.client.raw("GET", "/v1/me", &[], b"").status >= 400, "no name at all");
}

#[test]
fn pages_of_others() {
    let served = Served::start();
    let here = served.client.address.clone();
    let body = json!({"cwd": served.place.workspace()}).to_string();
    let own = format!("http://{here}");
    for origin in ["http://evil.example", "null", "http://localhost", "file://"] {
        for (method, path) in [("POST", "/v1/sessions"), ("GET", "/v1/events"), ("OPTIONS", "/v1/sessions")] {
            let answer =
                with(&served, method, path, &[("Host", &here), ("Origin", origin)], &body).expect(403);
            assert_eq!(code(&answer), "origin");
            assert!(answer.headers.iter().all(|(name, _)| !name.starts_with("access-control")));
        }
    }
    // A page with a stolen token that hides its origin is detected by headers that the browser adds.
    for site in ["cross-site", "same-site", "same-origin", "none"] {
        let headers = [("Host", here.as_str()), ("Sec-Fetch-Site", site), ("Sec-Fetch-Mode", "cors")];
        let answer = with(&served, "POST", "/v1/sessions", &headers, &body).expect(403);
        assert_eq!(code(&answer), "origin", "{site}");
    }
    let page = [("Host", here.as_str()), ("Origin", own.as_str()), ("Sec-Fetch-Site", "same-origin")];
    with(&served, "POST", "/v1/sessions", &page, &body).expect(201);
    with(&served, "POST", "/v1/sessions", &[("Host", &here)], &body).expect(201);
}

#[test]
fn the_cli_in_a_body() {
    let served = Served::start();
    for member in
        ["program", "claude", "cli_path", "args", "flags", "env", "settings", "mcp_config", "extra_args"]
    {
        let body = json!({"cwd": served.place.workspace(), (member): ["/bin/sh", "-c", "touch owned"]});
        assert_eq!(code(&served.client.post("/v1/sessions", &body).expect(422)), "json_shape", "{member}");
    }
    let session = served.session();
    for (path, body) in [
        ("messages", json!({"client_id": "1", "text": "x", "program": "/bin/sh"})),
        ("fork", json!({"program": "/bin/sh"})),
        ("share", json!({"role": "admin"})),
    ] {
        served.client.post(&format!("/v1/sessions/{session}/{path}"), &body).expect(422);
    }
}

#[test]
fn flags_inside_values() {
    let served = Served::start();
    let hook =
        r#"--settings={"hooks":{"SessionStart":[{"hooks":[{"type":"command","command":"touch owned"}]}]}}"#;
    for (member, value) in [
        ("model", json!(hook)),
        ("permission_mode", json!(hook)),
        ("allowed_tools", json!([hook])),
        ("disallowed_tools", json!(["Read", hook])),
        ("permission_mode", json!("bypassPermissions")),
        ("betas", json!([hook])),
        ("betas", json!(["one,two"])),
        ("betas", json!(["x\r\nX-Header: y"])),
        ("betas", json!(["é"])),
        ("fallback_models", json!(["opus", hook])),
        ("fallback_models", json!(["opus,sonnet"])),
        ("effort", json!("low --settings=x")),
        ("thinking", json!("adaptive,disabled")),
        ("task_budget_tokens", json!(0)),
        ("max_thinking_tokens", json!("--x")),
        ("output_schema", json!([hook])),
        ("append_system_prompt", json!("a\0b")),
        ("title", json!(hook)),
        ("rules", json!(hook)),
        ("extra_args", json!([hook])),
    ] {
        let body = json!({"cwd": served.place.workspace(), (member): value});
        served.client.post("/v1/sessions", &body).expect(422);
    }
    // Prompts may begin with a dash, and stay prompts.
    let session = served.session_with(&json!({"append_system_prompt": hook, "system_prompt": Value::Null}));
    served.send(&session, "@@[{\"text\":\"Fine\"}]");
    let info = eventually("an end", || {
        Some(served.info(&session)).filter(|info| info["newest_seq"].as_u64() > Some(5))
    });
    assert_ne!(info["status"], "failed", "{info}");
    served.wait_for_status(&session, "idle");
    assert!(!served.place.workspace().join("owned").exists());
}

#[test]
fn folders_of_others() {
    let served = Served::start();
    let workspace = served.place.workspace();
    let outside = served.place.path("home");
    symlink(&outside, workspace.join("link")).unwrap();
    symlink("/", workspace.join("all")).unwrap();
    let show = |path: &str| format!("{}/{path}", workspace.display());
    for bad in [
        "/".to_owned(),
        "/etc".to_owned(),
        outside.display().to_string(),
        show(".."),
        show("../home"),
        show("link"),
        show("all/etc"),
        show("./../home"),
        "workspace".to_owned(),
    ] {
        let answer = served.client.post("/v1/sessions", &json!({"cwd": bad})).expect(422);
        assert_eq!(code(&answer), "folder_not_allowed", "{bad}");
    }
}

#[test]
fn files_of_others() {
    let served = Served::start();
    let session = served.session();
    for path in [
        "/../../../../etc/passwd",
        "/..%2f..%2f..%2fetc/passwd",
        "/assets/../../Cargo.toml",
        "/%2e%2e/%2e%2e/etc/passwd",
        "//etc/passwd",
        "/v1/sessions/..%2f..%2fetc%2fpasswd/export?format=md",
        "/v1/sessions/../../tokens.json",
    ] {
        let answer = served.client.get(path);
        assert!([400, 404].contains(&answer.status), "{path}: {}", answer.status);
        assert!(!answer.text().contains("root:"), "{path}");
    }
    let export = format!("/v1/sessions/{session}/export?format=md&path=/etc/passwd");
    served.client.get(&export).expect(400);
    served.client.get(&format!("/v1/sessions/{session}/tools/..%2f..%2fetc%2fpasswd/output")).expect(404);
}

#[test]
fn tokens_in_addresses() {
    let served = Served::start();
    let token = served.client.token.clone();
    let anonymous = served.client.with("none");
    for path in [format!("/v1/me?token={token}"), format!("/v1/events?access_token={token}")] {
        assert_eq!(code(&anonymous.get(&path).expect(400)), "token_in_query");
        assert_eq!(code(&served.client.get(&path).expect(400)), "token_in_query");
    }
    let cookie = [("Host", served.client.address.as_str()), ("Cookie", &format!("token={token}"))];
    served.client.raw("GET", "/v1/me", &cookie, b"").expect(401);
    let basic = [("Host", served.client.address.as_str()), ("Authorization", &format!("Basic {token}"))];
    served.client.raw("GET", "/v1/me", &basic, b"").expect(401);
}

#[test]
fn more_than_a_role_may() {
    let served = Served::start();
    let session = served.session();
    let (_, viewer) = served.token("vi", "viewer");
    let (_, approver) = served.token("al", "approver");
    let (_, driver) = served.token("dr", "driver");
    served.send(&session, TOUCHES);
    served.wait_for_status(&session, "waiting");
    let mut events = served.follow(&session, "view");
    let snapshot = events.wait("snapshot").json();
    let request = snapshot["view"]["requests"][0]["id"].as_str().unwrap().to_owned();
    let path = |rest: &str| format!("/v1/sessions/{session}/{rest}");
    let permission = path(&format!("permissions/{request}"));
    let allow = json!({"behavior": "allow"});
    assert_eq!(code(&served.client.with(&viewer).post(&permission, &allow).expect(403)), "role");
    for rest in ["stop", "interrupt", "messages", "fork", "share"] {
        served.client.with(&viewer).post(&path(rest), &json!({"client_id": "1", "text": "x"})).expect(403);
    }
    let edited = json!({"behavior": "allow", "updated_input": {"command": "touch owned"}});
    assert_eq!(code(&served.client.with(&approver).post(&permission, &edited).expect(403)), "role");
    let mode = json!({"behavior": "allow", "updated_permissions":
        [{"type": "setMode", "mode": "bypassPermissions", "destination": "session"}]});
    for token in [&approver, &driver, &served.client.token] {
        served.client.with(token).post(&permission, &mode).expect(422);
    }
    let mode = json!({"behavior": "allow", "permission_mode": "bypassPermissions"});
    served.client.with(&approver).post(&permission, &mode).expect(403);
    served.client.with(&driver).post(&permission, &mode).expect(422);
    let admin = json!({"name": "me", "role": "admin"});
    for token in [&viewer, &approver, &driver] {
        let who = served.client.with(token);
        who.post("/v1/tokens", &admin).expect(403);
        who.get("/v1/tokens").expect(403);
        who.get("/v1/audit").expect(403);
        who.get("/metrics").expect(403);
    }
    assert!(
        !served.place.workspace().join("owned").exists() && !served.place.workspace().join("made").exists()
    );
    served.client.with(&approver).post(&permission, &json!({"behavior": "deny"})).expect(200);
}

#[test]
fn a_revoked_token_on_an_open_stream() {
    let served = Served::start();
    let session = served.session();
    let (id, token) = served.token("eve", "viewer");
    let eve = served.client.with(&token);
    let mut events = eve.events(&format!("/v1/sessions/{session}/events?format=raw"), None);
    events.wait("hello");
    served.client.ask("DELETE", &format!("/v1/tokens/{id}"), &[], None).expect(204);
    served.send(&session, "@@[{\"text\":\"not for eve\"}]");
    let rest = events.rest();
    assert_eq!(rest.last().unwrap().json()["reason"], "revoked");
    assert!(rest.iter().all(|event| !event.data.contains("not for eve")), "{rest:#?}");
    eve.get("/v1/me").expect(401);
}

#[test]
fn two_identities_at_once() {
    let served = Served::start();
    let (_, viewer) = served.token("vi", "viewer");
    let (admin, viewer) = (format!("Bearer {}", served.client.token), format!("Bearer {viewer}"));
    for (first, second) in [(&admin, &viewer), (&viewer, &admin)] {
        let headers = [
            ("Host", served.client.address.as_str()),
            ("Authorization", first.as_str()),
            ("Authorization", second.as_str()),
        ];
        let answer = served.client.raw("GET", "/v1/tokens", &headers, b"").expect(400);
        assert_eq!(code(&answer), "authorization");
    }
}

#[test]
fn one_link_cannot_take_all_streams() {
    let served = Served::with(&["--streams-per-token", "3"]);
    let session = served.session();
    let share = |client: &Client| {
        let made = client.post(&format!("/v1/sessions/{session}/share"), &json!({})).expect(201).json();
        client.with(made["token"].as_str().unwrap())
    };
    let (one, other) = (share(&served.client), share(&served.client));
    let path = format!("/v1/sessions/{session}/events");
    let mut open: Vec<_> = (0..3).map(|_| one.events(&path, None)).collect();
    for guest in [&one, &other] {
        assert_eq!(code(&guest.get(&path).expect(429)), "token_streams");
    }
    // The creator of the links, and everyone else, can still open a stream.
    served.client.events(&path, None).wait("snapshot");
    open.pop().unwrap().cut();
    eventually("room for another", || (other.get_head(&path) == 200).then_some(()));
}

#[test]
fn many_silent_connections() {
    let served = Served::with(&["--max-connections", "32"]);
    let session = served.session();
    let mut events = served.follow(&session, "view");
    events.wait("snapshot");
    let half = ["", "GET /v1/me HT", "PRI * HTTP/2.0\r\n"];
    let silent: Vec<TcpStream> = (0..300)
        .map(|number| {
            let mut stream = TcpStream::connect(&served.client.address).unwrap();
            stream.write_all(half[number % half.len()].as_bytes()).unwrap();
            stream
        })
        .collect();
    for _ in 0..5 {
        served.client.get("/v1/me").expect(200);
    }
    served.send(&session, crate::common::SAYS_HELLO);
    events.until(|event| event.name == "session" && event.json()["status"] == "idle");
    let numbers = served.client.get("/metrics").expect(200).text();
    let closed =
        numbers.lines().find(|line| line.contains("weir_connections_closed_total{why=\"room\"}")).unwrap();
    assert!(closed.rsplit(' ').next().unwrap().parse::<u32>().unwrap() > 200, "{closed}");
    drop(silent);
}

#[test]
fn garbage_on_the_line() {
    let served = Served::start();
    let here = served.client.address.clone();
    let large = "x".repeat(2 << 20);
    let answer = with(&served, "POST", "/v1/sessions", &[("Host", &here)], &large);
    assert_eq!(answer.status, 413);
    for body in ["", "[]", "null", "{\"cwd\":", "\u{0}", "{\"cwd\":{\"a\":[[[[[[[[[[]]]]]]]]]]}}"] {
        let answer = with(&served, "POST", "/v1/sessions", &[("Host", &here)], body);
        assert!([400, 422].contains(&answer.status), "{body:?}: {}", answer.status);
    }
    let deep = format!("{{\"cwd\":{}", "[".repeat(100_000));
    assert!([400, 422].contains(&with(&served, "POST", "/v1/sessions", &[("Host", &here)], &deep).status));
    let long = format!("/v1/sessions/{}", "a".repeat(100_000));
    assert!(served.client.get(&long).status >= 400);
    served.client.get("/v1/me").expect(200);
}
