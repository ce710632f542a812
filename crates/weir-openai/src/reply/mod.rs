//! Replies: in one piece, or as a stream of events.

mod chat;
mod responses;

use serde_json::Value;

use crate::request::{Endpoint, Request, Role, ToolCall, Turn};

/// What was used for a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// Tokens that went in, cached ones included.
    pub input_tokens: u64,
    /// Those of them that came from a cache.
    pub cached_tokens: u64,
    /// Tokens that came out.
    pub output_tokens: u64,
}

impl Usage {
    fn total(self) -> u64 {
        self.input_tokens + self.output_tokens
    }
}

/// An answer in one piece.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Answer {
    /// What it says.
    pub text: String,
    /// What the agent did meanwhile, where that is told.
    pub reasoning: Option<String>,
    /// What is said in place of an answer that was refused.
    pub refusal: Option<String>,
    /// The call that was demanded, in place of a text.
    pub call: Option<ToolCall>,
    /// Why it ends.
    pub end: End,
    /// Whether the CLI's result was empty, so that the text is what was said in the turn.
    pub degraded: bool,
}

impl Answer {
    /// The answer as a client sends it back with the next request.
    pub fn turn(&self) -> Turn {
        match &self.call {
            Some(call) => {
                Turn { parts: Vec::new(), calls: vec![call.clone()], ..Turn::text(Role::Assistant, "") }
            }
            None => Turn::text(Role::Assistant, self.refusal.as_ref().unwrap_or(&self.text)),
        }
    }
}

/// Why an answer ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum End {
    /// It is complete.
    #[default]
    Stop,
    /// It was cut off at a limit.
    Length,
    /// It was refused.
    Filter,
}

/// Writes a reply: call the steps in their order, and send what each gives.
#[derive(Debug)]
pub enum Reply {
    /// For `POST /v1/chat/completions`.
    Chat(chat::ChatReply),
    /// For `POST /v1/responses`.
    Responses(responses::ResponsesReply),
}

impl Reply {
    /// A reply to a request. `id` is any text of letters and digits that no other reply has; `created` is the time in
    /// seconds since 1970.
    pub fn new(request: &Request, id: &str, created: i64) -> Self {
        match request.endpoint {
            Endpoint::Chat => Self::Chat(chat::ChatReply::new(request, id, created)),
            Endpoint::Responses => Self::Responses(responses::ResponsesReply::new(request, id, created)),
        }
    }

    /// The id that the client gets to see.
    pub fn id(&self) -> &str {
        match self {
            Self::Chat(reply) => reply.id(),
            Self::Responses(reply) => reply.id(),
        }
    }

    /// The stream begins.
    pub fn start(&mut self) -> String {
        match self {
            Self::Chat(reply) => reply.start(),
            Self::Responses(reply) => reply.start(),
        }
    }

    /// More of the answer.
    pub fn text(&mut self, text: &str) -> String {
        match self {
            Self::Chat(reply) => reply.text(text),
            Self::Responses(reply) => reply.text(text),
        }
    }

    /// What the agent does meanwhile, as reasoning.
    pub fn reasoning(&mut self, text: &str) -> String {
        match self {
            Self::Chat(reply) => reply.reasoning(text),
            Self::Responses(reply) => reply.reasoning(text),
        }
    }

    /// What is said in place of an answer that was refused.
    pub fn refusal(&mut self, text: &str) -> String {
        match self {
            Self::Chat(reply) => reply.refusal(text),
            Self::Responses(reply) => reply.refusal(text),
        }
    }

    /// The call that was demanded. Only chat completions have one.
    pub fn call(&mut self, call: &ToolCall) -> String {
        match self {
            Self::Chat(reply) => reply.call(call),
            Self::Responses(reply) => reply.text(&call.arguments),
        }
    }

    /// The stream ends with an answer.
    pub fn finish(&mut self, usage: Usage, end: End) -> String {
        match self {
            Self::Chat(reply) => reply.finish(usage, end),
            Self::Responses(reply) => reply.finish(usage, end),
        }
    }

    /// The stream ends with an error.
    pub fn fail(&mut self, error: &crate::OpenAiError) -> String {
        match self {
            Self::Chat(_) => event(None, &error.body()),
            Self::Responses(reply) => reply.fail(error),
        }
    }

    /// The whole reply in one piece.
    pub fn whole(&self, answer: &Answer, usage: Usage) -> Value {
        match self {
            Self::Chat(reply) => reply.whole(answer, usage),
            Self::Responses(reply) => reply.whole(answer, usage),
        }
    }
}

/// A server-sent event.
fn event(name: Option<&str>, data: &Value) -> String {
    match name {
        Some(name) => format!("event: {name}\ndata: {data}\n\n"),
        None => format!("data: {data}\n\n"),
    }
}
