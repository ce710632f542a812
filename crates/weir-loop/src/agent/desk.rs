//! The desk: where a session leaves what only a person can answer.
//!
//! The session waits; whoever has the other end of the channel (the loop, for a mailbox, a page or a chat) answers.
//! If nobody does in time, or the policy is not to wait, the session hears so, and nothing is allowed.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};
use weir_session::{Ask, Deciding, Decision, Handler, PermissionRequest, QuestionRequest};
use weir_wire::{QuestionAnswers, RequestId};

use super::hooks;
use super::run::{AgentRun, DeniedTool};
use crate::config::{PermissionPolicy, QuestionPolicy};
use crate::state::{Asked, AskedQuestion};

/// What a session wants to know from a person.
#[derive(Debug)]
pub struct OpenAsk {
    /// Names it.
    pub id: String,
    /// The task.
    pub task: String,
    /// What is asked.
    pub asked: Asked,
    reply: oneshot::Sender<Reply>,
}

impl OpenAsk {
    /// Answers. `false` if nobody wants to know any more.
    pub fn answer(self, reply: Reply) -> bool {
        self.reply.send(reply).is_ok()
    }

    /// Whether nobody wants to know any more.
    pub fn is_withdrawn(&self) -> bool {
        self.reply.is_closed()
    }
}

/// What comes from a desk.
#[derive(Debug)]
pub enum FromDesk {
    /// A session wants to know something.
    Asked(OpenAsk),
    /// What it wanted to know was answered in another way, such as on the page.
    Answered {
        /// Names the question.
        id: String,
        /// By whom.
        by: String,
        /// The answers: question to answer.
        answers: Vec<(String, String)>,
    },
}

/// What a person said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// Answers: question to answer.
    Answers(Vec<(String, String)>),
    /// The tool may be used.
    Allow,
    /// It may not, or the question is not answered.
    Deny(String),
}

/// Where one session's questions go.
#[derive(Debug, Clone)]
pub struct Desk {
    /// The task, for whoever answers.
    pub task: String,
    /// Who answers.
    pub asks: mpsc::UnboundedSender<FromDesk>,
    /// Whether somebody is waited for, and how long.
    pub questions: (QuestionPolicy, Duration),
    /// Who decides about tools.
    pub permissions: PermissionPolicy,
    /// What was answered before: question to answer.
    pub known: BTreeMap<String, String>,
    /// How many questions of the session wait for a person at the moment.
    pub waiting: Arc<AtomicUsize>,
    /// The CLI's names for what is asked, and ours.
    pub names: Arc<Mutex<Vec<(RequestId, String)>>>,
}

impl Desk {
    /// Waits for a person. Nothing where nobody answers.
    pub async fn ask(&self, request: &RequestId, asked: Asked) -> Option<Reply> {
        let (reply, answer) = oneshot::channel();
        let id = uuid::Uuid::new_v4().simple().to_string();
        let id = id.get(..8).unwrap_or(&id).to_owned();
        self.names.lock().unwrap_or_else(PoisonError::into_inner).push((request.clone(), id.clone()));
        let ask = OpenAsk { id, task: self.task.clone(), asked, reply };
        self.asks.send(FromDesk::Asked(ask)).ok()?;
        let _waits = Waits::new(&self.waiting);
        tokio::time::timeout(self.questions.1, answer).await.ok()?.ok()
    }

    /// Somebody has answered the session itself.
    pub(super) fn answered_elsewhere(&self, request: &RequestId, by: &str, answers: Vec<(String, String)>) {
        let names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, id)) = names.iter().find(|(known, _)| known == request) {
            let answered = FromDesk::Answered { id: id.clone(), by: by.to_owned(), answers };
            // Where nobody listens any more, nobody has to know.
            let _ = self.asks.send(answered);
        }
    }
}

/// Counts a question as long as it waits, also if the session takes it back.
struct Waits<'a>(&'a AtomicUsize);

impl<'a> Waits<'a> {
    fn new(waiting: &'a AtomicUsize) -> Self {
        waiting.fetch_add(1, Ordering::Relaxed);
        Self(waiting)
    }
}

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// What a handler has noticed, for the run.
#[derive(Debug, Default)]
struct Noticed {
    denials: Vec<DeniedTool>,
    unanswered: Vec<String>,
}

/// The same, for all who notice something.
#[derive(Debug, Clone, Default)]
pub(super) struct Noticing(Arc<Mutex<Noticed>>);

impl Noticing {
    fn lock(&self) -> MutexGuard<'_, Noticed> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What we denied ourselves comes with better rules than what the result lists.
    pub(super) fn into_run(self, run: &mut AgentRun) {
        let mut noticed = self.lock();
        if !noticed.denials.is_empty() {
            run.denials = std::mem::take(&mut noticed.denials);
        }
        if !noticed.unanswered.is_empty() {
            run.unanswered = std::mem::take(&mut noticed.unanswered);
        }
    }
}

/// Decides what the CLI asks, by the desk.
pub(super) struct DeskHandler {
    pub(super) desk: Desk,
    pub(super) rules: hooks::Rules,
    pub(super) noticed: Noticing,
}

impl DeskHandler {
    async fn question(&self, ask: QuestionRequest) -> Decision {
        let asked: Vec<AskedQuestion> = ask
            .questions
            .iter()
            .map(|question| AskedQuestion {
                question: question.question.clone(),
                options: question.options.iter().flatten().map(|option| option.label.clone()).collect(),
                several: question.multi_select.unwrap_or(false),
            })
            .collect();
        let known = |question: &AskedQuestion| {
            self.desk.known.get(&question.question).map(|answer| (question.question.clone(), answer.clone()))
        };
        let answers: Option<Vec<(String, String)>> = asked.iter().map(known).collect();
        let reply = match (answers, self.desk.questions.0) {
            (Some(answers), _) if !answers.is_empty() => Some(Reply::Answers(answers)),
            (_, QuestionPolicy::Wait) => {
                self.desk.ask(&ask.id, Asked::Questions { questions: asked.clone() }).await
            }
            (_, QuestionPolicy::Skip) => None,
        };
        match reply {
            Some(Reply::Answers(answers)) => {
                let chosen = answers.into_iter();
                Decision::Answers(
                    chosen
                        .fold(QuestionAnswers::new(), |all, (question, answer)| all.choose(question, answer)),
                )
            }
            Some(Reply::Deny(why)) => self.unanswered(&asked, why),
            Some(Reply::Allow) | None => {
                self.unanswered(&asked, "Nobody is there to answer. Stop here.".to_owned())
            }
        }
    }

    fn unanswered(&self, asked: &[AskedQuestion], message: String) -> Decision {
        self.noticed.lock().unanswered.extend(asked.iter().map(|question| question.question.clone()));
        Decision::Deny { message, interrupt: true }
    }

    async fn permission(&self, ask: PermissionRequest) -> Decision {
        let mut denied = DeniedTool::new(&ask.tool_name, ask.input.clone());
        if let Some(rule) = suggested(&ask.suggestions) {
            denied.rule = rule;
        }
        if self.desk.permissions == PermissionPolicy::Ask {
            let asked = Asked::Permission { what: denied.headline(), rule: denied.rule.clone() };
            if self.desk.ask(&ask.id, asked).await == Some(Reply::Allow) {
                return Decision::allow();
            }
        }
        let message = format!("{} is not allowed here. Stop: a person has to allow it first.", ask.tool_name);
        self.noticed.lock().denials.push(denied);
        // The rest of the turn would only be spent on ways around it.
        Decision::Deny { message, interrupt: true }
    }
}

impl Handler for DeskHandler {
    fn decide(&self, ask: Ask) -> Deciding<'_> {
        match ask {
            Ask::Question(ask) => Box::pin(self.question(ask)),
            Ask::Permission(ask) => Box::pin(self.permission(ask)),
            Ask::Hook(ask) => Box::pin(std::future::ready(Decision::Value(self.rules.judge(&ask.input)))),
            Ask::Mcp(ask) => {
                let why = format!("there is no MCP server {} here", ask.server);
                Box::pin(std::future::ready(Decision::Error(why)))
            }
            _ => Box::pin(std::future::ready(Decision::deny("nobody is there"))),
        }
    }
}

/// The rule that the CLI itself suggests.
fn suggested(suggestions: &[Value]) -> Option<String> {
    let rule = suggestions
        .iter()
        .filter(|suggestion| suggestion.get("type") == Some(&json!("addRules")))
        .find_map(|suggestion| suggestion.get("rules")?.get(0).cloned())?;
    let tool = rule.get("toolName").and_then(Value::as_str)?;
    Some(match rule.get("ruleContent").and_then(Value::as_str) {
        Some(content) => format!("{tool}({content})"),
        None => tool.to_owned(),
    })
}
