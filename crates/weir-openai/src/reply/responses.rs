//! Responses, in their basic form: text messages, and between them what the agent did, as reasoning.
//!
//! A response is a list of items. In a stream, one item is open at a time; content of another kind closes it.

use serde_json::{Map, Value, json};

use super::{Answer, End, Usage, event};
use crate::OpenAiError;
use crate::body::{
    IncompleteDetails, InputDetails, OutputDetails, ResponseFailure, ResponseItem, ResponseObject,
    ResponsePart, ResponseUsage, UsedTextOptions,
};
use crate::request::{OutputFormat, Request, Role, Turn};

/// A response in progress.
#[derive(Debug)]
pub struct ResponsesReply {
    id: String,
    model: String,
    created: i64,
    previous: Option<String>,
    instructions: Option<String>,
    metadata: Map<String, Value>,
    format: Value,
    /// Complete items.
    items: Vec<ResponseItem>,
    open: Option<Item>,
    sequence: u64,
}

/// An item in progress.
#[derive(Debug)]
struct Item {
    kind: Kind,
    id: String,
    index: usize,
    text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Message,
    /// A message that explains a refusal.
    Refusal,
    Reasoning,
}

impl Item {
    fn new(kind: Kind, response: &str, index: usize) -> Self {
        let prefix = match kind {
            Kind::Message | Kind::Refusal => "msg",
            Kind::Reasoning => "rs",
        };
        let id = format!("{prefix}_{}_{index}", response.trim_start_matches("resp_"));
        Self { kind, id, index, text: String::new() }
    }

    /// The item's only part.
    fn part(&self) -> ResponsePart {
        let text = self.text.clone();
        match self.kind {
            Kind::Message => ResponsePart::OutputText { text, annotations: [] },
            Kind::Refusal => ResponsePart::Refusal { refusal: text },
            Kind::Reasoning => ResponsePart::SummaryText { text },
        }
    }

    /// The item, without its part if it is not complete.
    fn written(&self, is_whole: bool) -> ResponseItem {
        let parts = if is_whole { vec![self.part()] } else { Vec::new() };
        let status = if is_whole { "completed" } else { "in_progress" };
        let id = self.id.clone();
        match self.kind {
            Kind::Message | Kind::Refusal => {
                ResponseItem::Message { id, status, role: "assistant", content: parts }
            }
            Kind::Reasoning => ResponseItem::Reasoning { id, status, summary: parts },
        }
    }

    /// Data of an event about the item's part, with one additional field.
    fn about(&self, name: &str, value: &Value) -> Value {
        let place = match self.kind {
            Kind::Message | Kind::Refusal => "content_index",
            Kind::Reasoning => "summary_index",
        };
        let mut about = json!({"item_id": self.id, "output_index": self.index, place: 0, name: value});
        let has_logprobs = self.kind == Kind::Message && name != "part";
        if let Some(about) = about.as_object_mut().filter(|_| has_logprobs) {
            about.insert("logprobs".to_owned(), json!([]));
        }
        about
    }

    /// The name of an event about the item's part.
    fn event(&self, what: &str) -> String {
        match (self.kind, what) {
            (Kind::Message | Kind::Refusal, "added" | "done") => format!("response.content_part.{what}"),
            (Kind::Message, _) => format!("response.output_{what}"),
            (Kind::Refusal, _) => format!("response.{}", what.replace("text", "refusal")),
            (Kind::Reasoning, "added" | "done") => format!("response.reasoning_summary_part.{what}"),
            (Kind::Reasoning, _) => format!("response.reasoning_summary_{what}"),
        }
    }
}

impl ResponsesReply {
    pub(super) fn new(request: &Request, id: &str, created: i64) -> Self {
        Self {
            id: format!("resp_{id}"),
            model: request.model.clone(),
            created,
            previous: request.previous.clone(),
            instructions: request.turns.first().filter(|turn| turn.role == Role::System).map(Turn::words),
            metadata: request.metadata.clone(),
            format: match &request.format {
                OutputFormat::Text | OutputFormat::Call { .. } => json!({"type": "text"}),
                OutputFormat::Json { schema } => {
                    json!({"type": "json_schema", "name": "answer", "schema": schema, "strict": true})
                }
            },
            items: Vec::new(),
            open: None,
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

    fn response(
        &self,
        end: Option<End>,
        output: Vec<ResponseItem>,
        usage: Option<Usage>,
        error: Option<ResponseFailure>,
    ) -> ResponseObject {
        let (status, incomplete) = match end {
            None if error.is_none() => ("in_progress", None),
            None => ("failed", None),
            Some(End::Stop) => ("completed", None),
            Some(End::Length) => ("incomplete", Some("max_output_tokens")),
            Some(End::Filter) => ("incomplete", Some("content_filter")),
        };
        ResponseObject {
            id: self.id.clone(),
            object: "response",
            created_at: self.created,
            status,
            error,
            incomplete_details: incomplete.map(|reason| IncompleteDetails { reason }),
            instructions: self.instructions.clone(),
            metadata: self.metadata.clone(),
            model: self.model.clone(),
            output,
            parallel_tool_calls: false,
            previous_response_id: self.previous.clone(),
            text: UsedTextOptions { format: self.format.clone() },
            temperature: None,
            tool_choice: "auto",
            tools: [],
            top_p: None,
            usage: usage.map(|usage| ResponseUsage {
                input_tokens: usage.input_tokens,
                input_tokens_details: InputDetails { cached_tokens: usage.cached_tokens },
                output_tokens: usage.output_tokens,
                output_tokens_details: OutputDetails { reasoning_tokens: 0 },
                total_tokens: usage.total(),
            }),
        }
    }

    pub(super) fn start(&mut self) -> String {
        let response = self.response(None, Vec::new(), None, None);
        [
            self.event("response.created", json!({"response": response})),
            self.event("response.in_progress", json!({"response": response})),
        ]
        .concat()
    }

    pub(super) fn text(&mut self, text: &str) -> String {
        self.write(Kind::Message, text)
    }

    pub(super) fn reasoning(&mut self, text: &str) -> String {
        self.write(Kind::Reasoning, text)
    }

    /// Adds to an item of this kind, starting one if needed.
    fn write(&mut self, kind: Kind, text: &str) -> String {
        let (mut events, mut item) = match self.open.take() {
            Some(item) if item.kind == kind => (String::new(), item),
            other => {
                self.open = other;
                let closed = self.close();
                let item = Item::new(kind, &self.id, self.items.len());
                (closed + &self.begin(&item), item)
            }
        };
        item.text.push_str(text);
        events.push_str(&self.event(&item.event("text.delta"), item.about("delta", &text.into())));
        self.open = Some(item);
        events
    }

    fn begin(&mut self, item: &Item) -> String {
        let added = json!({"output_index": item.index, "item": item.written(false)});
        [
            self.event("response.output_item.added", added),
            self.event(&item.event("added"), item.about("part", &json!(item.part()))),
        ]
        .concat()
    }

    /// Closes the open item.
    fn close(&mut self) -> String {
        let Some(item) = self.open.take() else { return String::new() };
        let whole = item.written(true);
        let done = json!({"output_index": item.index, "item": whole});
        let name = if item.kind == Kind::Refusal { "refusal" } else { "text" };
        let events = [
            self.event(&item.event("text.done"), item.about(name, &item.text.as_str().into())),
            self.event(&item.event("done"), item.about("part", &json!(item.part()))),
            self.event("response.output_item.done", done),
        ];
        self.items.push(whole);
        events.concat()
    }

    pub(super) fn refusal(&mut self, text: &str) -> String {
        self.write(Kind::Refusal, text)
    }

    pub(super) fn finish(&mut self, usage: Usage, end: End) -> String {
        // Each response has a message, even an empty one.
        let is_message = self.open.as_ref().is_some_and(|item| item.kind != Kind::Reasoning);
        let last = if is_message { String::new() } else { self.write(Kind::Message, "") };
        let closed = self.close();
        let items = std::mem::take(&mut self.items);
        let response = self.response(Some(end), items, Some(usage), None);
        let name = if end == End::Stop { "response.completed" } else { "response.incomplete" };
        last + &closed + &self.event(name, json!({"response": response}))
    }

    pub(super) fn fail(&mut self, error: &OpenAiError) -> String {
        let code = error.code.clone().unwrap_or_else(|| error.kind.to_owned());
        let error = ResponseFailure { code, message: error.message.clone() };
        let closed = self.close();
        let items = std::mem::take(&mut self.items);
        let response = self.response(None, items, None, Some(error));
        closed + &self.event("response.failed", json!({"response": response}))
    }

    pub(super) fn whole(&self, answer: &Answer, usage: Usage) -> ResponseObject {
        let told = answer.reasoning.iter().map(|text| (Kind::Reasoning, text));
        let said = match &answer.refusal {
            Some(refusal) => (Kind::Refusal, refusal),
            None => (Kind::Message, &answer.text),
        };
        let item = |(index, (kind, text)): (usize, (Kind, &String))| {
            Item { text: text.clone(), ..Item::new(kind, &self.id, index) }.written(true)
        };
        let items = told.chain([said]).enumerate().map(item).collect();
        self.response(Some(answer.end), items, Some(usage), None)
    }
}

#[cfg(test)]
mod tests {
    use crate::reply::{Answer, End, Reply, Usage};
    use crate::request::{Endpoint, Leniency, ToolCall, read};

    fn data(events: &str) -> Vec<serde_json::Value> {
        let lines = events.lines().filter_map(|line| line.strip_prefix("data: "));
        lines.filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    const USAGE: Usage = Usage { input_tokens: 3, cached_tokens: 1, output_tokens: 2 };

    fn whole(reply: &Reply, answer: &Answer) -> serde_json::Value {
        serde_json::to_value(reply.whole(answer, USAGE)).unwrap()
    }

    #[test]
    fn a_response_is_numbered_and_complete_at_the_end() {
        let request =
            read(Endpoint::Responses, br#"{"model":"m","input":"x"}"#, &Leniency::default()).unwrap();
        let mut reply = Reply::new(&request, "1", 5);
        let events =
            [reply.start(), reply.text("Hel"), reply.text("lo"), reply.finish(USAGE, End::Stop)].concat();
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
    fn tools_are_reasoning_between_the_texts() {
        let request =
            read(Endpoint::Responses, br#"{"model":"m","input":"x"}"#, &Leniency::default()).unwrap();
        let mut reply = Reply::new(&request, "1", 5);
        let events = [
            reply.start(),
            reply.reasoning("Read: a\n"),
            reply.reasoning("Bash: ls\n"),
            reply.text("So far."),
            reply.reasoning("Read: b\n"),
            reply.text("\n\nDone."),
            reply.finish(USAGE, End::Stop),
        ];
        let events = data(&events.concat());
        let item = |index: usize, kind: &str| {
            let of_it = events.iter().filter(|event| event["output_index"] == index);
            let found: Vec<&str> = of_it.filter_map(|event| event["type"].as_str()).collect();
            let (first, last) = (found.first().copied(), found.last().copied());
            assert_eq!(first, Some("response.output_item.added"));
            assert_eq!(last, Some("response.output_item.done"));
            let middle: Vec<&str> = found[1..found.len() - 1].to_vec();
            assert!(middle.iter().all(|name| name.contains(kind)), "{middle:?}");
        };
        for (index, kind) in ["reasoning_summary", "t_", "reasoning_summary", "t_"].iter().enumerate() {
            item(index, kind);
        }
        let deltas = events.iter().filter(|event| event["type"] == "response.reasoning_summary_text.delta");
        assert_eq!(deltas.count(), 3);
        let output = events[events.len() - 1]["response"]["output"].clone();
        assert_eq!(output[0]["summary"][0]["text"], "Read: a\nBash: ls\n");
        assert_eq!(
            (&output[1]["content"][0]["text"], &output[3]["content"][0]["text"]),
            (&"So far.".into(), &"\n\nDone.".into())
        );
        let told = Answer { text: "Hi".into(), reasoning: Some("Bash: ls\n".into()), ..Answer::default() };
        let output = whole(&reply, &told)["output"].clone();
        assert_eq!(
            (&output[0]["type"], &output[1]["content"][0]["text"]),
            (&"reasoning".into(), &"Hi".into())
        );
    }

    #[test]
    fn an_answer_without_text_still_has_a_message() {
        let request =
            read(Endpoint::Responses, br#"{"model":"m","input":"x"}"#, &Leniency::default()).unwrap();
        let mut reply = Reply::new(&request, "1", 5);
        let events =
            data(&[reply.start(), reply.reasoning("Read: a\n"), reply.finish(USAGE, End::Stop)].concat());
        let output = &events[events.len() - 1]["response"]["output"];
        assert_eq!((&output[1]["type"], &output[1]["content"][0]["text"]), (&"message".into(), &"".into()));
    }

    #[test]
    fn a_chat_ends_with_usage_and_done() {
        let body = br#"{"model":"m","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"x"}]}"#;
        let request = read(Endpoint::Chat, body, &Leniency::default()).unwrap();
        let mut reply = Reply::new(&request, "1", 5);
        let events = [reply.start(), reply.text("Hi"), reply.finish(USAGE, End::Stop)].concat();
        assert!(events.ends_with("data: [DONE]\n\n"));
        let events = data(&events);
        assert_eq!(events[0]["choices"][0]["delta"]["role"], "assistant");
        assert_eq!(events[1]["choices"][0]["delta"]["content"], "Hi");
        assert_eq!(events[2]["choices"][0]["finish_reason"], "stop");
        assert_eq!(events[2]["usage"], serde_json::Value::Null);
        assert_eq!(events[3]["usage"]["prompt_tokens"], 3);
        let told = Answer { text: "Hi".into(), reasoning: Some("Bash: ls\n".into()), ..Answer::default() };
        let message = whole(&reply, &told)["choices"][0]["message"].clone();
        assert_eq!(
            (&message["content"], &message["reasoning_content"]),
            (&"Hi".into(), &"Bash: ls\n".into())
        );
        let hidden = Answer { text: "Hi".into(), ..Answer::default() };
        assert_eq!(whole(&reply, &hidden)["choices"][0]["message"].get("reasoning_content"), None);
    }

    fn reply(endpoint: Endpoint) -> Reply {
        let body = match endpoint {
            Endpoint::Chat => r#"{"model":"m","messages":[{"role":"user","content":"x"}]}"#,
            Endpoint::Responses => r#"{"model":"m","input":"x"}"#,
        };
        Reply::new(&read(endpoint, body.as_bytes(), &Leniency::default()).unwrap(), "1", 5)
    }

    #[test]
    fn an_answer_that_was_cut_off_says_so() {
        let cut = Answer { text: "Hel".into(), end: End::Length, ..Answer::default() };
        let chat = whole(&reply(Endpoint::Chat), &cut);
        assert_eq!(chat["choices"][0]["finish_reason"], "length");
        let mut streamed = reply(Endpoint::Chat);
        let events = data(&[streamed.text("Hel"), streamed.finish(USAGE, End::Length)].concat());
        assert_eq!(events[1]["choices"][0]["finish_reason"], "length");
        let response = whole(&reply(Endpoint::Responses), &cut);
        assert_eq!(
            (&response["status"], &response["incomplete_details"]["reason"]),
            (&"incomplete".into(), &"max_output_tokens".into())
        );
        let mut streamed = reply(Endpoint::Responses);
        let events = data(&[streamed.text("Hel"), streamed.finish(USAGE, End::Length)].concat());
        assert_eq!(events[events.len() - 1]["type"], "response.incomplete");
    }

    #[test]
    fn a_refusal_is_not_text() {
        let refused = Answer { refusal: Some("No.".into()), end: End::Filter, ..Answer::default() };
        let choice = whole(&reply(Endpoint::Chat), &refused)["choices"][0].clone();
        assert_eq!(
            (&choice["message"]["refusal"], &choice["message"]["content"]),
            (&"No.".into(), &None::<String>.into())
        );
        assert_eq!(choice["finish_reason"], "content_filter");
        let output = whole(&reply(Endpoint::Responses), &refused)["output"].clone();
        assert_eq!(output[0]["content"][0], serde_json::json!({"type": "refusal", "refusal": "No."}));
        let mut streamed = reply(Endpoint::Responses);
        let events = data(&[streamed.refusal("No."), streamed.finish(USAGE, End::Filter)].concat());
        let names: Vec<&str> = events.iter().filter_map(|event| event["type"].as_str()).collect();
        assert!(
            names.contains(&"response.refusal.delta") && names.contains(&"response.refusal.done"),
            "{names:?}"
        );
        assert_eq!(
            events.iter().find(|event| event["type"] == "response.refusal.done").unwrap()["refusal"],
            "No."
        );
    }

    #[test]
    fn a_required_call_is_returned_as_a_call() {
        let call = ToolCall { id: "call_1".into(), name: "User".into(), arguments: "{}".into() };
        let answer = Answer { call: Some(call.clone()), ..Answer::default() };
        let choice = whole(&reply(Endpoint::Chat), &answer)["choices"][0].clone();
        assert_eq!(choice["message"]["tool_calls"][0]["function"]["name"], "User");
        assert_eq!(
            (&choice["message"]["content"], &choice["finish_reason"]),
            (&None::<String>.into(), &"tool_calls".into())
        );
        let mut streamed = reply(Endpoint::Chat);
        let events = data(&[streamed.call(&call), streamed.finish(USAGE, End::Stop)].concat());
        assert_eq!(events[0]["choices"][0]["delta"]["tool_calls"][0]["index"], 0);
        assert_eq!(events[1]["choices"][0]["finish_reason"], "tool_calls");
        assert_eq!(answer.turn().calls, [call]);
    }
}
