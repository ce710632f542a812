//! What any agent of the protocol should do, as cases on the level of messages. Nothing in them is about Weir: an agent
//! needs a model that plays the scripts in its prompts.
//!
//! They run on Weir with the simulated CLI and with real CLIs.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use crate::peer::{Peer, text_of};

/// Longest time a case may take.
const CASE: Duration = Duration::from_secs(40);

/// An agent that is put through the cases.
pub(crate) trait Subject {
    /// A connection with a fresh agent.
    async fn connect(&self) -> Peer;

    /// The folder in which sessions work.
    fn folder(&self) -> &Path;
}

/// What came of a case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Outcome {
    pub(crate) case: &'static str,
    /// Why it failed, if it did.
    pub(crate) failure: Option<String>,
}

type Checked = Result<(), String>;

fn script(steps: &Value) -> String {
    format!("@@{steps}")
}

fn expect(is_so: bool, what: impl FnOnce() -> String) -> Checked {
    if is_so { Ok(()) } else { Err(what()) }
}

async fn open(subject: &impl Subject) -> Result<(Peer, String), String> {
    let mut peer = subject.connect().await;
    let hello = json!({"protocolVersion": 1, "clientCapabilities": {}});
    peer.call("initialize", hello).await.map_err(|error| error.to_string())?;
    let opened = peer.call("session/new", json!({"cwd": subject.folder(), "mcpServers": []})).await;
    let opened = opened.map_err(|error| format!("session/new: {error}"))?;
    let session = opened["sessionId"].as_str().ok_or("no sessionId")?.to_owned();
    Ok((peer, session))
}

async fn greets(subject: &impl Subject) -> Checked {
    let mut peer = subject.connect().await;
    let hello =
        peer.call("initialize", json!({"protocolVersion": 1})).await.map_err(|error| error.to_string())?;
    expect(hello["protocolVersion"] == 1, || format!("version {}", hello["protocolVersion"]))?;
    expect(hello["agentCapabilities"].is_object(), || "no capabilities".into())
}

async fn negotiates(subject: &impl Subject) -> Checked {
    let mut peer = subject.connect().await;
    let hello =
        peer.call("initialize", json!({"protocolVersion": 999})).await.map_err(|error| error.to_string())?;
    expect(hello["protocolVersion"].as_u64().is_some_and(|version| version < 999), || hello.to_string())
}

async fn refuses_unknown_methods(subject: &impl Subject) -> Checked {
    let (mut peer, _) = open(subject).await?;
    let error = peer.call("session/nonsense", json!({})).await;
    expect(matches!(&error, Err(error) if error["code"] == -32601), || format!("{error:?}"))
}

async fn refuses_bad_parameters(subject: &impl Subject) -> Checked {
    let (mut peer, _) = open(subject).await?;
    let error = peer.call("session/new", json!({"cwd": 7})).await;
    expect(matches!(&error, Err(error) if error["code"] == -32602), || format!("{error:?}"))
}

async fn survives_malformed_lines(subject: &impl Subject) -> Checked {
    let (mut peer, session) = open(subject).await?;
    peer.write(b"{not json\n").await;
    let ended = peer.ask(&session, &script(&json!([{"text": "still here"}]))).await;
    expect(ended.as_ref().is_ok_and(|ended| ended["stopReason"] == "end_turn"), || format!("{ended:?}"))
}

async fn refuses_unknown_sessions(subject: &impl Subject) -> Checked {
    let (mut peer, _) = open(subject).await?;
    let error = peer.ask("00000000-0000-4000-8000-000000000000", "hello").await;
    expect(error.is_err(), || format!("{error:?}"))
}

async fn streams_before_it_answers(subject: &impl Subject) -> Checked {
    let (mut peer, session) = open(subject).await?;
    let ended = peer.ask(&session, &script(&json!([{"text": "one two three four"}]))).await;
    expect(ended.as_ref().is_ok_and(|ended| ended["stopReason"] == "end_turn"), || format!("{ended:?}"))?;
    let said = text_of(&peer.updates(), "agent_message_chunk");
    expect(said == "one two three four", || format!("{said:?}"))
}

async fn shows_tool_calls(subject: &impl Subject) -> Checked {
    let (mut peer, session) = open(subject).await?;
    let file = subject.folder().join("to-read.txt");
    std::fs::write(&file, "the content\n").map_err(|error| error.to_string())?;
    let steps = json!([{"tool": "Read", "input": {"file_path": file}}, {"text": "done"}]);
    let ended = peer.ask(&session, &script(&steps)).await;
    expect(ended.is_ok(), || format!("{ended:?}"))?;
    let updates = peer.updates();
    let call = updates.iter().find(|update| update["sessionUpdate"] == "tool_call").ok_or("no tool_call")?;
    let mut later = updates.iter().filter(|update| update["toolCallId"] == call["toolCallId"]);
    expect(later.any(|update| update["status"] == "completed"), || format!("{updates:?}"))
}

/// Asks for a permission and answers it like this; returns how the prompt ended and whether the file was written.
async fn asked(
    subject: &impl Subject,
    name: &str,
    answer: impl Fn(&Value) -> Value,
) -> Result<(Value, bool), String> {
    let (mut peer, session) = open(subject).await?;
    let file = subject.folder().join(name);
    let steps = json!([{"tool": "Write", "input": {"file_path": file, "content": "x\n"}}, {"text": "done"}]);
    let id = peer.prompt(&session, &script(&steps)).await;
    let ask = peer.asked("session/request_permission").await;
    peer.respond(&ask["id"], answer(&ask["params"]["options"])).await;
    let ended = peer.response(id).await.map_err(|error| error.to_string())?;
    Ok((ended, file.exists()))
}

fn selected(option: &Value) -> Value {
    json!({"outcome": {"outcome": "selected", "optionId": option}})
}

fn of_kind(options: &Value, kind: &str) -> Value {
    let all = options.as_array().cloned().unwrap_or_default();
    all.into_iter()
        .find(|option| option["kind"] == kind)
        .map(|option| option["optionId"].clone())
        .unwrap_or_default()
}

async fn allows_what_is_allowed(subject: &impl Subject) -> Checked {
    let (ended, is_written) =
        asked(subject, "allowed", |options| selected(&of_kind(options, "allow_once"))).await?;
    expect(is_written && ended["stopReason"] == "end_turn", || format!("{ended}, written: {is_written}"))
}

async fn denies_what_is_denied(subject: &impl Subject) -> Checked {
    let (ended, is_written) =
        asked(subject, "denied", |options| selected(&of_kind(options, "reject_once"))).await?;
    expect(!is_written && ended["stopReason"].is_string(), || format!("{ended}, written: {is_written}"))
}

async fn denies_an_invented_option(subject: &impl Subject) -> Checked {
    let (_, is_written) = asked(subject, "invented", |_| selected(&json!("allow-everything"))).await?;
    expect(!is_written, || "written".into())
}

async fn denies_a_cancelled_permission(subject: &impl Subject) -> Checked {
    let (_, is_written) = asked(subject, "closed", |_| json!({"outcome": {"outcome": "cancelled"}})).await?;
    expect(!is_written, || "written".into())
}

async fn cancels_a_running_turn(subject: &impl Subject) -> Checked {
    let (mut peer, session) = open(subject).await?;
    let id = peer.prompt(&session, &script(&json!([{"text": "one two three", "wdelay": 25}]))).await;
    peer.update("agent_message_chunk").await;
    peer.notify("session/cancel", json!({"sessionId": session})).await;
    let ended = peer.response(id).await;
    expect(ended.as_ref().is_ok_and(|ended| ended["stopReason"] == "cancelled"), || format!("{ended:?}"))?;
    let next = peer.ask(&session, &script(&json!([{"text": "fine"}]))).await;
    expect(next.as_ref().is_ok_and(|ended| ended["stopReason"] == "end_turn"), || {
        format!("afterwards {next:?}")
    })
}

async fn cancels_a_turn_that_has_not_begun(subject: &impl Subject) -> Checked {
    let (mut peer, session) = open(subject).await?;
    let id = peer.prompt(&session, &script(&json!([{"text": "one two three", "wdelay": 25}]))).await;
    peer.notify("session/cancel", json!({"sessionId": session})).await;
    let ended = peer.response(id).await;
    expect(ended.as_ref().is_ok_and(|ended| ended["stopReason"] == "cancelled"), || format!("{ended:?}"))
}

async fn reports_an_error_of_the_api(subject: &impl Subject) -> Checked {
    let (mut peer, session) = open(subject).await?;
    let steps = json!([{"status": 400, "etype": "invalid_request_error", "msg": "bad things"}]);
    let ended = peer.ask(&session, &script(&steps)).await;
    expect(ended.is_err(), || format!("{ended:?}"))
}

async fn replays_a_session(subject: &impl Subject) -> Checked {
    let (mut peer, session) = open(subject).await?;
    peer.ask(&session, &script(&json!([{"text": "remember me"}])))
        .await
        .map_err(|error| error.to_string())?;
    peer.updates();
    let load = json!({"sessionId": session, "cwd": subject.folder(), "mcpServers": []});
    peer.call("session/load", load).await.map_err(|error| error.to_string())?;
    let updates = peer.updates();
    let said = text_of(&updates, "agent_message_chunk");
    expect(said.contains("remember me"), || format!("{updates:?}"))?;
    expect(!text_of(&updates, "user_message_chunk").is_empty(), || "the prompt is missing".into())
}

macro_rules! cases {
    ($($name:ident),* $(,)?) => {
        /// Runs all cases. One that hangs or panics has failed.
        pub(crate) async fn run(subject: &impl Subject) -> Vec<Outcome> {
            let mut outcomes = Vec::new();
            $(
                let done = tokio::time::timeout(CASE, $name(subject)).await;
                let failure = done.unwrap_or_else(|_| Err("hangs".to_owned())).err();
                outcomes.push(Outcome { case: stringify!($name), failure });
            )*
            outcomes
        }
    };
}

cases![
    greets,
    negotiates,
    refuses_unknown_methods,
    refuses_bad_parameters,
    survives_malformed_lines,
    refuses_unknown_sessions,
    streams_before_it_answers,
    shows_tool_calls,
    allows_what_is_allowed,
    denies_what_is_denied,
    denies_an_invented_option,
    denies_a_cancelled_permission,
    cancels_a_running_turn,
    cancels_a_turn_that_has_not_begun,
    reports_an_error_of_the_api,
    replays_a_session,
];

#[cfg(test)]
mod subjects {
    use std::path::PathBuf;
    use std::sync::Arc;

    use weir_acp::{AcpAgent, Owner};
    use weir_host::{Host, HostOptions};
    use weir_process::Environment;
    use weir_session::SessionOptions;
    use weir_store::{SqliteOptions, SqliteStore};
    use weir_testkit::api::ScriptedApi;
    use weir_testkit::real::RealCli;

    use super::*;
    use crate::place::{Place, end, offer};

    /// Weir over memory.
    struct Weir {
        host: Host,
        folder: PathBuf,
    }

    impl Subject for Weir {
        async fn connect(&self) -> Peer {
            let agent = AcpAgent::new(self.host.clone(), Arc::new(Owner::new(offer())));
            let (near, far) = tokio::io::duplex(1 << 16);
            let (input, output) = tokio::io::split(far);
            tokio::spawn(agent.serve(input, output));
            let (input, output) = tokio::io::split(near);
            Peer::new(input, output)
        }

        fn folder(&self) -> &Path {
            &self.folder
        }
    }

    fn failures(outcomes: Vec<Outcome>) -> Vec<Outcome> {
        outcomes.into_iter().filter(|outcome| outcome.failure.is_some()).collect()
    }

    #[tokio::test]
    async fn weir_conforms_on_the_simulated_cli() {
        let place = Place::new();
        let weir = Weir { host: place.host().await, folder: place.directory() };
        assert_eq!(failures(run(&weir).await), []);
        end(&weir.host).await;
    }

    #[tokio::test]
    async fn weir_conforms_on_real_clis() {
        for cli in RealCli::required() {
            let api = ScriptedApi::start().unwrap();
            let place = weir_testkit::Place::new().unwrap();
            let mut environment = Environment::only(Vec::<String>::new());
            for (name, value) in place.environment(&api.url()) {
                environment = environment.set(name, value);
            }
            let store = SqliteStore::open(place.root().join("weir.db"), &SqliteOptions::default()).unwrap();
            let (version, program) = (cli.version, cli.program.clone());
            let recipe = move |_: &weir_host::SessionSettings| {
                SessionOptions::new().program(&program).environment(environment.clone())
            };
            let mut options = HostOptions::new(Arc::new(store), recipe).root(place.directory());
            options.state_directory = Some(place.root().join("state"));
            let weir = Weir { host: Host::open(options).await.unwrap(), folder: place.directory() };
            assert_eq!(failures(run(&weir).await), [], "{version:?}");
            end(&weir.host).await;
        }
    }
}
