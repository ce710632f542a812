//! Every operation needs a token with a role.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use weir_server::{NewToken, Rate, Role, openapi};

use crate::support::Place;

/// All operations with the minimum role; none for public ones.
const OPERATIONS: &[(&str, &str, Option<Role>)] = &[
    ("GET", "/healthz", None),
    ("GET", "/readyz", None),
    ("GET", "/metrics", Some(Role::Admin)),
    ("GET", "/v1/audit", Some(Role::Admin)),
    ("GET", "/v1/tokens", Some(Role::Admin)),
    ("POST", "/v1/tokens", Some(Role::Admin)),
    ("DELETE", "/v1/tokens/{token}", Some(Role::Admin)),
    ("GET", "/v1/me", Some(Role::Viewer)),
    ("GET", "/v1/events", Some(Role::Viewer)),
    ("GET", "/v1/sessions", Some(Role::Viewer)),
    ("POST", "/v1/sessions", Some(Role::Driver)),
    ("GET", "/v1/sessions/{id}", Some(Role::Viewer)),
    ("PATCH", "/v1/sessions/{id}", Some(Role::Driver)),
    ("DELETE", "/v1/sessions/{id}", Some(Role::Driver)),
    ("POST", "/v1/sessions/{id}/fork", Some(Role::Driver)),
    ("GET", "/v1/sessions/{id}/tree", Some(Role::Driver)),
    ("GET", "/v1/sessions/{id}/file", Some(Role::Driver)),
    ("GET", "/v1/sessions/{id}/file/raw", Some(Role::Driver)),
    ("GET", "/v1/costs", Some(Role::Viewer)),
    ("GET", "/v1/sessions/{id}/context", Some(Role::Viewer)),
    ("GET", "/v1/sessions/{id}/tasks/{task_id}/output", Some(Role::Viewer)),
    ("GET", "/v1/sessions/{id}/mcp", Some(Role::Driver)),
    ("PUT", "/v1/sessions/{id}/mcp", Some(Role::Admin)),
    ("PUT", "/v1/sessions/{id}/mcp/{server}", Some(Role::Driver)),
    ("POST", "/v1/sessions/{id}/mcp/{server}/reconnect", Some(Role::Driver)),
    ("POST", "/v1/sessions/{id}/mcp/{server}/login", Some(Role::Driver)),
    ("GET", "/v1/sessions/{id}/account", Some(Role::Driver)),
    ("GET", "/v1/sessions/{id}/extensions", Some(Role::Driver)),
    ("GET", "/v1/sessions/{id}/rules", Some(Role::Driver)),
    ("POST", "/v1/sessions/{id}/rules/remove", Some(Role::Driver)),
    ("POST", "/v1/sessions/{id}/rewind", Some(Role::Driver)),
    ("POST", "/v1/sessions/{id}/branch", Some(Role::Driver)),
    ("GET", "/v1/sessions/{id}/messages", Some(Role::Viewer)),
    ("POST", "/v1/sessions/{id}/messages", Some(Role::Driver)),
    ("DELETE", "/v1/sessions/{id}/messages/{message_id}", Some(Role::Driver)),
    ("PATCH", "/v1/sessions/{id}/messages/{message_id}", Some(Role::Driver)),
    ("POST", "/v1/sessions/{id}/interrupt", Some(Role::Approver)),
    ("POST", "/v1/sessions/{id}/tasks/{task_id}/stop", Some(Role::Approver)),
    ("POST", "/v1/sessions/{id}/stop", Some(Role::Approver)),
    ("POST", "/v1/sessions/{id}/resume", Some(Role::Driver)),
    ("POST", "/v1/sessions/{id}/permissions/{request_id}", Some(Role::Approver)),
    ("GET", "/v1/sessions/{id}/permissions/{request_id}/preview", Some(Role::Approver)),
    ("POST", "/v1/sessions/{id}/questions/{request_id}", Some(Role::Approver)),
    ("POST", "/v1/sessions/{id}/elicitations/{request_id}", Some(Role::Approver)),
    ("PUT", "/v1/sessions/{id}/model", Some(Role::Driver)),
    ("PUT", "/v1/sessions/{id}/effort", Some(Role::Driver)),
    ("PUT", "/v1/sessions/{id}/client-tools", Some(Role::Driver)),
    ("GET", "/v1/sessions/{id}/tool-calls", Some(Role::Driver)),
    ("POST", "/v1/sessions/{id}/tool-calls/{request_id}", Some(Role::Driver)),
    ("GET", "/v1/keys/{key}", Some(Role::Viewer)),
    ("POST", "/v1/keys/{key}/messages", Some(Role::Driver)),
    ("PUT", "/v1/sessions/{id}/permission-mode", Some(Role::Driver)),
    ("GET", "/v1/sessions/{id}/transcript", Some(Role::Viewer)),
    ("GET", "/v1/sessions/{id}/log", Some(Role::Viewer)),
    ("GET", "/v1/sessions/{id}/export", Some(Role::Viewer)),
    ("GET", "/v1/sessions/{id}/diff", Some(Role::Viewer)),
    ("GET", "/v1/sessions/{id}/tools/{tool_use_id}/output", Some(Role::Viewer)),
    ("GET", "/v1/sessions/{id}/tools/{tool_use_id}/images/{number}", Some(Role::Viewer)),
    ("GET", "/v1/sessions/{id}/messages/{message_id}/images/{number}", Some(Role::Viewer)),
    ("GET", "/v1/sessions/{id}/messages/{message_id}/documents/{number}", Some(Role::Viewer)),
    ("GET", "/v1/sessions/{id}/events", Some(Role::Viewer)),
    ("POST", "/v1/sessions/{id}/share", Some(Role::Driver)),
    ("GET", "/v1/sessions/{id}/files", Some(Role::Driver)),
    ("GET", "/v1/search", Some(Role::Viewer)),
    ("GET", "/v1/cli", Some(Role::Driver)),
    ("GET", "/v1/past-sessions", Some(Role::Driver)),
    ("POST", "/v1/past-sessions/{id}", Some(Role::Driver)),
    ("GET", "/v1/folders", Some(Role::Driver)),
    ("GET", "/v1/folder", Some(Role::Driver)),
    ("PUT", "/v1/folder/trust", Some(Role::Driver)),
    ("DELETE", "/v1/folder/trust", Some(Role::Driver)),
    ("GET", "/v1/worktrees", Some(Role::Driver)),
    ("POST", "/v1/worktrees", Some(Role::Driver)),
    ("DELETE", "/v1/worktrees", Some(Role::Driver)),
    ("GET", "/v1/sessions/{id}/changes", Some(Role::Driver)),
    ("GET", "/v1/sessions/{id}/changes/file", Some(Role::Driver)),
    ("POST", "/v1/sessions/{id}/changes/revert", Some(Role::Driver)),
    ("POST", "/v1/sessions/{id}/changes/stage", Some(Role::Driver)),
    ("POST", "/v1/sessions/{id}/changes/commit", Some(Role::Driver)),
    ("GET", "/v1/loop", Some(Role::Viewer)),
    ("GET", "/v1/loop/tasks", Some(Role::Viewer)),
    ("GET", "/v1/loop/report", Some(Role::Viewer)),
    ("POST", "/v1/loop/pause", Some(Role::Driver)),
    ("POST", "/v1/loop/tasks/{task}/skip", Some(Role::Driver)),
    ("POST", "/v1/loop/tasks/{task}/retry", Some(Role::Driver)),
    ("POST", "/v1/loop/questions/{question}", Some(Role::Approver)),
    ("GET", "/v1/models", Some(Role::Driver)),
    ("GET", "/v1/models/{model}", Some(Role::Driver)),
    ("POST", "/v1/chat/completions", Some(Role::Driver)),
    ("POST", "/v1/responses", Some(Role::Driver)),
];

/// Whether errors of this path have OpenAI's format.
fn is_openai(path: &str) -> bool {
    path.starts_with("/v1/models") || matches!(path, "/v1/chat/completions" | "/v1/responses")
}

/// A path with its variables filled in.
fn filled(path: &str) -> String {
    path.split('/')
        .map(|part| if part.starts_with('{') { "none" } else { part })
        .collect::<Vec<_>>()
        .join("/")
}

#[test]
fn the_table_has_every_operation() {
    let document: Value = serde_json::from_str(&openapi("")).unwrap();
    let (mut described, mut ids) = (Vec::new(), BTreeSet::new());
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            described.push(format!("{} {path}", method.to_uppercase()));
            assert!(ids.insert(operation["operationId"].as_str().unwrap()), "{operation}");
        }
    }
    let mut listed: Vec<String> =
        OPERATIONS.iter().map(|(method, path, _)| format!("{method} {path}")).collect();
    described.sort();
    listed.sort();
    assert_eq!(described, listed);
}

#[test]
fn every_schema_reference_resolves() {
    let document: Value = serde_json::from_str(&openapi("/weir")).unwrap();
    let mut seen = 0;
    let mut open = vec![&document];
    while let Some(value) = open.pop() {
        match value {
            Value::Object(members) => {
                if let Some(Value::String(reference)) = members.get("$ref") {
                    let pointer =
                        reference.strip_prefix('#').unwrap_or_else(|| panic!("{reference} is elsewhere"));
                    assert!(document.pointer(pointer).is_some(), "{reference} leads nowhere");
                    seen += 1;
                }
                open.extend(members.values());
            }
            Value::Array(items) => open.extend(items),
            _ => {}
        }
    }
    assert!(seen > 50, "{seen}");
}

#[test]
fn calls_of_client_tools_are_described_as_they_are_written() {
    // A tool call of the transcript is something else, and schemas are known by their names alone.
    let document: Value = serde_json::from_str(&openapi("")).unwrap();
    let schemas = &document["components"]["schemas"];
    assert_eq!(
        schemas["ToolCallList"]["properties"]["calls"]["items"]["$ref"],
        "#/components/schemas/ClientToolCall"
    );
    let fields: Vec<&String> = schemas["ClientToolCall"]["properties"].as_object().unwrap().keys().collect();
    assert_eq!(fields, ["input", "name", "request_id", "tool_use_id"]);
}

#[tokio::test]
async fn two_authorization_headers_are_refused() {
    let place = Place::new().await;
    let (admin, viewer) = (place.token(Role::Admin), place.token(Role::Viewer));
    for (first, second) in [(admin, viewer), (viewer, admin), (admin, admin), ("weir_wrong", admin)] {
        let request = crate::support::request("GET", "/v1/me")
            .header("authorization", format!("Bearer {first}"))
            .header("authorization", format!("Bearer {second}"));
        let answer = place.send(request.body(axum::body::Body::empty()).unwrap()).await;
        assert_eq!(answer.problem(400), "authorization");
    }
    let request = crate::support::request("GET", "/v1/models")
        .header("authorization", format!("Bearer {admin}"))
        .header("authorization", "Basic x");
    let answer = place.send(request.body(axum::body::Body::empty()).unwrap()).await;
    assert_eq!(answer.status, 400);
    assert_eq!(answer.json()["error"]["type"], "invalid_request_error");
}

#[tokio::test]
async fn nothing_is_done_without_a_token() {
    let place = Place::with(|settings| settings.limits.attempts = Rate { per_minute: 1, burst: 100 }).await;
    for &(method, path, role) in OPERATIONS {
        if role.is_none() {
            continue;
        }
        let path = filled(path);
        let answer =
            place.send(crate::support::request(method, &path).body(axum::body::Body::empty()).unwrap()).await;
        assert_eq!(answer.header("www-authenticate"), "Bearer");
        if is_openai(&path) {
            assert_eq!(answer.status.as_u16(), 401, "{method} {path}");
            assert_eq!(answer.json()["error"]["code"], "invalid_api_key", "{method} {path}");
            continue;
        }
        assert_eq!(answer.problem(401), "no_token", "{method} {path}");
        let answer = place.ask_with("weir_wrong", method, &path, None).await;
        assert_eq!(answer.problem(401), "wrong_token", "{method} {path}");
    }
}

#[tokio::test]
async fn roles_are_not_exceeded() {
    let place = Place::new().await;
    for &(method, path, needed) in OPERATIONS {
        let Some(needed) = needed else { continue };
        let path = filled(path);
        for role in Role::ALL {
            if role >= needed && path.ends_with("/events") {
                // These streams do not end by themselves.
                continue;
            }
            let answer = place.ask(role, method, &path, None).await;
            if role < needed && is_openai(&path) {
                assert_eq!(answer.status.as_u16(), 403, "{method} {path} as {role}");
                assert_eq!(answer.json()["error"]["type"], "invalid_request_error");
            } else if role < needed {
                assert_eq!(answer.problem(403), "role", "{method} {path} as {role}");
                assert_eq!(answer.json()["needs"], needed.as_str());
            } else {
                let status = answer.status.as_u16();
                assert!(![401, 403].contains(&status) && status < 500, "{method} {path} as {role}: {status}");
            }
        }
    }
}

#[tokio::test]
async fn a_token_for_one_session_sees_no_other() {
    let place = Place::new().await;
    let (own, other) = (place.session().await, place.session().await);
    let new = NewToken { session: Some(own.clone()), ..NewToken::new("guest", Role::Driver) };
    let (_, secret) = place.app.tokens().add(new, 1).unwrap();
    let ask = |method: &'static str, path: String, body: Option<Value>| {
        let (place, secret) = (&place, &secret);
        async move { place.ask_with(secret.reveal(), method, &path, body.as_ref()).await }
    };
    assert_eq!(ask("GET", format!("/v1/sessions/{own}"), None).await.json()["id"], own);
    let listed = ask("GET", "/v1/sessions".to_owned(), None).await.json();
    assert_eq!(listed["sessions"].as_array().unwrap().len(), 1);
    assert_eq!(listed["sessions"][0]["id"], own);
    assert_eq!(ask("GET", "/v1/me".to_owned(), None).await.json()["roots"], json!([]));
    for (method, rest) in [
        ("GET", ""),
        ("GET", "/transcript"),
        ("GET", "/events"),
        ("POST", "/stop"),
        ("DELETE", ""),
        ("POST", "/share"),
    ] {
        let answer = ask(method, format!("/v1/sessions/{other}{rest}"), None).await;
        assert_eq!(answer.problem(404), "not_found", "{method} {rest}");
    }
    let create = json!({"cwd": place.root()});
    assert_eq!(ask("POST", "/v1/sessions".to_owned(), Some(create)).await.problem(403), "one_session");
    assert_eq!(ask("POST", format!("/v1/sessions/{own}/fork"), None).await.problem(403), "one_session");
    assert_eq!(ask("GET", "/v1/tokens".to_owned(), None).await.problem(403), "one_session");
}

#[tokio::test]
async fn revoked_and_expired_tokens_are_refused() {
    let place = Place::new().await;
    let (token, secret) = place.app.tokens().add(NewToken::new("ann", Role::Viewer), 1).unwrap();
    assert_eq!(place.ask_with(secret.reveal(), "GET", "/v1/me", None).await.status, 200);
    let path = format!("/v1/tokens/{}", token.id);
    assert_eq!(place.ask(Role::Admin, "DELETE", &path, None).await.status, 204);
    assert_eq!(place.ask_with(secret.reveal(), "GET", "/v1/me", None).await.problem(401), "wrong_token");
    assert_eq!(place.ask(Role::Admin, "DELETE", &path, None).await.problem(404), "not_found");
    let new = NewToken { expires_at: Some(2), ..NewToken::new("bo", Role::Viewer) };
    let (_, secret) = place.app.tokens().add(new, 1).unwrap();
    assert_eq!(place.ask_with(secret.reveal(), "GET", "/v1/me", None).await.problem(401), "wrong_token");
}

#[tokio::test]
async fn wrong_tokens_are_rate_limited_and_valid_ones_are_not() {
    let place = Place::with(|settings| settings.limits.attempts = Rate { per_minute: 1, burst: 3 }).await;
    for _ in 0..3 {
        assert_eq!(place.ask_with("weir_guess", "GET", "/v1/me", None).await.problem(401), "wrong_token");
    }
    let answer = place.ask_with("weir_guess", "GET", "/v1/me", None).await;
    assert_eq!(answer.problem(429), "attempts");
    assert!(answer.header("retry-after").parse::<u64>().unwrap() > 0);
    assert_eq!(place.get(Role::Viewer, "/v1/me").await.status, 200, "valid tokens are not locked out");
}

#[tokio::test]
async fn requests_are_rate_limited_per_token() {
    let place = Place::with(|settings| settings.limits.per_token = Rate { per_minute: 1, burst: 2 }).await;
    assert_eq!(place.get(Role::Viewer, "/v1/me").await.status, 200);
    assert_eq!(place.get(Role::Viewer, "/v1/me").await.status, 200);
    assert_eq!(place.get(Role::Viewer, "/v1/me").await.problem(429), "rate");
    assert_eq!(place.get(Role::Driver, "/v1/me").await.status, 200, "each token has its own");
}
