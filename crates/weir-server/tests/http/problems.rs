//! Every error is a problem that says what to do.

use axum::body::Body;
use serde_json::json;
use weir_server::Role;

use crate::support::{Place, request};

#[tokio::test]
async fn unknown_addresses_and_methods() {
    let place = Place::new().await;
    for path in ["/v2/sessions", "/v1", "/assets/none.js", "/../etc/passwd", "/%2e%2e/x", "/v1/sessions/"] {
        assert_eq!(place.get(Role::Admin, path).await.problem(404), "not_found", "{path}");
    }
    // Paths that are not the server's own get errors in OpenAI's format.
    for path in ["/v1/nothing", "/v1/embeddings", "/v1/chat", "/v1/responses/resp_1"] {
        let answer = place.get(Role::Admin, path).await;
        assert_eq!(
            (answer.status.as_u16(), &answer.json()["error"]["code"]),
            (404, &json!("unknown_url")),
            "{path}"
        );
    }
    let answer = place.ask(Role::Admin, "DELETE", "/v1/responses", None).await;
    assert_eq!(
        (answer.status.as_u16(), &answer.json()["error"]["code"]),
        (405, &json!("method_not_allowed"))
    );
    assert_eq!(place.ask(Role::Admin, "DELETE", "/v1/me", None).await.problem(405), "method");
    assert_eq!(place.ask(Role::Admin, "POST", "/healthz", None).await.problem(405), "method");
}

#[tokio::test]
async fn bodies_that_cannot_be_read() {
    let place = Place::with(|settings| settings.limits.body_bytes = 1000).await;
    let send = |kind: &'static str, body: String| {
        let place = &place;
        async move {
            let token = place.token(Role::Driver);
            let request = request("POST", "/v1/sessions")
                .header("authorization", format!("Bearer {token}"))
                .header("content-type", kind);
            place.send(request.body(Body::from(body)).unwrap()).await
        }
    };
    assert_eq!(send("text/plain", "{}".to_owned()).await.problem(415), "media_type");
    assert_eq!(
        send("application/x-www-form-urlencoded", "cwd=/".to_owned()).await.problem(415),
        "media_type"
    );
    for text in ["", "{", "nonsense", "{\"cwd\": \"a\"} x", "\u{0}"] {
        assert_eq!(send("application/json", text.to_owned()).await.problem(400), "json_syntax", "{text:?}");
    }
    let answer = send("application/json", json!({"cwd": 7}).to_string()).await;
    assert_eq!(answer.problem(422), "json_shape");
    assert_eq!(answer.json()["path"], "cwd");
    let large = json!({"cwd": "a".repeat(2000)}).to_string();
    assert_eq!(send("application/json; charset=utf-8", large).await.problem(413), "too_large");
}

#[tokio::test]
async fn lists_are_not_objects() {
    let place = Place::new().await;
    let id = place.session().await;
    let session = |rest: &str| format!("/v1/sessions/{id}/{rest}");
    for (method, path, list) in [
        ("POST", "/v1/sessions".to_owned(), json!([place.root()])),
        ("POST", "/v1/sessions".to_owned(), json!([])),
        ("PATCH", format!("/v1/sessions/{id}"), json!(["name", false])),
        ("POST", session("messages"), json!(["1", "text", [], "queue"])),
        ("POST", session("fork"), json!(["name"])),
        ("POST", session("share"), json!([60])),
        ("PUT", session("model"), json!(["opus"])),
        ("PUT", session("permission-mode"), json!(["plan"])),
        ("PUT", session("effort"), json!(["low"])),
        ("PATCH", session("messages/x"), json!(["text"])),
        ("POST", session("permissions/x"), json!(["allow"])),
        ("POST", session("questions/x"), json!([{}])),
        ("POST", "/v1/tokens".to_owned(), json!(["mallory", "admin", null, null, null, null])),
    ] {
        let answer = place.ask(Role::Admin, method, &path, Some(&list)).await;
        assert_eq!(answer.problem(422), "json_shape", "{method} {path}");
        assert_eq!(answer.json()["path"], ".");
    }
    // A body that is not JSON is reported as such.
    let token = place.token(Role::Driver);
    let request = request("POST", "/v1/sessions")
        .header("authorization", format!("Bearer {token}"))
        .header("content-type", "application/json");
    let answer = place.send(request.body(Body::from(" [1,")).unwrap()).await;
    assert_eq!(answer.problem(400), "json_syntax");
}

#[tokio::test]
async fn queries_that_cannot_be_read() {
    let place = Place::new().await;
    for query in [
        "limit=x",
        "limit=0",
        "limit=100000",
        "status=asleep",
        "archived=perhaps",
        "shiny=1",
        "limit=1&limit=2",
    ] {
        let answer = place.get(Role::Viewer, &format!("/v1/sessions?{query}")).await;
        assert_eq!(answer.status, 400, "{query}: {}", answer.text());
    }
    let id = place.session().await;
    for query in [
        "export?format=exe",
        "export",
        "transcript?limit=-1",
        "log?after=x",
        "events?format=xml",
        "messages?state=x",
    ] {
        let answer = place.get(Role::Viewer, &format!("/v1/sessions/{id}/{query}")).await;
        assert_eq!(answer.status, 400, "{query}: {}", answer.text());
    }
}

#[tokio::test]
async fn a_slow_request_times_out() {
    let place = Place::with(|settings| settings.limits.time = std::time::Duration::from_millis(20)).await;
    let never = futures_util::stream::pending::<Result<bytes::Bytes, std::io::Error>>();
    let token = place.token(Role::Driver);
    let request = request("POST", "/v1/sessions")
        .header("authorization", format!("Bearer {token}"))
        .header("content-type", "application/json");
    let answer = place.send(request.body(Body::from_stream(never)).unwrap()).await;
    assert_eq!(answer.problem(408), "timeout");
}

#[tokio::test]
async fn invalid_ids_are_not_found() {
    let place = Place::new().await;
    for id in ["none", "..", "%2e%2e%2f%2e%2e", "a%00b", "%ff", &"x".repeat(500), "a%20b"] {
        for rest in [
            "",
            "/transcript",
            "/log",
            "/export?format=md",
            "/diff",
            "/messages",
            "/tools/x/output",
            "/events",
        ] {
            let answer = place.get(Role::Admin, &format!("/v1/sessions/{id}{rest}")).await;
            assert_eq!(answer.status, 404, "{id}{rest}: {}", answer.text());
        }
    }
}

#[tokio::test]
async fn compressed_bodies_are_complete() {
    let place = Place::new().await;
    let id = place.session().await;
    for rest in
        ["log", "log?after=18446744073709551615", "export?format=md", "export?format=ndjson", "transcript"]
    {
        let request = request("GET", &format!("/v1/sessions/{id}/{rest}"))
            .header("authorization", format!("Bearer {}", place.token(Role::Viewer)))
            .header("accept-encoding", "gzip");
        let answer = place.send(request.body(Body::empty()).unwrap()).await;
        assert_eq!(answer.status, 200, "{rest}");
    }
}
