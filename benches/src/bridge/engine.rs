//! An engine in memory: it answers as soon as it is asked, and knows when it began to.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{mpsc, oneshot};
use weir_bridge::channel::Doing;
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

fn done<'a>() -> Doing<'a, Result<(), EngineError>> {
    Box::pin(async { Ok(()) })
}

impl MemoryEngine {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Somebody says something now.
    pub(super) fn expect(&self, person: usize) {
        self.lock().said.insert(format!("memory/chat/{person}"), Instant::now());
    }

    /// How long messages took from the chat to here.
    pub(super) fn take_delays(&self) -> Vec<Duration> {
        std::mem::take(&mut self.lock().delays)
    }
}

impl Engine for MemoryEngine {
    fn open<'a>(&'a self, settings: &'a ConversationSettings) -> Doing<'a, Result<String, EngineError>> {
        Box::pin(async move { Ok(settings.key.clone()) })
    }

    fn send<'a>(&'a self, session: &'a str, prompt: Prompt) -> Doing<'a, Result<String, EngineError>> {
        let mut inner = self.lock();
        let scope =
            session.strip_prefix("bridge/").and_then(|rest| rest.rsplit_once('/')).map(|(scope, _)| scope);
        if let Some(said) = scope.and_then(|scope| inner.said.remove(scope)) {
            inner.delays.push(said.elapsed());
        }
        if let Some(reports) = inner.reports.get(session) {
            // The text is the time at which it was said.
            let text = format!("{:?}", super::chat::clock());
            let _ = reports.send(Report::Text { block: 1, text, replaces: false });
        }
        Box::pin(async move { Ok(prompt.client_id) })
    }

    fn finished<'a>(&'a self, _: &'a str, message: &'a str) -> Doing<'a, Result<Ending, EngineError>> {
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
    ) -> Doing<'a, ()> {
        self.lock().reports.insert(session.to_owned(), reports);
        let _ = ready.send(());
        Box::pin(std::future::pending())
    }

    fn interrupt<'a>(&'a self, _: &'a str, _: &'a str) -> Doing<'a, Result<(), EngineError>> {
        done()
    }

    fn stop<'a>(&'a self, _: &'a str, _: &'a str) -> Doing<'a, Result<(), EngineError>> {
        done()
    }

    fn answer<'a>(
        &'a self,
        _: &'a str,
        _: &'a str,
        _: Answer,
        _: &'a str,
    ) -> Doing<'a, Result<(), EngineError>> {
        done()
    }

    fn set_model<'a>(&'a self, _: &'a str, _: Option<String>) -> Doing<'a, Result<(), EngineError>> {
        done()
    }

    fn facts<'a>(&'a self, _: &'a str) -> Doing<'a, Option<Facts>> {
        Box::pin(async { None })
    }
}
