//! The page, the documents, the base path, health.

use axum::body::Body;
use serde_json::Value;
use weir_server::{Phase, Role, page_is_built};

use crate::support::{Answer, Place, request};

async fn open(place: &Place, path: &str) -> Answer {
    place.send(request("GET", path).body(Body::empty()).unwrap()).await
}

#[tokio::test]
async fn the_page_needs_no_token_and_says_how_to_build_it() {
    let place = Place::new().await;
    let page = open(&place, "/").await;
    assert_eq!(page.status, 200);
    assert!(page.header("content-type").starts_with("text/html"));
    if page_is_built() {
        let tag = page.header("etag").to_owned();
        let again =
            place.send(request("GET", "/").header("if-none-match", tag).body(Body::empty()).unwrap()).await;
        assert_eq!(again.status, 304);
        assert_eq!(page.header("cache-control"), "no-cache");
    } else {
        assert!(page.text().contains("make web"));
    }
}

#[tokio::test]
async fn api_documents_are_served() {
    let place = Place::new().await;
    let document: Value = open(&place, "/openapi.json").await.json();
    assert_eq!(document["servers"][0]["url"], "/");
    let docs = open(&place, "/docs").await.text();
    for path in document["paths"].as_object().unwrap().keys() {
        assert!(docs.contains(path.as_str()), "{path}");
    }
    assert!(!docs.contains("<script"));
}

#[tokio::test]
async fn a_base_path_prefixes_everything() {
    let place = Place::with(|settings| settings.base_path = "/weir".to_owned()).await;
    assert_eq!(open(&place, "/weir/healthz").await.status, 200);
    assert_eq!(place.get(Role::Viewer, "/weir/v1/me").await.status, 200);
    assert_eq!(open(&place, "/weir/").await.status, 200);
    let redirect = open(&place, "/weir").await;
    assert_eq!((redirect.status.as_u16(), redirect.header("location")), (308, "/weir/"));
    assert_eq!(open(&place, "/weir/openapi.json").await.json()["servers"][0]["url"], "/weir");
    for path in ["/", "/healthz", "/v1/me", "/weird/healthz"] {
        assert_eq!(open(&place, path).await.problem(404), "not_found", "{path}");
    }
    let created = place
        .ask(Role::Driver, "POST", "/weir/v1/sessions", Some(&serde_json::json!({"cwd": place.root()})))
        .await;
    assert!(created.header("location").starts_with("/weir/v1/sessions/"), "{}", created.text());
}

#[tokio::test]
async fn a_draining_server_accepts_no_new_work() {
    let place = Place::new().await;
    let id = place.session().await;
    assert_eq!(open(&place, "/readyz").await.status, 200);
    place.app.advance(Phase::Draining);
    assert_eq!(open(&place, "/healthz").await.status, 200);
    assert_eq!(open(&place, "/readyz").await.status, 503);
    let message = serde_json::json!({"client_id": "a", "text": "hello"});
    let answer =
        place.ask(Role::Driver, "POST", &format!("/v1/sessions/{id}/messages"), Some(&message)).await;
    assert_eq!(answer.problem(503), "shutting_down");
    assert_eq!(place.get(Role::Viewer, &format!("/v1/sessions/{id}")).await.status, 200, "but can be seen");
}

#[tokio::test]
async fn prometheus_metrics() {
    let place = Place::new().await;
    place.get(Role::Viewer, "/v1/me").await;
    let text = place.get(Role::Admin, "/metrics").await.text();
    for name in [
        "weir_http_requests_total{method=\"GET\",route=\"/v1/me\",status=\"200\"} 1",
        "weir_sessions",
        "weir_events_total",
        "weir_unknown_lines_total",
        "weir_malformed_lines_total",
        "weir_turn_seconds_bucket{le=\"+Inf\"}",
        "weir_first_text_seconds_count",
        "weir_cost_usd_total",
        "weir_pool_processes",
        "weir_sse_clients 0",
        "weir_sse_lagged_total",
    ] {
        assert!(text.contains(name), "{name} is missing:\n{text}");
    }
    #[cfg(target_os = "linux")]
    assert!(text.contains("process_resident_memory_bytes"));
}
