//! Host events: what the host did, which the CLI's lines do not show.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use weir_wire::{CliSessionId, MessageId, RequestId, ToolUseId};

use crate::view::EntryId;

/// Something that happened on our side of the pipe.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
#[non_exhaustive]
pub enum HostEvent {
    /// A process was started for the session. The total cost that it reports may include earlier processes.
    ProcessStarted {
        /// The session that it resumes. If the CLI then reports another one, the session was forked.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        resumes: Option<CliSessionId>,
    },
    /// A message was accepted and is waiting. Also sent for a message that is waiting again because no process
    /// took it.
    MessageQueued {
        /// Our id for it.
        message: MessageId,
        /// The text of the message.
        text: String,
        /// Number of attached images.
        images: u32,
        /// Number of attached documents, and of images and documents that the model's API fetches from the web.
        #[serde(default, skip_serializing_if = "is_zero")]
        documents: u32,
    },
    /// A message that waits was given another text.
    MessageReworded {
        /// Our id for it.
        message: MessageId,
        /// The new text.
        text: String,
    },
    /// The message that is queued next with this id is the host's own, such as the one that resumes a turn: no person
    /// wrote it.
    MessageComposed {
        /// Our id for it.
        message: MessageId,
    },
    /// A message was written to the CLI.
    MessageSent {
        /// Our id for it.
        message: MessageId,
    },
    /// A message was cancelled before it was written.
    MessageCancelled {
        /// Our id for it.
        message: MessageId,
    },
    /// A message could not be written, and will not be.
    MessageFailed {
        /// Our id for it.
        message: MessageId,
        /// Why it could not be written.
        error: String,
    },
    /// A request of the CLI was decided.
    RequestAnswered {
        /// The request.
        request: RequestId,
        /// The decision.
        answer: RequestAnswer,
        /// Who decided.
        by: Option<String>,
    },
    /// The model called a tool of a client, and the client has to answer.
    ToolCalled {
        /// Id of the request.
        request: RequestId,
        /// The call, if the CLI identifies it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tool_use_id: Option<ToolUseId>,
        /// The tool, as the client named it.
        name: String,
        /// Its arguments.
        input: Value,
    },
    /// A request no longer needs an answer.
    RequestWithdrawn {
        /// The request.
        request: RequestId,
    },
    /// An interrupt was sent.
    Interrupted,
    /// What was streamed into an entry whose complete line did not arrive in time, or leaves it out. A log without
    /// transient lines has it before what ended the entry; see [`Fold::is_transient`](crate::Fold::is_transient).
    TextStreamed {
        /// The entry.
        entry: EntryId,
        /// Everything that was streamed into it: a text, or the arguments of a tool.
        text: String,
    },
    /// A piece of what is being streamed into an entry, logged now and then: if this program is killed, what people have
    /// read so far is still there. Pieces of an entry follow one another.
    TextKept {
        /// The entry.
        entry: EntryId,
        /// How many bytes were streamed into it before this piece.
        after: u64,
        /// The piece.
        text: String,
    },
    /// The CLI printed something on its standard error.
    Stderr {
        /// The text.
        text: String,
    },
    /// A raw log of the process failed and is incomplete from then on. If logs are not required, the process
    /// keeps running.
    LogFailed {
        /// Which log failed, and why.
        message: String,
    },
    /// Something is not as requested, but the session continues.
    Warning {
        /// The warning.
        message: String,
    },
    /// The CLI has ended, and all of its output was read.
    ProcessExited {
        /// Its exit code.
        code: Option<i32>,
        /// The signal that ended it.
        signal: Option<i32>,
        /// The end of its standard error; if that is empty, the last plain text of its standard output, since a
        /// terminal shows both together.
        stderr: String,
        /// Whether the host ended it on request.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        wanted: bool,
    },
    /// A recording has ended, or the program that drove the process is gone. How the process ended is not
    /// known.
    RecordingEnded,
    /// The conversation was taken back to before a message. The model no longer knows what was said since; the view
    /// keeps it.
    Rewound {
        /// The first message that the model no longer knows.
        message: MessageId,
        /// Where a process that is started next begins; at the very beginning if there is none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        to: Option<RewindPoint>,
    },
    /// The session continues as a copy of the original up to this point. The first total that the next process
    /// reports may include what the original spent later, which does not count for the copy.
    Branched,
}

/// A point of a conversation, as the CLI names it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RewindPoint {
    /// The CLI's session.
    pub session: CliSessionId,
    /// The uuid of the last line that the model knows.
    pub line: String,
}

/// For members that are left out when they are zero.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
pub(crate) fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// The decision about a request.
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
        /// Message for the model.
        message: String,
    },
    /// It was denied because no decision came in time.
    Expired,
}
