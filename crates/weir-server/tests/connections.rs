//! Idle connections are closed and do not shut out others.

#![expect(clippy::unwrap_used, reason = "a test that cannot continue should stop")]

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tempfile::TempDir;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{self, ClientConfig, RootCertStore};
use weir_host::{Actor, Host, HostOptions, NewSession};
use weir_server::{App, Certificate, ConnectionLimits, NewToken, Role, ServeOptions, Server, ServerSettings};
use weir_session::SessionOptions;
use weir_store::MemoryStore;
use weir_testkit::soon;

const SHORT: Duration = Duration::from_millis(200);

/// A server with short timeouts.
struct Listening {
    folder: TempDir,
    address: SocketAddr,
    app: App,
    stop: mpsc::Sender<()>,
    running: JoinHandle<Result<(), weir_server::ServeError>>,
}

fn impatient() -> ConnectionLimits {
    ConnectionLimits {
        first_request: SHORT,
        next_request: SHORT,
        body_pause: SHORT,
        ..ConnectionLimits::default()
    }
}

impl Listening {
    async fn with(tls: bool, connections: ConnectionLimits) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let recipe = |_: &_| SessionOptions::new().program("no-such-program");
        let host = HostOptions::new(Arc::new(MemoryStore::new()), recipe).root(&root);
        let names = vec!["localhost".to_owned()];
        let options = ServeOptions {
            listen: "127.0.0.1:0".parse().unwrap(),
            allow_remote: false,
            certificate: tls.then(|| Certificate::SelfSigned { folder: root.clone(), names }),
            public: Vec::new(),
            data_directory: root.clone(),
            ready_file: None,
            drain: Duration::ZERO,
            settings: ServerSettings {
                roots: vec![root],
                connections,
                heartbeat: Duration::from_millis(50),
                ..ServerSettings::default()
            },
        };
        let server = Server::start(Host::open(host).await.unwrap(), options).await.unwrap();
        let address = server.url().split_once("://").unwrap().1.parse().unwrap();
        let (app, (stop, stopped)) = (server.app().clone(), mpsc::channel(1));
        Self { folder, address, app, stop, running: tokio::spawn(server.run(stopped)) }
    }

    async fn plain(limits: ConnectionLimits) -> Self {
        Self::with(false, limits).await
    }

    async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    /// The head of a request with a token of this role.
    fn head(&self, role: Role, line: &str) -> String {
        let name = uuid::Uuid::new_v4().to_string();
        let (_, secret) = self.app.tokens().add(NewToken::new(name, role), 1).unwrap();
        format!("{line} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\n", self.address, secret.reveal())
    }

    async fn session(&self) -> String {
        let new = NewSession::new(self.folder.path().canonicalize().unwrap().display().to_string());
        self.app.host().create(new, &Actor::new("test")).await.unwrap().session.id
    }

    async fn is_well(&self) {
        let mut stream = self.connect().await;
        let request = format!("GET /healthz HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", self.address);
        stream.write_all(request.as_bytes()).await.unwrap();
        let answer = String::from_utf8(closed(stream).await).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    }

    async fn end(self) {
        self.stop.send(()).await.unwrap();
        soon(self.running).await.unwrap().unwrap();
    }
}

/// Reads until the server closes the connection, which it must.
async fn closed(mut stream: impl AsyncRead + Unpin) -> Vec<u8> {
    let mut all = Vec::new();
    // A reset also counts as closed.
    let _ = soon(stream.read_to_end(&mut all)).await;
    all
}

/// Sends this text and nothing more; the connection must be closed without success.
async fn stops_after(listening: &Listening, text: &str) {
    let mut stream = listening.connect().await;
    stream.write_all(text.as_bytes()).await.unwrap();
    let answer = closed(stream).await;
    assert!(!answer.starts_with(b"HTTP/1.1 2"), "{:?}: {:?}", text, String::from_utf8_lossy(&answer));
}

#[tokio::test]
async fn silent_and_half_sent_requests_are_closed() {
    let listening = Listening::plain(impatient()).await;
    let preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    for text in [
        "",
        "G",
        "GET /healthz HTT",
        "GET /healthz HTTP/1.1\r\n",
        "GET /healthz HTTP/1.1\r\nHost: x\r\nX-Slow: ",
        "PRI",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n",
        preface,
        // An empty SETTINGS frame, then half a HEADERS frame.
        &format!("{preface}\0\0\0\x04\0\0\0\0\0"),
        &format!("{preface}\0\0\0\x04\0\0\0\0\0\0\0\x20\x01\x04\0\0\0\x01abc"),
        "\u{16}\u{3}\u{1}",
    ] {
        stops_after(&listening, text).await;
    }
    listening.is_well().await;
    listening.end().await;
}

#[tokio::test]
async fn a_client_that_trickles_bytes_is_closed() {
    let listening = Listening::plain(impatient()).await;
    let mut stream = listening.connect().await;
    let drip = async {
        for byte in std::iter::repeat(b'a') {
            if stream.write_all(&[byte]).await.is_err() {
                return;
            }
            tokio::time::sleep(SHORT / 10).await;
        }
    };
    soon(drip).await;
    listening.end().await;
}

#[tokio::test]
async fn an_idle_connection_is_closed_after_its_first_request() {
    let listening = Listening::plain(impatient()).await;
    let mut stream = listening.connect().await;
    let request = format!("GET /healthz HTTP/1.1\r\nHost: {}\r\n\r\n", listening.address);
    stream.write_all(request.as_bytes()).await.unwrap();
    assert!(closed(stream).await.starts_with(b"HTTP/1.1 200"));
    listening.end().await;
}

#[tokio::test]
async fn a_body_that_stalls_ends_its_request() {
    let listening = Listening::plain(impatient()).await;
    let session = listening.session().await;
    for line in [
        "POST /v1/sessions".to_owned(),
        format!("POST /v1/sessions/{session}/messages"),
        "POST /v1/chat/completions".to_owned(),
        "POST /v1/responses".to_owned(),
    ] {
        let head = listening.head(Role::Driver, &line);
        let mut stream = listening.connect().await;
        let half = format!("{head}Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n{{\"cwd\":");
        stream.write_all(half.as_bytes()).await.unwrap();
        let answer = String::from_utf8(closed(stream).await).unwrap();
        assert!(answer.starts_with("HTTP/1.1 4"), "{line}: {answer:?}");
    }
    // Without a token the server does not wait for the body.
    let mut stream = listening.connect().await;
    let half =
        format!("POST /v1/sessions HTTP/1.1\r\nHost: {}\r\nContent-Length: 9\r\n\r\n", listening.address);
    stream.write_all(half.as_bytes()).await.unwrap();
    assert!(closed(stream).await.starts_with(b"HTTP/1.1 401"));
    listening.end().await;
}

#[tokio::test]
async fn an_active_stream_is_not_closed() {
    let listening = Listening::plain(impatient()).await;
    let mut stream = listening.connect().await;
    let head = listening.head(Role::Viewer, "GET /v1/events");
    stream.write_all(format!("{head}\r\n").as_bytes()).await.unwrap();
    let (mut seen, mut buffer) = (String::new(), [0; 4096]);
    // Several times as long as an idle connection may stay open.
    while seen.matches("event: heartbeat").count() < 20 {
        let read = soon(stream.read(&mut buffer)).await.unwrap();
        assert!(read > 0, "it was closed: {seen}");
        seen.push_str(&String::from_utf8_lossy(buffer.get(..read).unwrap()));
    }
    listening.end().await;
}

#[tokio::test]
async fn an_unread_response_is_closed() {
    let limits = ConnectionLimits { unread: SHORT, ..ConnectionLimits::default() };
    let listening = Listening::plain(limits).await;
    let mut stream = listening.connect().await;
    // Many responses on one connection, more than the system buffers.
    let request = format!("GET /openapi.json HTTP/1.1\r\nHost: {}\r\n\r\n", listening.address);
    let flood = async { while stream.write_all(request.as_bytes()).await.is_ok() {} };
    soon(flood).await;
    listening.is_well().await;
    listening.end().await;
}

/// An encrypted connection.
async fn encrypted(listening: &Listening) -> TlsStream<TcpStream> {
    let mut roots = RootCertStore::empty();
    let file = listening.folder.path().join("tls-certificate.pem");
    roots.add(CertificateDer::from_pem_file(file).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let config = config.with_root_certificates(roots).with_no_client_auth();
    let name = ServerName::try_from("localhost").unwrap();
    TlsConnector::from(Arc::new(config)).connect(name, listening.connect().await).await.unwrap()
}

#[tokio::test]
async fn tls_connections_have_the_same_timeouts() {
    let listening = Listening::with(true, impatient()).await;
    // In the handshake: nothing, and half a ClientHello.
    for text in ["", "\u{16}\u{3}\u{1}\u{2}\0\u{1}"] {
        let mut stream = listening.connect().await;
        stream.write_all(text.as_bytes()).await.unwrap();
        closed(stream).await;
    }
    // After the handshake.
    for text in ["", "GET / HTTP/1.1\r\nHo", "PRI * HTTP/2.0\r\n"] {
        let mut stream = encrypted(&listening).await;
        stream.write_all(text.as_bytes()).await.unwrap();
        let answer = closed(stream).await;
        assert!(!answer.starts_with(b"HTTP/1.1 2"), "{answer:?}");
    }
    listening.end().await;
}

async fn flooded(tls: bool) {
    let limits =
        ConnectionLimits { max_connections: 64, max_unused_per_peer: 64, ..ConnectionLimits::default() };
    let listening = Listening::with(tls, limits).await;
    let mut silent = Vec::new();
    for _ in 0..400 {
        silent.push(listening.connect().await);
    }
    // Other clients are served immediately, long before a timer closes the silent connections.
    for _ in 0..10 {
        if tls {
            let mut stream = encrypted(&listening).await;
            ask_health(&mut stream, listening.address).await;
        } else {
            listening.is_well().await;
        }
    }
    drop(silent);
    listening.end().await;
}

async fn ask_health(stream: &mut (impl AsyncRead + AsyncWrite + Unpin), address: SocketAddr) {
    let request = format!("GET /healthz HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    assert!(closed(stream).await.starts_with(b"HTTP/1.1 200"));
}

#[tokio::test]
async fn silent_connections_do_not_shut_out_others() {
    flooded(false).await;
}

#[tokio::test]
async fn silent_connections_do_not_shut_out_others_over_tls() {
    flooded(true).await;
}

#[tokio::test]
async fn a_flood_does_not_close_busy_connections() {
    let limits = ConnectionLimits { max_connections: 16, ..ConnectionLimits::default() };
    let listening = Listening::plain(limits).await;
    let mut stream = listening.connect().await;
    let head = listening.head(Role::Viewer, "GET /v1/events");
    stream.write_all(format!("{head}\r\n").as_bytes()).await.unwrap();
    let mut buffer = [0; 4096];
    assert!(soon(stream.read(&mut buffer)).await.unwrap() > 0);
    let mut silent = Vec::new();
    for _ in 0..200 {
        silent.push(listening.connect().await);
    }
    listening.is_well().await;
    for _ in 0..3 {
        assert!(soon(stream.read(&mut buffer)).await.unwrap() > 0, "the stream continues");
    }
    listening.end().await;
}
