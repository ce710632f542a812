//! Receives the requests of the other side.
//!
//! A body is read only after the timestamp has been checked, up to a maximum size and within a time limit. Requests are
//! read independently, so a slow one does not hold up others.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use weir_base::time::now_ms;

use super::signature::{HEADER_SIGNATURE, HEADER_TIMESTAMP, check, check_time};
use super::{incoming, listen};
use crate::channel::Inlet;
use crate::config::Secret;

/// Maximum size of a body in bytes, including its files.
const MAX_BYTES: usize = 32 << 20;
/// Time limit for reading a body.
const BODY_TIMEOUT: Duration = Duration::from_secs(60);
/// Maximum number of bodies that are read concurrently.
const MAX_BODIES: usize = 64;

#[derive(Debug)]
struct Shared {
    inlet: Inlet,
    secret: Secret,
    bodies: Semaphore,
    body_timeout: Duration,
}

/// Receives requests until dropped.
pub(super) async fn serve(listener: TcpListener, inlet: Inlet, secret: Secret) {
    listen::serve(listener, app(inlet, secret, BODY_TIMEOUT), listen::HEAD_TIMEOUT).await;
}

fn app(inlet: Inlet, secret: Secret, body_timeout: Duration) -> Router {
    let shared = Shared { inlet, secret, bodies: Semaphore::new(MAX_BODIES), body_timeout };
    Router::new().route("/", post(receive)).with_state(Arc::new(shared))
}

async fn receive(State(shared): State<Arc<Shared>>, headers: HeaderMap, body: Body) -> (StatusCode, String) {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let now = now_ms();
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
        let Ok(_permit) = self.bodies.try_acquire() else {
            let text = format!("{MAX_BODIES} requests are being read; try again later");
            return Err((StatusCode::SERVICE_UNAVAILABLE, text));
        };
        match tokio::time::timeout(self.body_timeout, axum::body::to_bytes(body, MAX_BYTES)).await {
            Ok(Ok(body)) => Ok(body),
            Ok(Err(_)) => {
                let text = format!("the body is incomplete or larger than {} MB", MAX_BYTES >> 20);
                Err((StatusCode::PAYLOAD_TOO_LARGE, text))
            }
            Err(_) => {
                let text = format!("the body took more than {} seconds", self.body_timeout.as_secs());
                Err((StatusCode::REQUEST_TIMEOUT, text))
            }
        }
    }
}
