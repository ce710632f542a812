//! The events of one message, streamed in response to the request that sent it.

use axum::response::Response;
use bytes::Bytes;
use futures_util::stream;
use weir_host::{Accepted, MessageWatch};

use super::sse::{self, Holder};
use super::types::ByeEvent;
use crate::state::App;
use crate::streams::StreamSlot;

/// A client that waits for the answer to its message.
pub(super) struct MessageStream {
    app: App,
    /// The first frame.
    first: Option<Bytes>,
    watch: MessageWatch,
    holder: Holder,
    is_over: bool,
    _slot: StreamSlot,
}

impl MessageStream {
    pub(super) fn new(
        app: &App,
        accepted: &Accepted,
        watch: MessageWatch,
        holder: Holder,
        slot: StreamSlot,
    ) -> Self {
        let first = Some(sse::event("accepted", accepted));
        Self { app: app.clone(), first, watch, holder, is_over: false, _slot: slot }
    }

    pub(super) fn into_response(self) -> Response {
        sse::respond(stream::unfold(self, Self::next))
    }

    async fn next(mut self) -> Option<(Bytes, Self)> {
        if self.is_over {
            return None;
        }
        let bytes = match self.first.take() {
            Some(first) => first,
            None => tokio::select! {
                biased;
                reason = self.holder.ended() => {
                    self.is_over = true;
                    sse::event("bye", &ByeEvent { reason })
                }
                frame = self.watch.next() => frame?.encoded(sse::encode),
            },
        };
        self.app.metrics().sent(bytes.len());
        Some((bytes, self))
    }
}
