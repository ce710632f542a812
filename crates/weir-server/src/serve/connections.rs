//! The accept loop, and one task per connection.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use hyper::body::Incoming;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::oneshot;
use tower::Service as _;

use super::activity::{Activity, TimedBody, TrackedBody, WatchedSocket};
use super::roster::{ConnectionCounts, Place, Roster};
use super::tls::Loaded;
use crate::guard::Peer;
use crate::settings::ConnectionLimits;

/// Connections that the system queues until they are accepted. Beyond that, clients wait for a second and try again.
const BACKLOG: u32 = 4096;

/// Pause after a connection could not be accepted.
const PAUSE: Duration = Duration::from_millis(100);

/// How often an idle HTTP/2 connection is pinged, and how long the client may take to answer.
const PING: (Duration, Duration) = (Duration::from_secs(30), Duration::from_secs(20));

/// A bound listener.
#[derive(Debug)]
pub struct Listening {
    listener: TcpListener,
    tls: Option<Loaded>,
    address: SocketAddr,
}

/// How long open connections may take to finish.
#[derive(Debug, Clone, Copy)]
pub struct Stopping(pub Duration);

impl Listening {
    /// Binds the address. Nothing is answered yet.
    ///
    /// # Errors
    /// If the address cannot be bound.
    pub async fn bind(address: SocketAddr, tls: Option<Loaded>) -> io::Result<Self> {
        let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
        // Lets a stopped server restart immediately.
        #[cfg(unix)]
        socket.set_reuseaddr(true)?;
        socket.bind(address)?;
        let listener = socket.listen(BACKLOG)?;
        let address = listener.local_addr()?;
        Ok(Self { listener, tls, address })
    }

    /// The bound address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Whether connections are encrypted.
    pub fn is_tls(&self) -> bool {
        self.tls.is_some()
    }

    /// Serves until told to stop, then waits for open connections as long as allowed.
    pub(crate) async fn serve(
        self,
        router: Router,
        limits: ConnectionLimits,
        counts: Arc<ConnectionCounts>,
        mut stop: oneshot::Receiver<Stopping>,
    ) {
        let graceful = GracefulShutdown::new();
        let roster = Arc::new(Roster::new(limits.max_connections, limits.max_unused_per_peer, counts));
        let close_timeout = loop {
            let taken = tokio::select! {
                taken = self.accept(&roster) => taken,
                stopping = &mut stop => break stopping.map_or(Duration::ZERO, |stopping| stopping.0),
            };
            let Some((stream, peer, place)) = taken else { continue };
            let connection = Connection { peer, limits, activity: Arc::new(Activity::new(place)) };
            tokio::spawn(connection.run(stream, self.tls.clone(), router.clone(), graceful.watcher()));
        };
        drop(self.listener);
        if tokio::time::timeout(close_timeout, graceful.shutdown()).await.is_err() {
            tracing::debug!("closed connections that did not finish in time");
        }
    }

    async fn accept(&self, roster: &Arc<Roster>) -> Option<(TcpStream, SocketAddr, Place)> {
        match self.listener.accept().await {
            Ok((stream, peer)) => {
                let place = roster.admit(peer.ip());
                if place.is_none() {
                    tracing::warn!(%peer, "refused a connection: the limit is reached and all connections are in use");
                }
                Some((stream, peer, place?))
            }
            Err(error) => {
                // Out of file descriptors, or the client has already left: neither is a reason to stop.
                tracing::warn!(%error, "cannot accept a connection");
                roster.make_room();
                tokio::time::sleep(PAUSE).await;
                None
            }
        }
    }
}

/// One connection.
struct Connection {
    peer: SocketAddr,
    limits: ConnectionLimits,
    activity: Arc<Activity>,
}

impl Connection {
    /// Runs until one side closes the connection or it is idle for too long.
    async fn run(self, stream: TcpStream, tls: Option<Loaded>, router: Router, watcher: Watcher) {
        tokio::select! {
            () = self.secure(stream, tls, router, watcher) => {}
            why = self.activity.ended(&self.limits) => {
                tracing::debug!(peer = %self.peer, ?why, "closed a connection");
            }
        }
    }

    async fn secure(&self, stream: TcpStream, tls: Option<Loaded>, router: Router, watcher: Watcher) {
        // Small events must not be delayed.
        let _ = stream.set_nodelay(true);
        let stream = WatchedSocket::new(stream, Arc::clone(&self.activity));
        let Some(tls) = tls else { return self.answer(stream, router, watcher).await };
        match tls.acceptor.accept(stream).await {
            Ok(stream) => {
                self.activity.restart();
                self.answer(stream, router, watcher).await;
            }
            Err(error) => tracing::debug!(peer = %self.peer, %error, "TLS handshake failed"),
        }
    }

    async fn answer(
        &self,
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
        router: Router,
        watcher: Watcher,
    ) {
        let (peer, limits, activity) = (self.peer, self.limits, Arc::clone(&self.activity));
        let service = hyper::service::service_fn(move |request: Request<Incoming>| {
            let under_way = activity.request();
            let mut request = request.map(|body| Body::new(TimedBody::new(body, limits)));
            request.extensions_mut().insert(Peer(peer));
            let answering = router.clone().call(request);
            async move { answering.await.map(|answer| answer.map(|body| TrackedBody::new(body, under_way))) }
        });
        let mut builder = Builder::new(TokioExecutor::new());
        // This timeout also applies between requests; our own, shorter one covers the first request.
        builder.http1().timer(TokioTimer::new()).header_read_timeout(limits.next_request);
        builder
            .http2()
            .timer(TokioTimer::new())
            .max_concurrent_streams(256)
            .keep_alive_interval(PING.0)
            .keep_alive_timeout(PING.1);
        let connection = builder.serve_connection(TokioIo::new(stream), service).into_owned();
        if let Err(error) = watcher.watch(connection).await {
            tracing::debug!(%peer, error, "a connection failed");
        }
    }
}
