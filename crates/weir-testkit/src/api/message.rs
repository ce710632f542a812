//! Converts a step into the message that the API would send. Pure.

use crate::json::Json;
use crate::object;
use crate::script::Step;

/// A complete message of the model.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ModelMessage {
    pub(super) id: String,
    pub(super) model: Json,
    pub(super) blocks: Vec<Json>,
    pub(super) stop_reason: String,
    pub(super) usage: Json,
}

impl ModelMessage {
    /// The message of a step. `number` counts messages, and `next_tool` returns the numbers of the calls.
    pub(super) fn new(step: &Step, model: Json, number: u64, mut next_tool: impl FnMut() -> u64) -> Self {
        let mut blocks = Vec::new();
        if let Some(thinking) = &step.thinking {
            blocks.push(object! {
                "type" => "thinking", "thinking" => thinking, "signature" => &step.signature,
            });
        }
        if let Some(text) = &step.text {
            blocks.push(object! { "type" => "text", "text" => text });
        }
        for call in &step.tools {
            blocks.push(object! {
                "type" => "tool_use",
                "id" => format!("toolu_{:06}", next_tool()),
                "name" => &call.tool,
                "input" => &call.input,
            });
        }
        Self {
            id: format!("msg_{number:06}"),
            model,
            blocks,
            stop_reason: step.stop_reason().to_owned(),
            usage: step.full_usage(),
        }
    }

    /// The message as one JSON object, for a request without streaming.
    pub(super) fn whole(&self) -> Json {
        self.envelope(Json::Array(self.blocks.clone()), Json::from(&self.stop_reason), self.usage.clone())
    }

    /// The message at the start of a stream: empty, with hardly any output counted.
    pub(super) fn start(&self) -> Json {
        self.envelope(Json::Array(Vec::new()), Json::Null, self.usage.clone().with("output_tokens", 1))
    }

    fn envelope(&self, content: Json, stop_reason: Json, usage: Json) -> Json {
        object! {
            "id" => &self.id,
            "type" => "message",
            "role" => "assistant",
            "model" => &self.model,
            "content" => content,
            "stop_reason" => stop_reason,
            "stop_sequence" => Json::Null,
            "usage" => usage,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array;

    #[test]
    fn blocks_come_in_the_order_of_the_api() {
        let step = Step::from_json(&object! {
            "tool" => "Bash", "input" => object! { "command" => "ls" }, "text" => "t", "thinking" => "h",
            "tools" => array![object! { "tool" => "Read" }], "usage" => object! { "input_tokens" => 7 },
        });
        let mut tools = 0;
        let message = ModelMessage::new(&step, Json::from("m"), 3, || {
            tools += 1;
            tools
        });
        let types: Vec<_> = message.blocks.iter().filter_map(|block| block.str_of("type")).collect();
        assert_eq!(types, ["thinking", "text", "tool_use", "tool_use"]);
        assert_eq!(message.blocks[3].str_of("id"), Some("toolu_000002"));
        let whole = message.whole();
        assert_eq!(whole.str_of("id"), Some("msg_000003"));
        assert_eq!(whole.str_of("stop_reason"), Some("tool_use"));
        assert_eq!(whole.at(&["usage", "input_tokens"]), Some(&Json::from(7)));
        assert_eq!(message.start().at(&["usage", "output_tokens"]), Some(&Json::from(1)));
    }
}
