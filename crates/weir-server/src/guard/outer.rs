//! The outer layers: request ids, logs, counts, headers, origins, time.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use tracing::Instrument as _;

use super::headers;
use super::origin::{Refusal, RequestOrigin, judge};
use crate::problem::Problem;
use crate::state::App;

/// The address a request came from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Peer(pub(crate) SocketAddr);

/// Id of a request, for the log and the client.
#[derive(Debug, Clone)]
pub(crate) struct RequestId(pub(crate) String);

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Assigns a request id, logs and counts the request, and adds the headers of every response.
///
/// Only the path is logged. It contains no secrets: a token in a query is refused, and one in a fragment is never sent.
pub(crate) async fn observe(State(app): State<App>, mut request: Request, next: Next) -> Response {
    let started = Instant::now();
    let id = uuid::Uuid::new_v4().simple().to_string();
    let route = request.extensions().get::<MatchedPath>().map(|path| path.as_str().to_owned());
    let method = request.method().clone();
    let span = tracing::info_span!(
        "request", id, %method, path = request.uri().path(),
        session = tracing::field::Empty, who = tracing::field::Empty
    );
    request.extensions_mut().insert(RequestId(id.clone()));
    let mut response = next.run(request).instrument(span.clone()).await;
    let (status, took) = (response.status(), started.elapsed());
    span.in_scope(|| {
        let code = response.extensions().get::<Problem>().map(Problem::code);
        let ms = took.as_secs_f64() * 1000.0;
        if status.is_server_error() {
            tracing::warn!(status = status.as_u16(), ms, code, "answered");
        } else {
            tracing::debug!(status = status.as_u16(), ms, code, "answered");
        }
    });
    app.metrics().answered(&method, route.as_deref(), status, took);
    headers::add(response.headers_mut(), app.is_tls());
    if let Ok(id) = HeaderValue::from_str(&id) {
        response.headers_mut().insert(REQUEST_ID, id);
    }
    response
}

/// Refuses requests meant for another host, requests of foreign pages, and tokens in a query.
pub(crate) async fn check_origin(State(app): State<App>, request: Request, next: Next) -> Response {
    let is_page = app.is_page(request.uri().path());
    let checked = check(&app, request.method(), request.uri(), request.headers(), is_page);
    match checked.and_then(|()| no_token_in(request.uri().query().unwrap_or_default())) {
        Ok(()) => next.run(request).await,
        Err(problem) => problem.into_response(),
    }
}

fn check(app: &App, method: &Method, uri: &Uri, headers: &HeaderMap, is_page: bool) -> Result<(), Problem> {
    // A value that is not text cannot be one of our names.
    let text = |value: &'_ HeaderValue| value.to_str().unwrap_or("\u{fffd}").to_owned();
    let mut hosts: Vec<String> = headers.get_all(header::HOST).iter().map(text).collect();
    hosts.extend(uri.authority().map(ToString::to_string));
    let hosts: Vec<&str> = hosts.iter().map(String::as_str).collect();
    let one = |name: &str| headers.get(name).map(text);
    // Repeated headers are refused like a wrong one.
    let several = |name: &str| headers.get_all(name).iter().count() > 1;
    if several("origin") || several("sec-fetch-site") {
        return Err(foreign());
    }
    let (origin, referer, site, mode) =
        (one("origin"), one("referer"), one("sec-fetch-site"), one("sec-fetch-mode"));
    let request = RequestOrigin {
        hosts: &hosts,
        origin: origin.as_deref(),
        referer: referer.as_deref(),
        site: site.as_deref(),
        mode: mode.as_deref(),
        only_reads: matches!(*method, Method::GET | Method::HEAD),
        is_page,
    };
    judge(app.places(), &request).map_err(|refusal| match refusal {
        Refusal::Host => {
            let detail = "this server does not answer to this host name; use the address that it printed, or start \
                 it with --public-url";
            Problem::new(StatusCode::MISDIRECTED_REQUEST, "host", detail)
        }
        Refusal::Origin => foreign(),
    })
}

fn foreign() -> Problem {
    let detail =
        "a page of another origin may not use this server; behind a proxy, start it with --public-url";
    Problem::forbidden("origin", detail)
}

/// Query strings end up in browser histories and logs.
fn no_token_in(query: &str) -> Result<(), Problem> {
    let is_token = |pair: &str| {
        let name = pair.split('=').next().unwrap_or_default().to_ascii_lowercase();
        ["token", "access_token", "auth", "authorization", "api_key", "key", "bearer"]
            .contains(&name.as_str())
            || pair.contains("weir_")
    };
    if query.split('&').any(is_token) {
        let detail = "a token must not be part of a URL, which logs and histories record; send it as \
             `Authorization: Bearer`, and revoke it if it was a real one";
        return Err(Problem::bad_request("token_in_query", detail));
    }
    Ok(())
}

/// Ends a request whose response takes too long.
pub(crate) async fn limit_time(State(limit): State<Duration>, request: Request, next: Next) -> Response {
    match tokio::time::timeout(limit, next.run(request)).await {
        Ok(response) => response,
        Err(_) => {
            let detail = "the request timed out; it may still take effect";
            Problem::new(StatusCode::REQUEST_TIMEOUT, "timeout", detail).into_response()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_in_queries_are_found() {
        for query in ["token=a", "x=1&TOKEN=b", "access_token=c", "search=weir_0a0b"] {
            assert!(no_token_in(query).is_err(), "{query}");
        }
        for query in ["", "search=token", "limit=1&cursor=abc"] {
            assert!(no_token_in(query).is_ok(), "{query}");
        }
    }
}
