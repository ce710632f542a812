//! What any agent of the protocol should do, as cases on the level of messages. Nothing in them is about Weir: an agent
//! needs a model that plays the scripts in its prompts, which `weir_testkit::api` is.
//!
//! They run on Weir with the simulated CLI and with real CLIs, and on agents that others wrote: `subjects` says how.

mod permissions;
mod protocol;
mod sessions;
mod subjects;
mod turns;

use std::panic::AssertUnwindSafe;
use std::path::Path;
use std::time::Duration;

use futures_util::FutureExt as _;
use serde_json::{Value, json};

use crate::peer::Peer;

/// Longest time a case may take: many times what a slow agent needs on a busy machine.
const CASE: Duration = Duration::from_secs(60);

/// An agent that is put through the cases.
pub(crate) trait Subject {
    /// A connection with a fresh agent, which knows the sessions of the one before if it stores them.
    async fn connect(&self) -> Peer;

    /// The folder in which sessions work.
    fn folder(&self) -> &Path;
}

/// What came of a case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Outcome {
    Passed,
    /// The agent says that it cannot do this.
    NotOffered,
    /// What it did instead.
    Failed(String),
}

type Checked = Result<(), Outcome>;

impl From<String> for Outcome {
    fn from(why: String) -> Self {
        Self::Failed(why)
    }
}

impl From<&str> for Outcome {
    fn from(why: &str) -> Self {
        Self::Failed(why.to_owned())
    }
}

/// An error of the agent, where there should be none.
impl From<Value> for Outcome {
    fn from(error: Value) -> Self {
        Self::Failed(format!("error {error}"))
    }
}

fn expect(is_so: bool, what: impl FnOnce() -> String) -> Checked {
    if is_so { Ok(()) } else { Err(Outcome::Failed(what())) }
}

fn offered(is_offered: bool) -> Checked {
    if is_offered { Ok(()) } else { Err(Outcome::NotOffered) }
}

fn expect_end(ended: &Result<Value, Value>, stop: &str) -> Checked {
    expect(ended.as_ref().is_ok_and(|ended| ended["stopReason"] == stop), || format!("{ended:?}"))
}

/// A prompt that makes the model do this, step by step.
fn script(steps: &Value) -> String {
    format!("@@{steps}")
}

fn says(text: &str) -> String {
    script(&json!([{"text": text}]))
}

/// A connection that has said hello.
struct Client {
    peer: Peer,
    hello: Value,
}

impl Client {
    async fn greet(subject: &impl Subject) -> Result<Self, Outcome> {
        let mut peer = subject.connect().await;
        let hello = peer.call("initialize", json!({"protocolVersion": 1, "clientCapabilities": {}})).await?;
        Ok(Self { peer, hello })
    }

    /// A connection with a new session.
    async fn open(subject: &impl Subject) -> Result<(Self, String), Outcome> {
        let mut client = Self::greet(subject).await?;
        let session = client.session(subject).await?;
        Ok((client, session))
    }

    async fn session(&mut self, subject: &impl Subject) -> Result<String, Outcome> {
        let opened = self.new_session(subject).await?;
        Ok(opened["sessionId"].as_str().ok_or("no sessionId")?.to_owned())
    }

    async fn new_session(&mut self, subject: &impl Subject) -> Result<Value, Outcome> {
        Ok(self.peer.call("session/new", json!({"cwd": subject.folder(), "mcpServers": []})).await?)
    }

    /// Whether the agent says that it has this capability: `{}` or `true`.
    fn can(&self, pointer: &str) -> bool {
        let found = self.hello["agentCapabilities"].pointer(pointer);
        found.is_some_and(|found| found.is_object() || *found == true)
    }
}

/// Runs a case. One that hangs or panics has failed.
async fn outcome(case: impl Future<Output = Checked>) -> Outcome {
    let case = AssertUnwindSafe(tokio::time::timeout(CASE, case)).catch_unwind();
    match case.await {
        Ok(Ok(Ok(()))) => Outcome::Passed,
        Ok(Ok(Err(outcome))) => outcome,
        Ok(Err(_)) => Outcome::Failed("hangs".to_owned()),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map_or("panicked", String::as_str);
            Outcome::Failed(text.to_owned())
        }
    }
}

macro_rules! cases {
    ($($module:ident: $($name:ident),* $(,)?);* $(;)?) => {
        /// Names of all cases, in order.
        pub(crate) const CASES: &[&str] = &[$($(stringify!($name)),*),*];

        /// Runs all cases, one after another, each on connections of its own.
        pub(crate) async fn run(subject: &impl Subject) -> Vec<(&'static str, Outcome)> {
            let mut outcomes = Vec::new();
            $($(
                let found = outcome($module::$name(subject)).await;
                println!("{}: {found:?}", stringify!($name));
                outcomes.push((stringify!($name), found));
            )*)*
            outcomes
        }
    };
}

cases![
    protocol:
        greets,
        negotiates_the_version,
        refuses_a_session_before_initialize,
        refuses_unknown_methods,
        refuses_bad_parameters,
        refuses_unknown_sessions,
        survives_malformed_lines,
        survives_unknown_notifications_and_responses,
        ends_when_the_client_leaves;
    turns:
        streams_before_it_answers,
        loses_nothing_of_a_long_answer,
        shows_thoughts,
        shows_tool_calls,
        shows_differences,
        takes_pictures,
        takes_embedded_resources,
        takes_a_prompt_of_a_megabyte,
        keeps_two_sessions_apart,
        cancels_a_running_turn,
        cancels_a_turn_that_has_not_begun,
        ignores_a_cancel_without_a_turn,
        reports_an_error_of_the_api,
        reports_a_refusal,
        reports_the_limit_of_tokens;
    permissions:
        allows_what_is_allowed,
        denies_what_is_denied,
        denies_an_invented_option,
        ends_with_a_cancelled_permission,
        denies_if_the_client_cannot_ask,
        cancels_while_it_asks;
    sessions:
        replays_a_session,
        replays_a_session_to_another_client,
        resumes_without_a_replay,
        lists_sessions_by_folder,
        closes_a_session,
        deletes_a_session,
        forks_a_session,
        changes_the_mode,
        changes_an_option;
];
