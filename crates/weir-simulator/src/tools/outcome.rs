//! The result of a tool: the block for the model, and the structured form.

use crate::cancel::Stop;
use crate::json::Json;
use crate::object;

/// The result of a tool.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Outcome {
    /// It worked.
    Success { content: Json, structured: Json, shape: Shape },
    /// It failed, and the model is told why.
    Failure { text: String },
    /// The call was invalid: the tool did not run, and the structured form may differ.
    BadCall { text: String, structured: String },
    /// It was stopped.
    Stopped(Stop),
}

/// The order of the block's members, which depends on the tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// `tool_use_id`, `type`, `content`.
    Plain,
    /// The same, plus `is_error`.
    WithError,
    /// `type`, `content`, `tool_use_id`.
    IdLast,
}

impl Outcome {
    /// Success, with a text.
    pub(crate) fn text(text: impl Into<String>, structured: Json) -> Self {
        Self::Success { content: Json::String(text.into()), structured, shape: Shape::Plain }
    }

    /// Success, with blocks.
    pub(crate) fn blocks(content: Json, structured: Json) -> Self {
        Self::Success { content, structured, shape: Shape::Plain }
    }

    /// Failure.
    pub(crate) fn failure(text: impl Into<String>) -> Self {
        Self::Failure { text: text.into() }
    }

    /// The call was invalid, described as an error.
    pub(crate) fn bad_call(text: impl Into<String>) -> Self {
        let text = text.into();
        Self::BadCall { structured: format!("Error: {text}"), text }
    }

    /// The `tool_result` block.
    pub(crate) fn block(&self, id: &str) -> Json {
        let failed = |text: &str| {
            object! { "type" => "tool_result", "content" => text, "is_error" => true, "tool_use_id" => id }
        };
        match self {
            Self::Success { content, shape, .. } => match shape {
                Shape::Plain => {
                    object! { "tool_use_id" => id, "type" => "tool_result", "content" => content }
                }
                Shape::WithError => {
                    object! { "tool_use_id" => id, "type" => "tool_result", "content" => content, "is_error" => false }
                }
                Shape::IdLast => {
                    object! { "type" => "tool_result", "content" => content, "tool_use_id" => id }
                }
            },
            Self::Failure { text } => failed(text),
            Self::BadCall { text, .. } => failed(&format!("<tool_use_error>{text}</tool_use_error>")),
            Self::Stopped(_) => failed(super::REJECTED),
        }
    }

    /// The structured form.
    pub(crate) fn structured(&self) -> Json {
        match self {
            Self::Success { structured, .. } => structured.clone(),
            Self::Failure { text } => Json::String(format!("Error: {text}")),
            Self::BadCall { structured, .. } => Json::from(structured),
            Self::Stopped(_) => Json::from("User rejected tool use"),
        }
    }
}
