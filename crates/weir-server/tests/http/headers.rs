//! Headers of every response.

use axum::body::Body;
use weir_server::Role;

use crate::support::{Place, request};

#[tokio::test]
async fn every_response_has_security_headers() {
    let place = Place::new().await;
    for path in ["/", "/v1/me", "/nothing", "/healthz", "/docs", "/openapi.json", "/v1/sessions/none"] {
        let answer = place.send(request("GET", path).body(Body::empty()).unwrap()).await;
        let policy = answer.header("content-security-policy");
        for rule in
            ["default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "connect-src 'self'"]
        {
            assert!(policy.contains(rule), "{path}: {policy}");
        }
        assert!(!policy.contains("script-src 'self' 'unsafe"), "{policy}");
        assert_eq!(answer.header("x-content-type-options"), "nosniff", "{path}");
        assert_eq!(answer.header("x-frame-options"), "DENY", "{path}");
        assert_eq!(answer.header("referrer-policy"), "no-referrer", "{path}");
        assert_eq!(answer.header("cross-origin-resource-policy"), "same-origin", "{path}");
        assert!(!answer.headers.contains_key("access-control-allow-origin"), "{path}");
        assert_eq!(answer.header("x-request-id").len(), 32, "{path}");
    }
}

#[tokio::test]
async fn secrets_are_not_cached() {
    let place = Place::new().await;
    for path in ["/v1/me", "/v1/sessions", "/v1/tokens"] {
        assert_eq!(place.get(Role::Admin, path).await.header("cache-control"), "no-store", "{path}");
    }
}

#[tokio::test]
async fn every_request_has_its_own_id() {
    let place = Place::new().await;
    let first = place.get(Role::Viewer, "/v1/me").await.header("x-request-id").to_owned();
    assert_ne!(place.get(Role::Viewer, "/v1/me").await.header("x-request-id"), first);
}
