//! The driver of a run: selects, calls the machine and acts. The state is on disk before anything is done.

mod requests;

use std::collections::{BTreeMap, VecDeque};
use std::future::Future;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::{OnceCell, mpsc, oneshot, watch};
use tokio::task::JoinSet;
use weir_base::error::with_causes;
use weir_base::time::now_ms;
use weir_process::{Sandbox, Secrets};
use weir_session::Decision;

use super::conclude::conclude;
use super::context::{Context, list_path};
use super::folders::Folders;
use super::git::Git;
use super::line;
use super::notify::{self, Messengers};
use super::patience::{FullDisk, SleepWatch, is_full};
use super::perform::{self, Done};
use super::steering::{Door, Order, PersonCommand, Reply};
use super::tasks::ListFile;
use crate::agent::{Agent, ApprovalMessage, Approvals, Hurry, OpenAsk, Surroundings};
use crate::config::Config;
use crate::event::LoopEvent;
use crate::machine::{Action, Event, Machine, Wanted};
use crate::notification::Notification;
use crate::state::{Changed, Line, RunEnd, RunState, StateError, StateWriter, TaskRecord};
use crate::tasks::TaskId;

/// How often the clock is looked at.
const TICK_INTERVAL: Duration = Duration::from_millis(200);

/// How long sessions may take to end when they have to end at once.
const MAX_END_TIME: Duration = Duration::from_secs(15);

/// How often the time that a run has worked is saved, so that a kill does not lose it.
const CLOCK_INTERVAL: Duration = Duration::from_secs(20);

/// What a run is started with.
pub struct LoopOptions {
    /// The configuration.
    pub config: Config,
    /// Its file, relative to the workspace, which no task may change.
    pub config_file: Option<PathBuf>,
    /// The folders of the loop.
    pub folders: Folders,
    /// Works on the tasks.
    pub agent: Arc<dyn Agent>,
    /// A sandbox around the workspace, for the gates, which run what sessions write: each gets one for its place.
    pub sandbox: Option<Sandbox>,
    /// Secrets to mask in the output of gates.
    pub secrets: Secrets,
    /// What was requested on the command line.
    pub wanted: Wanted,
    /// Whether all permissions are skipped.
    pub skip_permissions: bool,
    /// Who posts notifications to a webhook and to a chat.
    pub messengers: Messengers,
    /// Called with each state that was saved, and what has changed in it.
    pub follower: Option<Follower>,
}

/// Follows the state of a run.
pub type Follower = Box<dyn FnMut(&RunState, &Changed) + Send>;

/// Called with each event and the state after it.
pub type Watcher = Box<dyn FnMut(&LoopEvent, &RunState) + Send>;

/// Controls a run from the same process.
#[derive(Debug, Clone)]
pub struct Handles {
    hurry: watch::Sender<Hurry>,
    decisions: mpsc::UnboundedSender<PersonDecision>,
    orders: mpsc::UnboundedSender<Order>,
}

/// A person's decision on a question.
#[derive(Debug)]
struct PersonDecision {
    question: String,
    decision: Decision,
    by: String,
}

impl Handles {
    /// Decides an open question by its id. What comes of it is a [`LoopEvent::AskEnded`]; a question that is no
    /// longer open has had one.
    pub fn decide(&self, question: String, decision: Decision, by: String) {
        // A run that is over has closed its questions.
        let _ = self.decisions.send(PersonDecision { question, decision, by });
    }

    /// Gives a command of a person to the run. When it was accepted, it is in the saved state.
    ///
    /// # Errors
    /// Says why it was refused.
    pub async fn order(&self, command: PersonCommand) -> Reply {
        let (reply, answered) = oneshot::channel();
        let over = || "the run has ended".to_owned();
        self.orders.send((command, reply)).map_err(|_| over())?;
        answered.await.unwrap_or_else(|_| Err(over()))
    }

    /// Ends the run: the first call interrupts the turn first, the second ends the run at once.
    pub fn interrupt(&self) {
        self.hurry.send_modify(|hurry| {
            *hurry = if *hurry == Hurry::None { Hurry::Interrupt } else { Hurry::Now };
        });
    }
}

/// Both ends of a channel.
type Channel<T> = (mpsc::UnboundedSender<T>, mpsc::UnboundedReceiver<T>);

/// A run in progress.
pub struct Runner {
    machine: Machine,
    context: Arc<Context>,
    writer: StateWriter,
    watcher: Watcher,
    /// What people tell the run, and who waits until that is saved.
    orders: Channel<Order>,
    replies: Vec<oneshot::Sender<Reply>>,
    door: Option<Door>,
    hurry: watch::Sender<Hurry>,
    /// The hurry of each session.
    hurries: BTreeMap<TaskId, watch::Sender<Hurry>>,
    asks: Channel<ApprovalMessage>,
    open: Vec<OpenAsk>,
    decisions: Channel<PersonDecision>,
    /// Replies that are sent once they are in the saved state.
    decided: Vec<(OpenAsk, Decision)>,
    live: Channel<LoopEvent>,
    /// What is being done.
    at_work: JoinSet<(Action, Done)>,
    /// What is done again later, because a disk was full.
    later: Vec<(tokio::time::Instant, Action)>,
    sleep: SleepWatch,
    saved: tokio::time::Instant,
    /// The disk of the state, and the one of everything else.
    disks: (FullDisk, FullDisk),
    news: JoinSet<(String, Result<(), String>)>,
    messengers: Messengers,
    follower: Option<Follower>,
    wake_at: Option<i64>,
}

impl Runner {
    /// A run with this state.
    pub fn new(options: LoopOptions, state: RunState, watcher: Watcher) -> Self {
        let LoopOptions {
            config,
            config_file,
            folders,
            agent,
            sandbox,
            secrets,
            wanted,
            skip_permissions,
            messengers,
            follower,
        } = options;
        let has_work = state.tasks.iter().any(|task| task.step.is_some());
        let parallel = if has_work { state.parallel } else { config.parallel };
        let live = mpsc::unbounded_channel();
        let context = Context {
            live: live.0.clone(),
            home: Git::new(&folders.workspace, folders.state(), &config.folder),
            begin: state.line.as_ref().map_or_else(|| "HEAD".to_owned(), |line| line.tip.clone()),
            list_path: list_path(&config.tasks, &folders.workspace),
            sandbox,
            ready: OnceCell::new(),
            setup: Mutex::default(),
            ticked: Mutex::default(),
            config: config.clone(),
            config_file,
            agent,
            secrets,
            run_id: state.run_id.clone(),
            skip_permissions,
            is_parallel: parallel > 1,
            list: ListFile::new(folders.workspace.join(&config.tasks)),
            folders,
        };
        Self {
            writer: StateWriter::new(context.folders.state()),
            orders: mpsc::unbounded_channel(),
            replies: Vec::new(),
            door: None,
            machine: Machine::new(state, config, wanted, || uuid::Uuid::new_v4().to_string()),
            context: Arc::new(context),
            watcher,
            hurry: watch::channel(Hurry::None).0,
            hurries: BTreeMap::new(),
            asks: mpsc::unbounded_channel(),
            open: Vec::new(),
            decisions: mpsc::unbounded_channel(),
            decided: Vec::new(),
            live,
            at_work: JoinSet::new(),
            later: Vec::new(),
            sleep: SleepWatch::new(now_ms()),
            saved: tokio::time::Instant::now(),
            disks: <(FullDisk, FullDisk)>::default(),
            news: JoinSet::new(),
            messengers,
            follower,
            wake_at: None,
        }
    }

    /// The handles that control the run.
    pub fn handles(&self) -> Handles {
        Handles {
            hurry: self.hurry.clone(),
            decisions: self.decisions.0.clone(),
            orders: self.orders.0.clone(),
        }
    }

    /// Runs to the end. Afterwards the state and the report are on disk.
    pub async fn run(mut self) -> Result<(RunEnd, RunState), StateError> {
        let mut hurry = self.hurry.subscribe();
        let mut events = VecDeque::from([Event::Start]);
        let mut ticks = tokio::time::interval(TICK_INTERVAL);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut end = None;
        let mut seen = Hurry::None;
        let mut give_up_at: Option<tokio::time::Instant> = None;
        self.open_door();
        loop {
            while let Some(event) = events.pop_front() {
                let is_tick = event == Event::Tick;
                let now = now_ms();
                // First, so that the time is not counted as time at work.
                let slept = self.sleep.slept(now).map(|ms| self.machine.handle(now, Event::Slept(ms)));
                let mut actions = slept.unwrap_or_default();
                actions.extend(self.machine.handle(now, event));
                if !is_tick || !actions.is_empty() {
                    // Before any action is performed.
                    let changed = self.machine.take_changed();
                    self.save(&changed).await?;
                    if let Some(follower) = &mut self.follower {
                        follower(self.machine.state(), &changed);
                    }
                    if events.is_empty() {
                        self.send_replies();
                    }
                    self.send_decided();
                }
                for action in actions {
                    if let Action::Finish(how) = action {
                        end = Some(how);
                    } else {
                        events.extend(self.act(action));
                    }
                }
            }
            if let Some(end) = end {
                self.at_work.shutdown().await;
                self.finish_news().await;
                return Ok((end, self.conclude()?));
            }
            tokio::select! {
                // The answer to a question comes before the end of its session, which closes all of its questions.
                // Frequent events come last.
                biased;
                _ = hurry.wait_for(|now| *now > seen), if seen != Hurry::Now => {
                    if seen == Hurry::None {
                        events.push_back(Event::Interrupt);
                    }
                    seen = *self.hurry.borrow();
                    self.hurry_up(None, seen);
                    if seen == Hurry::Now {
                        give_up_at = Some(tokio::time::Instant::now() + MAX_END_TIME);
                    }
                }
                () = until(give_up_at) => {
                    // What is in progress is on disk, and resumes with the next start.
                    self.at_work.shutdown().await;
                    return Ok((RunEnd::Interrupted, self.conclude()?));
                }
                Some(message) = self.asks.1.recv() => events.push_back(self.handle_request(message)),
                Some(PersonDecision { question, decision, by }) = self.decisions.1.recv() => {
                    let found = self.open.iter().position(|ask| ask.id == question);
                    events.extend(found.and_then(|place| self.decide(place, decision, by)));
                }
                Some(order) = self.orders.1.recv() => events.extend(self.take_order(order)),
                Some(done) = self.at_work.join_next() => {
                    let failed = |error| Err(format!("a part of the loop failed: {error}"));
                    let (action, done) = done.map_or_else(|error| (None, failed(error)), |(action, done)| (Some(action), done));
                    let Some(event) = self.event_of(action, done) else { continue };
                    if let Event::AgentEnded { task, .. } = &event {
                        self.open.retain(|ask| ask.task != task.as_str());
                    }
                    events.push_back(event);
                }
                _ = ticks.tick() => {
                    self.settle()?;
                    events.extend(self.poll());
                    events.extend(self.act_later());
                    if self.saved.elapsed() >= CLOCK_INTERVAL {
                        events.push_back(Event::Clock);
                    }
                }
                Some(Ok((id, sent))) = self.news.join_next() => {
                    self.warn(sent);
                    events.push_back(Event::Notified { id });
                }
                Some(event) = self.live.1.recv() => self.tell(&event),
            }
        }
    }

    /// Saves the state. While the disk is full, waits for space.
    async fn save(&mut self, changed: &Changed) -> Result<(), StateError> {
        loop {
            let Err(error) = self.writer.write_changed(self.machine.state(), changed) else {
                self.saved = tokio::time::Instant::now();
                let over = self.disks.0.is_over();
                self.warn(over.map_or(Ok(()), Err));
                return Ok(());
            };
            let Some((pause, text)) = self.disks.0.wait(&with_causes(&error)) else { return Err(error) };
            self.warn(text.map_or(Ok(()), Err));
            tokio::time::sleep(pause).await;
        }
    }

    /// Brings the files for other readers up to date. They can wait for space.
    fn settle(&mut self) -> Result<(), StateError> {
        match self.writer.settle(self.machine.state()) {
            Err(error) if is_full(&with_causes(&error)) => Ok(()),
            settled => settled,
        }
    }

    /// Does something that takes a while.
    fn work(&mut self, action: Action, doing: impl Future<Output = Done> + Send + 'static) {
        self.at_work.spawn(async move { (action, doing.await) });
    }

    /// What came of an action. `None` if it is done again later: each of them can be repeated.
    fn event_of(&mut self, action: Option<Action>, done: Done) -> Option<Event> {
        let over = if done.is_ok() { self.disks.1.is_over() } else { None };
        self.warn(over.map_or(Ok(()), Err));
        if let (Err(why), Some(action)) = (&done, action)
            && let Some((pause, text)) = self.disks.1.wait(why)
        {
            self.warn(text.map_or(Ok(()), Err));
            self.later.push((tokio::time::Instant::now() + pause, action));
            return None;
        }
        Some(event_of(done))
    }

    /// Does again what could not be done before.
    fn act_later(&mut self) -> Vec<Event> {
        let now = tokio::time::Instant::now();
        let due: Vec<_> = self.later.extract_if(.., |(at, _)| *at <= now).collect();
        due.into_iter().filter_map(|(_, action)| self.act(action)).collect()
    }

    fn tell(&mut self, event: &LoopEvent) {
        (self.watcher)(event, self.machine.state());
    }

    fn notify(&mut self, news: Notification) {
        let (context, messengers) = (Arc::clone(&self.context), self.messengers.clone());
        self.news.spawn(async move {
            let config = &context.config.notify;
            let sent = notify::send(&news, config, &context.folders.workspace, &messengers).await;
            (news.id, sent)
        });
    }

    fn warn(&mut self, done: Result<(), String>) {
        if let Err(text) = done {
            self.tell(&LoopEvent::Warning { text });
        }
    }

    /// Writes the report, and then records that the run is over.
    fn conclude(self) -> Result<RunState, StateError> {
        let Self { machine, context, mut watcher, .. } = self;
        let mut state = machine.into_state();
        for text in conclude(&context.folders, &mut state, &context.secrets)? {
            watcher(&LoopEvent::Warning { text }, &state);
        }
        Ok(state)
    }

    /// Waits until pending notifications are sent. Each has a timeout, so a slow recipient does not block the end.
    async fn finish_news(&mut self) {
        while let Some(sent) = self.news.join_next().await {
            if let Ok((id, sent)) = sent {
                self.warn(sent);
                self.machine.handle(now_ms(), Event::Notified { id });
            }
        }
    }

    fn line(&self) -> Option<Line> {
        self.machine.state().line.clone()
    }

    fn record(&self, task: &TaskId) -> Option<TaskRecord> {
        self.machine.state().task(task).cloned()
    }

    /// Performs an action. Slow ones run concurrently.
    fn act(&mut self, action: Action) -> Option<Event> {
        let context = Arc::clone(&self.context);
        let same = action.clone();
        match action {
            Action::Tell(event) => {
                self.tell(&event);
                return None;
            }
            Action::Notify(news) => self.notify(news),
            Action::ReadTasks => return Some(event_of(perform::read_list(&context))),
            Action::Prepare(task) => {
                let record = self.record(&task)?;
                self.work(same, perform::prepare(context, record, self.line()));
            }
            Action::Restore { task, tree } => {
                let record = self.record(&task)?;
                self.work(same, perform::restore(context, record, tree));
            }
            Action::RunGates(task) => {
                let record = self.record(&task)?;
                self.work(same, perform::gates(context, record));
            }
            Action::RunAgent(order) => {
                let record = self.record(&order.task)?;
                let around = self.surroundings(&record);
                self.work(same, perform::agent(context, order, record, around));
            }
            Action::Review(order) => {
                let record = self.record(&order.task)?;
                let around = self.surroundings(&record);
                self.work(same, perform::review(context, order, record, around));
            }
            Action::Recover { task, session_id } => {
                let record = self.record(&task)?;
                self.work(same, perform::recover(context, record, session_id));
            }
            Action::Inspect { task, base, seen } => {
                let record = self.record(&task)?;
                self.work(same, perform::inspect(context, record, base, seen));
            }
            Action::MakeCommit { task, on_branch, merges } => {
                let record = self.record(&task)?;
                self.work(same, perform::make_commit(context, record, self.line(), on_branch, merges));
            }
            Action::Advance { task, commit, parent } => {
                let record = self.record(&task)?;
                self.work(same, perform::advance(context, record, self.line(), commit, parent));
            }
            Action::Shelve { task, failure } => {
                let record = self.record(&task)?;
                self.work(same, perform::shelve(context, record, failure));
            }
            Action::Clear { task, kept } => {
                let record = self.record(&task)?;
                self.work(same, perform::clear(context, record, kept));
            }
            Action::Learn { task, key, text } => {
                let record = self.record(&task)?;
                self.warn(perform::learn(&context, &record, &key, &text));
            }
            Action::LearnAgain { task, key, log } => {
                let record = self.record(&task)?;
                self.warn(perform::learn_again(&context, &record, &key, &log));
            }
            Action::CheckLast => {
                let commits = self.machine.state().receipts().collect();
                self.work(same, line::check_last(context, self.line(), commits));
            }
            Action::WakeAt(at) => self.wake_at = Some(at),
            Action::StopAgent(task) => self.hurry_up(Some(&task), Hurry::Interrupt),
            Action::StopAgents => {
                self.hurry.send_modify(|hurry| *hurry = (*hurry).max(Hurry::Interrupt));
                self.hurry_up(None, Hurry::Interrupt);
            }
            Action::Finish(_) => {}
        }
        None
    }

    /// Tells the session of a task, or all of them, to end.
    fn hurry_up(&self, only: Option<&TaskId>, least: Hurry) {
        for (_, hurry) in self.hurries.iter().filter(|(task, _)| only.is_none_or(|only| only == *task)) {
            hurry.send_modify(|now| *now = (*now).max(least));
        }
    }

    fn surroundings(&mut self, record: &TaskRecord) -> Surroundings {
        let config = &self.context.config;
        let task = record.task.id.clone();
        let live = self.live.0.clone();
        let (hurry, in_a_hurry) = watch::channel(*self.hurry.borrow());
        self.hurries.retain(|_, hurry| !hurry.is_closed());
        self.hurries.insert(task.clone(), hurry);
        Surroundings {
            approvals: Approvals::new(
                task.to_string(),
                self.asks.0.clone(),
                (config.questions.policy, config.questions.longest_wait.duration()),
                config.permissions.policy,
                record.answers.clone(),
            ),
            hurry: in_a_hurry,
            activity: Arc::new(move |text| {
                let _ = live.send(LoopEvent::Activity { task: task.clone(), text: text.to_owned() });
            }),
        }
    }
}

fn event_of(done: Done) -> Event {
    done.unwrap_or_else(|why| Event::Broken { why })
}

async fn until(instant: Option<tokio::time::Instant>) {
    match instant {
        Some(instant) => tokio::time::sleep_until(instant).await,
        None => std::future::pending().await,
    }
}
