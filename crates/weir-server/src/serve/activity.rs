//! What happens on a connection, and when nothing has happened on it for too long.
//!
//! The clock of a connection starts when it is taken and not with its first byte: who never sends one is closed like
//! who stops in the middle of a line, of a preface or of a body, and like who does not read the answer.

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

/// What happens on a connection.
#[derive(Debug)]
pub(super) struct Activity {
    place: Place,
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Debug)]
struct State {
    /// Requests whose answer is not complete.
    under_way: usize,
    /// Whether nothing was asked yet.
    is_fresh: bool,
    /// Since when it has been as it is: without a request, or since it was taken.
    since: Instant,
    /// Since when the client has not read what is written to it.
    blocked: Option<Instant>,
}

/// Why a connection is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ended {
    /// No request came in time.
    Silent,
    /// The answer was not read in time.
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
        // The state is whole between any two statements that could panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        let mut state = self.lock();
        change(&mut state);
        self.place.set_idle(state.under_way == 0 || state.blocked.is_some());
        drop(state);
        self.changed.notify_one();
    }

    /// The time for the first request starts now.
    pub(super) fn restart(&self) {
        self.change(|state| state.since = Instant::now());
    }

    /// A request is under way as long as this is held.
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
                // It stores a permit, so nothing that changed in between is missed.
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

/// An answer whose request is under way until its body has ended.
#[derive(Debug)]
pub(super) struct Answered<B> {
    body: B,
    _under_way: UnderWay,
}

impl<B> Answered<B> {
    pub(super) fn new(body: B, under_way: UnderWay) -> Self {
        Self { body, _under_way: under_way }
    }
}

impl<B: Body + Unpin> Body for Answered<B> {
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

/// A body of a request that has to arrive in time: each piece of it, and all of it.
#[derive(Debug)]
pub(super) struct Timely<B> {
    body: B,
    limits: ConnectionLimits,
    whole: Instant,
    /// Runs while a piece is waited for.
    waiting: Option<Pin<Box<Sleep>>>,
}

impl<B> Timely<B> {
    pub(super) fn new(body: B, limits: ConnectionLimits) -> Self {
        Self { body, limits, whole: Instant::now() + limits.body, waiting: None }
    }
}

/// The body of a request did not arrive in time.
#[derive(Debug, Clone, Copy, thiserror::Error)]
#[error("the body did not arrive in time")]
pub(crate) struct BodyTooSlow;

impl<B: Body<Data = Bytes, Error: Into<BoxError>> + Unpin> Body for Timely<B> {
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

/// A socket whose client is seen not to read. It must be the socket itself: what encrypts has a buffer of its own, into
/// which can be written although the client does not read.
#[derive(Debug)]
pub(super) struct Seen<S> {
    stream: S,
    activity: Arc<Activity>,
    is_blocked: bool,
}

impl<S> Seen<S> {
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

impl<S: AsyncRead + Unpin> AsyncRead for Seen<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Seen<S> {
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
        // A socket is always flushed, whether or not the client reads.
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
