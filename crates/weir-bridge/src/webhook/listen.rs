//! Accepts connections, a bounded number of them, and closes those that say nothing.

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

/// Connections at once.
const MAX_CONNECTIONS: usize = 512;
/// Connections of one address at once, so that one peer cannot take all of them. A proxy is one address.
const MAX_PER_PEER: usize = 256;
/// How long the head of a request may take, from the moment in which it is waited for.
pub(super) const HEAD_PATIENCE: Duration = Duration::from_secs(30);
/// How long to wait where the system gives no connection.
const PAUSE: Duration = Duration::from_millis(100);

/// How many connections each address has.
type Peers = Arc<Mutex<HashMap<IpAddr, usize>>>;

/// A connection that is counted while it lives.
struct Counted {
    peers: Peers,
    peer: IpAddr,
}

impl Counted {
    /// Counts a connection; none where the address has too many.
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

/// Serves connections until it is dropped, and all of them with it.
pub(super) async fn serve(listener: TcpListener, app: Router, head_patience: Duration) {
    let peers = Peers::default();
    let mut connections = JoinSet::new();
    loop {
        while connections.try_join_next().is_some() {}
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, peer)) => accept(stream, peer, &peers, &app, head_patience, &mut connections),
                // No file may be left to open. That passes.
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
    head_patience: Duration,
    connections: &mut JoinSet<()>,
) {
    // Whoever is one too many is closed at once, and can come again.
    if connections.len() >= MAX_CONNECTIONS {
        return;
    }
    let Some(counted) = Counted::new(peers, peer.ip()) else { return };
    let service = TowerToHyperService::new(app.clone());
    connections.spawn(async move {
        let _counted = counted;
        let mut http = http1::Builder::new();
        http.timer(TokioTimer::new()).header_read_timeout(head_patience);
        // Why a connection ended is of no use to anybody here.
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
    async fn whoever_says_nothing_is_closed_and_makes_room() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let app = Router::new().route("/", post(|| async { "hello" }));
        let serving = tokio::spawn(serve(listener, app, Duration::from_millis(300)));
        let mut silent = Vec::new();
        for number in 0..MAX_PER_PEER + 20 {
            let mut stream = TcpStream::connect(address).await.unwrap();
            // Some say nothing, and some begin and say no more.
            if number % 2 == 0 {
                let _ = stream.write_all(b"POST / HT").await;
            }
            silent.push(stream);
        }
        for stream in &mut silent {
            // The end of the connection, with or without a last word.
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
