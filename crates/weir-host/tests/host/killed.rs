//! A host that is killed at any moment loses nothing that it has accepted, uses no number twice, and gives no message
//! to the CLI twice.
//!
//! The test starts itself again as a child that runs a host and prints what was accepted and what a viewer has seen,
//! and kills it after a number of lines that depends on the seed.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::json;
use weir_host::{
    Cursor, Format, Host, MessageState, NewMessage, NewSession, SessionId, SessionStatus, WatchEvent,
    WatchQuery,
};

use crate::place::{Onlooker, Place, id_of, me, script, soon, until};

const FOLDER: &str = "WEIR_HOST_KILLED_FOLDER";
const SEED: &str = "WEIR_HOST_KILLED_SEED";
const ROUNDS: u64 = 10;

fn hash(data: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    data.hash(&mut hasher);
    hasher.finish()
}

/// One call, so that the line is whole or not there.
fn say(line: &str) {
    // The receiver is gone when the test is over.
    let _ = std::io::stdout().lock().write_all(format!("\n{line}\n").as_bytes());
}

async fn the_session(host: &Host, place: &Place) -> SessionId {
    let new = NewSession { key: Some("the one".into()), ..NewSession::new(place.work()) };
    id_of(&host.create(new, &me()).await.unwrap().session)
}

/// Not a test by itself: without a folder it does nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn child() {
    let (Some(folder), Ok(seed)) = (std::env::var_os(FOLDER), std::env::var(SEED)) else { return };
    let place = Place::at(Path::new(&folder));
    let host = place.host().await;
    let id = the_session(&host, &place).await;
    if host.info(&id).await.unwrap().status == SessionStatus::Interrupted {
        let report = host.resume(&id, &me()).await.unwrap();
        if let Some(message) = report.message_id {
            say(&format!("ack resume-{seed} {message}"));
        }
    }
    let cursor = Some(Cursor::new(host.epoch(), host.info(&id).await.unwrap().newest_seq, None));
    let query = WatchQuery { format: Format::Raw, cursor, heartbeat: None };
    let mut watch = host.watch(&id, query).await.unwrap();
    tokio::spawn(async move {
        while let Some(frame) = watch.next().await {
            if let (Some(cursor), WatchEvent::Line(line)) = (frame.id(), frame.event()) {
                say(&format!("seen {} {}", cursor.seq, hash(line)));
            }
        }
    });
    for number in 0.. {
        let client_id = format!("c-{seed}-{number}");
        let steps = json!([{"wdelay": 0.001, "text": format!("the answer to {client_id} in a few words")}]);
        let message = NewMessage::text(script(&steps)).client_id(&client_id);
        let accepted = host.send(&id, message, &me()).await.unwrap();
        say(&format!("ack {client_id} {}", accepted.message_id));
        if number % 3 == 2 {
            host.finished(&id, &accepted.message_id).await.unwrap();
        }
    }
}

/// It talks into a file: a pipe would stay open as long as what the child leaves behind.
fn start_child(folder: &Path, output: &Path, seed: u64) -> Child {
    #[expect(clippy::disallowed_methods, reason = "the test kills a child of its own and reaps it")]
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "killed::child", "--nocapture", "--test-threads=1"])
        .env(FOLDER, folder)
        .env(SEED, seed.to_string())
        .stdin(Stdio::null())
        .stdout(std::fs::File::create(output).unwrap())
        .spawn()
        .unwrap()
}

/// What children have said.
#[derive(Default)]
struct Said {
    /// Message by client id.
    accepted: HashMap<String, String>,
    /// What a viewer has seen under a number.
    seen: HashMap<u64, u64>,
}

impl Said {
    fn note(&mut self, line: &str) {
        let words: Vec<&str> = line.split(' ').collect();
        match words.as_slice() {
            ["ack", client, message] => {
                self.accepted.insert((*client).to_owned(), (*message).to_owned());
            }
            ["seen", seq, hash] => {
                let hash = hash.parse().unwrap();
                let before = self.seen.insert(seq.parse().unwrap(), hash);
                assert!(before.is_none_or(|before| before == hash), "event {seq} was something else before");
            }
            _ => {}
        }
    }
}

fn is_news(line: &str) -> bool {
    line.starts_with("ack ") || line.starts_with("seen ")
}

#[tokio::test]
async fn nothing_accepted_is_lost_by_a_kill() {
    let place = Place::new();
    let mut said = Said::default();
    for seed in 0..ROUNDS {
        let output = place.path(&format!("output-{seed}"));
        let mut child = start_child(&place.path(""), &output, seed);
        // From before the first message to the middle of the third, and beyond.
        let wanted = (seed * 7919 + 3) % 60;
        let lines = || std::fs::read_to_string(&output).unwrap().lines().filter(|line| is_news(line)).count();
        until("the child talks", || lines() as u64 >= wanted).await;
        child.kill().unwrap();
        child.wait().unwrap();
        // What it still said before it died counts, too.
        for line in std::fs::read_to_string(&output).unwrap().lines() {
            said.note(line);
        }
    }
    assert!(said.accepted.len() > 5 && said.seen.len() > 20);

    let host = place.host().await;
    let id = the_session(&host, &place).await;
    until("what the killed hosts left is ended", || place.living().is_empty()).await;
    check_log(&host, &id, &said).await;
    let info = host.info(&id).await.unwrap();
    assert!(matches!(info.status, SessionStatus::Interrupted | SessionStatus::Idle), "{info:?}");
    if info.status == SessionStatus::Interrupted {
        host.resume(&id, &me()).await.unwrap();
    }
    let onlooker = Onlooker::new(&host, &id, None).await;
    for message in said.accepted.values() {
        let ended = soon(host.finished(&id, &message.as_str().into())).await.unwrap();
        assert!(matches!(ended.state, MessageState::Answered | MessageState::Indeterminate), "{ended:?}");
    }
    drop(onlooker);
    soon(host.stop(&id, &me())).await.unwrap();
    check_given_once(&place, &said);
    soon(host.shut_down(Duration::ZERO)).await;
}

async fn check_log(host: &Host, id: &SessionId, said: &Said) {
    let mut newest = 0;
    let mut messages = HashMap::new();
    loop {
        let page = host.log(id, newest).await.unwrap();
        for event in &page.events {
            newest += 1;
            assert_eq!(event.seq, newest, "numbers are without gaps");
            if event.kind == "message" {
                let text = |name: &str| event.payload[name].as_str().unwrap_or_default().to_owned();
                messages.insert(text("message_id"), text("client_id"));
            }
        }
        if !page.more {
            break;
        }
    }
    for (client, message) in &said.accepted {
        let logged = messages.get(message);
        assert!(logged.is_some(), "{client} was accepted and is not there");
        assert!(client.starts_with("resume") || logged == Some(client), "{client} is {logged:?}");
    }
    let query = WatchQuery { format: Format::Raw, ..WatchQuery::default() };
    let mut watch = host.watch(id, query).await.unwrap();
    let mut lines = HashMap::new();
    while let Ok(Some(frame)) = tokio::time::timeout(Duration::from_secs(1), watch.next()).await {
        if let (Some(cursor), WatchEvent::Line(line)) = (frame.id(), frame.event()) {
            lines.insert(cursor.seq, hash(line));
        }
    }
    for (seq, seen) in &said.seen {
        assert_eq!(lines.get(seq), Some(seen), "a viewer has seen something else under {seq}");
    }
}

/// The CLI keeps what it was told in files of its own.
fn check_given_once(place: &Place, said: &Said) {
    let mut told = String::new();
    let projects = place.path("home").join(".claude").join("projects");
    for project in std::fs::read_dir(projects).unwrap().flatten() {
        for file in std::fs::read_dir(project.path()).unwrap().flatten() {
            told.push_str(&std::fs::read_to_string(file.path()).unwrap_or_default());
        }
    }
    let users: Vec<&str> = told.lines().filter(|line| line.contains("\"type\":\"user\"")).collect();
    assert!(!users.is_empty());
    for client in said.accepted.keys() {
        let times = users.iter().filter(|line| line.contains(&format!("answer to {client} in"))).count();
        assert!(times <= 1, "{client} was given to the CLI {times} times");
    }
}
