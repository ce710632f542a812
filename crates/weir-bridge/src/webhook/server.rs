//! Takes what the other side sends.
//!
//! Nothing of a request is read before its timestamp is known to be fresh, and no more than fits, in a bounded time. Each
//! request is read by itself, so a slow one holds up no other.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

use super::signature::{HEADER_SIGNATURE, HEADER_TIMESTAMP, check, check_time};
use super::{incoming, listen};
use crate::channel::Inlet;
use crate::config::Secret;

/// Longest body, with its files.
const MAX_BYTES: usize = 32 << 20;
/// How long a body may take.
const PATIENCE: Duration = Duration::from_secs(60);
/// Bodies that are read at once.
const MAX_BODIES: usize = 64;

#[derive(Debug)]
struct Shared {
    inlet: Inlet,
    secret: Secret,
    bodies: Semaphore,
    patience: Duration,
}

/// Takes requests until it is dropped.
pub(super) async fn serve(listener: TcpListener, inlet: Inlet, secret: Secret) {
    listen::serve(listener, app(inlet, secret, PATIENCE), listen::HEAD_PATIENCE).await;
}

fn app(inlet: Inlet, secret: Secret, patience: Duration) -> Router {
    let shared = Shared { inlet, secret, bodies: Semaphore::new(MAX_BODIES), patience };
    Router::new().route("/", post(take)).with_state(Arc::new(shared))
}

async fn take(State(shared): State<Arc<Shared>>, headers: HeaderMap, body: Body) -> (StatusCode, String) {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let now = crate::now();
    let (timestamp, signature) = (header(HEADER_TIMESTAMP), header(HEADER_SIGNATURE));
    if let Err(error) = check_time(timestamp, signature, now / 1_000) {
        return (StatusCode::UNAUTHORIZED, error.to_string());
    }
    let body = match shared.read(body).await {
        Ok(body) => body,
        Err(refusal) => return refusal,
    };
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

impl Shared {
    async fn read(&self, body: Body) -> Result<Bytes, (StatusCode, String)> {
        let Ok(_turn) = self.bodies.try_acquire() else {
            let text = format!("{MAX_BODIES} requests are being read; send it again");
            return Err((StatusCode::SERVICE_UNAVAILABLE, text));
        };
        match tokio::time::timeout(self.patience, axum::body::to_bytes(body, MAX_BYTES)).await {
            Ok(Ok(body)) => Ok(body),
            Ok(Err(_)) => {
                let text = format!("the body is cut off, or has more than {} MB", MAX_BYTES >> 20);
                Err((StatusCode::PAYLOAD_TOO_LARGE, text))
            }
            Err(_) => {
                let text = format!("the body took more than {} seconds", self.patience.as_secs());
                Err((StatusCode::REQUEST_TIMEOUT, text))
            }
        }
    }
}
