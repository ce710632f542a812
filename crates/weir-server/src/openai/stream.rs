//! A reply as it is written.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;

use bytes::Bytes;
use futures_util::Stream;
use futures_util::stream::unfold;
use weir_host::Finished;
use weir_openai::OpenAiError;
use weir_openai::reply::Reply;

use super::conversation::{Conversation, usage};
use super::progress::{Piece, Progress};

type Ending = Pin<Box<dyn Future<Output = Result<Finished, OpenAiError>> + Send>>;

/// A reply while it is written. Dropping it before the end ends the turn.
struct Writing {
    conversation: Conversation,
    reply: Reply,
    progress: Progress,
    ending: Ending,
    has_begun: bool,
    is_over: bool,
}

/// The reply as a stream of events.
pub(super) fn stream(
    conversation: Conversation,
    reply: Reply,
) -> impl Stream<Item = Result<Bytes, Infallible>> {
    let (host, id, message) = conversation.parts();
    let ending: Ending = Box::pin(Conversation::finished(host, id, message));
    let writing = Writing {
        conversation,
        reply,
        progress: Progress::default(),
        ending,
        has_begun: false,
        is_over: false,
    };
    unfold(writing, Writing::next)
}

impl Writing {
    async fn next(mut self) -> Option<(Result<Bytes, Infallible>, Self)> {
        if self.is_over {
            return None;
        }
        let events = if self.has_begun { self.wait().await } else { self.begin() };
        Some((Ok(Bytes::from(events)), self))
    }

    fn begin(&mut self) -> String {
        self.has_begun = true;
        self.reply.start()
    }

    async fn wait(&mut self) -> String {
        loop {
            tokio::select! {
                biased;
                frame = self.conversation.watch.next() => {
                    let Some(frame) = frame else { return self.end_without_watching().await };
                    if frame.event() == "heartbeat" {
                        return ": still at work\n\n".to_owned();
                    }
                    let events = match self.progress.hear(frame.event(), frame.data()) {
                        Some(Piece::Text(text)) => self.reply.text(&text),
                        Some(Piece::Reasoning(text)) if self.conversation.tells_tools => self.reply.reasoning(&text),
                        Some(Piece::Reasoning(_)) | None => String::new(),
                    };
                    if !events.is_empty() {
                        return events;
                    }
                }
                finished = &mut self.ending => return self.end(finished),
            }
        }
    }

    /// Whoever is too slow to watch still gets the whole answer.
    async fn end_without_watching(&mut self) -> String {
        let finished = (&mut self.ending).await;
        self.end(finished)
    }

    fn end(&mut self, finished: Result<Finished, OpenAiError>) -> String {
        self.is_over = true;
        self.conversation.is_over();
        match finished {
            Ok(finished) => {
                let rest = self.progress.rest(&finished.text).map(|rest| self.reply.text(&rest));
                self.conversation.remember(self.progress.sent(), self.reply.id());
                rest.unwrap_or_default() + &self.reply.finish(usage(&finished))
            }
            Err(error) => self.reply.fail(&error),
        }
    }
}
