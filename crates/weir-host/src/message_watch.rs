//! Watching what comes of one message, and nothing else.

use std::collections::VecDeque;
use std::pin::Pin;

use weir_transcript::{ClassicData, ClassicDone, ClassicError, ClassicEvent};
use weir_wire::{MessageId, TurnId};

use crate::core::Lease;
use crate::error::HostError;
use crate::message::{Finished, MessageOutcome};
use crate::watch::{Format, Watch};
use crate::watch_event::{Frame, WatchEvent};

/// How the message ended, once it has.
pub(crate) type Finishing = Pin<Box<dyn Future<Output = Result<Finished, HostError>> + Send>>;

/// One message that is being watched. Dropping it ends that, and not the turn.
///
/// The frames are those of the turn that answers the message, and what belongs to no turn, such as the start of a process.
/// The last is `message`, a [`MessageOutcome`]; or `bye`, if the host ends the watch before that.
pub struct MessageWatch {
    watch: Watch,
    live: Lease,
    format: Format,
    message: MessageId,
    /// None once it has said what it has to say.
    finishing: Option<Finishing>,
    finished: Option<Finished>,
    /// Turns that are known to answer the message.
    turns: Vec<TurnId>,
    /// What comes at the end.
    last: VecDeque<Frame>,
    is_done_told: bool,
    is_over: bool,
}

impl MessageWatch {
    pub(crate) fn new(
        watch: Watch,
        live: Lease,
        format: Format,
        message: MessageId,
        finishing: Finishing,
    ) -> Self {
        Self {
            watch,
            live,
            format,
            message,
            finishing: Some(finishing),
            finished: None,
            turns: Vec::new(),
            last: VecDeque::new(),
            is_done_told: false,
            is_over: false,
        }
    }

    /// The next frame; nothing after `message` or `bye`. Cancel safe.
    pub async fn next(&mut self) -> Option<Frame> {
        loop {
            if let Some(frame) = self.last.pop_front() {
                return Some(frame);
            }
            if self.is_over {
                return None;
            }
            let frame = if self.finished.is_some() {
                // What came of it was offered before it was over.
                let Some(frame) = self.watch.next_ready().await else {
                    self.conclude();
                    continue;
                };
                frame
            } else {
                tokio::select! {
                    biased;
                    frame = self.watch.next() => frame?,
                    finished = finished(&mut self.finishing) => {
                        // If the session is gone, the watch says so.
                        self.finishing = None;
                        self.finished = finished.ok();
                        continue;
                    }
                }
            };
            if self.admit(&frame) {
                self.is_done_told |= frame.event().name() == "done";
                self.is_over = matches!(frame.event(), WatchEvent::Bye(_));
                return Some(frame);
            }
        }
    }

    /// Returns whether a frame is about the message, and remembers its turn if so.
    fn admit(&mut self, frame: &Frame) -> bool {
        let event = frame.event();
        let Some(turn) = event.turn() else { return !matches!(event, WatchEvent::Hello(_)) };
        if self.turns.contains(&turn) {
            return true;
        }
        let answers = match &self.finished {
            Some(finished) => finished.turn.as_ref().is_some_and(|answer| answer.id == turn),
            // The view has all that the frame has, and maybe more.
            None => {
                let state = self.live.lock();
                state.view.turn(turn).is_some_and(|turn| turn.messages.contains(&self.message))
            }
        };
        if answers {
            self.turns.push(turn);
        }
        answers
    }

    /// Nothing more comes of the message.
    fn conclude(&mut self) {
        self.is_over = true;
        let Some(finished) = self.finished.take() else { return };
        let outcome = MessageOutcome::of(&finished);
        // Clients of this vocabulary wait for `done`, also where no turn ever began.
        if self.format == Format::Classic && !self.is_done_told {
            if let Some(message) = outcome.error.clone() {
                let error = ClassicError { message, turn_id: None, parent_tool_use_id: None };
                self.last.push_back(classic(ClassicData::Error(error)));
            }
            let done = ClassicDone { session_id: None, turn_id: None };
            self.last.push_back(classic(ClassicData::Done(done)));
        }
        let size = outcome.text.len();
        self.last.push_back(Frame::new(None, WatchEvent::Message(Box::new(outcome)), size));
    }
}

fn classic(data: ClassicData) -> Frame {
    Frame::new(None, WatchEvent::Classic(Box::new(ClassicEvent::new(data, None))), 0)
}

/// Waits for the end of the message, or for ever if that was told. Cancel safe.
async fn finished(finishing: &mut Option<Finishing>) -> Result<Finished, HostError> {
    match finishing {
        Some(finishing) => finishing.await,
        None => std::future::pending().await,
    }
}

impl std::fmt::Debug for MessageWatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MessageWatch").field("message", &self.message).finish_non_exhaustive()
    }
}
