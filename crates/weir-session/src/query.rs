//! One prompt, one answer.

use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use crate::error::SessionError;
use crate::machine::TurnEnd;
use crate::message::Message;
use crate::options::SessionOptions;
use crate::session::Session;

/// Sends one prompt. Await it for the answer; its process has ended by then.
///
/// A turn that ended with an error, such as one of the model's API, is [`SessionError::TurnFailed`].
///
/// ```no_run
/// # async fn example() -> Result<(), weir_session::SessionError> {
/// let answer = weir_session::query("What is a weir?").await?;
/// println!("{}", answer.text);
/// # Ok(())
/// # }
/// ```
pub fn query(message: impl Into<Message>) -> Query {
    Query { message: message.into(), options: SessionOptions::new(), background: Duration::from_secs(600) }
}

/// A prompt that is sent when awaited.
#[derive(Debug)]
#[must_use = "nothing is asked until it is awaited"]
pub struct Query {
    message: Message,
    options: SessionOptions,
    background: Duration,
}

impl Query {
    /// Sets the session options.
    pub fn with(mut self, options: SessionOptions) -> Self {
        self.options = options;
        self
    }

    /// Sets how long to wait at most for background tasks that the answer left running; ten minutes by default.
    pub fn background(mut self, patience: Duration) -> Self {
        self.background = patience;
        self
    }

    async fn ask(self) -> Result<Arc<TurnEnd>, SessionError> {
        let session = Session::new(self.options);
        let answer = session.ask(self.message).await;
        // Background tasks would be lost with the process; but they may run forever.
        if answer.is_ok() {
            let _ = tokio::time::timeout(self.background, session.settled()).await;
        }
        session.stop().await;
        answer
    }
}

impl IntoFuture for Query {
    type Output = Result<Arc<TurnEnd>, SessionError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.ask())
    }
}
