//! Replies: complete, or as a stream of events.

mod chat;
mod responses;

use serde::Serialize;

use crate::body::ReplyBody;
use crate::request::{Endpoint, Request, Role, ToolCall, Turn};

/// Token usage of a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// Input tokens, including cached ones.
    pub input_tokens: u64,
    /// Input tokens that came from a cache.
    pub cached_tokens: u64,
    /// Output tokens.
    pub output_tokens: u64,
}

impl Usage {
    fn total(self) -> u64 {
        self.input_tokens + self.output_tokens
    }
}

/// A complete answer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Answer {
    /// The text.
    pub text: String,
    /// What the agent did meanwhile, if reported.
    pub reasoning: Option<String>,
    /// Text of a refusal, instead of an answer.
    pub refusal: Option<String>,
    /// The required call, instead of text.
    pub call: Option<ToolCall>,
    /// Why it ended.
    pub end: End,
    /// Whether the CLI's result was empty, so that the text was taken from the turn.
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

/// Why an answer ended.
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

/// Writes a reply: call the methods in order, and send what each one returns.
#[derive(Debug)]
pub enum Reply {
    /// For `POST /v1/chat/completions`.
    Chat(chat::ChatReply),
    /// For `POST /v1/responses`.
    Responses(Box<responses::ResponsesReply>),
}

impl Reply {
    /// A reply to a request. `id` is any unique text of letters and digits; `created` is the time in seconds since
    /// 1970.
    pub fn new(request: &Request, id: &str, created: i64) -> Self {
        match request.endpoint {
            Endpoint::Chat => Self::Chat(chat::ChatReply::new(request, id, created)),
            Endpoint::Responses => {
                Self::Responses(Box::new(responses::ResponsesReply::new(request, id, created)))
            }
        }
    }

    /// The id that the client sees.
    pub fn id(&self) -> &str {
        match self {
            Self::Chat(reply) => reply.id(),
            Self::Responses(reply) => reply.id(),
        }
    }

    /// Starts the stream.
    pub fn start(&mut self) -> String {
        match self {
            Self::Chat(reply) => reply.start(),
            Self::Responses(reply) => reply.start(),
        }
    }

    /// Adds text to the answer.
    pub fn text(&mut self, text: &str) -> String {
        match self {
            Self::Chat(reply) => reply.text(text),
            Self::Responses(reply) => reply.text(text),
        }
    }

    /// Adds what the agent does meanwhile, as reasoning.
    pub fn reasoning(&mut self, text: &str) -> String {
        match self {
            Self::Chat(reply) => reply.reasoning(text),
            Self::Responses(reply) => reply.reasoning(text),
        }
    }

    /// Text of a refusal, instead of an answer.
    pub fn refusal(&mut self, text: &str) -> String {
        match self {
            Self::Chat(reply) => reply.refusal(text),
            Self::Responses(reply) => reply.refusal(text),
        }
    }

    /// Adds the required call. Only chat completions have one.
    pub fn call(&mut self, call: &ToolCall) -> String {
        match self {
            Self::Chat(reply) => reply.call(call),
            Self::Responses(reply) => reply.text(&call.arguments),
        }
    }

    /// Ends the stream with an answer.
    pub fn finish(&mut self, usage: Usage, end: End) -> String {
        match self {
            Self::Chat(reply) => reply.finish(usage, end),
            Self::Responses(reply) => reply.finish(usage, end),
        }
    }

    /// Ends the stream with an error.
    pub fn fail(&mut self, error: &crate::OpenAiError) -> String {
        match self {
            Self::Chat(_) => event(None, &error.body()),
            Self::Responses(reply) => reply.fail(error),
        }
    }

    /// The complete reply.
    pub fn whole(&self, answer: &Answer, usage: Usage) -> ReplyBody {
        match self {
            Self::Chat(reply) => ReplyBody::Chat(reply.whole(answer, usage)),
            Self::Responses(reply) => ReplyBody::Response(Box::new(reply.whole(answer, usage))),
        }
    }
}

/// A server-sent event.
fn event(name: Option<&str>, data: &impl Serialize) -> String {
    // Plain data, which always serializes.
    let data = serde_json::to_string(data).unwrap_or_default();
    match name {
        Some(name) => format!("event: {name}\ndata: {data}\n\n"),
        None => format!("data: {data}\n\n"),
    }
}
