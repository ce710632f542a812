//! Our answers to control requests of the CLI.

use serde_json::{Map, Value, json};

use crate::id::RequestId;
use crate::json::RawJson;
use crate::permission_update::{PermissionUpdate, RuleDestination};

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
