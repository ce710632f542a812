//! A running server on the simulated CLI.

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::common::{Client, Done, Events, Place, Running, eventually};

/// A prompt that the simulated CLI answers with this.
pub(crate) fn says(text: &str) -> String {
    format!("@@{}", json!([{"text": text}]))
}

/// A running server.
pub(crate) struct Served {
    pub(crate) place: Place,
    running: Option<Running>,
    pub(crate) client: Client,
    more: Vec<String>,
}

impl Served {
    pub(crate) fn start() -> Self {
        Self::with(&[])
    }

    /// With more arguments.
    pub(crate) fn with(more: &[&str]) -> Self {
        Self::in_place(Place::new(), more)
    }

    pub(crate) fn in_place(place: Place, more: &[&str]) -> Self {
        let more: Vec<String> = more.iter().map(ToString::to_string).collect();
        let (running, client) = launch(&place, &more);
        Self { place, running: Some(running), client, more }
    }

    pub(crate) fn running(&self) -> &Running {
        self.running.as_ref().unwrap()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        self.running().signal(signal);
    }

    /// Waits for the server to exit.
    pub(crate) fn finish(&mut self) -> Done {
        self.running.take().unwrap().finish()
    }

    /// Stops the server and waits for it to exit.
    #[track_caller]
    pub(crate) fn stop(&mut self) -> Done {
        self.signal(Signal::TERM);
        let done = self.finish().expect(0);
        self.place.wait_until_empty();
        done
    }

    /// Starts it again with other arguments.
    pub(crate) fn restart_with(&mut self, more: &[&str]) {
        self.more = more.iter().map(ToString::to_string).collect();
        self.restart();
    }

    /// Restarts the server in the same place, on the same port or another.
    pub(crate) fn restart(&mut self) {
        assert!(self.running.is_none());
        let (running, client) = launch(&self.place, &self.more);
        (self.running, self.client) = (Some(running), client);
    }

    pub(crate) fn session(&self) -> String {
        self.session_with(&json!({}))
    }

    /// A session in the workspace, with more members.
    #[track_caller]
    pub(crate) fn session_with(&self, more: &Value) -> String {
        let mut body = json!({"cwd": self.place.workspace()});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let created = self.client.post("/v1/sessions", &body).expect(201);
        created.json()["id"].as_str().unwrap().to_owned()
    }

    /// Sends a message.
    #[track_caller]
    pub(crate) fn send(&self, session: &str, text: &str) -> Value {
        let client_id = format!("{}", text.len()) + &text.chars().rev().take(20).collect::<String>();
        let body = json!({"client_id": client_id, "text": text});
        self.client.post(&format!("/v1/sessions/{session}/messages"), &body).expect(202).json()
    }

    pub(crate) fn follow(&self, session: &str, format: &str) -> Events {
        self.client.events(&format!("/v1/sessions/{session}/events?format={format}"), None)
    }

    pub(crate) fn info(&self, session: &str) -> Value {
        self.client.get(&format!("/v1/sessions/{session}")).expect(200).json()
    }

    /// Waits until the session has this status.
    #[track_caller]
    pub(crate) fn wait_for_status(&self, session: &str, status: &str) -> Value {
        eventually(status, || Some(self.info(session)).filter(|info| info["status"] == status))
    }

    /// A token with this role.
    pub(crate) fn token(&self, name: &str, role: &str) -> (String, String) {
        let made = self.client.post("/v1/tokens", &json!({"name": name, "role": role})).expect(201).json();
        (made["id"].as_str().unwrap().to_owned(), made["token"].as_str().unwrap().to_owned())
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        if let Some(running) = self.running.take() {
            running.signal(Signal::TERM);
            if std::thread::panicking() {
                // One failure is enough; leftover processes end with the test.
                return;
            }
            running.finish();
        }
    }
}

/// The arguments of every server of these tests.
pub(crate) fn arguments(place: &Place, more: &[String]) -> Vec<String> {
    let path = |name: &str| place.path(name).display().to_string();
    let ready = path("ready.json");
    let mut all: Vec<String> =
        ["serve", "--drain", "1s", "--data-dir"].into_iter().map(str::to_owned).collect();
    all.extend([path("data"), "--ready-file".to_owned(), ready]);
    for (name, value) in [("--listen", "127.0.0.1:0".to_owned()), ("--root", path("workspace"))] {
        if !more.iter().any(|argument| argument == name) {
            all.extend([name.to_owned(), value]);
        }
    }
    all.extend(more.iter().cloned());
    all
}

fn launch(place: &Place, more: &[String]) -> (Running, Client) {
    let _ = std::fs::remove_file(place.path("ready.json"));
    let all = arguments(place, more);
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    let running = Running::start(place.command(&all));
    place.wait_for_file("ready.json");
    let ready: Value = serde_json::from_slice(&std::fs::read(place.path("ready.json")).unwrap()).unwrap();
    let client = Client::new(ready["url"].as_str().unwrap(), ready["token"].as_str().unwrap());
    (running, client)
}
