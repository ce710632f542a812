//! Server-sent events: how a frame is written, and when a stream ends because its token does.

use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderName, header};
use axum::response::{IntoResponse as _, Response};
use bytes::{BufMut as _, Bytes, BytesMut};
use futures_util::{Stream, StreamExt as _};
use serde::Serialize;
use tokio::sync::watch;
use weir_host::Frame;

use crate::auth::{Principal, Standing, Tokens};
use crate::clock;

/// A frame as it goes over the wire.
pub(super) fn encode(frame: &Frame) -> Bytes {
    let id = frame.id().map(ToString::to_string);
    write(frame.event(), id.as_deref(), frame.data())
}

/// An event without a place in the log.
pub(super) fn event(name: &str, value: &impl Serialize) -> Bytes {
    // What is sent here are plain structures.
    write(name, None, &serde_json::to_vec(value).unwrap_or_default())
}

fn write(event: &str, id: Option<&str>, data: &[u8]) -> Bytes {
    let mut text = BytesMut::with_capacity(data.len() + 64);
    if let Some(id) = id {
        for piece in ["id: ", id, "\n"] {
            text.put_slice(piece.as_bytes());
        }
    }
    for piece in ["event: ", event, "\n"] {
        text.put_slice(piece.as_bytes());
    }
    // Both of these end a line for the reader, so a line of the CLI that has one is written as several.
    for line in data.split(|byte| matches!(byte, b'\n' | b'\r')) {
        text.put_slice(b"data: ");
        text.put_slice(line);
        text.put_u8(b'\n');
    }
    text.put_u8(b'\n');
    text.freeze()
}

/// An answer that goes on for as long as there are events. Nobody on the way may keep it back or change it.
pub(super) fn respond(events: impl Stream<Item = Bytes> + Send + 'static) -> Response {
    let headers = [
        (header::CONTENT_TYPE, "text/event-stream"),
        (header::CACHE_CONTROL, "no-cache, no-transform"),
        (HeaderName::from_static("x-accel-buffering"), "no"),
    ];
    let body = Body::from_stream(events.fuse().map(Ok::<_, std::convert::Infallible>));
    (headers, body).into_response()
}

/// The token of an open stream.
pub(super) struct Holder {
    tokens: Tokens,
    changes: watch::Receiver<u64>,
    id: String,
    expires_at: Option<i64>,
}

impl Holder {
    pub(super) fn new(tokens: &Tokens, who: &Principal) -> Self {
        Self {
            tokens: tokens.clone(),
            changes: tokens.changes(),
            id: who.token_id.clone(),
            expires_at: who.expires_at,
        }
    }

    /// Waits until the token is no good any more, and says why. Cancel safe.
    pub(super) async fn ended(&mut self) -> &'static str {
        loop {
            self.changes.borrow_and_update();
            match self.tokens.standing(&self.id, clock::now()) {
                Standing::Revoked => return "revoked",
                Standing::Expired => return "expired",
                Standing::Good => {}
            }
            tokio::select! {
                changed = self.changes.changed() => {
                    if changed.is_err() {
                        // Nobody can revoke anything any more, because the server is gone.
                        std::future::pending::<()>().await;
                    }
                }
                () = until(self.expires_at) => {}
            }
        }
    }
}

async fn until(at: Option<i64>) {
    let Some(at) = at else { return std::future::pending().await };
    let left = u64::try_from(at - clock::now()).unwrap_or(0);
    // One more, so that it is over by the clock and not only nearly.
    tokio::time::sleep(Duration::from_millis(left + 1)).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_on_the_wire() {
        assert_eq!(write("a", None, b"{}"), "event: a\ndata: {}\n\n");
        assert_eq!(
            write("line", Some("e:7"), b"x\ry\nz"),
            "id: e:7\nevent: line\ndata: x\ndata: y\ndata: z\n\n"
        );
        assert_eq!(write("line", None, b""), "event: line\ndata: \n\n");
    }
}
