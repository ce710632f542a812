//! A tool in our own process, called by real CLIs.

use serde_json::json;
use weir_session::Session;
use weir_testkit::Place;
use weir_testkit::api::ScriptedApi;
use weir_testkit::scenario::{Cli, Process};
use weir_transcript::ToolState;

use crate::calc::calc;
use crate::host::Host;
use crate::options::options;
use crate::recorder::Recorder;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_real_cli_calls_a_tool_of_ours() {
    let runs = crate::real_clis().into_iter().map(|cli| tokio::spawn(call(Cli::from(cli))));
    for run in runs.collect::<Vec<_>>() {
        run.await.unwrap();
    }
}

async fn call(cli: Cli) {
    let (place, api) = (Place::new().unwrap(), ScriptedApi::start().unwrap());
    let (process, recorder) = (Process::default(), Recorder::default());
    let (make, mut events, _) = calc();
    let made = options((&cli, &place, &api), &process, "", &Host::new(&process), &recorder);
    let session = Session::new(made.mcp_server("calc", make).allowed_tools(["mcp__calc"]));
    let calls = |tool: &str, input: serde_json::Value| {
        let steps = json!([{"tool": format!("mcp__calc__{tool}"), "input": input}, {"text": "done"}]);
        format!("@@{steps}")
    };
    for (tool, input, state, words) in [
        ("add", json!({"a": 1, "b": 2}), ToolState::Succeeded, "3"),
        ("report", json!({}), ToolState::Succeeded, "reported"),
        ("panic", json!({}), ToolState::Failed, "panicked while handling this request"),
    ] {
        let end = session.ask(calls(tool, input)).await.unwrap();
        assert_eq!((end.text.as_str(), end.is_error()), ("done", false), "{cli} {tool}");
        let view = session.view().await.unwrap();
        let (_, called) = view.tools().last().unwrap();
        let output = called.output.as_ref().map(|output| output.text.to_str().into_owned());
        let output = output.unwrap_or_default();
        assert!(called.state == state && output.contains(words), "{cli} {tool}: {:?} {output}", called.state);
    }
    let mut sent = session.send(calls("wait", json!({}))).await.unwrap();
    assert_eq!(events.recv().await, Some("waiting"), "{cli}");
    session.interrupt().await.unwrap();
    assert_eq!(events.recv().await, Some("cancelled"), "{cli}");
    assert!(sent.answer().await.unwrap().is_interrupted(), "{cli}");
    session.stop().await;
}
