//! An engine in memory: it replies immediately, and records when it began.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{mpsc, oneshot};
use weir_bridge::channel::BoxFuture;
use weir_bridge::driver::{Engine, EngineError, Prompt};
use weir_bridge::engine::{Answer, ConversationSettings, Ending, EndingOutcome, Facts, Report};

/// How long a turn takes after its first text.
const TURN: Duration = Duration::from_millis(5);

#[derive(Debug, Default)]
struct Inner {
    reports: HashMap<String, mpsc::UnboundedSender<Report>>,
    said: HashMap<String, Instant>,
    delays: Vec<Duration>,
}

/// The engine.
#[derive(Debug, Default)]
pub(super) struct MemoryEngine {
    inner: Mutex<Inner>,
}

fn done<'a>() -> BoxFuture<'a, Result<(), EngineError>> {
    Box::pin(async { Ok(()) })
}

impl MemoryEngine {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records that this person sends a message now.
    pub(super) fn expect(&self, person: usize) {
        self.lock().said.insert(format!("memory/chat/{person}"), Instant::now());
    }

    /// How long messages took to get here from the chat.
    pub(super) fn take_delays(&self) -> Vec<Duration> {
        std::mem::take(&mut self.lock().delays)
    }
}

impl Engine for MemoryEngine {
    fn open<'a>(&'a self, settings: &'a ConversationSettings) -> BoxFuture<'a, Result<String, EngineError>> {
        Box::pin(async move { Ok(settings.key.clone()) })
    }

    fn send<'a>(&'a self, session: &'a str, prompt: Prompt) -> BoxFuture<'a, Result<String, EngineError>> {
        let mut inner = self.lock();
        let scope =
            session.strip_prefix("bridge/").and_then(|rest| rest.rsplit_once('/')).map(|(scope, _)| scope);
        if let Some(said) = scope.and_then(|scope| inner.said.remove(scope)) {
            inner.delays.push(said.elapsed());
        }
        if let Some(reports) = inner.reports.get(session) {
            // The text is the time at which it was sent.
            let text = format!("{:?}", super::chat::clock());
            let _ = reports.send(Report::Text { block: 1, text, replaces: false });
        }
        Box::pin(async move { Ok(prompt.client_id) })
    }

    fn finished<'a>(&'a self, _: &'a str, message: &'a str) -> BoxFuture<'a, Result<Ending, EngineError>> {
        Box::pin(async move {
            tokio::time::sleep(TURN).await;
            Ok(Ending::new(message.to_owned(), EndingOutcome::Answered("done".to_owned())))
        })
    }

    fn follow<'a>(
        &'a self,
        session: &'a str,
        ready: oneshot::Sender<()>,
        reports: mpsc::UnboundedSender<Report>,
    ) -> BoxFuture<'a, ()> {
        self.lock().reports.insert(session.to_owned(), reports);
        let _ = ready.send(());
        Box::pin(std::future::pending())
    }

    fn interrupt<'a>(&'a self, _: &'a str, _: &'a str) -> BoxFuture<'a, Result<(), EngineError>> {
        done()
    }

    fn stop<'a>(&'a self, _: &'a str, _: &'a str) -> BoxFuture<'a, Result<(), EngineError>> {
        done()
    }

    fn answer<'a>(
        &'a self,
        _: &'a str,
        _: &'a str,
        _: Answer,
        _: &'a str,
    ) -> BoxFuture<'a, Result<(), EngineError>> {
        done()
    }

    fn set_model<'a>(&'a self, _: &'a str, _: Option<String>) -> BoxFuture<'a, Result<(), EngineError>> {
        done()
    }

    fn facts<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Option<Facts>> {
        Box::pin(async { None })
    }
}
