//! A chat in memory: it shows a message immediately, and records when.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{Notify, mpsc};
use weir_bridge::BridgeError;
use weir_bridge::channel::{
    BoxFuture, Capabilities, Channel, Incoming, IncomingBody, IncomingText, Inlet, MessageRef, Operation,
    OperationError, Place, Sender,
};
use weir_bridge::markup::Markup;

static START: LazyLock<Instant> = LazyLock::new(Instant::now);

/// Nanoseconds since the measurement began.
pub(super) fn clock() -> u128 {
    START.elapsed().as_nanos()
}

#[derive(Debug, Default)]
struct Inner {
    inlet: Option<mpsc::UnboundedSender<Incoming>>,
    answered: HashMap<String, Arc<Notify>>,
    delays: Vec<Duration>,
}

/// The chat.
#[derive(Debug, Default)]
pub(super) struct MemoryChat {
    inner: Mutex<Inner>,
    opened: Notify,
    count: AtomicU64,
}

impl MemoryChat {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends a message and waits for the reply.
    pub(super) async fn says(&self, person: usize) {
        let number = self.count.fetch_add(1, Ordering::Relaxed);
        let answered = Arc::new(Notify::new());
        self.lock().answered.insert(person.to_string(), Arc::clone(&answered));
        let incoming = Incoming {
            key: number.to_string(),
            place: Place { channel: "memory".into(), chat: person.to_string().into(), thread: None },
            sender: Sender { id: "me".into(), name: "me".to_owned(), is_bot: false },
            direct: true,
            addressed: true,
            order: i64::try_from(number).unwrap_or(i64::MAX),
            message: None,
            body: IncomingBody::Text(IncomingText::new("hello")),
        };
        loop {
            let opened = self.opened.notified();
            let sender = self.lock().inlet.clone();
            if let Some(sender) = sender {
                let _ = sender.send(incoming);
                break;
            }
            opened.await;
        }
        answered.notified().await;
    }

    /// How long first texts took to get here from the engine.
    pub(super) fn take_delays(&self) -> Vec<Duration> {
        std::mem::take(&mut self.lock().delays)
    }

    fn shows(&self, place: &Place, text: &str) {
        let mut inner = self.lock();
        if let Ok(said) = text.parse::<u64>() {
            let now = u64::try_from(clock()).unwrap_or(u64::MAX);
            inner.delays.push(Duration::from_nanos(now.saturating_sub(said)));
        } else if text == "done"
            && let Some(answered) = inner.answered.remove(place.chat.as_str())
        {
            answered.notify_one();
        }
    }
}

impl Channel for MemoryChat {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            markup: Markup::Plain,
            longest: 4_000,
            edits: true,
            deletes: true,
            typing: false,
            buttons: false,
            reactions: false,
            files: false,
            largest_picture: None,
            posts_once: true,
            edit_interval_ms: 1,
        }
    }

    fn run(self: Arc<Self>, inlet: Inlet) -> BoxFuture<'static, Result<(), BridgeError>> {
        Box::pin(async move {
            let (sender, mut incoming) = mpsc::unbounded_channel();
            self.lock().inlet = Some(sender);
            self.opened.notify_waiters();
            while let Some(incoming) = incoming.recv().await {
                let inlet = inlet.clone();
                tokio::spawn(async move { inlet.deliver(incoming, Vec::new()).await });
            }
            Ok(())
        })
    }

    fn perform(&self, operation: Operation) -> BoxFuture<'_, Result<Option<MessageRef>, OperationError>> {
        let done = match operation {
            Operation::Post { place, content, key, .. } => {
                self.shows(&place, &content.text.plain);
                Some(key.into())
            }
            Operation::Edit { place, content, .. } => {
                self.shows(&place, &content.text.plain);
                None
            }
            _ => None,
        };
        Box::pin(std::future::ready(Ok(done)))
    }

    fn check(&self) -> BoxFuture<'_, Result<Vec<String>, BridgeError>> {
        Box::pin(std::future::ready(Ok(Vec::new())))
    }
}
