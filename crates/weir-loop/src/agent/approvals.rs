//! The approvals: where a session leaves the requests that only a person can decide.
//!
//! The session waits. The other end of the channel (the loop, for a terminal, a page or a chat) replies. Without a reply
//! in time, or if the policy is not to wait, the request is denied.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::{mpsc, oneshot, watch};
use weir_session::{Ask, Deciding, Decision, Handler};
use weir_transcript::{PermissionRequest, Request, RequestKind, RequestState};
use weir_wire::{PermissionUpdate, Question, QuestionAnswers, RequestId};

use super::hooks;
use super::run::{AgentRun, DeniedTool};
use crate::config::{PermissionPolicy, QuestionPolicy};
use crate::state::{Asked, AskedQuestion};

/// A request that waits for a person.
#[derive(Debug)]
pub struct OpenAsk {
    /// Id of the request.
    pub id: String,
    /// The task whose session asks.
    pub task: String,
    /// The questions, or the permission.
    pub asked: Asked,
    decision: oneshot::Sender<Decision>,
}

impl OpenAsk {
    /// Sends the decision. `false` if the session no longer waits for it.
    pub fn decide(self, decision: Decision) -> bool {
        self.decision.send(decision).is_ok()
    }
}

/// What the loop is told about them.
#[derive(Debug)]
pub enum ApprovalMessage {
    /// A session waits for a person.
    Asked(OpenAsk),
    /// The request no longer waits: it was decided, maybe on the page, or withdrawn.
    Ended {
        /// Id of the request.
        id: String,
        /// Who decided it, if a person did so elsewhere.
        by: Option<String>,
        /// Pairs of question and answer.
        answers: Vec<(String, String)>,
    },
}

/// Takes the requests of one session.
#[derive(Debug, Clone)]
pub struct Approvals {
    /// The task, shown to the person who replies.
    pub task: String,
    /// The loop's end of the channel.
    pub asks: mpsc::UnboundedSender<ApprovalMessage>,
    /// Whether to wait for a person, and how long.
    pub questions: (QuestionPolicy, Duration),
    /// Who decides about tools.
    pub permissions: PermissionPolicy,
    /// Earlier answers, by question.
    pub known: BTreeMap<String, String>,
    /// Number of requests of the session that currently wait for a person.
    pub(super) waiting: watch::Sender<usize>,
    /// The ids of open requests: the CLI's, each with ours.
    names: Arc<Mutex<Vec<(RequestId, String)>>>,
    /// The calls that a person has refused.
    pub(super) refused: RefusedCalls,
}

/// The calls of tools that a person has refused, each with its arguments. The session continues without them.
#[derive(Debug, Clone, Default)]
pub(super) struct RefusedCalls(Arc<Mutex<Vec<(String, Value)>>>);

impl RefusedCalls {
    fn note(&self, call: &PermissionRequest) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.push((call.tool_name.clone(), call.input.clone()));
    }

    /// Removes them from the denials of a run: a person's No is about one call, and no reason to end anything.
    pub(super) fn excuse(&self, run: &mut AgentRun) {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        run.denials
            .retain(|denial| !all.iter().any(|(tool, input)| *tool == denial.tool && *input == denial.input));
    }
}

impl Approvals {
    /// Takes the requests of a session of this task. `known` are earlier answers, by question.
    pub fn new(
        task: impl Into<String>,
        asks: mpsc::UnboundedSender<ApprovalMessage>,
        questions: (QuestionPolicy, Duration),
        permissions: PermissionPolicy,
        known: BTreeMap<String, String>,
    ) -> Self {
        let (waiting, names) = (watch::Sender::new(0), Arc::default());
        let refused = RefusedCalls::default();
        Self { task: task.into(), asks, questions, permissions, known, waiting, names, refused }
    }

    /// Waits for a person's decision. `None` if there is none in time.
    pub async fn ask(&self, request: &RequestId, asked: Asked) -> Option<Decision> {
        let (decision, decided) = oneshot::channel();
        let id = uuid::Uuid::new_v4().simple().to_string();
        let id = id.get(..8).unwrap_or(&id).to_owned();
        self.names.lock().unwrap_or_else(PoisonError::into_inner).push((request.clone(), id.clone()));
        let ask = OpenAsk { id, task: self.task.clone(), asked, decision };
        self.asks.send(ApprovalMessage::Asked(ask)).ok()?;
        let _guard = WaitGuard::new(&self.waiting);
        tokio::time::timeout(self.questions.1, decided).await.ok()?.ok()
    }

    /// Tells the loop that a request no longer waits, if the loop knows it.
    pub(super) fn settled(&self, request: &Request) {
        let (by, answers) = match &request.state {
            RequestState::Open => return,
            RequestState::Allowed { by, answers: Some(Value::Object(answers)) } => {
                (by.clone(), pairs(answers))
            }
            RequestState::Allowed { by, .. } | RequestState::Denied { by, .. } => (by.clone(), Vec::new()),
            _ => (None, Vec::new()),
        };
        let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        if let (RequestState::Denied { by: Some(_), .. }, Some(call)) =
            (&request.state, request.kind.permission())
            && names.iter().any(|(known, _)| *known == request.id)
        {
            self.refused.note(&call);
        }
        if let Some(place) = names.iter().position(|(known, _)| *known == request.id) {
            let (_, id) = names.swap_remove(place);
            // A loop that no longer listens does not need to know.
            let _ = self.asks.send(ApprovalMessage::Ended { id, by, answers });
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

/// Counts a request while it waits; dropping it also covers requests that the session withdraws.
struct WaitGuard<'a>(&'a watch::Sender<usize>);

impl<'a> WaitGuard<'a> {
    fn new(waiting: &'a watch::Sender<usize>) -> Self {
        waiting.send_modify(|count| *count += 1);
        Self(waiting)
    }
}

impl Drop for WaitGuard<'_> {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count -= 1);
    }
}

/// The requests that the handler refused, for the [`AgentRun`].
#[derive(Debug, Default)]
struct Refusals {
    denials: Vec<DeniedTool>,
    unanswered: Vec<String>,
}

/// [`Refusals`], shared between the handler and the agent.
#[derive(Debug, Clone, Default)]
pub(super) struct SharedRefusals(Arc<Mutex<Refusals>>);

impl SharedRefusals {
    fn lock(&self) -> MutexGuard<'_, Refusals> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Replaces the denials from the result: the handler's own come with better rules.
    pub(super) fn into_run(self, run: &mut AgentRun) {
        let mut refusals = self.lock();
        if !refusals.denials.is_empty() {
            run.denials = std::mem::take(&mut refusals.denials);
        }
        if !refusals.unanswered.is_empty() {
            run.unanswered = std::mem::take(&mut refusals.unanswered);
        }
    }
}

/// Decides the CLI's requests, by the loop where a person is needed.
pub(super) struct ApprovalHandler {
    pub(super) approvals: Approvals,
    pub(super) rules: hooks::Rules,
    pub(super) refusals: SharedRefusals,
}

impl ApprovalHandler {
    async fn question(&self, id: RequestId, questions: Vec<Question>) -> Decision {
        let asked: Vec<AskedQuestion> = questions
            .iter()
            .map(|question| AskedQuestion {
                question: question.question.clone(),
                options: question.options.iter().flatten().map(|option| option.label.clone()).collect(),
                several: question.multi_select.unwrap_or(false),
            })
            .collect();
        let known = |question: &AskedQuestion| {
            self.approvals
                .known
                .get(&question.question)
                .map(|answer| (question.question.clone(), answer.clone()))
        };
        let answers: Option<QuestionAnswers> = asked.iter().map(known).collect();
        let decision = match (answers, self.approvals.questions.0) {
            (Some(answers), _) if !asked.is_empty() => Some(Decision::Answers(answers)),
            (_, QuestionPolicy::Wait) => {
                self.approvals.ask(&id, Asked::Questions { questions: asked.clone() }).await
            }
            (_, QuestionPolicy::Skip) => None,
        };
        match decision {
            Some(answers @ Decision::Answers(_)) => answers,
            Some(Decision::Deny { message, .. }) => self.unanswered(&asked, message),
            _ => self.unanswered(&asked, "No one is available to answer. Stop here.".to_owned()),
        }
    }

    fn unanswered(&self, asked: &[AskedQuestion], message: String) -> Decision {
        self.refusals.lock().unanswered.extend(asked.iter().map(|question| question.question.clone()));
        Decision::Deny { message, interrupt: true }
    }

    async fn permission(&self, id: RequestId, ask: PermissionRequest) -> Decision {
        let mut denied = DeniedTool::new(&ask.tool_name, ask.input.clone());
        // The rule that the CLI suggests is better than one made of the call.
        if let Some(rule) = ask.suggestions.iter().flat_map(PermissionUpdate::allowed_rules).next() {
            denied.rule = rule.to_string();
        }
        if self.approvals.permissions == PermissionPolicy::Ask {
            let asked = Asked::Permission { what: denied.headline(), rule: denied.rule.clone() };
            match self.approvals.ask(&id, asked).await {
                Some(Decision::Allow { .. }) => return Decision::allow(),
                Some(Decision::Deny { message, .. }) => {
                    self.approvals.refused.note(&ask);
                    let message = format!(
                        "A person has refused this call of {}: {message}. Work without it.",
                        ask.tool_name
                    );
                    return Decision::Deny { message, interrupt: false };
                }
                _ => {}
            }
        }
        let message = format!("{} is not allowed here. Stop: a person has to allow it first.", ask.tool_name);
        self.refusals.lock().denials.push(denied);
        // Interrupts, because the rest of the turn would only be spent on working around the denial.
        Decision::Deny { message, interrupt: true }
    }
}

impl Handler for ApprovalHandler {
    fn decide(&self, ask: Ask) -> Deciding<'_> {
        match ask {
            Ask::Request(request) => match (request.kind.permission().map(Cow::into_owned), request.kind) {
                (Some(permission), _) => Box::pin(self.permission(request.id, permission)),
                (None, RequestKind::Question { questions, .. }) => {
                    Box::pin(self.question(request.id, questions))
                }
                _ => Box::pin(std::future::ready(Decision::deny("no one is available to decide"))),
            },
            Ask::Hook(ask) => Box::pin(std::future::ready(Decision::Value(self.rules.judge(&ask.input)))),
            Ask::Mcp(ask) => {
                let why = format!("no MCP server {} here", ask.server);
                Box::pin(std::future::ready(Decision::Error(why)))
            }
            _ => Box::pin(std::future::ready(Decision::deny("no one is available to decide"))),
        }
    }
}
