//! Tools of a client: what is offered, and what is given back.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::error::HostError;
use crate::message::PICTURES;

/// Most tools of one session.
const MAX_TOOLS: usize = 64;
/// Longest description of a tool, in bytes.
const MAX_DESCRIPTION: usize = 8 * 1024;
/// Largest schema of a tool, in bytes of JSON.
const MAX_SCHEMA: usize = 64 * 1024;
/// Longest time that a client may take to answer a call.
const MAX_TIMEOUT: u32 = 24 * 60 * 60;
/// How long a client may take where it does not say.
const TIMEOUT: u32 = 60;

/// The tools that a client offers to the model of a session.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(default, deny_unknown_fields)]
pub struct ClientTools {
    /// The tools; the model knows each as `mcp__client__NAME`.
    #[cfg_attr(feature = "schema", schema(max_items = 64))]
    pub tools: Vec<ClientTool>,
    /// How many seconds the client may take to answer a call before the model is told that it did not; 60 if nothing is
    /// said.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(minimum = 1, maximum = 86400))]
    pub timeout_s: Option<u32>,
}

/// A tool that a client offers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ClientTool {
    /// Its name: 1 to 64 letters, digits, `_` and `-`.
    #[cfg_attr(feature = "schema", schema(pattern = "^[A-Za-z0-9_-]{1,64}$"))]
    pub name: String,
    /// What it does, for the model.
    pub description: String,
    /// The JSON Schema of its arguments, of type object.
    #[cfg_attr(feature = "schema", schema(value_type = Object))]
    pub input_schema: Map<String, Value>,
}

/// What a client gives back for a call of its tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ToolAnswer {
    /// What the model gets to see.
    pub content: Vec<ToolContent>,
    /// Whether the tool failed.
    #[serde(default)]
    pub is_error: bool,
}

/// A part of what a tool gives back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub enum ToolContent {
    /// Text.
    Text {
        /// The text.
        text: String,
    },
    /// A picture.
    Image {
        /// `image/png` and the like.
        media_type: String,
        /// The bytes, in base64.
        data: String,
    },
}

impl ToolAnswer {
    /// Refuses what the model's API would not take.
    pub(crate) fn check(&self) -> Result<(), HostError> {
        let is_good = |part: &ToolContent| match part {
            ToolContent::Text { .. } => true,
            ToolContent::Image { media_type, data } => {
                PICTURES.contains(&media_type.as_str()) && !data.is_empty()
            }
        };
        if self.content.is_empty() || !self.content.iter().all(is_good) {
            let reason =
                "content must have a part, and pictures must be PNG, JPEG, GIF or WebP and not empty";
            return Err(HostError::BadAnswer(reason.to_owned()));
        }
        Ok(())
    }
}

impl ClientTools {
    /// Whether nothing is offered.
    pub fn is_empty(&self) -> bool {
        self.tools.is_empty()
    }

    /// How long the client may take to answer a call.
    pub(crate) fn timeout(&self) -> Duration {
        Duration::from_secs(self.timeout_s.unwrap_or(TIMEOUT).into())
    }

    /// Refuses what a model could not be offered.
    pub(crate) fn check(&self) -> Result<(), HostError> {
        if self.tools.len() > MAX_TOOLS {
            return Err(HostError::Invalid(format!("a session may have at most {MAX_TOOLS} client tools")));
        }
        if self.timeout_s.is_some_and(|seconds| !(1..=MAX_TIMEOUT).contains(&seconds)) {
            return Err(HostError::Invalid(format!("timeout_s must be 1 to {MAX_TIMEOUT}")));
        }
        for (at, tool) in self.tools.iter().enumerate() {
            tool.check()?;
            if self.tools.iter().take(at).any(|other| other.name == tool.name) {
                return Err(HostError::Invalid(format!("there are two client tools named {}", tool.name)));
            }
        }
        Ok(())
    }
}

impl ClientTool {
    fn check(&self) -> Result<(), HostError> {
        let is_word = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        if !(1..=64).contains(&self.name.len()) || !self.name.bytes().all(is_word) {
            let reason = "the name of a client tool must have 1 to 64 letters, digits, '_' and '-'";
            return Err(HostError::Invalid(reason.to_owned()));
        }
        let invalid =
            |reason: String| Err(HostError::Invalid(format!("client tool {}: {reason}", self.name)));
        if self.description.trim().is_empty() || self.description.len() > MAX_DESCRIPTION {
            return invalid(format!("the description must have 1 to {MAX_DESCRIPTION} bytes"));
        }
        if self.input_schema.get("type").and_then(Value::as_str) != Some("object") {
            return invalid("input_schema must be a JSON Schema of type object".to_owned());
        }
        let size = serde_json::to_vec(&self.input_schema).map_or(usize::MAX, |schema| schema.len());
        if size > MAX_SCHEMA {
            return invalid(format!("input_schema may have at most {MAX_SCHEMA} bytes"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn tool(name: &str, schema: Value) -> ClientTool {
        let Value::Object(input_schema) = schema else { panic!() };
        ClientTool { name: name.to_owned(), description: "does it".to_owned(), input_schema }
    }

    #[test]
    fn what_a_model_could_not_be_offered_is_refused() {
        let object = json!({"type": "object"});
        let good = ClientTools { tools: vec![tool("add_2-x", object.clone())], timeout_s: Some(5) };
        good.check().unwrap();
        for bad in ["", "a b", "a.b", "a/b", "ä", &"x".repeat(65)] {
            let tools = ClientTools { tools: vec![tool(bad, object.clone())], timeout_s: None };
            assert!(tools.check().is_err(), "{bad}");
        }
        let twice = vec![tool("a", object.clone()), tool("a", object.clone())];
        assert!(ClientTools { tools: twice, timeout_s: None }.check().is_err());
        assert!(ClientTools { tools: vec![tool("a", json!({}))], timeout_s: None }.check().is_err());
        assert!(ClientTools { tools: Vec::new(), timeout_s: Some(0) }.check().is_err());
        let many = (0..65).map(|number| tool(&format!("t{number}"), object.clone())).collect();
        assert!(ClientTools { tools: many, timeout_s: None }.check().is_err());
    }
}
