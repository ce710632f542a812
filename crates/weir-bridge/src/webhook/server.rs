//! Takes what the other side sends.

use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use tokio::net::TcpListener;

use super::incoming;
use super::signature::{HEADER_SIGNATURE, HEADER_TIMESTAMP, check};
use crate::channel::Inlet;
use crate::config::Secret;
use crate::error::BridgeError;

/// Longest body, with its files.
const MOST_BYTES: usize = 32 << 20;

#[derive(Debug)]
struct Shared {
    inlet: Inlet,
    secret: Secret,
}

/// Takes requests until it is dropped.
pub(super) async fn serve(listener: TcpListener, inlet: Inlet, secret: Secret) -> Result<(), BridgeError> {
    let channel = inlet.channel().to_string();
    let served = axum::serve(listener, app(inlet, secret)).await;
    served.map_err(|error| BridgeError::Channel { channel, reason: error.to_string() })
}

fn app(inlet: Inlet, secret: Secret) -> Router {
    Router::new()
        .route("/", post(take))
        .layer(DefaultBodyLimit::max(MOST_BYTES))
        .with_state(Arc::new(Shared { inlet, secret }))
}

async fn take(State(shared): State<Arc<Shared>>, headers: HeaderMap, body: Bytes) -> (StatusCode, String) {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let now = crate::now();
    let (timestamp, signature) = (header(HEADER_TIMESTAMP), header(HEADER_SIGNATURE));
    if let Err(error) = check(shared.secret.bytes(), timestamp, signature, &body, now / 1_000) {
        return (StatusCode::UNAUTHORIZED, error.to_string());
    }
    let (incoming, files) = match incoming::read(&body, shared.inlet.channel(), now) {
        Ok(read) => read,
        Err(error) => return (StatusCode::BAD_REQUEST, error),
    };
    match shared.inlet.deliver(incoming, files).await {
        Ok(()) => (StatusCode::ACCEPTED, "kept".to_owned()),
        Err(error) => (StatusCode::SERVICE_UNAVAILABLE, error.to_string()),
    }
}
