//! Our control requests, and our answers to those of the CLI.

use serde_json::{Map, Value, json};

use crate::id::{MessageId, RequestId, TaskId};
use crate::json::RawJson;
use crate::permission_update::{PermissionUpdate, RuleDestination};

/// A request to the CLI. A version that does not know a request answers with an error, or not at all.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum HostRequest {
    /// Introduces the host. It is answered before any message, so the answer also shows that the CLI is ready.
    Initialize(InitializeRequest),
    /// Ends the running turn, and drops every message that the CLI has received but not answered.
    Interrupt,
    /// Changes the model from the next request on; `None` for the default.
    SetModel {
        /// The model.
        model: Option<String>,
    },
    /// Changes the permission mode.
    SetPermissionMode {
        /// The mode.
        mode: String,
    },
    /// Asks for the status of the MCP servers.
    McpStatus,
    /// Asks for the available models.
    ListModels,
    /// Asks what fills the context.
    GetContextUsage,
    /// Asks what the session has cost.
    GetSessionCost,
    /// Asks how much of the account's rate limits is used.
    GetUsage,
    /// Gives the session a title.
    RenameSession {
        /// The title.
        title: String,
    },
    /// Restores files to their state at a message of ours.
    RewindFiles {
        /// The message.
        user_message_id: MessageId,
        /// Whether to only report what would change.
        dry_run: bool,
    },
    /// Ends a task that runs in the background.
    StopTask {
        /// The task.
        task_id: TaskId,
    },
    /// Cancels a message that is still waiting.
    CancelMessage {
        /// The message.
        message: MessageId,
    },
    /// Ends the process.
    EndSession,
    /// Something that Weir has no type for.
    Other {
        /// Its subtype.
        subtype: String,
        /// Its other members.
        fields: Map<String, Value>,
    },
}

/// The first request to the CLI.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct InitializeRequest {
    /// Hooks that we run.
    pub hooks: Vec<HookRegistration>,
    /// MCP servers in our process.
    pub sdk_mcp_servers: Vec<String>,
    /// Members that have no field here.
    pub extra: Map<String, Value>,
}

/// A hook that we run when the CLI calls it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookRegistration {
    /// The event, such as `PreToolUse`.
    pub event: String,
    /// Which tools; `None` for all.
    pub matcher: Option<String>,
    /// The ids that the CLI calls back with.
    pub callback_ids: Vec<String>,
}

impl HostRequest {
    pub(super) fn to_value(&self) -> Value {
        let subtype = |name: &str| json!({"subtype": name});
        match self {
            Self::Initialize(request) => request.to_value(),
            // Without `cancel_queued`, newer versions put the turn's messages back into the queue and run them
            // afterwards.
            Self::Interrupt => json!({"subtype": "interrupt", "cancel_queued": true}),
            Self::SetModel { model } => json!({"subtype": "set_model", "model": model}),
            Self::SetPermissionMode { mode } => json!({"subtype": "set_permission_mode", "mode": mode}),
            Self::McpStatus => subtype("mcp_status"),
            Self::ListModels => subtype("list_models"),
            Self::GetContextUsage => subtype("get_context_usage"),
            Self::GetSessionCost => subtype("get_session_cost"),
            Self::GetUsage => subtype("get_usage"),
            Self::RenameSession { title } => json!({"subtype": "rename_session", "title": title}),
            Self::RewindFiles { user_message_id, dry_run } => {
                json!({"subtype": "rewind_files", "user_message_id": user_message_id, "dry_run": dry_run})
            }
            Self::StopTask { task_id } => json!({"subtype": "stop_task", "task_id": task_id}),
            Self::CancelMessage { message } => {
                json!({"subtype": "cancel_async_message", "message_uuid": message})
            }
            Self::EndSession => subtype("end_session"),
            Self::Other { subtype, fields } => {
                let mut request = fields.clone();
                request.insert("subtype".into(), json!(subtype));
                Value::Object(request)
            }
        }
    }
}

impl InitializeRequest {
    fn to_value(&self) -> Value {
        let mut hooks: Map<String, Value> = Map::new();
        for hook in &self.hooks {
            let mut matcher = json!({"hookCallbackIds": hook.callback_ids});
            if let (Some(pattern), Some(matcher)) = (&hook.matcher, matcher.as_object_mut()) {
                matcher.insert("matcher".into(), json!(pattern));
            }
            if let Some(list) = hooks.entry(&hook.event).or_insert_with(|| json!([])).as_array_mut() {
                list.push(matcher);
            }
        }
        let mut request = self.extra.clone();
        request.insert("subtype".into(), json!("initialize"));
        // We can stop each task separately, so an interrupt need not stop them all.
        request.insert("perTaskStopAffordance".into(), json!(true));
        request.insert("hooks".into(), if hooks.is_empty() { Value::Null } else { Value::Object(hooks) });
        if !self.sdk_mcp_servers.is_empty() {
            request.insert("sdkMcpServers".into(), json!(self.sdk_mcp_servers));
        }
        Value::Object(request)
    }
}

/// Our answer to a request of the CLI.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum HostAnswer {
    /// The tool may be used. To answer a question, use [`HostAnswer::questions`]: a plain allow carries no
    /// answers.
    Allow {
        /// The arguments to use: those of the request, or changed ones. Old versions require them.
        updated_input: Value,
        /// Rules to add, so that the CLI does not ask again.
        updated_permissions: Vec<PermissionUpdate>,
    },
    /// The tool may not be used.
    Deny {
        /// Message for the model.
        message: String,
        /// Whether the turn ends as well.
        interrupt: bool,
    },
    /// The output of a hook of ours.
    Hook(Value),
    /// The reply of an MCP server of ours.
    Mcp(Value),
    /// Any other answer.
    Success(Value),
    /// The request cannot be carried out, for example because we do not know it.
    Error(String),
}

impl HostAnswer {
    pub(super) fn to_value(&self, id: &RequestId) -> Value {
        let success = |response: Value| json!({"subtype": "success", "request_id": id, "response": response});
        match self {
            Self::Allow { updated_input, updated_permissions } => {
                let mut response = json!({"behavior": "allow", "updatedInput": updated_input});
                if let Some(response) = response.as_object_mut().filter(|_| !updated_permissions.is_empty()) {
                    let stored = |update: &PermissionUpdate| {
                        update.stored_in(update.destination().unwrap_or(RuleDestination::Session))
                    };
                    let updates: Vec<_> = updated_permissions.iter().map(stored).collect();
                    response.insert("updatedPermissions".into(), json!(updates));
                }
                success(response)
            }
            Self::Deny { message, interrupt } => {
                let mut response = json!({"behavior": "deny", "message": message});
                if let Some(response) = response.as_object_mut().filter(|_| *interrupt) {
                    response.insert("interrupt".into(), json!(true));
                }
                success(response)
            }
            Self::Hook(output) | Self::Success(output) => success(output.clone()),
            Self::Mcp(message) => success(json!({"mcp_response": message})),
            Self::Error(error) => json!({"subtype": "error", "request_id": id, "error": error}),
        }
    }

    /// Answers an `AskUserQuestion`: allows it with its own arguments (`input`) and the answers in them.
    ///
    /// # Errors
    /// Every question needs an answer, and only questions that were asked may have one.
    pub fn questions(input: RawJson<'_>, answers: &QuestionAnswers) -> Result<Self, AnswerError> {
        let mut updated_input = input.to_value();
        let asked: Vec<String> = updated_input
            .get("questions")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(|question| Some(question.get("question")?.as_str()?.to_owned()))
            .collect();
        if let Some(question) = asked.iter().find(|question| !answers.answers(question)) {
            return Err(AnswerError::Unanswered { question: question.clone() });
        }
        if let Some(question) = answers.0.keys().find(|question| !asked.contains(question)) {
            return Err(AnswerError::NotAsked { question: question.clone() });
        }
        match updated_input.as_object_mut() {
            Some(input) if !asked.is_empty() => {
                input.insert("answers".into(), Value::Object(answers.0.clone()))
            }
            _ => return Err(AnswerError::NoQuestions),
        };
        Ok(Self::Allow { updated_input, updated_permissions: Vec::new() })
    }
}

/// The answers to the questions of one `AskUserQuestion`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct QuestionAnswers(Map<String, Value>);

impl QuestionAnswers {
    /// No answers yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Answers a question with the label of one choice, or with free text.
    #[must_use]
    pub fn choose(mut self, question: impl Into<String>, label: impl Into<String>) -> Self {
        self.0.insert(question.into(), Value::String(label.into()));
        self
    }

    /// Answers a question that takes several choices. The CLI expects them in one string, separated by commas.
    #[must_use]
    pub fn choose_all<L: AsRef<str>>(
        self,
        question: impl Into<String>,
        labels: impl IntoIterator<Item = L>,
    ) -> Self {
        let labels: Vec<String> = labels.into_iter().map(|label| label.as_ref().to_owned()).collect();
        self.choose(question, labels.join(", "))
    }

    /// Pairs of question and answer.
    pub fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().filter_map(|(question, answer)| Some((question.as_str(), answer.as_str()?)))
    }

    fn answers(&self, question: &str) -> bool {
        self.0.get(question).and_then(Value::as_str).is_some_and(|answer| !answer.trim().is_empty())
    }
}

impl FromIterator<(String, String)> for QuestionAnswers {
    fn from_iter<P: IntoIterator<Item = (String, String)>>(pairs: P) -> Self {
        pairs.into_iter().fold(Self::new(), |all, (question, answer)| all.choose(question, answer))
    }
}

/// Why the answers to questions are invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AnswerError {
    /// A question has no answer, or an empty one.
    #[error("the question {question:?} needs an answer: choose one of its options or write one")]
    Unanswered {
        /// The question.
        question: String,
    },
    /// An answer does not belong to any question.
    #[error("the question {question:?} was not asked: answers are given by the question's exact text")]
    NotAsked {
        /// The question.
        question: String,
    },
    /// The request has no questions.
    #[error("the request has no questions: allow or deny it instead")]
    NoQuestions,
}
