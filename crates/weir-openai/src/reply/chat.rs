//! Chat completions.

use serde_json::{Value, json};

use super::{Answer, End, Usage, event};
use crate::request::{Request, ToolCall};

/// A chat completion in progress.
#[derive(Debug)]
pub struct ChatReply {
    id: String,
    model: String,
    created: i64,
    include_usage: bool,
    /// Whether a required call was made.
    has_call: bool,
}

fn usage_json(usage: Usage) -> Value {
    json!({
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.total(),
        "prompt_tokens_details": {"cached_tokens": usage.cached_tokens},
    })
}

fn call_json(call: &ToolCall) -> Value {
    json!({"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}})
}

fn reason(end: End, has_call: bool) -> &'static str {
    match end {
        End::Stop if has_call => "tool_calls",
        End::Stop => "stop",
        End::Length => "length",
        End::Filter => "content_filter",
    }
}

impl ChatReply {
    pub(super) fn new(request: &Request, id: &str, created: i64) -> Self {
        Self {
            id: format!("chatcmpl-{id}"),
            model: request.model.clone(),
            created,
            include_usage: request.include_usage,
            has_call: false,
        }
    }

    pub(super) fn id(&self) -> &str {
        &self.id
    }

    fn chunk(&self, choices: &Value, usage: Option<Usage>) -> String {
        let mut chunk = json!({
            "id": self.id,
            "object": "chat.completion.chunk",
            "created": self.created,
            "model": self.model,
            "choices": choices,
        });
        // If usage is requested, each chunk has the field, and the last one has the numbers.
        if self.include_usage
            && let Some(chunk) = chunk.as_object_mut()
        {
            chunk.insert("usage".to_owned(), usage.map_or(Value::Null, usage_json));
        }
        event(None, &chunk)
    }

    fn delta(&self, delta: &Value, finish: Option<&str>) -> String {
        self.chunk(&json!([{"index": 0, "delta": delta, "logprobs": null, "finish_reason": finish}]), None)
    }

    pub(super) fn start(&self) -> String {
        self.delta(&json!({"role": "assistant", "content": ""}), None)
    }

    pub(super) fn text(&self, text: &str) -> String {
        self.delta(&json!({"content": text}), None)
    }

    pub(super) fn reasoning(&self, text: &str) -> String {
        self.delta(&json!({"reasoning_content": text}), None)
    }

    pub(super) fn refusal(&self, text: &str) -> String {
        self.delta(&json!({"refusal": text}), None)
    }

    pub(super) fn call(&mut self, call: &ToolCall) -> String {
        self.has_call = true;
        let mut value = call_json(call);
        if let Some(value) = value.as_object_mut() {
            value.insert("index".to_owned(), 0.into());
        }
        self.delta(&json!({"tool_calls": [value]}), None)
    }

    pub(super) fn finish(&self, usage: Usage, end: End) -> String {
        let mut events = self.delta(&json!({}), Some(reason(end, self.has_call)));
        if self.include_usage {
            events.push_str(&self.chunk(&json!([]), Some(usage)));
        }
        events.push_str("data: [DONE]\n\n");
        events
    }

    pub(super) fn whole(&self, answer: &Answer, usage: Usage) -> Value {
        let has_text = answer.call.is_none() && answer.refusal.is_none();
        let content = has_text.then_some(answer.text.as_str());
        let mut message = json!({"role": "assistant", "content": content, "refusal": answer.refusal});
        if let (Some(call), Some(message)) = (&answer.call, message.as_object_mut()) {
            message.insert("tool_calls".to_owned(), json!([call_json(call)]));
        }
        if let (Some(reasoning), Some(message)) = (&answer.reasoning, message.as_object_mut()) {
            message.insert("reasoning_content".to_owned(), reasoning.as_str().into());
        }
        json!({
            "id": self.id,
            "object": "chat.completion",
            "created": self.created,
            "model": self.model,
            "choices": [{
                "index": 0,
                "message": message,
                "logprobs": null,
                "finish_reason": reason(answer.end, answer.call.is_some()),
            }],
            "usage": usage_json(usage),
        })
    }
}
