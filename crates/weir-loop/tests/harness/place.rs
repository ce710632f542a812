//! A small repository with a task list, in which the loop runs.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use weir_loop::agent::{AgentRequest, HostAgent, SessionFactory};
use weir_loop::config::{Config, parse};
use weir_loop::event::LoopEvent;
use weir_loop::machine::Wanted;
use weir_loop::shell::{Folders, Handles, LoopOptions, Messengers, OpenOptions, Runner, open};
use weir_loop::state::{RunEnd, RunState, TaskRecord};
use weir_loop::tasks::TaskId;
use weir_process::{Environment, LogOptions, Secrets};
use weir_session::SessionOptions;
use weir_testkit::{begin_repository, raw_logs, simulated_claude};

pub(crate) use weir_testkit::until;

/// Longer than any run takes, even on a busy machine.
const DEADLINE: Duration = Duration::from_secs(900);

/// A repository with a loop.
pub(crate) struct Place {
    place: weir_testkit::Place,
    pub(crate) config: Config,
    misbehave: Option<String>,
    /// How long each step of ending a session may take.
    pub(crate) patience: Duration,
    /// A real CLI and its whole environment.
    real: Option<(PathBuf, Vec<(OsString, OsString)>)>,
    events: Arc<Mutex<Vec<LoopEvent>>>,
}

/// The result of a run.
pub(crate) struct Ran {
    pub(crate) end: RunEnd,
    pub(crate) state: RunState,
    pub(crate) events: Vec<LoopEvent>,
}

impl Ran {
    pub(crate) fn task(&self, name: &str) -> &TaskRecord {
        self.state.task(&TaskId::new(name)).unwrap_or_else(|| panic!("no task {name}: {:#?}", self.state))
    }
}

/// A task with a script for the simulated CLI.
pub(crate) fn task(title: &str, script: &serde_json::Value) -> String {
    format!("- [ ] {title}\n  @@{script}\n")
}

/// A script that runs a command and says something.
pub(crate) fn does(command: &str) -> serde_json::Value {
    serde_json::json!([{"tool": "Bash", "input": {"command": command}}, {"text": "Done, all tests pass."}])
}

impl Place {
    /// A repository with this list and this configuration.
    pub(crate) async fn new(list: &str, config: &str) -> Self {
        let place = Self {
            config: parse(config).unwrap(),
            place: weir_testkit::Place::in_memory().unwrap(),
            misbehave: None,
            patience: Duration::from_secs(2),
            real: None,
            events: Arc::default(),
        };
        place.write("TASKS.md", list);
        place.write("README", "a repository\n");
        place.write("weir.toml", config);
        begin_repository(&place.workspace());
        place
    }

    /// The same repository with another configuration.
    pub(crate) fn with_config(mut self, config: &str) -> Self {
        self.config = parse(config).unwrap();
        self
    }

    pub(crate) fn misbehaving(mut self, how: &str) -> Self {
        self.misbehave = Some(how.to_owned());
        self
    }

    /// Uses a real CLI, with only this environment.
    pub(crate) fn on(mut self, program: &Path, environment: Vec<(OsString, OsString)>) -> Self {
        self.real = Some((program.to_owned(), environment));
        self
    }

    pub(crate) fn workspace(&self) -> PathBuf {
        self.place.directory()
    }

    pub(crate) fn folders(&self) -> Folders {
        let folders = Folders::new(self.workspace(), &self.config.folder);
        folders.with_checks(self.place.home().join(".cache/weir/loop/checks"))
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        std::fs::write(self.workspace().join(name), text).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.workspace().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.workspace().join(name).exists()
    }

    pub(crate) async fn git(&self, args: &[&str]) -> String {
        weir_testkit::git(&self.workspace(), args)
    }

    /// The subjects of the commits since the first, oldest first.
    pub(crate) async fn commits(&self) -> Vec<String> {
        let text = self.git(&["log", "--first-parent", "--reverse", "--format=%s"]).await;
        text.lines().skip(1).map(str::to_owned).collect()
    }

    /// The agent: sessions with the simulated CLI, on a host in memory.
    pub(crate) async fn agent(&self) -> HostAgent {
        let agent = HostAgent::in_memory(&self.workspace(), self.config.parallel, self.factory()).await;
        agent.unwrap_or_else(|error| panic!("{error}"))
    }

    /// How the simulated CLI is run.
    pub(crate) fn factory(&self) -> SessionFactory {
        let folders = self.folders();
        let environment = self.place.simulated_environment().set("CLAUDE_CODE_MAX_RETRIES", "0");
        let (misbehave, real, patience) = (self.misbehave.clone(), self.real.clone(), self.patience);
        let factory = move |request: &AgentRequest| {
            let mut environment = environment.clone();
            if let Some(how) = &misbehave {
                environment = environment.set("SIMULATED_CLAUDE_MISBEHAVE", how);
            }
            let mut program = simulated_claude(env!("CARGO_PKG_NAME"));
            if let Some((real, variables)) = &real {
                program.clone_from(real);
                let all = variables.iter();
                environment = all.fold(Environment::empty(), |all, (name, value)| all.set(name, value));
            }
            let mut options = SessionOptions::new().program(program).environment(environment);
            options.state_directory = Some(folders.state());
            options.log = Some(LogOptions::new(folders.logs(), &request.mode, &request.task));
            options.limits.interrupt = patience;
            options.stop.grace = patience / 2;
            options.stop.terminate = options.stop.terminate.max(patience);
            options
        };
        Arc::new(factory)
    }

    /// Runs the loop to its end.
    pub(crate) async fn run(&self) -> Ran {
        self.run_with(Wanted::default(), |_| {}).await
    }

    /// Runs the loop to its end. `started` gets the handles that can interrupt it.
    pub(crate) async fn run_with(&self, wanted: Wanted, started: impl FnOnce(Handles)) -> Ran {
        let opened = open(&self.folders(), &self.config, OpenOptions::default())
            .await
            .unwrap_or_else(|error| panic!("{error}"));
        self.events.lock().unwrap().clear();
        let agent = self.agent().await;
        let host = agent.host().clone();
        let options = LoopOptions {
            config: self.config.clone(),
            config_file: Some(PathBuf::from("weir.toml")),
            folders: self.folders(),
            agent: Arc::new(agent),
            sandbox: None,
            secrets: Secrets::new(),
            wanted,
            skip_permissions: false,
            messengers: Messengers::default(),
            follower: None,
        };
        let events = Arc::clone(&self.events);
        let runner = Runner::new(
            options,
            opened.state,
            Box::new(move |event, _| events.lock().unwrap().push(event.clone())),
        );
        started(runner.handles());
        let (end, state) = tokio::time::timeout(DEADLINE, runner.run()).await.expect("the run ends").unwrap();
        host.shut_down(Duration::ZERO).await;
        drop(opened.lock);
        self.assert_clean();
        Ran { end, state, events: self.events.lock().unwrap().clone() }
    }

    /// Checks that no process is left.
    fn assert_clean(&self) {
        let left = weir_process::leftovers(&self.folders().state()).unwrap();
        assert!(left.is_empty(), "{left:?}");
        assert_eq!(self.place.living(), Vec::<u32>::new(), "processes are left");
    }

    /// The raw logs of sessions.
    pub(crate) fn logs(&self) -> Vec<PathBuf> {
        raw_logs(&self.folders().logs())
    }
}
