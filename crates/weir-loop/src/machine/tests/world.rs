//! A simulated world in which every action is done at once.

use std::collections::{BTreeMap, VecDeque};

use crate::agent::{AgentEnd, AgentRun, LimitInfo};
use crate::config::{Config, Gate, Time};
use crate::event::LoopEvent;
use crate::machine::{Action, AgentOrder, Event, Machine, Wanted};
use crate::outcome::{GateResult, Inspection, Outcome};
use crate::state::{RunEnd, RunState, Step};
use crate::tasks::{Edit, Source, TaskList, mark_done};

/// The simulated world: results of sessions and gates, and a record of what was done.
pub(super) struct World {
    pub(super) machine: Machine,
    pub(super) now: i64,
    pub(super) list: String,
    /// For each task, how its sessions go, in order. The last one repeats.
    pub(super) runs: BTreeMap<String, VecDeque<AgentRun>>,
    /// For each task, whether the gates pass after each session. After the last entry they always pass.
    pub(super) gates: BTreeMap<String, VecDeque<bool>>,
    pub(super) unchanged: Vec<String>,
    pub(super) commits: Vec<String>,
    pub(super) shelved: Vec<(String, Outcome)>,
    pub(super) sessions: Vec<String>,
    pub(super) orders: Vec<AgentOrder>,
    /// The sessions that have reviewed, and how the next ones go.
    pub(super) reviews: Vec<String>,
    pub(super) verdicts: VecDeque<AgentRun>,
    pub(super) events: Vec<LoopEvent>,
    pub(super) end: Option<RunEnd>,
    pub(super) queue: VecDeque<Event>,
    /// Kills the program before the action with this number.
    pub(super) kill_at: Option<usize>,
    pub(super) done: usize,
    pub(super) killed: bool,
}

pub(super) fn config() -> Config {
    let mut config = Config::default();
    config.gates.push(Gate {
        name: "test".into(),
        command: vec!["true".into()],
        timeout: Time::seconds(1),
        files: Vec::new(),
    });
    config
}

pub(super) fn good() -> AgentRun {
    AgentRun {
        end: AgentEnd::Answered,
        text: "Done.".into(),
        cost_usd: Some(0.1),
        tokens: 100,
        tools: 1,
        turns: Some(2),
        session_id: Some("s".into()),
        ..AgentRun::default()
    }
}

pub(super) fn crash(tools: u64) -> AgentRun {
    AgentRun { end: AgentEnd::Crashed { why: "exit code 3".into() }, tools, ..AgentRun::default() }
}

pub(super) fn limited(resets_at: Option<u64>) -> AgentRun {
    let limit = LimitInfo { rejected: true, resets_at, limit: Some("five_hour".into()), utilization: None };
    AgentRun { is_error: true, rate_limit: Some(limit), tools: 0, ..good() }
}

impl World {
    pub(super) fn new(list: &str, config: Config) -> Self {
        Self::over(list, config, None, Wanted::default())
    }

    pub(super) fn over(list: &str, config: Config, state: Option<RunState>, wanted: Wanted) -> Self {
        let parsed = TaskList::parse(Source::Markdown(list.into())).unwrap();
        let state = state.unwrap_or_else(|| RunState::new("run".into(), 0, parsed.tasks, &config));
        let mut number = 0;
        let machine = Machine::new(state, config, wanted, move || {
            number += 1;
            format!("session-{number}")
        });
        Self {
            machine,
            now: 1_000_000,
            list: list.into(),
            runs: BTreeMap::new(),
            gates: BTreeMap::new(),
            unchanged: Vec::new(),
            commits: Vec::new(),
            shelved: Vec::new(),
            sessions: Vec::new(),
            orders: Vec::new(),
            reviews: Vec::new(),
            verdicts: VecDeque::new(),
            events: Vec::new(),
            end: None,
            queue: VecDeque::from([Event::Start]),
            kill_at: None,
            done: 0,
            killed: false,
        }
    }

    pub(super) fn script(mut self, task: &str, runs: impl IntoIterator<Item = AgentRun>) -> Self {
        self.runs.insert(task.into(), runs.into_iter().collect());
        self
    }

    pub(super) fn gates(mut self, task: &str, passes: impl IntoIterator<Item = bool>) -> Self {
        self.gates.insert(task.into(), passes.into_iter().collect());
        self
    }

    /// Runs until the end, or until nothing happens by itself.
    pub(super) fn run(mut self) -> Self {
        self.go();
        self
    }

    pub(super) fn go(&mut self) {
        self.go_for(usize::MAX);
    }

    /// Handles at most this many events.
    pub(super) fn go_for(&mut self, events: usize) {
        for _ in 0..events {
            let Some(event) = self.queue.pop_front() else { return };
            self.now += 10;
            let actions = self.machine.handle(self.now, event);
            for action in actions {
                if self.kill_at == Some(self.done) {
                    self.killed = true;
                    return;
                }
                self.done += 1;
                let event = self.act(action);
                self.queue.extend(event);
            }
        }
    }

    fn act(&mut self, action: Action) -> Option<Event> {
        match action {
            Action::Tell(event) => {
                self.events.push(event);
                None
            }
            Action::Notify(notification) => Some(Event::Notified { id: notification.id }),
            Action::ReadTasks => {
                Some(Event::Tasks(TaskList::parse(Source::Markdown(self.list.clone())).unwrap().tasks))
            }
            Action::Prepare(task) => {
                let head = format!("c{}", self.commits.len());
                Some(Event::Prepared { task, head, tree: "tree".into(), line: None, notes: Vec::new() })
            }
            Action::Restore { task, .. } => Some(Event::Restored { task }),
            Action::RunGates(task) => {
                let is_after =
                    matches!(self.machine.record(&task).unwrap().step, Some(Step::GatesAfter { .. }));
                let passes =
                    self.gates.get_mut(task.as_str()).filter(|_| is_after).and_then(VecDeque::pop_front);
                let passed = passes.unwrap_or(true);
                let result = GateResult {
                    name: "test".into(),
                    passed,
                    ending: "exit code 1".into(),
                    output: String::new(),
                    took_ms: 5,
                };
                Some(Event::Gates { task, results: vec![result] })
            }
            Action::RunAgent(order) => {
                self.sessions.push(order.task.to_string());
                let task = order.task.clone();
                let runs = self.runs.entry(task.to_string()).or_default();
                let run = if runs.len() > 1 { runs.pop_front() } else { runs.front().cloned() };
                let run = AgentRun { session_id: Some(order.session_id.clone()), ..run.unwrap_or_else(good) };
                self.orders.push(order);
                Some(Event::AgentEnded { task, run: Box::new(run) })
            }
            Action::Review(order) => {
                self.reviews.push(order.session_id);
                let run = self.verdicts.pop_front().unwrap_or_else(good);
                Some(Event::Reviewed { task: order.task, run: Box::new(run) })
            }
            Action::Recover { task, .. } => Some(Event::Recovered { task, run: None }),
            Action::Inspect { task, .. } => {
                let files = u64::from(!self.unchanged.contains(&task.to_string()));
                Some(Event::Inspected {
                    task,
                    work: Inspection { tree: "after".into(), files, ..Inspection::default() },
                })
            }
            Action::MakeCommit { task, .. } => {
                let parent = format!("c{}", self.commits.len());
                Some(Event::CommitMade { commit: format!("c{}", self.commits.len() + 1), task, parent })
            }
            Action::Advance { task, commit, .. } => {
                if commit == format!("c{}", self.commits.len() + 1) {
                    self.commits.push(task.to_string());
                }
                if let Ok(Edit::File(text)) = mark_done(&Source::Markdown(self.list.clone()), &task) {
                    self.list = text;
                }
                Some(Event::Advanced { task, line: None, ticked: true, branch: None, notes: Vec::new() })
            }
            Action::Shelve { task, failure } => {
                self.shelved.push((task.to_string(), failure.outcome));
                Some(Event::Shelved { task, kept: Some("branch".into()) })
            }
            Action::CheckLast => Some(Event::LastChecked { problem: None }),
            Action::Clear { task, .. } => Some(Event::Cleared { task }),
            Action::Finish(end) => {
                self.end = Some(end);
                None
            }
            Action::Learn { .. }
            | Action::LearnAgain { .. }
            | Action::WakeAt(_)
            | Action::StopAgent(_)
            | Action::StopAgents => None,
        }
    }

    pub(super) fn outcomes(&self) -> Vec<(String, Option<Outcome>)> {
        self.machine.state().tasks.iter().map(|task| (task.task.id.to_string(), task.outcome())).collect()
    }
}

pub(super) const THREE: &str = "- [ ] a\n- [ ] b\n- [ ] c\n";
