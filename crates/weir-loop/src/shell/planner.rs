//! The planner: from a document to a task list, with the planner's questions in between.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use weir_base::time::now_ms;
use weir_session::Decision;

use super::folders::Folders;
use crate::agent::{
    Agent, AgentEnd, AgentRequest, AgentRun, ApprovalMessage, Approvals, Hurry, OpenAsk, Surroundings,
    match_answers,
};
use crate::config::{Config, PermissionPolicy, QuestionPolicy};
use crate::judge::judge_run;
use crate::outcome::Failure;
use crate::plan::{PLAN_PROMPT, PlanAnswer, read_plan};
use crate::prompt::PLANNER_RULES;
use crate::protection::Protection;
use crate::state::{
    Asked, AskedQuestion, Planned, StateError, export_planner_session, load, note_planned, planned,
};

/// Maximum number of question rounds of the planner, after which the document should be improved.
const MAX_ROUNDS: usize = 10;

/// How long a person may take to answer.
const PATIENCE: Duration = Duration::from_secs(12 * 3600);

/// What a person says.
pub type Said<'a> = Pin<Box<dyn Future<Output = Option<String>> + Send + 'a>>;

/// The person who talks with the planner.
pub trait PlannerPerson: Send {
    /// Whether anyone can answer now. If not, the questions are part of the [`PlanEnd`].
    fn is_present(&self) -> bool;

    /// Puts one of the planner's questions to the person; `remark` says what was wrong with the last answer. `None`
    /// declines to answer.
    fn answer<'a>(&'a mut self, question: &'a AskedQuestion, remark: Option<&'a str>) -> Said<'a>;

    /// Shows what the planner said instead of a list, which is most likely a question. `None` if there is no reply.
    fn reply<'a>(&'a mut self, text: &'a str) -> Said<'a>;

    /// Says something about the planning itself.
    fn notice(&mut self, text: &str);
}

/// What a planner starts with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlanStart {
    /// The text of a document.
    Document(String),
    /// The answer to the questions of the last session.
    Continue(String),
}

/// How planning ended.
#[derive(Debug)]
pub enum PlanEnd {
    /// The list was written.
    Written {
        /// The list.
        path: PathBuf,
        /// Number of tasks.
        tasks: usize,
        /// The cost of the last session, if it is known.
        cost_usd: Option<f64>,
    },
    /// The planner said something that is not a list, and no one replied.
    NoReply,
    /// The planner asked questions by its tool, and no one answered.
    Unanswered(Vec<String>),
    /// The planner still has questions after many answers.
    TooManyRounds,
    /// Planning has cost as much as it may.
    OverBudget {
        /// What was spent, in dollars.
        spent: f64,
        /// The limit of the run.
        limit: f64,
    },
    /// A session failed.
    Failed(Box<AgentRun>, Failure),
}

/// Why planning is not possible.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// There is no session to continue.
    #[error("no planner session to continue; name the document")]
    NoSession,
    /// The state of the run cannot be read.
    #[error(transparent)]
    State(#[from] StateError),
    /// A file cannot be written.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The underlying error.
        #[source]
        source: std::io::Error,
    },
}

/// The planner.
pub struct Planner {
    /// The configuration.
    pub config: Config,
    /// The folders of the loop.
    pub folders: Folders,
    /// Runs the planner's sessions.
    pub agent: Arc<dyn Agent>,
}

impl Planner {
    /// Plans until there is a list, or no one answers.
    ///
    /// # Errors
    /// If there is no session to continue, or a file cannot be written.
    pub async fn plan(&self, start: PlanStart, person: &mut dyn PlannerPerson) -> Result<PlanEnd, PlanError> {
        let (mut prompt, mut session, mut resume) = match start {
            PlanStart::Continue(answer) => (answer, self.last_session()?.ok_or(PlanError::NoSession)?, true),
            PlanStart::Document(text) => {
                (format!("{PLAN_PROMPT}\n\n{text}"), uuid::Uuid::new_v4().to_string(), false)
            }
        };
        let (limit, state) = (self.config.limits.cost_usd, self.folders.state());
        for _ in 0..MAX_ROUNDS {
            let spent: f64 = planned(&state).iter().filter_map(|planned| planned.cost_usd).sum();
            if spent >= limit {
                return Ok(PlanEnd::OverBudget { spent, limit });
            }
            let run = self.session(prompt, &session, resume, limit - spent, person).await;
            if let Some(id) = run.session_id.clone().filter(|id| *id != session) {
                person.notice(&format!("the planner continued in another session: {id}"));
                session = id;
            }
            for warning in &run.warnings {
                person.notice(warning);
            }
            if !matches!(run.end, AgentEnd::NotStarted { .. }) {
                // A failed session costs something, and can be continued, too.
                self.record(&state, &run)?;
            }
            if !run.unanswered.is_empty() {
                return Ok(PlanEnd::Unanswered(run.unanswered));
            }
            if let Some(failure) = judge_run(&run) {
                return Ok(PlanEnd::Failed(Box::new(run), failure));
            }
            match read_plan(&run.text) {
                PlanAnswer::List { text, tasks } => {
                    let path = self.folders.workspace.join(&self.config.tasks);
                    std::fs::write(&path, &text)
                        .map_err(|source| PlanError::Write { path: path.clone(), source })?;
                    return Ok(PlanEnd::Written { path, tasks, cost_usd: run.cost_usd });
                }
                PlanAnswer::Questions(text) => match person.reply(&text).await {
                    Some(reply) => (prompt, resume) = (reply, true),
                    None => return Ok(PlanEnd::NoReply),
                },
            }
        }
        Ok(PlanEnd::TooManyRounds)
    }

    /// The planner's last session: the last one that no run has counted yet, or that of the run.
    fn last_session(&self) -> Result<Option<String>, PlanError> {
        let state = self.folders.state();
        let last = planned(&state).into_iter().rev().find_map(|planned| planned.session_id);
        if last.is_some() {
            return Ok(last);
        }
        Ok(load(&self.folders.state())?.and_then(|run| run.planner_session))
    }

    fn record(&self, state: &Path, run: &AgentRun) -> Result<(), PlanError> {
        let path = state.to_owned();
        note_planned(state, Planned::of(run, now_ms()))
            .map_err(|source| PlanError::Write { path: path.clone(), source })?;
        let known = load(&self.folders.state())?;
        export_planner_session(state, known.as_ref(), run.session_id.clone())
            .map_err(|source| PlanError::Write { path, source })
    }

    /// Runs one session. The person answers the planner's questions meanwhile.
    async fn session(
        &self,
        prompt: String,
        session: &str,
        resume: bool,
        left_usd: f64,
        person: &mut dyn PlannerPerson,
    ) -> AgentRun {
        let (config, mode, limits) = (&self.config, &self.config.planner, &self.config.task_limits);
        let request = AgentRequest {
            task: "plan".to_owned(),
            mode: "planner".to_owned(),
            cwd: self.folders.workspace.clone(),
            session_id: session.to_owned(),
            resume,
            prompt,
            spec: mode.session(limits.cost_usd.min(left_usd), limits.turns),
            extra_args: mode.extra_args.clone(),
            rules: PLANNER_RULES,
            timeout: config.task_limits.wall_time.duration(),
            skip_permissions: false,
            protected: Protection::default(),
        };
        // Without a person, a question ends the turn.
        let policy = if person.is_present() { QuestionPolicy::Wait } else { QuestionPolicy::Skip };
        let (asks, mut asked) = mpsc::unbounded_channel();
        let approvals =
            Approvals::new("plan", asks, (policy, PATIENCE), PermissionPolicy::Deny, BTreeMap::new());
        let (_hurry, hurry) = watch::channel(Hurry::None);
        let running = self.agent.run(request, Surroundings { approvals, hurry, activity: Arc::new(|_| {}) });
        tokio::select! {
            run = running => run,
            never = answer_all(&mut asked, person) => match never {},
        }
    }
}

/// Lets the person answer the planner's questions. Never completes.
async fn answer_all(
    asked: &mut mpsc::UnboundedReceiver<ApprovalMessage>,
    person: &mut dyn PlannerPerson,
) -> std::convert::Infallible {
    while let Some(message) = asked.recv().await {
        if let ApprovalMessage::Asked(ask) = message {
            answer(ask, person).await;
        }
    }
    std::future::pending().await
}

/// Asks until there is a valid answer to each question.
async fn answer(ask: OpenAsk, person: &mut dyn PlannerPerson) {
    let Asked::Questions { questions } = &ask.asked else { return };
    let mut answers = Vec::new();
    for question in questions {
        let mut remark = None;
        loop {
            let Some(words) = person.answer(question, remark.as_deref()).await else {
                ask.decide(Decision::deny("The user does not want to answer. Stop here."));
                return;
            };
            match match_answers(std::slice::from_ref(question), &[words]) {
                Ok(answer) => break answers.extend(answer),
                Err(error) => remark = Some(error.to_string()),
            }
        }
    }
    ask.decide(Decision::Answers(answers.into_iter().collect()));
}
