//! A listening server with a self-signed certificate.

#![expect(clippy::unwrap_used, reason = "a test that cannot continue should stop")]

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{self, ClientConfig, RootCertStore};
use weir_host::{Host, HostOptions};
use weir_server::{Certificate, ServeError, ServeOptions, Server, ServerSettings};
use weir_session::SessionOptions;
use weir_store::MemoryStore;

async fn host() -> Host {
    let recipe = |_: &_| SessionOptions::new().program("no-such-program");
    Host::open(HostOptions::new(Arc::new(MemoryStore::new()), recipe)).await.unwrap()
}

fn options(folder: &Path, listen: &str, tls: bool) -> ServeOptions {
    let names = vec!["localhost".to_owned(), "127.0.0.1".to_owned()];
    ServeOptions {
        listen: listen.parse().unwrap(),
        allow_remote: false,
        certificate: tls.then(|| Certificate::SelfSigned { folder: folder.to_owned(), names }),
        public: Vec::new(),
        data_directory: folder.to_owned(),
        ready_file: None,
        drain: Duration::from_secs(1),
        settings: ServerSettings::default(),
    }
}

async fn ask(mut stream: impl AsyncRead + AsyncWrite + Unpin, address: SocketAddr) -> String {
    let request = format!("GET /healthz HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    let mut answer = Vec::new();
    // A server that does not understand the request closes the connection.
    if stream.write_all(request.as_bytes()).await.is_ok() {
        let _ = stream.read_to_end(&mut answer).await;
    }
    String::from_utf8_lossy(&answer).into_owned()
}

#[tokio::test]
async fn serves_tls_with_a_self_signed_certificate() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(host().await, options(folder.path(), "127.0.0.1:0", true)).await.unwrap();
    assert!(server.url().starts_with("https://127.0.0.1:"));
    assert_eq!(server.fingerprint().unwrap().len(), 64);
    let address: SocketAddr = server.url().strip_prefix("https://").unwrap().parse().unwrap();
    let (stop, stopped) = mpsc::channel(1);
    let running = tokio::spawn(server.run(stopped));

    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(folder.path().join("tls-certificate.pem")).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = ServerName::try_from("127.0.0.1").unwrap();
    let plain = TcpStream::connect(address).await.unwrap();
    let stream = TlsConnector::from(Arc::new(config)).connect(name, plain).await.unwrap();
    let answer = ask(stream, address).await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert!(answer.contains("strict-transport-security"), "{answer}");

    let answer = ask(TcpStream::connect(address).await.unwrap(), address).await;
    assert!(!answer.contains("200 OK"), "{answer}");
    drop(stop);
    running.await.unwrap().unwrap();
}

#[tokio::test]
async fn other_machines_can_connect_only_if_allowed() {
    let folder = tempfile::tempdir().unwrap();
    for address in ["0.0.0.0:0", "[::]:0", "192.0.2.1:0"] {
        let error = Server::start(host().await, options(folder.path(), address, false)).await.unwrap_err();
        assert!(matches!(error, ServeError::Remote(_)), "{error}");
        assert!(error.to_string().contains("--allow-remote"));
    }
}
