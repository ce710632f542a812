//! Tracks activity on a connection, and when it has been idle for too long.
//!
//! The clock of a connection starts when it is accepted, not with its first byte: a client that never sends anything is
//! disconnected, like one that stops in the middle of a line, preface or body, or does not read the response.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};

use axum::BoxError;
use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::Notify;
use tokio::time::{Instant, Sleep};

use super::roster::Place;
use crate::settings::ConnectionLimits;

/// Activity on a connection.
#[derive(Debug)]
pub(super) struct Activity {
    place: Place,
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Debug)]
struct State {
    /// Requests whose response is not complete.
    under_way: usize,
    /// Whether no request has arrived yet.
    is_fresh: bool,
    /// When the connection became idle: the end of its last request, or when it was accepted.
    since: Instant,
    /// Since when the client has not been reading.
    blocked: Option<Instant>,
}

/// Why a connection is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ended {
    /// No request arrived in time.
    Silent,
    /// The response was not read in time.
    Unread,
    /// Another connection needed the room.
    Evicted,
}

impl Activity {
    pub(super) fn new(place: Place) -> Self {
        let state = State { under_way: 0, is_fresh: true, since: Instant::now(), blocked: None };
        Self { place, state: Mutex::new(state), changed: Notify::new() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // The state is consistent between any two statements that could panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        let mut state = self.lock();
        change(&mut state);
        self.place.set_idle(state.under_way == 0 || state.blocked.is_some());
        drop(state);
        self.changed.notify_one();
    }

    /// Restarts the clock for the first request.
    pub(super) fn restart(&self) {
        self.change(|state| state.since = Instant::now());
    }

    /// Marks a request as under way for as long as the returned guard is held.
    pub(super) fn request(self: &Arc<Self>) -> UnderWay {
        self.change(|state| (state.under_way, state.is_fresh) = (state.under_way + 1, false));
        UnderWay { activity: Arc::clone(self) }
    }

    fn deadline(&self, limits: &ConnectionLimits) -> Option<(Instant, Ended)> {
        let state = self.lock();
        let silent = if state.is_fresh { limits.first_request } else { limits.next_request };
        let silent = (state.under_way == 0).then(|| (state.since + silent, Ended::Silent));
        let unread = state.blocked.map(|since| (since + limits.unread, Ended::Unread));
        silent.into_iter().chain(unread).min_by_key(|(at, _)| *at)
    }

    /// Waits until the connection has to be closed.
    pub(super) async fn ended(&self, limits: &ConnectionLimits) -> Ended {
        loop {
            let deadline = self.deadline(limits);
            let passed = async {
                match deadline {
                    Some((at, why)) => {
                        tokio::time::sleep_until(at).await;
                        why
                    }
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                () = self.place.evicted.notified() => return Ended::Evicted,
                // `Notify` stores a permit, so no change in between is missed.
                () = self.changed.notified() => {}
                why = passed => {
                    self.place.timed_out();
                    return why;
                }
            }
        }
    }
}

/// A request that is under way.
#[derive(Debug)]
pub(super) struct UnderWay {
    activity: Arc<Activity>,
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.activity.change(|state| {
            state.under_way = state.under_way.saturating_sub(1);
            state.since = Instant::now();
        });
    }
}

/// A response body that keeps its request under way until it has ended.
#[derive(Debug)]
pub(super) struct TrackedBody<B> {
    body: B,
    _under_way: UnderWay,
}

impl<B> TrackedBody<B> {
    pub(super) fn new(body: B, under_way: UnderWay) -> Self {
        Self { body, _under_way: under_way }
    }
}

impl<B: Body + Unpin> Body for TrackedBody<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// A request body that has to arrive in time, both each chunk and the whole.
#[derive(Debug)]
pub(super) struct TimedBody<B> {
    body: B,
    limits: ConnectionLimits,
    whole: Instant,
    /// Runs while waiting for a chunk.
    waiting: Option<Pin<Box<Sleep>>>,
}

impl<B> TimedBody<B> {
    pub(super) fn new(body: B, limits: ConnectionLimits) -> Self {
        Self { body, limits, whole: Instant::now() + limits.body, waiting: None }
    }
}

/// The body of a request did not arrive in time.
#[derive(Debug, Clone, Copy, thiserror::Error)]
#[error("the body did not arrive in time")]
pub(crate) struct BodyTooSlow;

impl<B: Body<Data = Bytes, Error: Into<BoxError>> + Unpin> Body for TimedBody<B> {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        if let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(context) {
            self.waiting = None;
            return Poll::Ready(frame.map(|frame| frame.map_err(Into::into)));
        }
        let deadline = self.whole.min(Instant::now() + self.limits.body_pause);
        let waiting = self.waiting.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(deadline)));
        ready!(waiting.as_mut().poll(context));
        Poll::Ready(Some(Err(BodyTooSlow.into())))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// A socket that notices when its client does not read. It must wrap the socket itself: TLS has a buffer of its own,
/// which accepts writes even if the client does not read.
#[derive(Debug)]
pub(super) struct WatchedSocket<S> {
    stream: S,
    activity: Arc<Activity>,
    is_blocked: bool,
}

impl<S> WatchedSocket<S> {
    pub(super) fn new(stream: S, activity: Arc<Activity>) -> Self {
        Self { stream, activity, is_blocked: false }
    }

    fn wrote<T>(&mut self, written: Poll<T>) -> Poll<T> {
        if self.is_blocked != written.is_pending() {
            self.is_blocked = written.is_pending();
            self.activity.change(|state| state.blocked = written.is_pending().then(Instant::now));
        }
        written
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for WatchedSocket<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for WatchedSocket<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.wrote(written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.wrote(written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        // Flushing a socket always succeeds, whether or not the client reads.
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
