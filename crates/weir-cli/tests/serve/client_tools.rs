//! Client tools over the API, with the examples in Python and Node and by hand.

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::support::Served;

fn tools() -> Value {
    let tool = |name: &str| json!({"name": name, "description": "Adds.", "input_schema": {"type": "object"}});
    json!({"tools": [tool("add")]})
}

fn calls(tool: &str, input: &Value) -> String {
    format!(
        "@@{}",
        json!([{"tool": format!("mcp__client__{tool}"), "input": input}, {"text": "It is done."}])
    )
}

/// Runs an example to its end and returns its output.
#[expect(clippy::disallowed_methods, reason = "the examples are under test; they are waited for")]
fn example(served: &Served, program: &str, name: &str, question: &str) -> String {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/client-tools").join(name);
    let client = &served.client;
    let output = Command::new(program)
        .arg(file)
        .arg(served.place.workspace())
        .arg(question)
        .env("WEIR_URL", format!("http://{}{}", client.address, client.base))
        .env("WEIR_TOKEN", &client.token)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{program}: {text}\n{}", String::from_utf8_lossy(&output.stderr));
    text
}

#[test]
fn the_examples_bridge_their_functions() {
    let served = Served::start();
    for (program, name) in [("python3", "client_tools.py"), ("node", "client-tools.mjs")] {
        let printed = example(&served, program, name, &calls("weather", &json!({"city": "Oslo"})));
        assert_eq!(printed, "It is done.\n");
        let sessions = served.client.get("/v1/sessions").expect(200).json();
        let session = sessions["sessions"][0]["id"].as_str().unwrap();
        let exported = served.client.get(&format!("/v1/sessions/{session}/export?format=md")).expect(200);
        assert!(exported.text().contains("Sunny in Oslo, 21 degrees."), "{}", exported.text());
    }
}

#[test]
fn a_call_waits_for_the_client_and_only_a_driver_answers_it() {
    let served = Served::start();
    let session = served.session_with(&json!({"client_tools": tools()}));
    let path = format!("/v1/sessions/{session}");
    let body = json!({"client_id": "a", "text": calls("add", &json!({"a": 1}))});
    let mut events = served.client.post_events(&format!("{path}/messages"), &body);
    let asked = events.wait("agent-tool-request").json();
    let open = served.client.get(&format!("{path}/tool-calls")).expect(200).json();
    assert_eq!(open["calls"][0]["request_id"], asked["request_id"]);
    assert_eq!(open["calls"][0]["input"], json!({"a": 1}));
    let answer = format!("{path}/tool-calls/{}", asked["request_id"].as_str().unwrap());
    let text = json!({"content": [{"type": "text", "text": "3"}]});
    let (_, approver) = served.token("ann", "approver");
    served.client.with(&approver).post(&answer, &text).expect(403);
    served.client.post(&answer, &json!({"content": []})).expect(422);
    served.client.post(&answer, &json!({"content": [{"type": "video"}]})).expect(422);
    // It is neither a permission nor a question, and cannot be answered as one.
    let as_permission = format!("{path}/permissions/{}", asked["request_id"].as_str().unwrap());
    let refused = served.client.post(&as_permission, &json!({"behavior": "allow"}));
    assert!((400..500).contains(&refused.status), "{}", refused.status);
    served.client.post(&answer, &text).expect(200);
    served.client.post(&answer, &text).expect(409);
    assert_eq!(events.wait("message").json()["text"], "It is done.");
}

#[test]
fn invalid_tools_are_refused_before_they_are_offered() {
    let served = Served::start();
    let session = served.session();
    let path = format!("/v1/sessions/{session}/client-tools");
    let put = |body: &Value| served.client.ask("PUT", &path, &[], Some(body));
    put(&tools()).expect(200);
    for bad in [
        json!({"tools": [{"name": "a b", "description": "x", "input_schema": {"type": "object"}}]}),
        json!({"tools": [{"name": "a", "description": "", "input_schema": {"type": "object"}}]}),
        json!({"tools": [{"name": "a", "description": "x", "input_schema": {"type": "string"}}]}),
        json!({"tools": [{"name": "a", "description": "x", "input_schema": {"type": "object"}, "command": "sh"}]}),
        json!({"tools": [], "timeout_s": 0}),
    ] {
        put(&bad).expect(422);
    }
}
