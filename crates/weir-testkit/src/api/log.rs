//! The received requests, for tests to inspect.

use std::collections::VecDeque;

use crate::http::request::Request;
use crate::json::Json;

/// Maximum number of requests kept; the oldest are dropped first.
const LIMIT: usize = 4096;

/// Bodies up to this size are kept.
const KEPT_BODY: usize = 1 << 20;

/// A request from the CLI.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordedRequest {
    /// `POST`, `HEAD` and so on.
    pub method: String,
    /// Path and query.
    pub target: String,
    /// The API key or token it came with.
    pub credential: Option<String>,
    /// The beta features that it switches on, separated by commas.
    pub betas: Option<String>,
    /// The requested model.
    pub model: Option<String>,
    /// Whether a stream was requested.
    pub stream: bool,
    /// The names of the tools that the model may call.
    pub tools: Vec<String>,
    /// The number of messages.
    pub messages: usize,
    /// The last message.
    pub last_message: Json,
    /// The whole body, unless it is large.
    pub body: Json,
    /// The settings for thinking, as received.
    pub thinking: Json,
    /// The HTTP status of the response; zero if the connection was closed without one.
    pub status: u16,
}

impl RecordedRequest {
    pub(super) fn new(request: &Request, body: &Json) -> Self {
        let messages = body.items_of("messages");
        let tools = body.items_of("tools").iter().filter_map(|tool| tool.str_of("name"));
        Self {
            method: request.method.clone(),
            target: request.target.clone(),
            credential: request
                .header("x-api-key")
                .or_else(|| request.header("authorization"))
                .map(str::to_owned),
            betas: request.header("anthropic-beta").map(str::to_owned),
            model: body.str_of("model").map(str::to_owned),
            stream: body.is_true("stream"),
            tools: tools.map(str::to_owned).collect(),
            messages: messages.len(),
            last_message: messages.last().cloned().unwrap_or(Json::Null),
            body: if request.body.len() <= KEPT_BODY { body.clone() } else { Json::Null },
            thinking: body.get("thinking").cloned().unwrap_or(Json::Null),
            status: 0,
        }
    }

    /// Whether it is a message request.
    pub fn is_message(&self) -> bool {
        self.method == "POST"
            && self.target.split('?').next().is_some_and(|path| path == super::answer::MESSAGES)
    }
}

/// The requests so far.
#[derive(Debug, Default)]
pub(super) struct Log(VecDeque<RecordedRequest>);

impl Log {
    pub(super) fn push(&mut self, request: RecordedRequest) {
        if self.0.len() >= LIMIT {
            self.0.pop_front();
        }
        self.0.push_back(request);
    }

    pub(super) fn all(&mut self) -> &[RecordedRequest] {
        self.0.make_contiguous()
    }
}
