//! The loop that takes connections.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use hyper::body::Incoming;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::server::graceful::GracefulShutdown;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tower::Service as _;

use super::tls::Loaded;
use crate::guard::Peer;

/// How long the head of a request may take to arrive.
const HEAD: Duration = Duration::from_secs(10);

/// How long the handshake of an encrypted connection may take.
const HANDSHAKE: Duration = Duration::from_secs(10);

/// Most connections at a time.
const MOST: usize = 4096;

/// How long to wait when the system gives no more connections.
const PAUSE: Duration = Duration::from_millis(100);

/// A server that listens.
#[derive(Debug)]
pub struct Listening {
    listener: TcpListener,
    tls: Option<Loaded>,
    address: SocketAddr,
}

/// How long open connections may take to come to their end.
#[derive(Debug, Clone, Copy)]
pub struct Stopping(pub Duration);

impl Listening {
    /// Listens here. Nothing is answered yet.
    ///
    /// # Errors
    /// If that address cannot be had.
    pub async fn bind(address: SocketAddr, tls: Option<Loaded>) -> io::Result<Self> {
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        Ok(Self { listener, tls, address })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Whether connections are encrypted.
    pub fn is_tls(&self) -> bool {
        self.tls.is_some()
    }

    /// Answers until it is told to stop, and then for as long as open connections may take.
    pub async fn serve(self, router: Router, stop: oneshot::Receiver<Stopping>) {
        let graceful = GracefulShutdown::new();
        let room = Arc::new(Semaphore::new(MOST));
        let mut stop = stop;
        let patience = loop {
            let taken = tokio::select! {
                taken = accept(&self.listener, &room) => taken,
                stopping = &mut stop => break stopping.map_or(Duration::ZERO, |stopping| stopping.0),
            };
            let Some((stream, peer, permit)) = taken else { continue };
            let watcher = graceful.watcher();
            let (router, tls) = (router.clone(), self.tls.clone());
            tokio::spawn(async move {
                let _permit = permit;
                // Small events must not wait for more.
                let _ = stream.set_nodelay(true);
                match tls {
                    None => answer(stream, peer, router, watcher).await,
                    Some(tls) => match tokio::time::timeout(HANDSHAKE, tls.acceptor.accept(stream)).await {
                        Ok(Ok(stream)) => answer(stream, peer, router, watcher).await,
                        Ok(Err(error)) => tracing::debug!(%peer, %error, "no encrypted connection"),
                        Err(_) => tracing::debug!(%peer, "the handshake took too long"),
                    },
                }
            });
        };
        drop(self.listener);
        if tokio::time::timeout(patience, graceful.shutdown()).await.is_err() {
            tracing::debug!("some connections were cut");
        }
    }
}

async fn accept(
    listener: &TcpListener,
    room: &Arc<Semaphore>,
) -> Option<(TcpStream, SocketAddr, OwnedSemaphorePermit)> {
    // Never closed.
    let permit = Arc::clone(room).acquire_owned().await.ok()?;
    match listener.accept().await {
        Ok((stream, peer)) => Some((stream, peer, permit)),
        Err(error) => {
            // Out of file descriptors, or the client is gone already: neither is a reason to end.
            tracing::warn!(%error, "a connection could not be taken");
            tokio::time::sleep(PAUSE).await;
            None
        }
    }
}

async fn answer(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    peer: SocketAddr,
    router: Router,
    watcher: hyper_util::server::graceful::Watcher,
) {
    let service = hyper::service::service_fn(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(Peer(peer));
        router.clone().call(request)
    });
    let mut builder = Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(HEAD);
    builder.http2().timer(TokioTimer::new()).max_concurrent_streams(256);
    let connection = builder.serve_connection(TokioIo::new(stream), service).into_owned();
    if let Err(error) = watcher.watch(connection).await {
        tracing::debug!(%peer, error, "a connection ended");
    }
}
