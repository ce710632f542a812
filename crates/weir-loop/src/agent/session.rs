//! An agent that runs a session with the CLI.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::sync::watch;
use weir_base::error::with_causes;
use weir_base::time::duration_text;
use weir_session::{
    Observer, Origin, Sent, Session, SessionError, SessionOptions, TurnEnd, Unlisted, tools_of_rules,
};
use weir_transcript::{Change, EntryBody, HostEvent, RequestAnswer, Status, SummaryBuilder, TurnState, View};
use weir_wire::{CliSessionId, Line};

use super::approvals::{ApprovalHandler, Approvals, SharedRefusals};
use super::hooks::{self, Rules};
use super::log::{describe, setup_of};
use super::run::{AgentEnd, AgentRun, Setup};
use super::{Agent, AgentRequest, Hurry, Running, Surroundings};
use crate::config::PermissionPolicy;

/// How long an interrupted turn may take to end.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);

/// How long background tasks may take after the answer.
pub(super) const BACKGROUND: Duration = Duration::from_secs(60);

/// The resolution of measuring working time, which excludes waiting for a person.
const TIME_STEP: Duration = Duration::from_millis(250);

/// Provides the options that do not depend on the task: the program, its environment, logs, the folder for locks.
pub type SessionFactory = Arc<dyn Fn(&AgentRequest) -> SessionOptions + Send + Sync>;

/// Works on a task in a session of `weir-session`.
#[derive(Clone)]
pub struct SessionAgent {
    factory: SessionFactory,
}

impl SessionAgent {
    /// An agent whose sessions start from the factory's options.
    pub fn new(factory: SessionFactory) -> Self {
        Self { factory }
    }

    async fn work(&self, request: AgentRequest, around: Surroundings) -> AgentRun {
        let started = Instant::now();
        let Prepared { options, mut stopped, rules, refusals, observed } =
            prepare(&self.factory, &request, around);
        let session = Session::new(options);
        let (answer, why) = answer(&session, request.prompt, &mut stopped).await;
        let view = session.view().await.unwrap_or_default();
        let logs = session.facts().await.ok().and_then(|facts| facts.logs);
        end_session(&session, stopped.hurry, why).await;
        let mut run = {
            let observed = observed.lock().unwrap_or_else(PoisonError::into_inner);
            let mut run = describe(&view, &observed.summary, &rules);
            run.setup = observed.setup.clone().map(Arc::new);
            run.warnings.clone_from(&observed.warnings);
            run
        };
        refusals.into_run(&mut run);
        run.end = end(&answer, why, request.timeout);
        if let Err(SessionError::Died { text: Some(text), .. }) = &answer
            && run.text.is_empty()
        {
            run.text.clone_from(text);
            run.degraded = true;
        }
        run.forked |= run.session_id.as_ref().is_some_and(|id| *id != request.session_id);
        run.session_id.get_or_insert(request.session_id);
        run.duration_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        run.log = logs.as_ref().map(|logs| logs.output.clone());
        run.stderr_log = logs.map(|logs| logs.stderr);
        run
    }
}

/// A session that is ready to start, and what belongs to it.
pub(super) struct Prepared {
    pub(super) options: SessionOptions,
    pub(super) stopped: Stopped,
    pub(super) rules: Rules,
    pub(super) refusals: SharedRefusals,
    pub(super) observed: Arc<Mutex<Observed>>,
}

/// What was observed of a session while it ran.
#[derive(Default)]
pub(super) struct Observed {
    summary: SummaryBuilder,
    setup: Option<Setup>,
    pub(super) warnings: Vec<String>,
}

/// Prepares a session.
pub(super) fn prepare(factory: &SessionFactory, request: &AgentRequest, around: Surroundings) -> Prepared {
    let mut options = options(factory, request, around.approvals.permissions);
    let rules = Rules { cwd: request.cwd.clone(), protected: request.protected.clone() };
    let refusals = SharedRefusals::default();
    let stopped = Stopped {
        hurry: around.hurry,
        waiting: Arc::clone(&around.approvals.waiting),
        left: request.timeout,
    };
    let observed = Arc::new(Mutex::new(Observed::default()));
    options.observer = Some(Box::new(RunObserver {
        observed: Arc::clone(&observed),
        activity: around.activity,
        approvals: around.approvals.clone(),
    }));
    let handler =
        ApprovalHandler { approvals: around.approvals, rules: rules.clone(), refusals: refusals.clone() };
    options.handler = Some(Arc::new(handler));
    Prepared { options, stopped, rules, refusals, observed }
}

/// All options of a session.
fn options(
    factory: &SessionFactory,
    request: &AgentRequest,
    permissions: PermissionPolicy,
) -> SessionOptions {
    let mut options = factory(request);
    let id = CliSessionId::new(request.session_id.clone());
    options.origin = if request.resume { Origin::Resume(id) } else { Origin::Named(id) };
    options.cwd = Some(request.cwd.clone());
    let mode = &request.settings;
    options.spec.model.clone_from(&mode.model);
    options.spec.system_prompt.clone_from(&mode.system_prompt);
    let rules = request.rules;
    options.spec.append_system_prompt = Some(match &mode.append_system_prompt {
        Some(more) => format!("{rules}\n\n{more}"),
        None => rules.to_owned(),
    });
    if !request.skip_permissions {
        let unlisted = match permissions {
            PermissionPolicy::Deny => Unlisted::Absent,
            PermissionPolicy::Ask => Unlisted::Asked,
        };
        options.spec.tools = Some(tools_of_rules(&mode.allowed_tools, unlisted));
    }
    options.spec.allowed_tools.clone_from(&mode.allowed_tools);
    options.spec.disallowed_tools.clone_from(&mode.disallowed_tools);
    // The loop commits only what is in the folder that it gave the session.
    options.spec.disallowed_tools.push(crate::allowlist::LEAVES_THE_FOLDER.to_owned());
    options.spec.permission_mode.clone_from(&mode.permission_mode);
    options.spec.max_turns = request.max_turns;
    options.spec.max_cost_usd = Some(request.max_cost_usd);
    options.limits.background = Some(BACKGROUND);
    options.extra_args.extend(mode.extra_args.iter().map(Into::into));
    if request.skip_permissions {
        options.extra_args.push("--dangerously-skip-permissions".into());
    }
    options.hooks.push(hooks::registration());
    options
}

impl Agent for SessionAgent {
    fn run(&self, request: AgentRequest, surroundings: Surroundings) -> Running<'_> {
        Box::pin(self.work(request, surroundings))
    }
}

type Answer = Result<Arc<TurnEnd>, SessionError>;

/// Why a session has to end early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StopReason {
    /// The loop was asked to stop it.
    Requested,
    /// It takes too long.
    TooLong,
}

impl StopReason {
    /// How long the turn may take to end. A session that has used up its time gets only a moment.
    pub(super) const fn patience(self) -> Duration {
        match self {
            Self::Requested => PATIENCE,
            Self::TooLong => Duration::from_millis(500),
        }
    }
}

/// What can make a session end early.
pub(super) struct Stopped {
    pub(super) hurry: watch::Receiver<Hurry>,
    waiting: Arc<AtomicUsize>,
    /// Working time that is left, not counting time spent waiting for a person.
    left: Duration,
}

impl Stopped {
    /// Waits until the session has to end.
    pub(super) async fn reason(&mut self) -> StopReason {
        tokio::select! {
            () = hurry_reached(&mut self.hurry, Hurry::Interrupt) => StopReason::Requested,
            () = use_up(&mut self.left, &self.waiting) => StopReason::TooLong,
        }
    }
}

/// Waits until the time that is left has passed, and counts it down. Waiting for a person does not count.
async fn use_up(left: &mut Duration, waiting: &AtomicUsize) {
    while !left.is_zero() {
        let step = (*left).min(TIME_STEP);
        tokio::time::sleep(step).await;
        if waiting.load(Ordering::Relaxed) == 0 {
            *left -= step;
        }
    }
}

/// Sends the prompt and waits for the answer. The second value says why the session was stopped, if it was.
async fn answer(session: &Session, prompt: String, stopped: &mut Stopped) -> (Answer, Option<StopReason>) {
    let mut sent = tokio::select! {
        sent = session.send(prompt) => match sent {
            Ok(sent) => sent,
            Err(error) => return (Err(error), None),
        },
        why = stopped.reason() => return (Err(SessionError::Stopped), Some(why)),
    };
    let why = tokio::select! {
        answer = sent.answer() => {
            if answer.is_ok() {
                // Background tasks would be lost with the process.
                tokio::select! {
                    _ = tokio::time::timeout(BACKGROUND, session.settled()) => {}
                    _ = stopped.reason() => {}
                }
            }
            return (answer, None);
        }
        why = stopped.reason() => why,
    };
    (interrupt(session, &mut sent, stopped.hurry.clone(), why.patience()).await, Some(why))
}

async fn interrupt(
    session: &Session,
    sent: &mut Sent,
    mut hurry: watch::Receiver<Hurry>,
    patience: Duration,
) -> Answer {
    let ended = async {
        // The result of the interrupt shows in the answer.
        let _ = session.interrupt().await;
        sent.answer().await
    };
    tokio::select! {
        answer = ended => answer,
        () = hurry_reached(&mut hurry, Hurry::Now) => Err(SessionError::Stopped),
        () = tokio::time::sleep(patience) => Err(SessionError::Stopped),
    }
}

/// Stops a session, and kills it if that has to be quick.
async fn end_session(session: &Session, mut hurry: watch::Receiver<Hurry>, why: Option<StopReason>) {
    tokio::select! {
        () = session.stop() => {}
        () = hurry_reached(&mut hurry, Hurry::Now) => session.kill().await,
        () = overdue(why) => session.kill().await,
    }
}

/// Waits until a session that took too long has also used up its time to end. Never returns for other reasons.
pub(super) async fn overdue(why: Option<StopReason>) {
    match why {
        Some(StopReason::TooLong) => tokio::time::sleep(StopReason::TooLong.patience()).await,
        _ => std::future::pending().await,
    }
}

/// Waits until the hurry is at least this.
pub(super) async fn hurry_reached(hurry: &mut watch::Receiver<Hurry>, least: Hurry) {
    if hurry.wait_for(|hurry| *hurry >= least).await.is_err() {
        // The sender is gone, so the hurry cannot change any more.
        std::future::pending::<()>().await;
    }
}

fn end(answer: &Answer, why: Option<StopReason>, timeout: Duration) -> AgentEnd {
    let was_cut = match answer {
        Ok(turn) => turn.turn.state == TurnState::Interrupted,
        Err(_) => true,
    };
    match why.filter(|_| was_cut) {
        Some(StopReason::Requested) => return AgentEnd::Interrupted,
        Some(StopReason::TooLong) => return too_long(timeout),
        None => {}
    }
    match answer {
        Ok(turn) if turn.turn.result.is_none() => AgentEnd::NoResult,
        Ok(_) => AgentEnd::Answered,
        Err(SessionError::Stopped | SessionError::Cancelled | SessionError::Interrupted) => {
            AgentEnd::Interrupted
        }
        Err(SessionError::Died { exit, .. }) if exit.is_success() => AgentEnd::NoResult,
        Err(error @ SessionError::NotStarted(_)) => AgentEnd::NotStarted { why: with_causes(error) },
        Err(error @ SessionError::TimedOut { .. }) => AgentEnd::TimedOut { why: error.to_string() },
        Err(error @ SessionError::BudgetExhausted { .. }) => AgentEnd::Budget { why: error.to_string() },
        Err(error) => AgentEnd::Crashed { why: error.to_string() },
    }
}

pub(super) fn too_long(timeout: Duration) -> AgentEnd {
    let words = duration_text(u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX));
    AgentEnd::TimedOut {
        why: format!(
            "the session took longer than the remaining {words} (task_limits.wall_time, limits.wall_time)"
        ),
    }
}

/// Collects what the run needs, and reports what the session is doing.
struct RunObserver {
    observed: Arc<Mutex<Observed>>,
    activity: Arc<dyn Fn(&str) + Send + Sync>,
    approvals: Approvals,
}

impl RunObserver {
    fn observed(&self) -> MutexGuard<'_, Observed> {
        self.observed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Observer for RunObserver {
    fn line(&mut self, line: &Line<'_>) {
        if let Some(setup) = setup_of(line) {
            self.observed().setup.get_or_insert(setup);
        }
    }

    fn host(&mut self, event: &HostEvent) {
        if let HostEvent::Warning { message } = event {
            self.observed().warnings.push(message.clone());
        }
        // Decided on the page before a reply came by the loop.
        if let HostEvent::RequestAnswered { request, answer, by: Some(by) } = event {
            let answers = match answer {
                RequestAnswer::Allow { answers: Some(Value::Object(answers)) } => pairs(answers),
                _ => Vec::new(),
            };
            self.approvals.answered_elsewhere(request, by, answers);
        }
    }

    fn change(&mut self, view: &View, change: &Change<'_>) {
        self.observed().summary.observe(view, change);
        let id = match change {
            Change::EntryAdded(entry) | Change::EntryReplaced(entry) => match &entry.body {
                EntryBody::Tool(_) => entry.id,
                EntryBody::Thinking(_) => return (self.activity)("thinking"),
                EntryBody::Text(_) if entry.parent.is_none() => return (self.activity)("writing"),
                _ => return,
            },
            Change::ToolState { entry, .. } => *entry,
            Change::Status { status } => {
                return match status {
                    Status::Running => (self.activity)("waiting for the model"),
                    Status::Compacting => (self.activity)("compacting the session"),
                    Status::WaitingForPerson => (self.activity)("waiting for a person"),
                    Status::Background => (self.activity)("waiting for background tasks"),
                    _ => {}
                };
            }
            _ => return,
        };
        if let Some((_, tool)) = view.tool(id)
            && !tool.state.is_settled()
            && !tool.name.is_empty()
        {
            (self.activity)(format!("{} {}", tool.name, tool.title).trim_end());
        }
    }
}

/// Pairs of question and answer, as text.
fn pairs(answers: &serde_json::Map<String, Value>) -> Vec<(String, String)> {
    let words = |answer: &Value| match answer {
        Value::String(text) => text.clone(),
        Value::Array(all) => all.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    };
    answers.iter().map(|(question, answer)| (question.clone(), words(answer))).collect()
}
