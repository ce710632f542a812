//! The webhook in both directions, with an engine that echoes.
#![cfg(test)]

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::routing::post;
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};
use weir_bridge::channel::{BoxFuture, Channel, ChannelName, Operation, OutgoingFile, Place};
use weir_bridge::config::Secret;
use weir_bridge::driver::{Driver, Engine, EngineError, Idle, Prompt};
use weir_bridge::engine::{Answer, ConversationSettings, Ending, EndingOutcome, Facts, Report};
use weir_bridge::machine::{Role, Settings};
use weir_bridge::store::BridgeStore;
use weir_bridge::webhook::{HEADER_SIGNATURE, HEADER_TIMESTAMP, WebhookChannel, WebhookOptions, sign};
use weir_testkit::http::free_address;
use weir_testkit::until_some;

const SECRET: &str = "a shared secret";

/// An engine that repeats its prompts.
#[derive(Debug, Default)]
struct Echo {
    prompts: Mutex<BTreeMap<String, String>>,
}

impl Engine for Echo {
    fn open<'a>(&'a self, settings: &'a ConversationSettings) -> BoxFuture<'a, Result<String, EngineError>> {
        Box::pin(async move { Ok(settings.key.clone()) })
    }

    fn send<'a>(&'a self, _: &'a str, prompt: Prompt) -> BoxFuture<'a, Result<String, EngineError>> {
        let known = self.prompts.lock().unwrap().insert(prompt.client_id.clone(), prompt.text);
        assert!(known.is_none(), "{} was sent twice", prompt.client_id);
        Box::pin(async move { Ok(prompt.client_id) })
    }

    fn finished<'a>(&'a self, _: &'a str, message: &'a str) -> BoxFuture<'a, Result<Ending, EngineError>> {
        let text = self.prompts.lock().unwrap()[message].clone();
        let ending = Ending::new(message.to_owned(), EndingOutcome::Answered(format!("You said: {text}")));
        Box::pin(async move { Ok(ending) })
    }

    fn follow<'a>(
        &'a self,
        _: &'a str,
        ready: oneshot::Sender<()>,
        _: mpsc::UnboundedSender<Report>,
    ) -> BoxFuture<'a, ()> {
        let _ = ready.send(());
        Box::pin(std::future::pending())
    }

    fn interrupt<'a>(&'a self, _: &'a str, _: &'a str) -> BoxFuture<'a, Result<(), EngineError>> {
        Box::pin(async { Ok(()) })
    }

    fn stop<'a>(&'a self, _: &'a str, _: &'a str) -> BoxFuture<'a, Result<(), EngineError>> {
        Box::pin(async { Ok(()) })
    }

    fn answer<'a>(
        &'a self,
        _: &'a str,
        _: &'a str,
        _: Answer,
        _: &'a str,
    ) -> BoxFuture<'a, Result<(), EngineError>> {
        Box::pin(async { Ok(()) })
    }

    fn set_model<'a>(&'a self, _: &'a str, _: Option<String>) -> BoxFuture<'a, Result<(), EngineError>> {
        Box::pin(async { Ok(()) })
    }

    fn facts<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Option<Facts>> {
        Box::pin(async { None })
    }
}

/// The other side of the webhook: it checks signatures and records what it receives.
#[derive(Debug, Clone, Default)]
struct OtherSide {
    got: Arc<Mutex<Vec<Value>>>,
}

async fn receive(State(side): State<OtherSide>, headers: HeaderMap, body: Bytes) -> &'static str {
    let header = |name: &str| headers.get(name).unwrap().to_str().unwrap().to_owned();
    let timestamp: i64 = header(HEADER_TIMESTAMP).parse().unwrap();
    assert_eq!(header(HEADER_SIGNATURE), sign(SECRET.as_bytes(), timestamp, &body));
    side.got.lock().unwrap().push(serde_json::from_slice(&body).unwrap());
    "{}"
}

impl OtherSide {
    async fn start(&self) -> String {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/hook", listener.local_addr().unwrap());
        let app = Router::new().route("/hook", post(receive)).with_state(self.clone());
        tokio::spawn(async move { axum::serve(listener, app).await });
        url
    }

    async fn gets(&self, words: &str) -> Value {
        let find = || self.got.lock().unwrap().iter().find(|got| got.to_string().contains(words)).cloned();
        until_some(words, find).await
    }
}

async fn send(address: SocketAddr, body: &Value, secret: &str, age: i64) -> (u16, String) {
    let client = weir_bridge::http::client(Duration::from_secs(10)).unwrap();
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let timestamp = i64::try_from(now.as_secs()).unwrap() - age;
    let body = body.to_string();
    let started = Instant::now();
    loop {
        let sent = client
            .post(format!("http://{address}/"))
            .header(HEADER_TIMESTAMP, timestamp)
            .header(HEADER_SIGNATURE, sign(secret.as_bytes(), timestamp, body.as_bytes()))
            .body(body.clone())
            .send()
            .await;
        match sent {
            Ok(response) => return (response.status().as_u16(), response.text().await.unwrap()),
            // It may not be listening yet.
            Err(error) => assert!(started.elapsed() < Duration::from_secs(10), "{error}"),
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn signed_messages_are_answered_once() {
    let side = OtherSide::default();
    let address = free_address().unwrap();
    let options = WebhookOptions {
        listen: address,
        url: side.start().await,
        secret: Secret::new(SECRET),
        edits: false,
        longest: 4_000,
    };
    let webhook: Arc<dyn Channel> = Arc::new(WebhookChannel::new(options).unwrap());
    assert_eq!(webhook.check().await.unwrap().len(), 1);
    let sender = Arc::clone(&webhook);
    let channels: BTreeMap<ChannelName, _> = BTreeMap::from([("webhook".into(), webhook)]);
    let mut settings = Settings::default();
    settings.people.insert(("webhook".into(), "anna".into()), Role::User);
    let (notes, _) = mpsc::unbounded_channel();
    let store = Arc::new(BridgeStore::in_memory().unwrap());
    let driver = Driver::new(settings, channels, Arc::new(Echo::default()), store, notes).unwrap();
    let idle = driver.idle();
    let running = tokio::spawn(driver.run(std::future::pending()));

    let message = json!({"id": "1", "chat": "c", "sender": {"id": "anna"}, "text": "Hello <b>"});
    assert_eq!(send(address, &message, "another secret", 0).await.0, 401);
    assert_eq!(send(address, &message, SECRET, 400).await.0, 401);
    assert_eq!(send(address, &json!({"id": "1"}), SECRET, 0).await.0, 400);
    for _ in 0..3 {
        assert_eq!(send(address, &message, SECRET, 0).await.0, 202);
    }
    let got = side.gets("You said").await;
    assert_eq!((got["type"].as_str(), got["chat"].as_str()), (Some("post"), Some("c")));
    assert_eq!(got["text"], "You said: Hello <b>");
    let stranger = json!({"id": "2", "chat": "d", "sender": {"id": "bob"}, "text": "Hello"});
    assert_eq!(send(address, &stranger, SECRET, 0).await.0, 202);
    side.gets("pairing code").await;
    idle.wait().await;
    // A picture is sent as base64, a text as it is.
    let place = Place { channel: "webhook".into(), chat: "c".into(), thread: None };
    let picture =
        OutgoingFile { name: "a.png".into(), media_type: "image/png".into(), data: vec![0x89, b'P'] };
    for (file, key) in [(picture, "p1"), (OutgoingFile::text("answer.md", "words".into()), "p2")] {
        sender.perform(Operation::Upload { place: place.clone(), file, key: key.into() }).await.unwrap();
    }
    let files: Vec<Value> =
        side.got.lock().unwrap().iter().filter(|got| got["type"] == "file").cloned().collect();
    assert_eq!((&files[0]["data"], &files[0]["media_type"]), (&json!("iVA="), &json!("image/png")));
    assert_eq!((&files[1]["text"], &files[1]["file_name"]), (&json!("words"), &json!("answer.md")));
    assert_eq!(side.got.lock().unwrap().iter().filter(|got| got["type"] == "post").count(), 2);
    running.abort();
}

#[test]
fn insecure_addresses_are_refused() {
    for (url, is_fine) in [
        ("https://example.org/x", true),
        ("http://127.0.0.1:80/x", true),
        ("http://example.org/x", false),
        ("http://127.0.0.1.example.org/x", false),
        ("ftp://example.org", false),
        ("https://user:secret@example.org/x", false),
        ("https://good.example@evil.example/x", false),
        ("http://127.0.0.1@evil.example/x", false),
    ] {
        let options = WebhookOptions {
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            url: url.to_owned(),
            secret: Secret::new(SECRET),
            edits: false,
            longest: 1_000,
        };
        assert_eq!(WebhookChannel::new(options).is_ok(), is_fine, "{url}");
    }
}

/// A bridge on a webhook, and where it listens.
async fn start(
    side: &OtherSide,
    edits: bool,
    engine: Arc<dyn Engine>,
) -> (SocketAddr, Arc<BridgeStore>, Idle) {
    let address = free_address().unwrap();
    let options = WebhookOptions {
        listen: address,
        url: side.start().await,
        secret: Secret::new(SECRET),
        edits,
        longest: 16_000,
    };
    let webhook: Arc<dyn Channel> = Arc::new(WebhookChannel::new(options).unwrap());
    let channels: BTreeMap<ChannelName, _> = BTreeMap::from([("webhook".into(), webhook)]);
    let mut settings = Settings::default();
    for name in ["anna", "ben"] {
        settings.people.insert(("webhook".into(), name.into()), Role::User);
    }
    let (notes, _) = mpsc::unbounded_channel();
    let store = Arc::new(BridgeStore::in_memory().unwrap());
    let driver = Driver::new(settings, channels, engine, Arc::clone(&store), notes).unwrap();
    let idle = driver.idle();
    tokio::spawn(driver.run(std::future::pending()));
    (address, store, idle)
}

#[tokio::test]
async fn files_of_strangers_are_not_stored() {
    let side = OtherSide::default();
    let (address, store, idle) = start(&side, false, Arc::new(Echo::default())).await;
    let message = |id: &str, who: &str, bot: bool| {
        json!({"id": id, "chat": who, "sender": {"id": who, "bot": bot}, "text": "look",
            "attachments": [{"name": "a.png", "media_type": "image/png", "data": "iVA="}]})
    };
    assert_eq!(send(address, &message("1", "eve", false), SECRET, 0).await.0, 202);
    assert_eq!(send(address, &message("2", "anna", true), SECRET, 0).await.0, 202);
    side.gets("pairing code").await;
    assert_eq!(store.blobs().unwrap(), 0);
    assert_eq!(send(address, &message("3", "anna", false), SECRET, 0).await.0, 202);
    side.gets("You said").await;
    assert_eq!(store.blobs().unwrap(), 1);
    idle.wait().await;
}

#[tokio::test]
async fn slow_requests_do_not_delay_others() {
    let side = OtherSide::default();
    let (address, _, idle) = start(&side, false, Arc::new(Echo::default())).await;
    let message = |id: &str| json!({"id": id, "chat": "c", "sender": {"id": "anna"}, "text": "hello"});
    assert_eq!(send(address, &message("1"), SECRET, 0).await.0, 202);
    // Requests that stop after the head, so that their signature cannot be checked yet.
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    let mut slow = Vec::new();
    for _ in 0..20 {
        let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
        let head = format!(
            "POST / HTTP/1.1\r\nhost: {address}\r\ncontent-length: 1000000\r\n{HEADER_TIMESTAMP}: {now}\r\n{HEADER_SIGNATURE}: v1=00\r\n\r\n{{"
        );
        tokio::io::AsyncWriteExt::write_all(&mut stream, head.as_bytes()).await.unwrap();
        slow.push(stream);
    }
    assert_eq!(send(address, &message("2"), SECRET, 0).await.0, 202);
    idle.wait().await;
    // A request that is too old is refused without reading its body.
    let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
    let head = format!(
        "POST / HTTP/1.1\r\nhost: {address}\r\ncontent-length: 1000000\r\n{HEADER_TIMESTAMP}: 1\r\n{HEADER_SIGNATURE}: v1=00\r\n\r\n{{"
    );
    tokio::io::AsyncWriteExt::write_all(&mut stream, head.as_bytes()).await.unwrap();
    let mut answer = vec![0; 12];
    tokio::io::AsyncReadExt::read_exact(&mut stream, &mut answer).await.unwrap();
    assert_eq!(String::from_utf8_lossy(&answer), "HTTP/1.1 401");
}

/// An engine that streams a megabyte in small pieces to one chat, and answers others at once.
#[derive(Debug, Default)]
struct Streams {
    echo: Echo,
    reports: Mutex<BTreeMap<String, mpsc::UnboundedSender<Report>>>,
}

impl Streams {
    fn text() -> String {
        (0..20_000)
            .map(|number| format!("Paragraph {number} of a long answer, and more words.\n\n"))
            .collect()
    }
}

impl Engine for Streams {
    fn open<'a>(&'a self, settings: &'a ConversationSettings) -> BoxFuture<'a, Result<String, EngineError>> {
        self.echo.open(settings)
    }

    fn send<'a>(&'a self, session: &'a str, prompt: Prompt) -> BoxFuture<'a, Result<String, EngineError>> {
        self.echo.send(session, prompt)
    }

    fn finished<'a>(
        &'a self,
        session: &'a str,
        message: &'a str,
    ) -> BoxFuture<'a, Result<Ending, EngineError>> {
        if !session.contains("large") {
            return self.echo.finished(session, message);
        }
        let reports = self.reports.lock().unwrap()[session].clone();
        Box::pin(async move {
            let text = Self::text();
            for piece in text.as_bytes().chunks(16) {
                let text = String::from_utf8_lossy(piece).into_owned();
                let _ = reports.send(Report::Text { block: 1, text, replaces: false });
            }
            Ok(Ending::new(message.to_owned(), EndingOutcome::Answered(text)))
        })
    }

    fn follow<'a>(
        &'a self,
        session: &'a str,
        ready: oneshot::Sender<()>,
        reports: mpsc::UnboundedSender<Report>,
    ) -> BoxFuture<'a, ()> {
        self.reports.lock().unwrap().insert(session.to_owned(), reports);
        let _ = ready.send(());
        Box::pin(std::future::pending())
    }

    fn interrupt<'a>(&'a self, session: &'a str, by: &'a str) -> BoxFuture<'a, Result<(), EngineError>> {
        self.echo.interrupt(session, by)
    }

    fn stop<'a>(&'a self, session: &'a str, by: &'a str) -> BoxFuture<'a, Result<(), EngineError>> {
        self.echo.stop(session, by)
    }

    fn answer<'a>(
        &'a self,
        session: &'a str,
        request: &'a str,
        answer: Answer,
        by: &'a str,
    ) -> BoxFuture<'a, Result<(), EngineError>> {
        self.echo.answer(session, request, answer, by)
    }

    fn set_model<'a>(
        &'a self,
        session: &'a str,
        model: Option<String>,
    ) -> BoxFuture<'a, Result<(), EngineError>> {
        self.echo.set_model(session, model)
    }

    fn facts<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Option<Facts>> {
        self.echo.facts(key)
    }
}

#[tokio::test]
async fn a_megabyte_in_small_pieces_arrives_and_holds_up_no_other_chat() {
    for edits in [false, true] {
        let side = OtherSide::default();
        let (address, _, idle) = start(&side, edits, Arc::new(Streams::default())).await;
        let large = json!({"id": "1", "chat": "large", "sender": {"id": "anna"}, "text": "tell me"});
        let quick = json!({"id": "2", "chat": "quick", "sender": {"id": "ben"}, "text": "hello"});
        assert_eq!(send(address, &large, SECRET, 0).await.0, 202);
        assert_eq!(send(address, &quick, SECRET, 0).await.0, 202);
        side.gets("You said: hello").await;
        let file = side.gets("answer.md").await;
        let text = file["text"].as_str().unwrap_or_default();
        assert_eq!(text.trim_end().len(), Streams::text().trim_end().len(), "edits: {edits}");
        idle.wait().await;
    }
}
