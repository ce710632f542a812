//! The agents that are put through the cases.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;

use weir_acp::{AcpAgent, Dial, Owner};
use weir_host::{Host, HostOptions};
use weir_process::Environment;
use weir_session::SessionOptions;
use weir_store::{SqliteOptions, SqliteStore};
use weir_testkit::api::ScriptedApi;
use weir_testkit::real::RealCli;

use super::*;
use crate::place::{Place, end, offer, over_http};

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

/// Weir by its remote transport, from both ends.
struct WeirOverHttp {
    weir: Weir,
    dial: Dial,
}

impl WeirOverHttp {
    async fn new(weir: Weir) -> Self {
        let dial = over_http(&weir.host).await;
        Self { weir, dial }
    }
}

impl Subject for WeirOverHttp {
    async fn connect(&self) -> Peer {
        let (input, output) = self.dial.connect();
        Peer::new(input, output)
    }

    fn folder(&self) -> &Path {
        self.weir.folder()
    }
}

/// A program that speaks the protocol on its standard input and output.
struct Program {
    command: Vec<OsString>,
    environment: Vec<(OsString, OsString)>,
    folder: PathBuf,
}

impl Subject for Program {
    #[expect(
        clippy::disallowed_methods,
        reason = "an agent is a program of its own, which ends with its connection"
    )]
    async fn connect(&self) -> Peer {
        let mut command = tokio::process::Command::new(&self.command[0]);
        command.args(&self.command[1..]).current_dir(&self.folder).kill_on_drop(true);
        command.env_clear().envs(self.environment.iter().cloned());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let (input, output) = (child.stdout.take().unwrap(), child.stdin.take().unwrap());
        Peer::new(input, output).keeping(child)
    }

    fn folder(&self) -> &Path {
        &self.folder
    }
}

fn failures(outcomes: Vec<(&'static str, Outcome)>) -> Vec<(&'static str, Outcome)> {
    outcomes.into_iter().filter(|(_, outcome)| *outcome != Outcome::Passed).collect()
}

#[tokio::test]
async fn weir_conforms_on_the_simulated_cli() {
    let place = Place::new();
    let weir = Weir { host: place.host().await, folder: place.directory() };
    assert_eq!(failures(run(&weir).await), []);
    end(&weir.host).await;
}

#[tokio::test]
async fn weir_conforms_over_http() {
    let place = Place::new();
    let weir = Weir { host: place.host().await, folder: place.directory() };
    let subject = WeirOverHttp::new(weir).await;
    assert_eq!(failures(run(&subject).await), []);
    end(&subject.weir.host).await;
}

#[tokio::test]
async fn weir_conforms_on_real_clis() {
    let clis = RealCli::required();
    for cli in clis {
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

/// The adapter for Claude Code that others wrote, or the agent that `WEIR_ACP_AGENT` names: a program and its arguments,
/// separated by spaces. Its results are those of the table in `docs/editors.md`; another agent's are printed.
#[tokio::test]
async fn the_client_for_any_agent_compares_the_adapter_for_claude_code() {
    let named = std::env::var("WEIR_ACP_AGENT").ok().filter(|agent| !agent.is_empty());
    let command: Vec<OsString> = match &named {
        Some(agent) => agent.split_whitespace().map(OsString::from).collect(),
        None => match adapter() {
            Some(command) => command,
            None => return,
        },
    };
    let Some(cli) = RealCli::required().into_iter().next() else { return };
    let api = ScriptedApi::start().unwrap();
    let place = weir_testkit::Place::new().unwrap();
    let mut environment = place.environment(&api.url());
    environment.push(("CLAUDE_CODE_EXECUTABLE".into(), cli.program.into()));
    let program = Program { command, environment, folder: place.directory() };
    let outcomes = run(&program).await;
    weir_testkit::end_leftovers(&place.home());
    if named.is_none() {
        let found = outcomes.iter().map(|(case, outcome)| format!("{case}: {}", word(outcome)));
        assert_eq!(found.collect::<Vec<_>>(), documented());
    }
}

/// The command of the adapter in the folder of clients that others wrote; none if they should be skipped.
#[expect(clippy::disallowed_methods, reason = "a script that prints a path; it is waited for")]
fn adapter() -> Option<Vec<OsString>> {
    if std::env::var_os("WEIR_SKIP_ACP_CLIENTS").is_some_and(|value| value == "1") {
        println!("NOT TESTED: the adapter for Claude Code");
        return None;
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/setup-acp-clients.sh");
    let printed = std::process::Command::new("bash").arg(script).arg("--print-path").output().unwrap();
    assert!(printed.status.success(), "{}", String::from_utf8_lossy(&printed.stderr));
    let clients = PathBuf::from(String::from_utf8(printed.stdout).unwrap().trim());
    let module = "node/node_modules/@agentclientprotocol/claude-agent-acp/dist/index.js";
    Some(vec![clients.join("bin/node").into(), clients.join(module).into()])
}

fn word(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Passed => "yes",
        Outcome::NotOffered => "not offered",
        Outcome::Failed(_) => "no",
    }
}

/// The adapter's results in the documentation.
fn documented() -> Vec<String> {
    rows().into_iter().map(|[case, _, adapter]| format!("{case}: {adapter}")).collect()
}

fn rows() -> Vec<[String; 3]> {
    let page = include_str!("../../../../../docs/editors.md");
    let rows = page.lines().skip_while(|line| !line.starts_with("| case |")).skip(2);
    let rows = rows.take_while(|line| line.starts_with('|')).map(|line| {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let name = cells[0].replace(' ', "_");
        [name, cells[1].to_owned(), cells[2].to_owned()]
    });
    rows.collect()
}

#[test]
fn the_documentation_has_all_cases() {
    let (rows, cases) = (rows(), CASES.to_vec());
    assert_eq!(rows.iter().map(|row| row[0].as_str()).collect::<Vec<_>>(), cases);
    assert!(rows.iter().all(|row| row[1] == "yes"), "the tests above expect that Weir passes all");
}
