//! A place for a host with the simulated CLI, and editors on it.

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use agent_client_protocol::{ByteStreams, Client, ConnectTo};
use axum::body::Body;
use axum::http::Request;
use serde_json::{Value, json};
use tokio::io::{DuplexStream, ReadHalf, WriteHalf};
use tokio_util::compat::{TokioAsyncReadCompatExt as _, TokioAsyncWriteCompatExt as _};
use weir_acp::{AcpAgent, Dial, Offer, Owner, Remote};
use weir_host::{Host, HostOptions, SessionId};
use weir_session::SessionOptions;
use weir_store::{Durability, SqliteOptions, SqliteStore};
use weir_testkit::{quick_stop, simulated_claude, soon};

use crate::peer::Peer;

/// A place with a log and state.
pub(crate) struct Place(weir_testkit::Place);

impl Deref for Place {
    type Target = weir_testkit::Place;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

/// A prompt with a script for the simulated CLI.
pub(crate) fn script(steps: &Value) -> String {
    format!("@@{steps}")
}

pub(crate) fn says(text: &str) -> String {
    script(&json!([{"text": text}]))
}

/// What editors of these tests can choose from.
pub(crate) fn offer() -> Offer {
    let words = |words: &[&str]| words.iter().map(ToString::to_string).collect();
    Offer {
        models: words(&["default", "opus"]),
        modes: words(&["default", "acceptEdits", "plan"]),
        commands: words(&["compact", "cost"]),
    }
}

impl Place {
    pub(crate) fn new() -> Self {
        Self(weir_testkit::Place::new().unwrap())
    }

    pub(crate) fn work(&self) -> String {
        self.directory().to_string_lossy().into_owned()
    }

    pub(crate) async fn host(&self) -> Host {
        let sqlite = SqliteOptions { durability: Durability::Process, ..SqliteOptions::default() };
        let store = SqliteStore::open(self.path("weir.db"), &sqlite).unwrap();
        let (program, environment) = (simulated_claude(env!("CARGO_PKG_NAME")), self.simulated_environment());
        let recipe = move |_: &weir_host::SessionSettings| {
            let mut options = SessionOptions::new().program(&program).environment(environment.clone());
            options.limits.interrupt = Duration::from_secs(1);
            options.stop = quick_stop();
            options.subagent_text = true;
            options
        };
        let mut options = HostOptions::new(Arc::new(store), recipe).root(self.directory());
        options.state_directory = Some(self.path("state"));
        options.cli_config = Some(self.home().join(".claude"));
        Host::open(options).await.unwrap()
    }

    /// An editor that has said hello and can show nothing special.
    pub(crate) async fn editor(&self, host: &Host) -> Peer {
        self.editor_with(host, json!({})).await
    }

    /// An editor with these capabilities.
    pub(crate) async fn editor_with(&self, host: &Host, capabilities: Value) -> Peer {
        let mut peer = Self::silent_editor(host);
        let hello = json!({"protocolVersion": 1, "clientCapabilities": capabilities});
        soon(peer.call("initialize", hello)).await.unwrap();
        peer
    }

    /// An editor that has not said anything.
    pub(crate) fn silent_editor(host: &Host) -> Peer {
        let (input, output) = Self::streams(host);
        Peer::new(input, output)
    }

    /// A connection with an agent on this host.
    fn streams(host: &Host) -> (ReadHalf<DuplexStream>, WriteHalf<DuplexStream>) {
        let agent = AcpAgent::new(host.clone(), Arc::new(Owner::new(offer())));
        let (near, far) = tokio::io::duplex(1 << 16);
        let (input, output) = tokio::io::split(far);
        tokio::spawn(agent.serve(input, output));
        tokio::io::split(near)
    }

    /// The same for the library's own client.
    pub(crate) fn transport(host: &Host) -> impl ConnectTo<Client> + use<> {
        let (input, output) = Self::streams(host);
        ByteStreams::new(output.compat_write(), input.compat())
    }

    /// An editor by the remote transport, from both ends, that has said hello.
    pub(crate) async fn editor_over_http(&self, host: &Host) -> Peer {
        let (input, output) = over_http(host).await.connect();
        let mut peer = Peer::new(input, output);
        soon(peer.call("initialize", json!({"protocolVersion": 1}))).await.unwrap();
        peer
    }

    /// A new session.
    pub(crate) async fn session(&self, peer: &mut Peer) -> String {
        let opened =
            soon(peer.call("session/new", json!({"cwd": self.work(), "mcpServers": []}))).await.unwrap();
        opened["sessionId"].as_str().unwrap().to_owned()
    }
}

/// The remote transport of a host, as an editor's program reaches it.
pub(crate) async fn over_http(host: &Host) -> Dial {
    let remote = Remote::new(AcpAgent::new(host.clone(), Arc::new(Owner::new(offer()))));
    let answer = move |request: Request<Body>| {
        let remote = remote.clone();
        async move { remote.answer(request).await }
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let dial = Dial::new(&format!("http://{}", listener.local_addr().unwrap()), None).unwrap();
    let router = axum::Router::new().fallback(answer);
    tokio::spawn(async move { axum::serve(listener, router).await });
    dial
}

pub(crate) fn id_of(session: &str) -> SessionId {
    session.parse().unwrap()
}

/// Ends a host, so that no process is left.
pub(crate) async fn end(host: &Host) {
    soon(host.shut_down(Duration::ZERO)).await;
}
