//! A streamed reply.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::Stream;
use futures_util::stream::unfold;
use weir_host::WatchEvent;
use weir_openai::OpenAiError;
use weir_openai::reply::Answer;

use super::conversation::Conversation;
use super::progress::{Piece, Progress};
use super::turn::Outcome;

/// How long to wait for the first word before the stream starts. Until then a failure can still set the status.
const FIRST_WORD: Duration = Duration::from_secs(5);

type Ending = Pin<Box<dyn Future<Output = Arc<Outcome>> + Send>>;

/// A reply in progress. Dropping it early leaves the turn to a retry, or to its end.
pub(super) struct Writing {
    conversation: Conversation,
    progress: Progress,
    ending: Ending,
    is_over: bool,
}

impl Writing {
    pub(super) fn new(conversation: Conversation) -> Self {
        let turn = Arc::clone(&conversation.turn);
        let ending: Ending = Box::pin(async move { turn.ended().await });
        Self { conversation, progress: Progress::default(), ending, is_over: false }
    }

    /// The first events. A turn that fails before its first word is an error instead of a stream.
    pub(super) async fn begin(&mut self) -> Result<String, OpenAiError> {
        let start = self.conversation.reply.start();
        match tokio::time::timeout(FIRST_WORD, self.wait()).await {
            Err(_) => Ok(start),
            Ok(Written::Events(events)) => Ok(start + &events),
            Ok(Written::Ended(outcome)) => match &*outcome {
                Outcome::Error(error) => {
                    self.is_over = true;
                    Err(error.clone())
                }
                Outcome::Answer(..) => Ok(start + &self.end(&outcome)),
            },
        }
    }

    /// The stream that starts with these events.
    pub(super) fn stream(self, first: String) -> impl Stream<Item = Result<Bytes, Infallible>> {
        unfold((Some(first), self), |(first, mut writing)| async move {
            let events = match first {
                Some(events) => events,
                None if writing.is_over => return None,
                None => match writing.wait().await {
                    Written::Events(events) => events,
                    Written::Ended(outcome) => writing.end(&outcome),
                },
            };
            Some((Ok(Bytes::from(events)), (None, writing)))
        })
    }

    async fn wait(&mut self) -> Written {
        loop {
            tokio::select! {
                biased;
                frame = self.conversation.watch.next() => {
                    // A client that is too slow to watch still gets the complete answer.
                    let Some(frame) = frame else { return Written::Ended((&mut self.ending).await) };
                    if matches!(frame.event(), WatchEvent::Heartbeat(_)) {
                        return Written::Events(": still at work\n\n".to_owned());
                    }
                    let (tells, streams) = (self.conversation.tells_tools, self.conversation.streams_text());
                    let events = match self.progress.take(frame.event()) {
                        Some(Piece::Text(text)) if streams => self.conversation.reply.text(&text),
                        Some(Piece::Reasoning(text)) if tells => self.conversation.reply.reasoning(&text),
                        _ => String::new(),
                    };
                    if !events.is_empty() {
                        return Written::Events(events);
                    }
                }
                outcome = &mut self.ending => return Written::Ended(outcome),
            }
        }
    }

    fn end(&mut self, outcome: &Outcome) -> String {
        self.is_over = true;
        match outcome {
            Outcome::Answer(answer, usage) => {
                let last = self.last_events(answer);
                last + &self.conversation.reply.finish(*usage, answer.end)
            }
            Outcome::Error(error) => {
                // The client may come back with the part that it has.
                self.remember(true);
                self.conversation.reply.fail(error)
            }
        }
    }

    /// The unsent part of the answer, now that all of it is known.
    fn last_events(&mut self, answer: &Answer) -> String {
        let reply = &mut self.conversation.reply;
        if let Some(call) = &answer.call {
            return reply.call(call);
        }
        if let Some(refusal) = &answer.refusal {
            return reply.refusal(refusal);
        }
        if !self.conversation.streams_text() {
            return self.conversation.reply.text(&answer.text);
        }
        let rest = self.progress.rest(&answer.text).map(|rest| self.conversation.reply.text(&rest));
        self.remember(false);
        rest.unwrap_or_default()
    }

    /// The client's history contains everything that was sent, which may be more than the final answer.
    fn remember(&self, failed: bool) {
        let conversation = &self.conversation;
        let sent = self.progress.sent();
        if !sent.is_empty() && conversation.streams_text() {
            let turn = weir_openai::Turn::text(weir_openai::Role::Assistant, sent);
            conversation.context.remember(&conversation.app, &conversation.turn, &turn, failed);
        }
    }
}

/// What comes next in a stream.
enum Written {
    Events(String),
    Ended(Arc<Outcome>),
}
