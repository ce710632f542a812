//! Responses, in their basic form: one message with one text.

use serde_json::{Map, Value, json};

use super::{Usage, event};
use crate::OpenAiError;
use crate::request::{Request, Role};

/// A response while it is written.
#[derive(Debug)]
pub struct ResponsesReply {
    id: String,
    item: String,
    model: String,
    created: i64,
    previous: Option<String>,
    instructions: Option<String>,
    metadata: Map<String, Value>,
    text: String,
    sequence: u64,
}

impl ResponsesReply {
    pub(super) fn new(request: &Request, id: &str, created: i64) -> Self {
        Self {
            id: format!("resp_{id}"),
            item: format!("msg_{id}"),
            model: request.model.clone(),
            created,
            previous: request.previous.clone(),
            instructions: request
                .turns
                .first()
                .filter(|turn| turn.role == Role::System)
                .map(|turn| turn.text.clone()),
            metadata: request.metadata.clone(),
            text: String::new(),
            sequence: 0,
        }
    }

    pub(super) fn id(&self) -> &str {
        &self.id
    }

    fn event(&mut self, name: &str, mut data: Value) -> String {
        if let Some(data) = data.as_object_mut() {
            data.insert("type".to_owned(), name.into());
            data.insert("sequence_number".to_owned(), self.sequence.into());
        }
        self.sequence += 1;
        event(Some(name), &data)
    }

    fn response(&self, status: &str, output: &Value, usage: Option<Usage>, error: &Value) -> Value {
        json!({
            "id": self.id,
            "object": "response",
            "created_at": self.created,
            "status": status,
            "error": error,
            "incomplete_details": null,
            "instructions": self.instructions,
            "metadata": self.metadata,
            "model": self.model,
            "output": output,
            "parallel_tool_calls": false,
            "previous_response_id": self.previous,
            "temperature": null,
            "tool_choice": "auto",
            "tools": [],
            "top_p": null,
            "usage": usage.map(|usage| json!({
                "input_tokens": usage.input_tokens,
                "input_tokens_details": {"cached_tokens": usage.cached_tokens},
                "output_tokens": usage.output_tokens,
                "output_tokens_details": {"reasoning_tokens": 0},
                "total_tokens": usage.total(),
            })),
        })
    }

    fn part(text: &str) -> Value {
        json!({"type": "output_text", "text": text, "annotations": []})
    }

    fn message(&self, status: &str, content: &Value) -> Value {
        json!({"id": self.item, "type": "message", "status": status, "role": "assistant", "content": content})
    }

    pub(super) fn start(&mut self) -> String {
        let response = self.response("in_progress", &json!([]), None, &Value::Null);
        let item = self.message("in_progress", &json!([]));
        let place =
            json!({"item_id": self.item, "output_index": 0, "content_index": 0, "part": Self::part("")});
        [
            self.event("response.created", json!({"response": response})),
            self.event("response.in_progress", json!({"response": response})),
            self.event("response.output_item.added", json!({"output_index": 0, "item": item})),
            self.event("response.content_part.added", place),
        ]
        .concat()
    }

    pub(super) fn text(&mut self, text: &str) -> String {
        self.text.push_str(text);
        let data = json!({"item_id": self.item, "output_index": 0, "content_index": 0, "delta": text, "logprobs": []});
        self.event("response.output_text.delta", data)
    }

    pub(super) fn finish(&mut self, usage: Usage) -> String {
        let text = std::mem::take(&mut self.text);
        let part = Self::part(&text);
        let item = self.message("completed", &json!([part]));
        let response = self.response("completed", &json!([item]), Some(usage), &Value::Null);
        let place = json!({"item_id": self.item, "output_index": 0, "content_index": 0});
        let with = |name: &str, value: &Value| {
            let mut data = place.clone();
            if let Some(data) = data.as_object_mut() {
                data.insert(name.to_owned(), value.clone());
            }
            data
        };
        let mut text_done = with("text", &Value::from(text.as_str()));
        if let Some(data) = text_done.as_object_mut() {
            data.insert("logprobs".to_owned(), json!([]));
        }
        [
            self.event("response.output_text.done", text_done),
            self.event("response.content_part.done", with("part", &part)),
            self.event("response.output_item.done", json!({"output_index": 0, "item": item})),
            self.event("response.completed", json!({"response": response})),
        ]
        .concat()
    }

    pub(super) fn fail(&mut self, error: &OpenAiError) -> String {
        let code = error.code.as_deref().unwrap_or(error.kind);
        let error = json!({"code": code, "message": error.message});
        let response = self.response("failed", &json!([]), None, &error);
        self.event("response.failed", json!({"response": response}))
    }

    pub(super) fn whole(&self, text: &str, usage: Usage) -> Value {
        let item = self.message("completed", &json!([Self::part(text)]));
        self.response("completed", &json!([item]), Some(usage), &Value::Null)
    }
}

#[cfg(test)]
mod tests {
    use crate::reply::{Answer, Reply, Usage};
    use crate::request::{Endpoint, Leniency, read};

    fn data(events: &str) -> Vec<serde_json::Value> {
        let lines = events.lines().filter_map(|line| line.strip_prefix("data: "));
        lines.filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    const USAGE: Usage = Usage { input_tokens: 3, cached_tokens: 1, output_tokens: 2 };

    #[test]
    fn a_response_is_numbered_and_whole_in_the_end() {
        let request =
            read(Endpoint::Responses, br#"{"model":"m","input":"x"}"#, &Leniency::default()).unwrap();
        let mut reply = Reply::new(&request, "1", 5);
        let events = [reply.start(), reply.text("Hel"), reply.text("lo"), reply.finish(USAGE)].concat();
        let events = data(&events);
        for (number, event) in events.iter().enumerate() {
            assert_eq!(event["sequence_number"], number);
        }
        let last = &events[events.len() - 1];
        assert_eq!(last["type"], "response.completed");
        assert_eq!(last["response"]["output"][0]["content"][0]["text"], "Hello");
        assert_eq!(last["response"]["usage"]["total_tokens"], 5);
    }

    #[test]
    fn a_chat_ends_with_usage_and_done() {
        let body = br#"{"model":"m","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"x"}]}"#;
        let request = read(Endpoint::Chat, body, &Leniency::default()).unwrap();
        let mut reply = Reply::new(&request, "1", 5);
        let events = [reply.start(), reply.text("Hi"), reply.finish(USAGE)].concat();
        assert!(events.ends_with("data: [DONE]\n\n"));
        let events = data(&events);
        assert_eq!(events[0]["choices"][0]["delta"]["role"], "assistant");
        assert_eq!(events[1]["choices"][0]["delta"]["content"], "Hi");
        assert_eq!(events[2]["choices"][0]["finish_reason"], "stop");
        assert_eq!(events[2]["usage"], serde_json::Value::Null);
        assert_eq!(events[3]["usage"]["prompt_tokens"], 3);
        let told = Answer { text: "Hi".into(), reasoning: Some("Bash: ls\n".into()) };
        let message = reply.whole(&told, USAGE)["choices"][0]["message"].clone();
        assert_eq!(
            (&message["content"], &message["reasoning_content"]),
            (&"Hi".into(), &"Bash: ls\n".into())
        );
        let hidden = Answer { text: "Hi".into(), reasoning: None };
        assert_eq!(reply.whole(&hidden, USAGE)["choices"][0]["message"].get("reasoning_content"), None);
    }
}
