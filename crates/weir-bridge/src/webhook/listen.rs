//! Accepts a bounded number of connections, and closes idle ones.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// Maximum number of concurrent connections.
const MAX_CONNECTIONS: usize = 512;
/// Maximum number of concurrent connections per address, so that one peer cannot take all of them. A proxy counts as
/// one address.
const MAX_PER_PEER: usize = 256;
/// Time limit for reading the head of a request, including the wait for it.
pub(super) const HEAD_TIMEOUT: Duration = Duration::from_secs(30);
/// How long to wait after a failed accept.
const PAUSE: Duration = Duration::from_millis(100);

/// Number of connections per address.
type Peers = Arc<Mutex<HashMap<IpAddr, usize>>>;

/// Counts a connection until it is dropped.
struct Counted {
    peers: Peers,
    peer: IpAddr,
}

impl Counted {
    /// Counts a connection, or returns `None` if the address has too many.
    fn new(peers: &Peers, peer: IpAddr) -> Option<Self> {
        let mut counts = peers.lock().unwrap_or_else(PoisonError::into_inner);
        let count = counts.entry(peer).or_default();
        if *count >= MAX_PER_PEER {
            return None;
        }
        *count += 1;
        drop(counts);
        Some(Self { peers: Arc::clone(peers), peer })
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        let mut counts = self.peers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = counts.get_mut(&self.peer) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&self.peer);
            }
        }
    }
}

/// Serves connections. Dropping the future closes all of them.
pub(super) async fn serve(listener: TcpListener, app: Router, head_timeout: Duration) {
    let peers = Peers::default();
    let mut connections = JoinSet::new();
    loop {
        while connections.try_join_next().is_some() {}
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, peer)) => accept(stream, peer, &peers, &app, head_timeout, &mut connections),
                // Possibly out of file descriptors, which is temporary.
                Err(_) => tokio::time::sleep(PAUSE).await,
            },
            Some(_) = connections.join_next() => {}
        }
    }
}

fn accept(
    stream: TcpStream,
    peer: SocketAddr,
    peers: &Peers,
    app: &Router,
    head_timeout: Duration,
    connections: &mut JoinSet<()>,
) {
    // Excess connections are closed at once; the peer can retry.
    if connections.len() >= MAX_CONNECTIONS {
        return;
    }
    let Some(counted) = Counted::new(peers, peer.ip()) else { return };
    let service = TowerToHyperService::new(app.clone());
    connections.spawn(async move {
        let _counted = counted;
        let mut http = http1::Builder::new();
        http.timer(TokioTimer::new()).header_read_timeout(head_timeout);
        // The reason why a connection ended does not matter.
        drop(http.serve_connection(TokioIo::new(stream), service).await);
    });
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use axum::Router;
    use axum::routing::post;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::{TcpListener, TcpStream};

    use super::{MAX_PER_PEER, serve};

    #[tokio::test]
    async fn idle_connections_are_closed_and_make_room() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let app = Router::new().route("/", post(|| async { "hello" }));
        let serving = tokio::spawn(serve(listener, app, Duration::from_millis(300)));
        let mut silent = Vec::new();
        for number in 0..MAX_PER_PEER + 20 {
            let mut stream = TcpStream::connect(address).await.unwrap();
            // Half of them send nothing, the others stop in the middle of the head.
            if number % 2 == 0 {
                let _ = stream.write_all(b"POST / HT").await;
            }
            silent.push(stream);
        }
        for stream in &mut silent {
            // The connection ends, with or without a response.
            let mut rest = Vec::new();
            let _ = stream.read_to_end(&mut rest).await;
        }
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(b"POST / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with("hello"), "{answer}");
        serving.abort();
    }
}
