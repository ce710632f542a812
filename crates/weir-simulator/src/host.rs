//! Requests to the host and their responses.

use std::collections::HashMap;
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex};

use super::cancel::{Cancel, Stop};
use super::ids::Ids;
use super::lock;
use super::output::Output;
use crate::json::Json;
use crate::object;

/// Why there is no response.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum AskError {
    /// The requester was stopped.
    Stopped(Stop),
    /// Standard input was closed.
    Closed,
    /// The host responded with an error.
    Refused(String),
}

enum Answer {
    Given(Json),
    Refused(String),
    Stopped(Stop),
}

/// Pending requests.
#[derive(Default)]
pub(crate) struct Host {
    waiting: Mutex<Waiting>,
}

#[derive(Default)]
struct Waiting {
    requests: HashMap<String, (Sender<Answer>, Withdrawal)>,
    closed: bool,
}

/// How a request is withdrawn.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Withdrawal {
    /// By its id.
    Request,
    /// By a message to the MCP server it was sent to.
    Message(Json),
}

impl std::fmt::Debug for Host {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Host").field("waiting", &lock(&self.waiting).requests.len()).finish()
    }
}

impl Host {
    /// Sends a request and waits for the response.
    pub(crate) fn ask(
        &self,
        out: &Output,
        request_id: &str,
        request: Json,
        cancel: &Arc<Cancel>,
    ) -> Result<Json, AskError> {
        self.ask_until(out, request_id, request, cancel, Withdrawal::Request)
    }

    /// The same for a request with a custom way to withdraw it.
    pub(crate) fn ask_until(
        &self,
        out: &Output,
        request_id: &str,
        request: Json,
        cancel: &Arc<Cancel>,
        withdrawal: Withdrawal,
    ) -> Result<Json, AskError> {
        let (sender, receiver) = mpsc::channel();
        {
            let mut waiting = lock(&self.waiting);
            if waiting.closed {
                return Err(AskError::Closed);
            }
            waiting.requests.insert(request_id.to_owned(), (sender.clone(), withdrawal));
        }
        tell(out, request_id, request);
        let _watch = cancel.watch(move |reason| drop(sender.send(Answer::Stopped(reason))));
        let answer = receiver.recv();
        lock(&self.waiting).requests.remove(request_id);
        match answer {
            Ok(Answer::Given(response)) => Ok(response),
            Ok(Answer::Refused(error)) => Err(AskError::Refused(error)),
            Ok(Answer::Stopped(reason)) => Err(AskError::Stopped(reason)),
            Err(_) => Err(AskError::Closed),
        }
    }

    /// Handles a response. One without a pending request is dropped.
    pub(crate) fn answer(&self, response: &Json) {
        let Some(id) = response.str_of("request_id") else { return };
        let Some((sender, _)) = lock(&self.waiting).requests.remove(id) else { return };
        let answer = if response.str_of("subtype") == Some("error") {
            Answer::Refused(response.str_of("error").unwrap_or("unknown error").to_owned())
        } else {
            Answer::Given(response.get("response").cloned().unwrap_or_else(|| object! {}))
        };
        // The requester may have been stopped in the meantime.
        drop(sender.send(answer));
    }

    /// Tells the host that responses are no longer needed. The requesters learn it from their own flags.
    pub(crate) fn announce_cancel(&self, out: &Output, ids: &Ids) {
        let waiting = lock(&self.waiting);
        let mut open: Vec<(String, Withdrawal)> =
            waiting.requests.iter().map(|(id, (_, withdrawal))| (id.clone(), withdrawal.clone())).collect();
        drop(waiting);
        open.sort_by(|(left, _), (right, _)| left.cmp(right));
        for (id, withdrawal) in open {
            match withdrawal {
                Withdrawal::Request => {
                    out.line(&object! { "type" => "control_cancel_request", "request_id" => id });
                }
                Withdrawal::Message(request) => tell(out, &ids.uuid(), request),
            }
        }
    }

    /// Fails all pending requests: no response can come any more.
    pub(crate) fn close(&self) {
        let mut waiting = lock(&self.waiting);
        waiting.closed = true;
        for (_, (sender, _)) in waiting.requests.drain() {
            drop(
                sender.send(Answer::Refused(
                    "Tool permission stream closed before response received".to_owned(),
                )),
            );
        }
    }
}

/// Sends a request whose response is not waited for.
pub(crate) fn tell(out: &Output, request_id: &str, request: Json) {
    out.line(&object! { "type" => "control_request", "request_id" => request_id, "request" => request });
}
