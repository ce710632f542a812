//! Requests to the host and their answers.

use std::collections::HashMap;
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex};

use super::cancel::{Cancel, Stop};
use super::ids::Ids;
use super::lock;
use super::output::Output;
use crate::json::Json;
use crate::object;

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum AskError {
    /// What asked was stopped.
    Stopped(Stop),
    /// Standard input was closed.
    Closed,
    /// The host answered with an error.
    Refused(String),
}

enum Answer {
    Given(Json),
    Refused(String),
    Stopped(Stop),
}

/// Waiting requests.
#[derive(Default)]
pub(crate) struct Host {
    waiting: Mutex<Waiting>,
}

#[derive(Default)]
struct Waiting {
    requests: HashMap<String, (Sender<Answer>, Withdrawal)>,
    closed: bool,
}

/// How a request is taken back.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Withdrawal {
    /// By its id.
    Request,
    /// By a message to the MCP server that it is for.
    Message(Json),
}

impl std::fmt::Debug for Host {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Host").field("waiting", &lock(&self.waiting).requests.len()).finish()
    }
}

impl Host {
    /// Asks, and waits for the answer.
    pub(crate) fn ask(
        &self,
        out: &Output,
        request_id: &str,
        request: Json,
        cancel: &Arc<Cancel>,
    ) -> Result<Json, AskError> {
        self.ask_until(out, request_id, request, cancel, Withdrawal::Request)
    }

    /// The same, for a request that is taken back in another way.
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

    /// An answer came in. One that nobody waits for is dropped.
    pub(crate) fn answer(&self, response: &Json) {
        let Some(id) = response.str_of("request_id") else { return };
        let Some((sender, _)) = lock(&self.waiting).requests.remove(id) else { return };
        let answer = if response.str_of("subtype") == Some("error") {
            Answer::Refused(response.str_of("error").unwrap_or("unknown error").to_owned())
        } else {
            Answer::Given(response.get("response").cloned().unwrap_or_else(|| object! {}))
        };
        // Whoever asked may have been stopped in the meantime.
        drop(sender.send(answer));
    }

    /// Tells the host that no answer is needed any more. Who waits is told by its own flag.
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

    /// No answer can come any more.
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

/// Writes a request whose answer nobody waits for here.
pub(crate) fn tell(out: &Output, request_id: &str, request: Json) {
    out.line(&object! { "type" => "control_request", "request_id" => request_id, "request" => request });
}
