//! A place for a host with the simulated CLI.

use std::ops::Deref;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;
use weir_host::{
    Accepted, Actor, Format, Frame, Host, HostOptions, NewMessage, NewSession, SessionId, SessionInfo,
    SessionStatus, Watch, WatchEvent, WatchQuery,
};
use weir_session::SessionOptions;
use weir_store::{Durability, SqliteOptions, SqliteStore};
use weir_testkit::{DEADLINE, quick_stop, simulated_claude};
use weir_transcript::{Change, View};

pub(crate) use weir_testkit::{soon, until};

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
    script(&serde_json::json!([{"text": text}]))
}

pub(crate) fn me() -> Actor {
    Actor::new("me")
}

impl Place {
    pub(crate) fn new() -> Self {
        Self(weir_testkit::Place::new().unwrap())
    }

    /// A place in a folder that the caller has made.
    pub(crate) fn at(folder: &Path) -> Self {
        Self(weir_testkit::Place::at(folder).unwrap())
    }

    pub(crate) fn work(&self) -> String {
        self.directory().to_string_lossy().into_owned()
    }

    pub(crate) fn options(&self) -> HostOptions {
        let sqlite = SqliteOptions { durability: Durability::Process, ..SqliteOptions::default() };
        let store = SqliteStore::open(self.path("weir.db"), &sqlite).unwrap();
        let (program, environment) = (simulated_claude(env!("CARGO_PKG_NAME")), self.simulated_environment());
        let recipe = move |_: &weir_host::SessionSettings| {
            let mut options = SessionOptions::new().program(&program).environment(environment.clone());
            options.limits.interrupt = Duration::from_secs(1);
            options.stop = quick_stop();
            options
        };
        let mut options = HostOptions::new(Arc::new(store), recipe).root(self.directory());
        options.state_directory = Some(self.path("state"));
        options.resume_prompt = says("I go on.");
        options
    }

    pub(crate) async fn host(&self) -> Host {
        Host::open(self.options()).await.unwrap()
    }

    /// A new session.
    pub(crate) async fn session(&self, host: &Host) -> SessionId {
        let mut new = NewSession::new(self.work());
        new.spec.allowed_tools = vec!["Bash".to_owned()];
        id_of(&host.create(new, &me()).await.unwrap().session)
    }
}

pub(crate) fn id_of(info: &SessionInfo) -> SessionId {
    info.id.parse().unwrap()
}

pub(crate) async fn send(host: &Host, id: &SessionId, text: impl Into<String>) -> Accepted {
    soon(host.send(id, NewMessage::text(text), &me())).await.unwrap()
}

/// Sends a message and waits for its answer.
pub(crate) async fn ask(host: &Host, id: &SessionId, text: impl Into<String>) -> String {
    let accepted = send(host, id, text).await;
    let finished = soon(host.finished(id, &accepted.message_id)).await.unwrap();
    assert_eq!(finished.error, None);
    finished.text
}

/// Waits until a session is doing this.
pub(crate) async fn status(host: &Host, id: &SessionId, wanted: SessionStatus) -> SessionInfo {
    let started = Instant::now();
    loop {
        let info = host.info(id).await.unwrap();
        if info.status == wanted {
            return info;
        }
        assert!(started.elapsed() < DEADLINE, "{:?} instead of {wanted:?}", info.status);
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// One who watches the view, and keeps a copy of it.
pub(crate) struct Onlooker {
    pub(crate) watch: Watch,
    pub(crate) view: View,
    pub(crate) seq: u64,
    pub(crate) hello: Value,
    pub(crate) session: Value,
    pub(crate) messages: Value,
    pub(crate) snapshots: usize,
    pub(crate) cursor: Option<weir_host::Cursor>,
}

impl Onlooker {
    pub(crate) async fn new(host: &Host, id: &SessionId, cursor: Option<weir_host::Cursor>) -> Self {
        let query = WatchQuery { format: Format::View, cursor, heartbeat: None };
        let watch = soon(host.watch(id, query)).await.unwrap();
        let mut onlooker = Self {
            watch,
            view: View::default(),
            seq: 0,
            hello: Value::Null,
            session: Value::Null,
            messages: Value::Null,
            snapshots: 0,
            cursor: None,
        };
        onlooker.hello = json(&soon(onlooker.watch.next()).await.unwrap());
        assert!(onlooker.step().await);
        assert_eq!(onlooker.snapshots, 1, "a snapshot comes after the greeting");
        onlooker
    }

    /// Takes the next frame. Whether there was one.
    pub(crate) async fn step(&mut self) -> bool {
        let Some(frame) = soon(self.watch.next()).await else { return false };
        self.take(&frame);
        !matches!(frame.event(), WatchEvent::Bye(_))
    }

    pub(crate) fn take(&mut self, frame: &Frame) {
        if let Some(cursor) = frame.id() {
            assert!(self.cursor.as_ref().is_none_or(|before| before.seq <= cursor.seq), "{cursor} goes back");
            self.cursor = Some(cursor.clone());
        }
        match frame.event() {
            WatchEvent::Snapshot(snapshot) => {
                self.snapshots += 1;
                self.seq = snapshot.seq;
                self.view = through_json(&snapshot.view);
                self.session = serde_json::to_value(&snapshot.session).unwrap();
                self.messages = serde_json::to_value(&snapshot.messages).unwrap();
            }
            WatchEvent::Changes(event) => {
                self.seq = event.seq;
                for change in &event.changes {
                    let change: Change<'_> = through_json(change);
                    self.view.apply(&change);
                }
            }
            WatchEvent::Session(info) => self.session = serde_json::to_value(info).unwrap(),
            WatchEvent::Messages(event) => self.messages = serde_json::to_value(&event.messages).unwrap(),
            WatchEvent::Bye(_) | WatchEvent::Heartbeat(_) => {}
            other => panic!("what is {other:?}?"),
        }
    }

    /// Takes frames until something is true of the view.
    pub(crate) async fn until(&mut self, what: &str, mut condition: impl FnMut(&Self) -> bool) {
        while !condition(self) {
            assert!(self.step().await, "over before: {what}");
        }
    }
}

/// A value as a client of the server has it.
fn through_json<T: serde::Serialize + serde::de::DeserializeOwned>(value: &T) -> T {
    serde_json::from_str(&serde_json::to_string(value).unwrap()).unwrap()
}

/// The data of a frame as a client of the server has them.
pub(crate) fn json(frame: &Frame) -> Value {
    let value = match frame.event() {
        WatchEvent::Hello(event) => serde_json::to_value(event),
        WatchEvent::Snapshot(event) => serde_json::to_value(event),
        WatchEvent::Changes(event) => serde_json::to_value(event),
        WatchEvent::Agent(event) => serde_json::to_value(event),
        WatchEvent::Classic(event) => serde_json::to_value(&event.data),
        WatchEvent::Line(raw) => serde_json::from_slice(raw),
        WatchEvent::Session(event) => serde_json::to_value(event),
        WatchEvent::Messages(event) => serde_json::to_value(event),
        WatchEvent::Message(event) => serde_json::to_value(event),
        WatchEvent::Heartbeat(event) => serde_json::to_value(event),
        WatchEvent::Bye(reason) => Ok(serde_json::json!({"reason": reason})),
    };
    value.unwrap()
}

/// Takes frames until one with this name.
pub(crate) async fn frames_until(watch: &mut Watch, event: &str) -> Vec<Frame> {
    let mut frames = Vec::new();
    loop {
        let frame = soon(watch.next()).await.expect("the stream continues");
        let is_last = frame.event().name() == event;
        frames.push(frame);
        if is_last {
            return frames;
        }
    }
}

/// A session in the place that is to be like this.
pub(crate) fn with(place: &Place, spec: weir_session::SessionSpec) -> NewSession {
    NewSession { spec, ..NewSession::new(place.work()) }
}
