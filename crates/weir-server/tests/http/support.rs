//! A server without a network, with a token for each role.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderMap, Request, StatusCode};
use http_body_util::BodyExt as _;
use serde_json::Value;
use tower::ServiceExt as _;
use weir_host::{Actor, Host, HostOptions, NewSession};
use weir_server::{
    App, Audit, Histories, NewToken, Parts, Places, Role, Secret, ServerSettings, Tokens, app,
};
use weir_session::SessionOptions;
use weir_store::MemoryStore;

/// Host name of the server.
pub(crate) const HERE: &str = "127.0.0.1:8080";

/// A server without a network.
pub(crate) struct Place {
    pub(crate) router: Router,
    pub(crate) app: App,
    place: weir_testkit::Place,
    secrets: Vec<(Role, Secret)>,
}

/// A response.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.body.clone()).unwrap()
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map(|value| value.to_str().unwrap()).unwrap_or_default()
    }

    /// The code of the problem, which must be complete.
    #[track_caller]
    pub(crate) fn problem(&self, status: u16) -> String {
        assert_eq!(self.status.as_u16(), status, "{}", String::from_utf8_lossy(&self.body));
        assert_eq!(self.header("content-type"), "application/problem+json");
        let problem = self.json();
        assert_eq!(problem["status"], status);
        assert_eq!(problem["type"], "about:blank");
        for member in ["title", "detail", "code"] {
            assert!(!problem[member].as_str().unwrap().is_empty(), "{problem}");
        }
        problem["code"].as_str().unwrap().to_owned()
    }
}

impl Place {
    pub(crate) async fn new() -> Self {
        Self::with(|_| {}).await
    }

    pub(crate) async fn with(change: impl FnOnce(&mut ServerSettings)) -> Self {
        let place = weir_testkit::Place::new().unwrap();
        let root = place.directory();
        // Nothing is started here.
        let recipe = |_: &_| SessionOptions::new().program("no-such-program");
        let host =
            Host::open(HostOptions::new(Arc::new(MemoryStore::new()), recipe).root(&root)).await.unwrap();
        let tokens = Tokens::open(place.path("tokens.json")).unwrap();
        let secrets =
            Role::ALL.map(|role| (role, tokens.add(NewToken::new(role.as_str(), role), 1).unwrap().1));
        let audit = Audit::open(place.path("audit.ndjson")).unwrap();
        let mut settings = ServerSettings {
            roots: vec![root],
            heartbeat: Duration::from_millis(50),
            ..ServerSettings::default()
        };
        change(&mut settings);
        let places = Places::of_listener(HERE.parse().unwrap(), false);
        let state = App::new(Parts {
            host,
            tokens,
            audit,
            places,
            settings,
            tls: false,
            histories: Histories::default(),
        });
        Self { router: app(state.clone()), app: state, place, secrets: secrets.into() }
    }

    pub(crate) fn root(&self) -> String {
        self.place.directory().display().to_string()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.place.path(name)
    }

    pub(crate) fn token(&self, role: Role) -> &str {
        self.secrets.iter().find(|(of, _)| *of == role).unwrap().1.reveal()
    }

    /// A session in the root.
    pub(crate) async fn session(&self) -> String {
        let new = NewSession::new(self.root());
        self.app.host().create(new, &Actor::new("test")).await.unwrap().session.id
    }

    pub(crate) async fn send(&self, request: Request<Body>) -> Answer {
        let response = self.router.clone().oneshot(request).await.unwrap();
        let (parts, body) = response.into_parts();
        let body = body.collect().await.unwrap().to_bytes().to_vec();
        Answer { status: parts.status, headers: parts.headers, body }
    }

    /// Opens a stream, which stays open as long as its body is held, or returns the refusal.
    pub(crate) async fn open(&self, token: &str, path: &str) -> Result<Body, Answer> {
        let request = request("GET", path).header("authorization", format!("Bearer {token}"));
        let request = request.body(Body::empty()).unwrap();
        let response = self.router.clone().oneshot(request).await.unwrap();
        let (parts, body) = response.into_parts();
        if parts.status == 200 {
            return Ok(body);
        }
        let body = body.collect().await.unwrap().to_bytes().to_vec();
        Err(Answer { status: parts.status, headers: parts.headers, body })
    }

    /// Sends a request with the token of a role.
    pub(crate) async fn ask(&self, role: Role, method: &str, path: &str, body: Option<&Value>) -> Answer {
        self.ask_with(self.token(role), method, path, body).await
    }

    /// Sends a request with any token.
    pub(crate) async fn ask_with(
        &self,
        token: &str,
        method: &str,
        path: &str,
        body: Option<&Value>,
    ) -> Answer {
        let mut request = request(method, path).header("authorization", format!("Bearer {token}"));
        if body.is_some() {
            request = request.header("content-type", "application/json");
        }
        let body = body.map_or_else(Body::empty, |body| Body::from(body.to_string()));
        self.send(request.body(body).unwrap()).await
    }

    pub(crate) async fn get(&self, role: Role, path: &str) -> Answer {
        self.ask(role, "GET", path, None).await
    }
}

/// A request with the right host name.
pub(crate) fn request(method: &str, path: &str) -> axum::http::request::Builder {
    Request::builder().method(method).uri(path).header("host", HERE)
}
