//! OpenAI's own clients against `weir serve` on the simulated CLI.

#![cfg(unix)]
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test that cannot continue should stop"
)]

mod branches;
#[path = "../common/mod.rs"]
mod common;
mod failures;
mod real;
mod restart;
mod retries;
mod structured;
#[path = "../serve/support.rs"]
#[expect(dead_code, reason = "the tests of the server use more of it")]
mod support;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use common::Answer;
use support::Served;

const CHAT: &str = "/v1/chat/completions";
const RESPONSES: &str = "/v1/responses";

/// A request with one message.
fn chat(text: &str) -> Value {
    json!({"model": "default", "messages": [{"role": "user", "content": text}]})
}

/// The text of an answer.
#[track_caller]
fn said(answer: &Answer) -> String {
    let text = answer.json()["choices"][0]["message"]["content"].as_str().map(str::to_owned);
    text.unwrap_or_else(|| panic!("{}: {}", answer.status, answer.text()))
}

fn sessions(served: &Served) -> Vec<Value> {
    served.client.get("/v1/sessions?limit=200").expect(200).json()["sessions"].as_array().unwrap().clone()
}

/// The messages of all sessions.
fn messages(served: &Served) -> Vec<Value> {
    let of = |info: Value| {
        let path = format!("/v1/sessions/{}/messages", info["id"].as_str().unwrap());
        served.client.get(&path).expect(200).json()["messages"].as_array().unwrap().clone()
    };
    sessions(served).into_iter().flat_map(of).collect()
}

/// Allows the open request of a session.
fn allow(served: &Served, session: &str) {
    served.wait_for_status(session, "waiting");
    let snapshot = served.follow(session, "view").wait("snapshot").json();
    let requests = snapshot["view"]["requests"].as_array().unwrap().clone();
    let open = requests.iter().find(|request| request["state"]["state"] == "open").unwrap();
    let path = format!("/v1/sessions/{session}/permissions/{}", open["id"].as_str().unwrap());
    served.client.post(&path, &json!({"behavior": "allow"})).expect(200);
}

/// The folder with the clients; `None` if they should be skipped.
fn clients() -> Option<PathBuf> {
    if std::env::var_os("WEIR_SKIP_OPENAI_CLIENTS").is_some_and(|value| value == "1") {
        return None;
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let found = run(
        Path::new("bash"),
        &[&root.join("scripts/setup-openai-clients.sh").display().to_string(), "--print-path"],
        &[],
    );
    Some(PathBuf::from(found.trim()))
}

/// Runs a program to its end and returns its output.
#[expect(clippy::disallowed_methods, reason = "the clients are under test; they are waited for")]
fn run(program: &Path, arguments: &[&str], environment: &[(&str, &str)]) -> String {
    let output = Command::new(program)
        .args(arguments)
        .envs(environment.iter().copied())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        output.status.success(),
        "{} failed (scripts/setup-openai-clients.sh installs the clients; WEIR_SKIP_OPENAI_CLIENTS=1 does without):\n{text}\n{}",
        program.display(),
        String::from_utf8_lossy(&output.stderr)
    );
    text
}

fn script(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/openai").join(name).display().to_string()
}

fn talk(served: &Served, clients: &Path, program: &str, arguments: &[&str]) -> Value {
    let client = &served.client;
    let (base, token) = (format!("http://{}{}/v1", client.address, client.base), client.token.as_str());
    let python = clients.join("python").display().to_string();
    let clients = clients.display().to_string();
    let environment = [
        ("BASE_URL", base.as_str()),
        ("TOKEN", token),
        ("PYTHONPATH", python.as_str()),
        ("PYTHONDONTWRITEBYTECODE", "1"),
        ("CLIENTS", clients.as_str()),
    ];
    let printed = run(Path::new(program), arguments, &environment);
    let answer = serde_json::from_str(&printed);
    assert!(answer.is_ok(), "{answer:?}: {printed}");
    answer.unwrap()
}

/// Checks that the turn of a disconnected client was interrupted.
fn was_interrupted(served: &Served, session: &Value) {
    let session = session.as_str().unwrap();
    common::eventually("the turn ends", || {
        let info = served.info(session);
        (!["running", "starting", "waiting"].contains(&info["status"].as_str().unwrap())).then_some(())
    });
    let log = served.client.get(&format!("/v1/sessions/{session}/transcript?limit=50")).expect(200).text();
    assert!(log.contains("nterrupt"), "{log}");
}

#[test]
fn the_client_for_python() {
    let Some(clients) = clients() else { return };
    let mut served = Served::with(&["--openai-grace", "200ms"]);
    let got = talk(&served, &clients, "python3", &[&script("client.py")]);
    assert!(got["models"].as_array().unwrap().contains(&json!("default")));
    for (name, expected) in [
        ("first", json!("The first.")),
        ("second", json!("The second.")),
        ("same_session", json!(true)),
        ("other_session", json!(true)),
        ("streamed", json!("one two three four")),
        ("picture", json!("I see.")),
        ("after_tool", json!("Read.")),
        ("whole_after_tool", json!("Read.")),
        ("response", json!("A response.")),
        ("following", json!("Another.")),
        ("response_streamed", json!("Piece by piece.")),
        ("last_event", json!("response.completed")),
        ("response_after_tool", json!("Read.")),
        ("response_items", json!(["reasoning", "message"])),
        ("response_same_session", json!(true)),
        ("hidden_items", json!(["message"])),
        ("ignored", json!("temperature")),
        ("refused", json!("tools")),
        ("unauthorized", json!("invalid_api_key")),
        ("failed", json!(400)),
        ("tried", json!(1)),
        ("parsed", json!({"name": "Ann"})),
    ] {
        assert_eq!(got[name], expected, "{name} in {got:#}");
    }
    assert!(got["pieces"].as_u64() > Some(1), "{got:#}");
    assert!(got["usage"].as_u64() > Some(0) && got["streamed_usage"].as_u64() > Some(0), "{got:#}");
    for told in ["reasoning", "whole_reasoning", "response_reasoning", "whole_response_reasoning"] {
        assert!(got[told].as_str().unwrap().contains("Read: "), "{got:#}");
    }
    was_interrupted(&served, &got["left"]);
    served.stop();
}

#[test]
fn the_client_for_node() {
    let Some(clients) = clients() else { return };
    let mut served = Served::with(&["--openai-grace", "200ms"]);
    let got = talk(&served, &clients, "node", &[&script("client.mjs")]);
    for (name, expected) in [
        ("first", json!("The first.")),
        ("second", json!("The second.")),
        ("same_session", json!(true)),
        ("streamed", json!("one two three four")),
        ("response", json!("A response.")),
        ("response_reasoning", json!("Read: nothing.txt\n")),
        ("response_items", json!(["reasoning", "message"])),
        ("refused", json!("tools")),
        ("tried", json!(1)),
        ("parsed", json!({"name": "Ann"})),
    ] {
        assert_eq!(got[name], expected, "{name} in {got:#}");
    }
    assert!(got["streamed_usage"].as_u64() > Some(0), "{got:#}");
    was_interrupted(&served, &got["left"]);
    served.stop();
}
