//! Server-sent events: how a frame is encoded, and how a stream ends with its token.

use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderName, header};
use axum::response::{IntoResponse as _, Response};
use bytes::{BufMut as _, Bytes, BytesMut};
use futures_util::{Stream, StreamExt as _};
use serde::Serialize;
use tokio::sync::watch;
use weir_base::time::now_ms;
use weir_host::{Cursor, Frame, WatchEvent};

use super::types::{ByeEvent, ByeReason};
use crate::auth::{Principal, Standing, Tokens};

/// A frame as sent over the wire.
pub(super) fn encode(frame: &Frame) -> Bytes {
    let (name, id) = (frame.event().name(), frame.id());
    match frame.event() {
        WatchEvent::Line(raw) => write_line(name, id, raw),
        WatchEvent::Hello(event) => write(name, id, event),
        WatchEvent::Snapshot(event) => write(name, id, event),
        WatchEvent::Changes(event) => write(name, id, event),
        WatchEvent::Agent(event) => write(name, id, event),
        WatchEvent::Classic(event) => write(name, id, &event.data),
        WatchEvent::Session(event) => write(name, id, event),
        WatchEvent::Messages(event) => write(name, id, event),
        WatchEvent::Message(event) => write(name, id, event),
        WatchEvent::Heartbeat(event) => write(name, id, event),
        WatchEvent::Bye(reason) => write(name, id, &ByeEvent { reason: (*reason).into() }),
    }
}

/// An event that is not in the log.
pub(super) fn event(name: &str, value: &impl Serialize) -> Bytes {
    write(name, None, value)
}

fn write(event: &str, id: Option<&Cursor>, value: &impl Serialize) -> Bytes {
    let mut text = head(event, id, 256);
    text.put_slice(b"data: ");
    let mut text = text.writer();
    // Writing to memory does not fail, and the values are plain structures. Compact JSON has no line breaks.
    let _ = serde_json::to_writer(&mut text, value);
    let mut text = text.into_inner();
    text.put_slice(b"\n\n");
    text.freeze()
}

/// A line of the CLI. Both of these characters end a line for the reader, so a line that has one is written as several.
fn write_line(event: &str, id: Option<&Cursor>, line: &[u8]) -> Bytes {
    let mut text = head(event, id, line.len() + 64);
    for part in line.split(|byte| matches!(byte, b'\n' | b'\r')) {
        text.put_slice(b"data: ");
        text.put_slice(part);
        text.put_u8(b'\n');
    }
    text.put_u8(b'\n');
    text.freeze()
}

fn head(event: &str, id: Option<&Cursor>, capacity: usize) -> BytesMut {
    let mut text = BytesMut::with_capacity(capacity);
    if let Some(id) = id {
        text.put_slice(format!("id: {id}\n").as_bytes());
    }
    for piece in ["event: ", event, "\n"] {
        text.put_slice(piece.as_bytes());
    }
    text
}

/// A response that lasts as long as there are events. Proxies must not buffer or change it.
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
pub(crate) struct Holder {
    tokens: Tokens,
    changes: watch::Receiver<u64>,
    id: String,
    expires_at: Option<i64>,
}

impl Holder {
    pub(crate) fn new(tokens: &Tokens, who: &Principal) -> Self {
        Self {
            tokens: tokens.clone(),
            changes: tokens.changes(),
            id: who.token_id.clone(),
            expires_at: who.expires_at,
        }
    }

    /// Waits until the token is no longer valid, and returns why. Cancel safe.
    pub(crate) async fn ended(&mut self) -> ByeReason {
        loop {
            self.changes.borrow_and_update();
            match self.tokens.standing(&self.id, now_ms()) {
                Standing::Revoked => return ByeReason::Revoked,
                Standing::Expired => return ByeReason::Expired,
                Standing::Good => {}
            }
            tokio::select! {
                changed = self.changes.changed() => {
                    if changed.is_err() {
                        // The server is gone, so nothing can be revoked any more.
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
    let left = u64::try_from(at - now_ms()).unwrap_or(0);
    // One more millisecond, so that the token has really expired by the clock.
    tokio::time::sleep(Duration::from_millis(left + 1)).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encoded_events() {
        assert_eq!(write("a", None, &()), "event: a\ndata: null\n\n");
        let place = Cursor::new("e", 7, None);
        assert_eq!(
            write_line("line", Some(&place), b"x\ry\nz"),
            format!("id: {place}\nevent: line\ndata: x\ndata: y\ndata: z\n\n")
        );
        assert_eq!(write_line("line", None, b""), "event: line\ndata: \n\n");
    }
}
