//! What a session asks a person.

use serde::{Deserialize, Serialize};

use crate::tasks::TaskId;

/// A question that waits for a person.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OpenQuestion {
    /// Id of the question.
    pub id: String,
    /// The task that waits.
    pub task: TaskId,
    /// The questions, or the permission.
    pub asked: Asked,
    /// When it was asked.
    pub since: i64,
}

/// What a session asks a person.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Asked {
    /// Questions with choices.
    Questions {
        /// The questions.
        questions: Vec<AskedQuestion>,
    },
    /// May this tool be used?
    Permission {
        /// The tool and its main argument, in one line.
        what: String,
        /// The rule that would allow it.
        rule: String,
    },
}

impl Asked {
    /// One line for people.
    pub fn words(&self) -> String {
        match self {
            Self::Permission { what, .. } => format!("wants to use {what}"),
            Self::Questions { questions } => {
                let question = |asked: &AskedQuestion| match asked.options.as_slice() {
                    [] => asked.question.clone(),
                    options => format!("{} ({})", asked.question, options.join(", ")),
                };
                format!("asks: {}", questions.iter().map(question).collect::<Vec<_>>().join(" "))
            }
        }
    }
}

/// A question with its choices.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AskedQuestion {
    /// The question.
    pub question: String,
    /// The labels of the choices.
    pub options: Vec<String>,
    /// Whether several may be chosen.
    #[serde(default)]
    pub several: bool,
}
