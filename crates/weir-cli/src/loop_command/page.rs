//! The loop as the server shows it: translates the state of a run into the types of the API.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use weir_base::time::now_ms;
use weir_loop::event::LoopEvent;
use weir_loop::limits::LimitTable as _;
use weir_loop::outcome::GateResult;
use weir_loop::report::{end_words, html, markdown, needs_you, report, task_words};
use weir_loop::shell::{Folders, Handles, PersonCommand};
use weir_loop::state::{Asked, Mirror, OpenQuestion, RunState, Step, TaskRecord, TaskState, load};
use weir_loop::tasks::TaskId;
use weir_process::Secrets;
use weir_server::{
    LoopCounts, LoopGate, LoopGateState, LoopLimit, LoopOrder, LoopPort, LoopQuestion, LoopQuestionPart,
    LoopReportForm, LoopStatus, LoopTask, LoopTaskList, LoopTaskState, LoopView, Loops, Ordered,
};

use super::screen::SharedMirror;

/// The loop as the server shows it.
pub(super) struct LoopPage {
    mirror: SharedMirror,
    live: Mutex<Live>,
    handles: Handles,
    folders: Folders,
    secrets: Secrets,
    /// The names of the gates, in their order.
    gates: Vec<String>,
    loops: Loops,
}

/// What is known of the tasks at work, besides the state of the run.
#[derive(Debug, Default)]
struct Live {
    activities: BTreeMap<TaskId, String>,
    /// The gates of the check that runs, or of the last one.
    gates: BTreeMap<TaskId, Vec<(String, Option<GateResult>)>>,
}

impl LoopPage {
    pub(super) fn new(
        mirror: SharedMirror,
        handles: Handles,
        folders: Folders,
        secrets: Secrets,
        gates: Vec<String>,
        loops: &Loops,
    ) -> Arc<Self> {
        let page =
            Self { mirror, live: Mutex::default(), handles, folders, secrets, gates, loops: loops.clone() };
        let page = Arc::new(page);
        loops.attach(Arc::clone(&page) as Arc<dyn LoopPort>);
        page
    }

    fn live(&self) -> MutexGuard<'_, Live> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn mirror(&self) -> MutexGuard<'_, Mirror> {
        self.mirror.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The state of the run has changed.
    pub(super) fn changed(&self) {
        self.loops.changed();
    }

    /// Something has happened that may not be in the state.
    pub(super) fn event(&self, event: &LoopEvent) {
        let mut live = self.live();
        match event {
            LoopEvent::Activity { task, text } => {
                live.activities.insert(task.clone(), self.secrets.mask(text).into_owned());
            }
            LoopEvent::Gate { task, gate, result } => {
                let gates = live.gates.entry(task.clone()).or_default();
                if result.is_none() && self.gates.first() == Some(gate) {
                    // Another check begins.
                    gates.clear();
                }
                match gates.iter_mut().find(|(name, _)| name == gate) {
                    Some((_, known)) => known.clone_from(result),
                    None => gates.push((gate.clone(), result.clone())),
                }
            }
            LoopEvent::Gates { task, results, .. } => {
                let results = results.iter().map(|gate| (gate.name.clone(), Some(gate.clone())));
                live.gates.insert(task.clone(), results.collect());
            }
            LoopEvent::AttemptEnded { task, .. } => {
                live.activities.remove(task);
            }
            LoopEvent::TaskDone { task, .. }
            | LoopEvent::TaskFailed { task, .. }
            | LoopEvent::TaskStopped { task, .. }
            | LoopEvent::TaskSkipped { task, .. } => {
                live.activities.remove(task);
                live.gates.remove(task);
            }
            _ => {}
        }
        drop(live);
        self.changed();
    }

    fn mask(&self, text: &str) -> String {
        self.secrets.mask(text).into_owned()
    }

    fn view_of(&self, run: &RunState) -> LoopView {
        let (status, text) = match (run.end(), &run.wait) {
            (Some(end), _) => (LoopStatus::Ended, Some(end_words(end))),
            _ if run.paused.is_some() => (LoopStatus::Paused, None),
            (None, Some(wait)) => (LoopStatus::Waiting, Some(wait.reason.clone())),
            (None, None) => (LoopStatus::Running, None),
        };
        let limit = |(limit, used, max): (
            &weir_loop::limits::Limit<_>,
            weir_loop::limits::Amount,
            weir_loop::limits::Amount,
        )| LoopLimit {
            name: limit.name.to_owned(),
            used: used.to_string(),
            max: max.to_string(),
            part: max.part(used),
        };
        let active = run.tasks.iter().filter(|record| record.state == TaskState::Active);
        LoopView {
            run_id: run.run_id.clone(),
            workspace: self.folders.workspace.display().to_string(),
            branch: run.branch_of_all(),
            status,
            text: text.map(|text| self.mask(&text)),
            until: run.wait.as_ref().filter(|_| run.end().is_none()).map(|wait| wait.until),
            paused_by: run.paused.as_ref().map(|paused| paused.by.clone()),
            started_at: run.started_at,
            counts: counts(run),
            limits: run.limits.usage(&run.counted_budget()).map(limit).collect(),
            current: active.map(|record| self.task(run, record)).collect(),
            questions: run.questions.iter().map(|open| self.question(open)).collect(),
            needs_you: needs_you(run).iter().map(|text| self.mask(text)).collect(),
        }
    }

    fn task(&self, run: &RunState, record: &TaskRecord) -> LoopTask {
        let live = self.live();
        let receipt = record.receipt.as_deref();
        let is_active = record.state == TaskState::Active;
        let failure = record.failure.as_ref().filter(|_| record.state == TaskState::Failed);
        let step = record.step.as_ref().filter(|_| is_active && run.end().is_none());
        let is_committed = matches!(step, Some(Step::Committing { .. } | Step::Advancing { .. }));
        LoopTask {
            id: record.task.id.to_string(),
            title: self.mask(&record.task.title),
            state: match record.state {
                TaskState::Pending => LoopTaskState::Pending,
                TaskState::Active => LoopTaskState::Active,
                TaskState::Done => LoopTaskState::Done,
                TaskState::Failed => LoopTaskState::Failed,
                TaskState::Skipped => LoopTaskState::Skipped,
            },
            step: is_active.then(|| match step {
                Some(Step::Agent { number, .. }) => format!("attempt {number}"),
                Some(step) => step.words().to_owned(),
                None => task_words(run, record).to_owned(),
            }),
            activity: step.and_then(|_| live.activities.get(&record.task.id).cloned()),
            attempts: record.counted(),
            gates: self.gates_of(&live, record),
            cost_usd: record.cost_usd(),
            took_ms: record.took_ms(),
            commit: receipt.map(|receipt| receipt.commit.clone()).filter(|commit| !commit.is_empty()),
            branch: match receipt.filter(|_| record.state == TaskState::Done) {
                Some(receipt) => run.branch_of(receipt),
                None => record.kept.clone(),
            },
            reason: failure.map(|failure| self.mask(&failure.reason)),
            can_skip: run.end().is_none()
                && match record.state {
                    TaskState::Pending | TaskState::Failed => true,
                    TaskState::Active => !is_committed && !record.is_unwanted,
                    TaskState::Done | TaskState::Skipped => false,
                },
            can_retry: run.end().is_none() && matches!(record.state, TaskState::Failed | TaskState::Skipped),
        }
    }

    fn gates_of(&self, live: &Live, record: &TaskRecord) -> Vec<LoopGate> {
        if let Some(receipt) = record.receipt.as_deref().filter(|_| record.state == TaskState::Done) {
            let passed = |(name, took_ms): &(String, u64)| LoopGate {
                name: name.clone(),
                state: LoopGateState::Passed,
                took_ms: Some(*took_ms),
                output: None,
            };
            return receipt.gates.iter().map(passed).collect();
        }
        if record.state != TaskState::Active {
            return Vec::new();
        }
        let known = live.gates.get(&record.task.id);
        let gate = |name: &String| {
            let found = known.and_then(|known| known.iter().find(|(other, _)| other == name));
            let (state, result) = match found {
                None => (LoopGateState::Waiting, None),
                Some((_, None)) => (LoopGateState::Running, None),
                Some((_, Some(result))) if result.passed => (LoopGateState::Passed, Some(result)),
                Some((_, Some(result))) => (LoopGateState::Failed, Some(result)),
            };
            let failed = result.filter(|result| !result.passed);
            LoopGate {
                name: name.clone(),
                state,
                took_ms: result.map(|result| result.took_ms),
                output: failed
                    .map(|result| self.mask(format!("{}\n{}", result.ending, result.output).trim())),
            }
        };
        self.gates.iter().map(gate).collect()
    }

    fn question(&self, open: &OpenQuestion) -> LoopQuestion {
        let (questions, permission) = match &open.asked {
            Asked::Questions { questions } => {
                let part = |asked: &weir_loop::state::AskedQuestion| LoopQuestionPart {
                    question: self.mask(&asked.question),
                    options: asked.options.iter().map(|option| self.mask(option)).collect(),
                    several: asked.several,
                };
                (questions.iter().map(part).collect(), None)
            }
            Asked::Permission { what, .. } => (Vec::new(), Some(self.mask(what))),
        };
        LoopQuestion {
            id: open.id.clone(),
            task: open.task.to_string(),
            since: open.since,
            questions,
            permission,
        }
    }
}

fn counts(run: &RunState) -> LoopCounts {
    LoopCounts {
        all: run.tasks.len(),
        done: run.count(TaskState::Done),
        unchecked: run.tasks.iter().filter(|record| record.is_done_unchecked()).count(),
        failed: run.count(TaskState::Failed),
        skipped: run.count(TaskState::Skipped),
        active: run.count(TaskState::Active),
        pending: run.count(TaskState::Pending),
    }
}

/// Before the state was read for the first time.
fn nothing(folders: &Folders) -> LoopView {
    LoopView {
        run_id: String::new(),
        workspace: folders.workspace.display().to_string(),
        branch: None,
        status: LoopStatus::Running,
        text: None,
        until: None,
        paused_by: None,
        started_at: now_ms(),
        counts: LoopCounts::default(),
        limits: Vec::new(),
        current: Vec::new(),
        questions: Vec::new(),
        needs_you: Vec::new(),
    }
}

impl LoopPort for LoopPage {
    fn view(&self) -> LoopView {
        let mirror = self.mirror();
        mirror.run().map_or_else(|| nothing(&self.folders), |run| self.view_of(run))
    }

    fn tasks(&self, state: Option<LoopTaskState>, offset: usize, limit: usize) -> LoopTaskList {
        let mirror = self.mirror();
        let Some(run) = mirror.run() else { return LoopTaskList { tasks: Vec::new(), all: 0 } };
        let is_meant = |record: &&TaskRecord| match state {
            None => true,
            Some(LoopTaskState::Pending) => record.state == TaskState::Pending,
            Some(LoopTaskState::Active) => record.state == TaskState::Active,
            Some(LoopTaskState::Done) => record.state == TaskState::Done,
            Some(LoopTaskState::Failed) => record.state == TaskState::Failed,
            Some(LoopTaskState::Skipped) => record.state == TaskState::Skipped,
        };
        let meant = run.tasks.iter().filter(is_meant);
        let shown = meant.clone().skip(offset).take(limit);
        LoopTaskList { tasks: shown.map(|record| self.task(run, record)).collect(), all: meant.count() }
    }

    fn report(&self, form: LoopReportForm) -> Result<String, String> {
        let run = load(&self.folders.state()).map_err(|error| error.to_string())?;
        let run = run.ok_or("the run has no state yet")?;
        let text = match form {
            LoopReportForm::Json => {
                serde_json::to_string_pretty(&report(&run)).map_err(|error| error.to_string())?
            }
            LoopReportForm::Markdown => markdown(&run),
            LoopReportForm::Html => html(&run),
        };
        Ok(self.mask(&text))
    }

    fn order(&self, order: LoopOrder, by: String) -> Ordered<'_> {
        let command = match order {
            LoopOrder::Pause(true) => PersonCommand::Pause { by },
            LoopOrder::Pause(false) => PersonCommand::Unpause { by },
            LoopOrder::Skip(task) => PersonCommand::Skip { task: TaskId::new(task) },
            LoopOrder::Retry(task) => PersonCommand::Retry { task: TaskId::new(task) },
            LoopOrder::Answer { question, answers } => {
                PersonCommand::Answer { question: Some(question), answers, by }
            }
        };
        Box::pin(self.handles.order(command))
    }
}
