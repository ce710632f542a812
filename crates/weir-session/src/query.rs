//! One prompt, one answer.

use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use crate::error::SessionError;
use crate::machine::TurnEnd;
use crate::options::SessionOptions;
use crate::session::{Message, Session};

/// Asks one thing. Await it for the answer; the process is gone then.
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

/// A question that is asked when it is awaited.
#[derive(Debug)]
#[must_use = "nothing is asked until it is awaited"]
pub struct Query {
    message: Message,
    options: SessionOptions,
    background: Duration,
}

impl Query {
    /// Asks with these options.
    pub fn with(mut self, options: SessionOptions) -> Self {
        self.options = options;
        self
    }

    /// Waits this long at the most for what the answer has left running in the background; ten minutes if not told.
    pub fn background(mut self, patience: Duration) -> Self {
        self.background = patience;
        self
    }

    async fn ask(self) -> Result<Arc<TurnEnd>, SessionError> {
        let session = Session::new(self.options);
        let answer = session.ask(self.message).await;
        // What runs in the background would be lost with the process; but it may run for ever.
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
