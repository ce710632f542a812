//! The parts of a running simulated CLI, shared by its threads.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use std::time::Instant;

use super::hooks::Hooks;
use super::host::Host;
use super::ids::Ids;
use super::ledger::Ledger;
use super::lock;
use super::mcp::Server;
use super::misbehave::{Misbehaviour, Point};
use super::options::Options;
use super::output::Output;
use super::permissions::Rules;
use super::profile::Profile;
use super::queue::Queue;
use super::rewind::Rewinds;
use super::sessions;
use super::settings::Settings;
use super::tasks::Tasks;
use crate::json::Json;
use crate::{array, object};

/// Mutable state.
#[derive(Debug, Default)]
pub(crate) struct State {
    pub(crate) session_id: String,
    pub(crate) model: String,
    pub(crate) mode: String,
    /// The mode before the plan, which the CLI restores by itself.
    pub(crate) mode_before_plan: Option<String>,
    /// Rules that the host added with its responses.
    pub(crate) rules: Rules,
    /// Files whose contents the model knows.
    pub(crate) read_files: HashSet<PathBuf>,
    /// The list of `TodoWrite`.
    pub(crate) todos: Json,
    /// The list of `TaskCreate` and related tools.
    pub(crate) todo_tasks: Vec<Json>,
    pub(crate) hooks: Hooks,
    pub(crate) servers: Vec<Server>,
    /// What was refused in this turn.
    pub(crate) denials: Vec<Json>,
    pub(crate) plan_file: Option<PathBuf>,
    /// The schema for structured output.
    pub(crate) schema: Option<Json>,
    /// The structured output of this turn.
    pub(crate) structured: Option<Json>,
    /// Agents that the host brought along.
    pub(crate) agents: Vec<String>,
    /// Whether the host asked for the text of sub-agents.
    pub(crate) forward_subagent_text: bool,
    /// How often each step was tried.
    pub(crate) tries: std::collections::HashMap<String, u64>,
}

impl State {
    /// Changes the permission mode, and remembers the one before a plan.
    pub(crate) fn set_mode(&mut self, mode: &str) {
        self.mode_before_plan = match mode {
            "plan" if self.mode == "plan" => self.mode_before_plan.take(),
            "plan" => Some(self.mode.clone()),
            _ => None,
        };
        mode.clone_into(&mut self.mode);
    }
}

/// A running simulated CLI.
#[derive(Debug)]
pub(crate) struct Sim {
    pub(crate) options: Options,
    pub(crate) settings: Settings,
    pub(crate) profile: Profile,
    pub(crate) out: Output,
    pub(crate) ids: Arc<Ids>,
    pub(crate) host: Host,
    pub(crate) queue: Queue,
    pub(crate) tasks: Tasks,
    pub(crate) ledger: Mutex<Ledger>,
    /// The folder that it was started in.
    first_cwd: PathBuf,
    /// The folder of the session that took it, if it was a spare.
    claimed: OnceLock<PathBuf>,
    pub(crate) started: Instant,
    state: Mutex<State>,
    rewinds: Mutex<Rewinds>,
    misbehaviours: Mutex<Vec<Misbehaviour>>,
    silent: AtomicBool,
    /// Held while connecting to the host's servers, so that each is connected once.
    pub(crate) connecting: Mutex<()>,
    messages_seen: AtomicU64,
}

impl Sim {
    pub(crate) fn new(
        options: Options,
        settings: Settings,
        profile: Profile,
        out: Output,
        first_cwd: PathBuf,
    ) -> Self {
        let ids = Ids::new(settings.seed);
        let mode = if options.skip_permissions {
            "bypassPermissions".to_owned()
        } else {
            options.permission_mode.clone().unwrap_or_else(|| "default".to_owned())
        };
        let model = profile.resolve_model(options.model.as_deref().unwrap_or("default"));
        let forward_subagent_text = options.forward_subagent_text;
        let state = State { model, mode, todos: array![], forward_subagent_text, ..State::default() };
        let misbehaviours = Mutex::new(settings.misbehave.clone());
        Self {
            options,
            settings,
            profile,
            out,
            ids,
            host: Host::default(),
            queue: Queue::default(),
            tasks: Tasks::default(),
            ledger: Mutex::default(),
            first_cwd,
            claimed: OnceLock::new(),
            started: Instant::now(),
            state: Mutex::new(state),
            rewinds: Mutex::default(),
            misbehaviours,
            silent: AtomicBool::new(false),
            connecting: Mutex::default(),
            messages_seen: AtomicU64::new(0),
        }
    }

    /// The agents that exist.
    pub(crate) fn agents(&self) -> Vec<String> {
        let built_in = self.profile.agents().iter().map(|name| (*name).to_owned());
        built_in.chain(self.state().agents.iter().cloned()).collect()
    }

    /// The mutable state. Hold the lock as briefly as possible.
    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// What can be taken back.
    pub(crate) fn rewinds(&self) -> MutexGuard<'_, Rewinds> {
        lock(&self.rewinds)
    }

    pub(crate) fn ledger(&self) -> MutexGuard<'_, Ledger> {
        lock(&self.ledger)
    }

    pub(crate) fn session_id(&self) -> String {
        self.state().session_id.clone()
    }

    /// The working directory.
    pub(crate) fn cwd(&self) -> &Path {
        self.claimed.get().unwrap_or(&self.first_cwd)
    }

    /// Becomes the process of a session in this folder. Returns whether it was waiting for one.
    pub(crate) fn claim(&self, cwd: PathBuf) -> bool {
        self.options.await_claim && self.claimed.set(cwd).is_ok()
    }

    pub(crate) fn cwd_text(&self) -> String {
        self.cwd().display().to_string()
    }

    /// The folder with the sessions of the working directory.
    pub(crate) fn project_dir(&self) -> PathBuf {
        self.settings.config_dir.join("projects").join(sessions::project_name(self.cwd()))
    }

    /// The file of the session.
    pub(crate) fn transcript_path(&self) -> String {
        sessions::file_of(&self.project_dir(), &self.session_id()).display().to_string()
    }

    /// Where outputs of background tasks are written.
    pub(crate) fn task_dir(&self) -> PathBuf {
        let user = rustix::process::getuid().as_raw();
        let (old, project) = (self.profile.is_old(), sessions::project_name(self.cwd()));
        let folder = std::env::temp_dir();
        if old {
            return folder.join("claude").join(project).join("tasks");
        }
        folder.join(format!("claude-{user}")).join(project).join(self.session_id()).join("tasks")
    }

    /// The names of the available tools, in order.
    pub(crate) fn tools(&self) -> Vec<String> {
        let state = self.state();
        let todo = self.settings.todo_tools
            || state.model.contains("haiku-4")
            || self.options.allowed_tools.iter().any(|tool| self.profile.is_todo_tool(tool));
        let chosen = |tool: &str| match &self.options.tools {
            Some(tools) => tools.iter().any(|name| name == tool || name == "default"),
            None => true,
        };
        let builtin = self.profile.tools().iter().filter(|tool| {
            (self.options.host_permissions || !self.profile.needs_host(tool))
                && (todo || !self.profile.is_todo_tool(tool))
                && chosen(tool)
                && !self.options.disallowed_tools.iter().any(|name| name == *tool)
        });
        let served = state.servers.iter().flat_map(Server::tool_names);
        let structured = state.schema.is_some().then(|| super::tools::structured::NAME.to_owned());
        builtin.map(|tool| (*tool).to_owned()).chain(structured).chain(served).collect()
    }

    /// `mcp_servers` in `init`.
    pub(crate) fn mcp_servers(&self) -> Json {
        let state = self.state();
        let hosted = state.servers.iter().map(|server| {
            let status = if server.connected { "connected" } else { "pending" };
            object! { "name" => server.name.as_str(), "status" => status }
        });
        let configured = super::mcp::configured_names(&self.options.mcp_config);
        let failed = configured.iter().map(|name| object! { "name" => name, "status" => "failed" });
        Json::Array(hosted.chain(failed).collect())
    }

    /// Whether exactly this misbehaviour was requested.
    pub(crate) fn misbehaves(&self, misbehaviour: &Misbehaviour) -> bool {
        lock(&self.misbehaviours).contains(misbehaviour)
    }

    /// The first misbehaviour of a kind.
    pub(crate) fn misbehaviour<T>(&self, pick: impl Fn(&Misbehaviour) -> Option<T>) -> Option<T> {
        lock(&self.misbehaviours).iter().find_map(pick)
    }

    /// Removes and returns a misbehaviour that happens once.
    pub(crate) fn take_misbehaviour(&self, which: impl Fn(&Misbehaviour) -> bool) -> Option<Misbehaviour> {
        let mut list = lock(&self.misbehaviours);
        let place = list.iter().position(which)?;
        Some(list.remove(place))
    }

    /// Adds misbehaviour from now on.
    pub(crate) fn add_misbehaviours(&self, more: Vec<Misbehaviour>) {
        for misbehaviour in &more {
            self.out.misbehave(misbehaviour);
        }
        lock(&self.misbehaviours).extend(more);
    }

    /// Falls silent forever, if that was requested for this point.
    pub(crate) fn silence(&self, point: Point) -> bool {
        let falls = self.misbehaves(&Misbehaviour::Silence { at: point });
        if falls {
            self.silent.store(true, Ordering::SeqCst);
            self.out.close();
        }
        falls
    }

    pub(crate) fn is_silent(&self) -> bool {
        self.silent.load(Ordering::SeqCst)
    }

    /// Counts messages, for scripts in a file.
    pub(crate) fn next_message_number(&self) -> usize {
        usize::try_from(self.messages_seen.fetch_add(1, Ordering::SeqCst)).unwrap_or(usize::MAX)
    }

    /// Whether there was any message.
    pub(crate) fn has_seen_messages(&self) -> bool {
        self.messages_seen.load(Ordering::SeqCst) > 0
    }

    /// Writes a response to a control request; twice if that was requested.
    pub(crate) fn respond(&self, line: &Json) {
        self.out.line(line);
        if self.misbehaves(&Misbehaviour::DuplicateResponses) {
            self.out.line(line);
        }
    }

    /// Ends the process because of invalid input.
    pub(crate) fn fail(&self, message: &str) {
        self.out.error(&format!("{message}\n"));
        self.out.close();
        self.queue.end(Some(1), super::cancel::Stop::Terminate);
    }
}
