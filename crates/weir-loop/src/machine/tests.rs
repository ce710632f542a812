//! The machine in a world that answers at once, without processes, files or a clock.

use std::collections::{BTreeMap, VecDeque};

use super::*;
use crate::agent::{AgentEnd, AgentRun, DeniedTool, LimitInfo};
use crate::config::{Gate, OnDenial, Time};
use crate::outcome::{GateResult, Inspection, Outcome};
use crate::state::{LimitReached, Step};
use crate::tasks::{Source, TaskList};

/// A world: what sessions come to, what gates say, and what was done.
struct World {
    machine: Machine,
    now: i64,
    list: String,
    /// For each task, what its sessions come to, in order. The last one repeats.
    runs: BTreeMap<String, VecDeque<AgentRun>>,
    /// For each task, whether the gates pass after each session. Then they do.
    gates: BTreeMap<String, VecDeque<bool>>,
    unchanged: Vec<String>,
    commits: Vec<String>,
    shelved: Vec<(String, Outcome)>,
    sessions: Vec<String>,
    orders: Vec<AgentOrder>,
    told: Vec<LoopEvent>,
    end: Option<RunEnd>,
    queue: VecDeque<Event>,
    /// Ends the program before the action of this number is done.
    kill_at: Option<usize>,
    done: usize,
    killed: bool,
}

fn config() -> Config {
    let mut config = Config::default();
    config.gates.push(Gate {
        name: "test".into(),
        command: vec!["true".into()],
        timeout: Time::seconds(1),
        files: Vec::new(),
    });
    config
}

fn good() -> AgentRun {
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

fn crash(tools: u64) -> AgentRun {
    AgentRun { end: AgentEnd::Crashed { why: "exit code 3".into() }, tools, ..AgentRun::default() }
}

fn limited(resets_at: Option<u64>) -> AgentRun {
    let limit = LimitInfo { rejected: true, resets_at, limit: Some("five_hour".into()), utilization: None };
    AgentRun { is_error: true, rate_limit: Some(limit), tools: 0, ..good() }
}

impl World {
    fn new(list: &str, config: Config) -> Self {
        Self::over(list, config, None, Wanted::default())
    }

    fn over(list: &str, config: Config, state: Option<RunState>, wanted: Wanted) -> Self {
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
            told: Vec::new(),
            end: None,
            queue: VecDeque::from([Event::Start]),
            kill_at: None,
            done: 0,
            killed: false,
        }
    }

    fn script(mut self, task: &str, runs: impl IntoIterator<Item = AgentRun>) -> Self {
        self.runs.insert(task.into(), runs.into_iter().collect());
        self
    }

    fn gates(mut self, task: &str, passes: impl IntoIterator<Item = bool>) -> Self {
        self.gates.insert(task.into(), passes.into_iter().collect());
        self
    }

    /// Runs until the end, or until nothing happens by itself.
    fn run(mut self) -> Self {
        self.go();
        self
    }

    fn go(&mut self) {
        while let Some(event) = self.queue.pop_front() {
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
                self.told.push(event);
                None
            }
            Action::ReadTasks => {
                Some(Event::Tasks(TaskList::parse(Source::Markdown(self.list.clone())).unwrap().tasks))
            }
            Action::Prepare(task) => {
                let head = format!("c{}", self.commits.len());
                Some(Event::Prepared { task, head, tree: "tree".into() })
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
                Some(Event::Advanced { task })
            }
            Action::Shelve { task, failure } => {
                self.shelved.push((task.to_string(), failure.outcome));
                Some(Event::Shelved { task, kept: Some("branch".into()) })
            }
            Action::Finish(end) => {
                self.end = Some(end);
                None
            }
            Action::Learn { .. } | Action::WakeAt(_) | Action::StopAgents => None,
        }
    }

    fn outcomes(&self) -> Vec<(String, Option<Outcome>)> {
        self.machine.state().tasks.iter().map(|task| (task.task.id.to_string(), task.outcome())).collect()
    }
}

const THREE: &str = "- [ ] a\n- [ ] b\n- [ ] c\n";

#[test]
fn tasks_are_done_in_order_each_committed_once() {
    let world = World::new(THREE, config()).run();
    assert_eq!(world.end, Some(RunEnd::Completed));
    assert_eq!(world.commits, ["a", "b", "c"]);
    let budget = world.machine.state().budget();
    assert_eq!((budget.iterations, budget.tokens), (3, 300));
    assert!((budget.cost_usd - 0.3).abs() < 1e-9);
}

#[test]
fn dependencies_are_respected_and_a_failed_one_blocks() {
    let list = "- [ ] a\n  - needs: b\n- [ ] b\n- [ ] c\n  - needs: d\n- [ ] d\n";
    let world = World::new(list, config()).script("d", [AgentRun { is_error: true, ..good() }]).run();
    assert_eq!(world.commits, ["b", "a"]);
    assert_eq!(world.end, Some(RunEnd::Unfinished));
    assert_eq!(world.machine.state().task(&TaskId::new("c")).unwrap().state, TaskState::Pending);
}

#[test]
fn limits_are_echoed_at_the_start() {
    let world = World::new(THREE, config()).run();
    assert!(matches!(&world.told[0], LoopEvent::RunStarted { limits, .. } if limits.iterations == 50));
}

#[test]
fn completed_means_all_tasks_and_not_three_of_fifteen() {
    let list: String = (0..15).map(|number| format!("- [ ] task {number}\n")).collect();
    let mut world = World::new(&list, config());
    for number in 3..15 {
        world.runs.insert(
            format!("task-{number}"),
            [AgentRun { text: format!("All 15 tasks are complete! {number}"), ..good() }].into(),
        );
        world.unchanged.push(format!("task-{number}"));
    }
    let world = world.run();
    assert_eq!(world.commits.len(), 3);
    assert_ne!(world.end, Some(RunEnd::Completed));
    assert!(world.outcomes().iter().skip(3).all(|(_, outcome)| *outcome != Some(Outcome::Done)));
}

#[test]
fn a_question_no_change_and_a_failure_are_outcomes_of_their_own() {
    let mut world = World::new("- [ ] asks\n- [ ] idles\n- [ ] errs\n- [ ] works\n", config())
        .script("asks", [AgentRun { text: "Shall I?".into(), ..good() }])
        .script("errs", [AgentRun { is_error: true, ..good() }]);
    world.unchanged = vec!["asks".into(), "idles".into()];
    let world = world.run();
    let outcomes: Vec<Option<Outcome>> = world.outcomes().into_iter().map(|(_, outcome)| outcome).collect();
    assert_eq!(
        outcomes,
        [Some(Outcome::Question), Some(Outcome::NoChange), Some(Outcome::Failed), Some(Outcome::Done)]
    );
    assert_eq!(world.commits, ["works"]);
}

#[test]
fn success_on_the_last_allowed_iteration_is_a_success() {
    let mut config = config();
    config.limits.iterations = 3;
    let world = World::new(THREE, config.clone()).run();
    assert_eq!(world.end, Some(RunEnd::Completed));
    config.limits.iterations = 2;
    let world = World::new(THREE, config.clone()).run();
    assert_eq!(world.end, Some(RunEnd::Limit { limit: LimitReached::Iterations { limit: 2 } }));
    assert_eq!(world.commits, ["a", "b"]);
    // With a higher limit it goes on where it was.
    config.limits.iterations = 5;
    let state = world.machine.state().clone();
    let again = World::over("- [x] a\n- [x] b\n- [ ] c\n", config, Some(state), Wanted::default()).run();
    assert_eq!((again.end, again.sessions), (Some(RunEnd::Completed), vec!["c".to_owned()]));
}

#[test]
fn a_cost_limit_fires_and_absent_costs_leave_time_and_iterations() {
    let mut config = config();
    config.limits.cost_usd = 0.15;
    let world = World::new(THREE, config.clone()).run();
    assert!(matches!(world.end, Some(RunEnd::Limit { limit: LimitReached::Cost { .. } })), "{:?}", world.end);
    assert_eq!(world.commits.len(), 2);
    config.limits.iterations = 1;
    let free = AgentRun { cost_usd: None, ..good() };
    let world = World::new(THREE, config).script("a", [free]).run();
    assert!(matches!(world.end, Some(RunEnd::Limit { limit: LimitReached::Iterations { .. } })));
    assert_eq!(world.machine.state().budget().unknown_costs, 1);
}

#[test]
fn a_session_may_cost_what_is_left_of_both_limits() {
    let mut config = config();
    config.limits.cost_usd = 0.25;
    config.task_limits.cost_usd = 0.2;
    let world = World::new(THREE, config).run();
    let limits: Vec<String> = world.orders.iter().map(|order| format!("{:.2}", order.max_cost_usd)).collect();
    assert_eq!(limits, ["0.20", "0.15", "0.05"]);
}

#[test]
fn a_failed_gate_goes_back_into_the_next_attempts_prompt() {
    let world = World::new("- [ ] a\n", config()).gates("a", [false, true]).run();
    assert_eq!(world.end, Some(RunEnd::Completed));
    assert_eq!((world.orders[0].number, world.orders[1].number), (1, 2));
    assert!(world.orders[1].failure.as_ref().unwrap().reason.contains("gates failed: test"));
    assert_eq!(world.machine.state().tasks[0].receipt.as_ref().unwrap().attempts, 2);
}

#[test]
fn attempts_are_limited_and_so_is_the_same_failure() {
    let mut config = config();
    config.task_limits.attempts = 5;
    let world = World::new("- [ ] a\n", config.clone()).gates("a", [false; 9]).run();
    assert_eq!(world.sessions.len(), 3, "the same failure three times");
    assert_eq!(world.shelved, [("a".into(), Outcome::Failed)]);
    config.task_limits.attempts = 2;
    let world = World::new("- [ ] a\n", config).gates("a", [false; 9]).run();
    assert_eq!(world.sessions.len(), 2);
}

#[test]
fn a_crash_is_retried_once_if_no_tool_had_run() {
    let world = World::new("- [ ] a\n", config()).script("a", [crash(0), good()]).run();
    assert_eq!((world.end, world.sessions.len()), (Some(RunEnd::Completed), 2));
    assert_eq!(world.machine.state().budget().iterations, 1);
    let world = World::new("- [ ] a\n", config()).script("a", [crash(0)]).run();
    assert_eq!((world.sessions.len(), &world.shelved[..]), (2, &[("a".into(), Outcome::Crashed)][..]));
    let world = World::new("- [ ] a\n", config()).script("a", [crash(1), good()]).run();
    assert_eq!((world.sessions.len(), &world.shelved[..]), (1, &[("a".into(), Outcome::Crashed)][..]));
}

#[test]
fn a_denial_halts_the_run_unless_told_otherwise() {
    let denied =
        AgentRun { denials: vec![DeniedTool::new("Bash", serde_json::json!({"command": "rm x"}))], ..good() };
    let world = World::new(THREE, config()).script("a", [denied.clone()]).run();
    assert_eq!(world.end, Some(RunEnd::Denied { task: TaskId::new("a") }));
    assert_eq!(world.sessions, ["a"]);
    let told = world.told.iter().any(|event| matches!(event, LoopEvent::AttemptEnded { denials, .. } if denials.first().is_some_and(|d| d.rule == "Bash(rm x:*)")));
    assert!(told, "{:?}", world.told);
    let mut config = config();
    config.permissions.on_denial = OnDenial::NextTask;
    let world = World::new(THREE, config).script("a", [denied]).run();
    assert_eq!((world.end, world.commits.len()), (Some(RunEnd::Unfinished), 2));
}

#[test]
fn a_rate_limit_waits_until_its_time_for_the_same_task_and_is_not_counted() {
    let mut world = World::new(THREE, config()).script("a", [limited(Some(2_000)), good()]).run();
    assert_eq!(world.end, None);
    let wait = world.machine.state().wait.clone().unwrap();
    assert_eq!(wait.until, 2_000_000 + 30_000);
    assert!(world.told.iter().any(|event| matches!(event, LoopEvent::Waiting { until: 2_030_000, .. })));
    world.queue.push_back(Event::Tick);
    world.go();
    assert_eq!(world.sessions, ["a"], "it is not time yet");
    world.now = wait.until;
    world.queue.push_back(Event::Tick);
    world.go();
    assert_eq!(world.end, Some(RunEnd::Completed));
    assert_eq!(world.sessions, ["a", "a", "b", "c"]);
    let budget = world.machine.state().budget();
    assert_eq!(budget.iterations, 3);
    assert!(budget.active_ms < 10_000, "waiting is not work: {}", budget.active_ms);
}

#[test]
fn a_wait_goes_on_after_a_restart_and_can_be_interrupted() {
    let mut world = World::new(THREE, config()).script("a", [limited(Some(2_000)), good()]).run();
    world.queue.push_back(Event::Interrupt);
    world.go();
    assert_eq!(world.end, Some(RunEnd::Interrupted));
    let state = world.machine.state().clone();
    let mut again = World::over(THREE, config(), Some(state), Wanted::default()).run();
    assert_eq!((again.end.clone(), again.sessions.len()), (None, 0), "it waits");
    again.now = 2_030_000;
    again.queue.push_back(Event::Tick);
    again.go();
    assert_eq!((again.end, again.sessions.len()), (Some(RunEnd::Completed), 3));
}

#[test]
fn a_wait_that_is_too_long_ends_the_run_and_one_without_a_time_is_short() {
    let world = World::new(THREE, config()).script("a", [limited(Some(9_999_999))]).run();
    assert!(matches!(world.end, Some(RunEnd::WaitTooLong { .. })));
    let world = World::new(THREE, config()).script("a", [limited(None)]).run();
    let wait = world.machine.state().wait.clone().unwrap();
    assert_eq!(wait.until - wait.since, 330_000);
}

#[test]
fn most_of_the_accounts_window_is_not_used_up() {
    let nearly = LimitInfo { rejected: false, resets_at: Some(3_000), limit: None, utilization: Some(0.97) };
    let world =
        World::new(THREE, config()).script("a", [AgentRun { rate_limit: Some(nearly), ..good() }]).run();
    assert_eq!(world.commits, ["a"], "the finished task is judged first");
    assert_eq!(world.machine.state().wait.as_ref().unwrap().until, 3_030_000);
}

#[test]
fn the_same_failure_in_one_task_after_the_other_ends_the_run() {
    let broken = AgentRun { is_error: true, subtype: Some("error_during_execution".into()), ..good() };
    let list: String = (0..9).map(|number| format!("- [ ] t{number}\n")).collect();
    let mut world = World::new(&list, config());
    for number in 0..9 {
        world.runs.insert(format!("t{number}"), [broken.clone()].into());
    }
    let world = world.run();
    assert!(matches!(world.end, Some(RunEnd::SameFailure { .. })), "{:?}", world.end);
    assert_eq!(world.sessions.len(), 3);
}

#[test]
fn a_cli_that_cannot_be_started_ends_the_run_and_costs_no_task() {
    let none =
        AgentRun { end: AgentEnd::NotStarted { why: "there is no claude".into() }, ..AgentRun::default() };
    let world = World::new(THREE, config()).script("a", [none]).run();
    assert!(matches!(world.end, Some(RunEnd::NotStarted { .. })));
    let state = world.machine.state().clone();
    let again = World::over(THREE, config(), Some(state), Wanted::default()).run();
    assert_eq!((again.end, again.commits.len()), (Some(RunEnd::Completed), 3));
}

#[test]
fn once_and_until_end_early_and_the_next_start_goes_on() {
    let once = Wanted { once: true, until: None };
    let world = World::over(THREE, config(), None, once).run();
    assert_eq!((world.end, &world.commits[..]), (Some(RunEnd::Enough), &["a".to_owned()][..]));
    let until = Wanted { once: false, until: Some(TaskId::new("b")) };
    let world = World::over(THREE, config(), None, until).run();
    assert_eq!((world.end, world.commits.len()), (Some(RunEnd::Enough), 2));
}

#[test]
fn a_person_can_skip_and_retry() {
    let mut world = World::new(THREE, config()).script("a", [AgentRun { is_error: true, ..good() }, good()]);
    world.queue.push_back(Event::Skip(TaskId::new("c")));
    let mut world = world.run();
    assert_eq!((world.end.clone(), &world.commits[..]), (Some(RunEnd::Unfinished), &["b".to_owned()][..]));
    world.machine.finished = false;
    world.machine.state.status = RunStatus::Running;
    world.queue.push_back(Event::Retry(TaskId::new("a")));
    world.go();
    assert_eq!(world.commits, ["b", "a"]);
}

#[test]
fn killed_before_any_action_the_run_goes_on_and_counts_nothing_twice() {
    let list = "- [ ] a\n- [ ] b\n  - needs: a\n- [ ] c\n";
    let reference = World::new(list, config()).gates("b", [false, true]).run();
    let total = reference.done;
    assert!(total > 40, "{total}");
    for kill_at in 0..total {
        let mut first = World::new(list, config()).gates("b", [false, true]);
        first.kill_at = Some(kill_at);
        let first = first.run();
        assert!(first.killed);
        // What was written down is all that the next start knows; what was done stays done.
        let state = crate::state::parse(&serde_json::to_string(first.machine.state()).unwrap()).unwrap();
        let ticked = list_with(&first.commits, list);
        let mut second = World::over(&ticked, config(), Some(state), Wanted::default());
        second.gates = first.gates;
        second.commits = first.commits;
        let second = second.run();
        assert_eq!(second.end, Some(RunEnd::Completed), "killed at {kill_at}");
        assert_eq!(second.commits, ["a", "b", "c"], "killed at {kill_at}");
        let (budget, expected) = (second.machine.state().budget(), reference.machine.state().budget());
        assert!((budget.cost_usd - expected.cost_usd).abs() < 1e-9, "killed at {kill_at}: {budget:?}");
        assert_eq!(
            (budget.iterations, budget.tokens),
            (expected.iterations, expected.tokens),
            "killed at {kill_at}"
        );
    }
}

fn list_with(commits: &[String], list: &str) -> String {
    commits.iter().fold(list.to_owned(), |list, task| {
        list.replace(&format!("- [ ] {task}\n"), &format!("- [x] {task}\n"))
    })
}

#[test]
fn tasks_side_by_side_are_merged_in_order() {
    let mut config = config();
    config.parallel = 3;
    let world = World::new("- [ ] a\n- [ ] b\n- [ ] c\n- [ ] d\n", config).gates("a", [false, true]).run();
    assert_eq!(world.end, Some(RunEnd::Completed));
    assert_eq!(world.commits, ["a", "b", "c", "d"], "a takes longer and is merged first all the same");
}

#[test]
fn an_interrupt_ends_the_run_with_what_is_being_done_written_down() {
    let mut world =
        World::new(THREE, config()).script("a", [AgentRun { end: AgentEnd::Interrupted, ..good() }]);
    world.queue.push_back(Event::Interrupt);
    let world = world.run();
    assert_eq!(world.end, Some(RunEnd::Interrupted));
    let state = world.machine.state().clone();
    let again = World::over(THREE, config(), Some(state), Wanted::default()).run();
    assert_eq!((again.end, again.commits.len()), (Some(RunEnd::Completed), 3));
}

#[test]
fn a_list_that_a_person_changed_is_followed() {
    let mut world = World::new(THREE, config());
    world.list = "- [ ] a\n- [x] b\n- [ ] new\n".into();
    let world = world.run();
    assert_eq!(
        (world.end, &world.commits[..]),
        (Some(RunEnd::Completed), &["a".to_owned(), "new".into()][..])
    );
}
