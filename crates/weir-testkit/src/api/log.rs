//! What was asked, for tests to look at.

use std::collections::VecDeque;

use super::http::Request;
use crate::json::Json;

/// Most requests that are remembered; the oldest go first.
const LIMIT: usize = 4096;

/// Bodies up to this size are kept.
const KEPT_BODY: usize = 1 << 20;

/// A request of the CLI.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordedRequest {
    /// `POST`, `HEAD` and so on.
    pub method: String,
    /// Path and query.
    pub target: String,
    /// The key that it came with, or the token.
    pub credential: Option<String>,
    /// The model that was asked.
    pub model: Option<String>,
    /// Whether a stream was wanted.
    pub stream: bool,
    /// The names of the tools that the model may call.
    pub tools: Vec<String>,
    /// How many messages it holds.
    pub messages: usize,
    /// The last of them.
    pub last_message: Json,
    /// All that the model was told, if it is not large.
    pub body: Json,
    /// The settings for thinking, as they came.
    pub thinking: Json,
    /// The HTTP status of the answer; zero where the connection was closed without one.
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

    /// Whether the model was asked for a message.
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
