//! Chat completions.

use serde_json::{Value, json};

use super::{Answer, End, Usage, event};
use crate::body::{ChatAnswer, ChatCall, ChatChoice, ChatCompletion, ChatFunction, ChatUsage, InputDetails};
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

fn used(usage: Usage) -> ChatUsage {
    ChatUsage {
        prompt_tokens: usage.input_tokens,
        completion_tokens: usage.output_tokens,
        total_tokens: usage.total(),
        prompt_tokens_details: InputDetails { cached_tokens: usage.cached_tokens },
    }
}

fn called(call: &ToolCall) -> ChatCall {
    let ToolCall { id, name, arguments } = call.clone();
    ChatCall { id, r#type: "function", function: ChatFunction { name, arguments } }
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
            chunk.insert("usage".to_owned(), json!(usage.map(used)));
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
        let mut value = json!(called(call));
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

    pub(super) fn whole(&self, answer: &Answer, usage: Usage) -> ChatCompletion {
        let has_text = answer.call.is_none() && answer.refusal.is_none();
        let message = ChatAnswer {
            role: "assistant",
            content: has_text.then(|| answer.text.clone()),
            refusal: answer.refusal.clone(),
            tool_calls: answer.call.as_ref().map(|call| [called(call)]),
            reasoning_content: answer.reasoning.clone(),
        };
        let finish_reason = reason(answer.end, answer.call.is_some());
        ChatCompletion {
            id: self.id.clone(),
            object: "chat.completion",
            created: self.created,
            model: self.model.clone(),
            choices: vec![ChatChoice { index: 0, message, logprobs: None, finish_reason }],
            usage: used(usage),
        }
    }
}
