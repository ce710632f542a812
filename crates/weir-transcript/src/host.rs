//! What the host did, which the CLI's lines do not tell.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use weir_wire::{MessageId, RequestId, SessionId, ToolUseId};

/// Something that happened on our side of the pipe.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
#[non_exhaustive]
pub enum HostEvent {
    /// A process was started for the conversation. What it reports as its total may include earlier processes.
    ProcessStarted {
        /// The session that it goes on with. If the CLI then names another one, the conversation was forked.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        resumes: Option<SessionId>,
    },
    /// A message was accepted; it waits. Also said of one that waits again, because no process took it.
    MessageQueued {
        /// Our id for it.
        message: MessageId,
        /// What it says.
        text: String,
        /// How many pictures are with it.
        images: u32,
    },
    /// A message was written to the CLI.
    MessageSent {
        /// Our id for it.
        message: MessageId,
    },
    /// A message was taken back before it was written.
    MessageCancelled {
        /// Our id for it.
        message: MessageId,
    },
    /// A message could not be written, and will not be.
    MessageFailed {
        /// Our id for it.
        message: MessageId,
        /// Why.
        error: String,
    },
    /// A request of the CLI was answered.
    RequestAnswered {
        /// The request.
        request: RequestId,
        /// How.
        answer: RequestAnswer,
        /// By whom.
        by: Option<String>,
    },
    /// The model called a tool of a client, which has to answer.
    ToolCalled {
        /// Names the request.
        request: RequestId,
        /// The call, where the CLI names it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tool_use_id: Option<ToolUseId>,
        /// The tool, as the client named it.
        name: String,
        /// Its arguments.
        input: Value,
    },
    /// Nobody wants an answer to a request any more.
    RequestWithdrawn {
        /// The request.
        request: RequestId,
    },
    /// An interrupt was sent.
    Interrupted,
    /// The CLI printed something on its standard error.
    Stderr {
        /// What.
        text: String,
    },
    /// A raw log of the process failed, and ends where it did. Where logs are not required, the process goes on.
    LogFailed {
        /// Which one, and why.
        message: String,
    },
    /// Something is not as it was asked for, and the session goes on.
    Warning {
        /// What.
        message: String,
    },
    /// The CLI has ended, and all of its output was read.
    ProcessExited {
        /// Its exit code.
        code: Option<i32>,
        /// The signal that ended it.
        signal: Option<i32>,
        /// The last that it printed on its standard error; where that is nothing, the last plain text of its standard
        /// output. A terminal has both in one.
        stderr: String,
        /// Whether we ended it because somebody wanted it to end.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        wanted: bool,
    },
    /// A recorded output is at its end, or whoever drove the process is gone. How the process ended is not known.
    RecordingEnded,
    /// The conversation goes on as a copy of its part up to here. The first total that the next process reports may
    /// include what the original spent later, which is not spent here.
    Branched,
}

/// How a request was answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "snake_case")]
#[non_exhaustive]
pub enum RequestAnswer {
    /// Allowed.
    Allow {
        /// The answers, for questions.
        answers: Option<Value>,
    },
    /// Denied.
    Deny {
        /// What the model is told.
        message: String,
    },
    /// Nobody answered in time, so it was denied.
    Expired,
}
