//! Requests that a foreign page makes a browser send.

use axum::body::Body;
use weir_server::Role;

use crate::support::{Answer, HERE, Place, request};

async fn with(place: &Place, method: &str, path: &str, headers: &[(&str, &str)]) -> Answer {
    let mut request = axum::http::Request::builder().method(method).uri(path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let token = place.token(Role::Admin);
    place.send(request.header("authorization", format!("Bearer {token}")).body(Body::empty()).unwrap()).await
}

#[tokio::test]
async fn rebound_names_are_refused_everywhere() {
    let place = Place::new().await;
    for path in ["/v1/me", "/v1/sessions", "/healthz", "/", "/docs", "/metrics", "/nothing"] {
        let answer = with(&place, "GET", path, &[("host", "evil.example:8080")]).await;
        assert_eq!(answer.problem(421), "host", "{path}");
        assert_eq!(with(&place, "GET", path, &[]).await.problem(421), "host", "{path}");
        let twice = [("host", HERE), ("host", "evil.example")];
        assert_eq!(with(&place, "GET", path, &twice).await.problem(421), "host", "{path}");
    }
    let absolute = with(&place, "GET", "http://evil.example/v1/me", &[("host", HERE)]).await;
    assert_eq!(absolute.problem(421), "host");
}

#[tokio::test]
async fn foreign_origins_are_refused_also_with_a_token() {
    let place = Place::new().await;
    for origin in ["http://evil.example", "null", "https://127.0.0.1:8080", "http://127.0.0.1:8081"] {
        for method in ["GET", "POST", "OPTIONS"] {
            let answer = with(&place, method, "/v1/sessions", &[("host", HERE), ("origin", origin)]).await;
            assert_eq!(answer.problem(403), "origin", "{method} {origin}");
            assert!(!answer.headers.contains_key("access-control-allow-origin"));
        }
    }
    let own = [("host", HERE), ("origin", "http://127.0.0.1:8080")];
    assert_eq!(with(&place, "GET", "/v1/me", &own).await.status, 200);
}

#[tokio::test]
async fn browsers_are_recognised_by_their_fetch_headers() {
    let place = Place::new().await;
    for site in ["cross-site", "same-site", "none"] {
        let headers = [("host", HERE), ("sec-fetch-site", site), ("sec-fetch-mode", "cors")];
        assert_eq!(with(&place, "POST", "/v1/sessions", &headers).await.problem(403), "origin", "{site}");
    }
    let hidden = [("host", HERE), ("sec-fetch-site", "same-origin")];
    assert_eq!(with(&place, "POST", "/v1/sessions", &hidden).await.problem(403), "origin");
    assert_eq!(with(&place, "GET", "/v1/me", &hidden).await.status, 200);
    let image = [("host", HERE), ("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "no-cors")];
    assert_eq!(with(&place, "GET", "/v1/me", &image).await.problem(403), "origin");
    let link = [("host", HERE), ("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "navigate")];
    assert_eq!(with(&place, "GET", "/v1/me", &link).await.problem(403), "origin");
    assert_eq!(with(&place, "GET", "/", &link).await.status, 200);
}

#[tokio::test]
async fn preflights_get_nothing() {
    let place = Place::new().await;
    let asked = request("OPTIONS", "/v1/sessions").header("access-control-request-method", "POST");
    let answer = place.send(asked.body(Body::empty()).unwrap()).await;
    assert!(answer.status.is_client_error());
    assert!(answer.headers.keys().all(|name| !name.as_str().starts_with("access-control-")));
}

#[tokio::test]
async fn tokens_in_urls_are_refused() {
    let place = Place::new().await;
    let token = place.token(Role::Admin);
    for path in [format!("/v1/me?token={token}"), "/v1/me?access_token=x".to_owned(), format!("/?a={token}")]
    {
        let answer = with(&place, "GET", &path, &[("host", HERE)]).await;
        assert_eq!(answer.problem(400), "token_in_query", "{path}");
        assert!(!answer.text().contains(token));
    }
}
