//! Puts everything that happens to a session into one order: that of the store, in which it is also folded and shown.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use bytes::Bytes;
use tokio::sync::{mpsc, oneshot};
use weir_base::time::now_ms;
use weir_session::Observer;
use weir_store::{Append, Appended, ConversationId, ConversationUpdate, NewEvent, Reply, Store, StoreError};
use weir_transcript::HostEvent;
use weir_wire::{Body, Line, Message, MessageId, StreamEvent, StreamEventMessage};

use crate::error::HostError;
use crate::item::{Item, Oversize, search_text};
use crate::labels::Labeller;

/// Previews are dropped while more bytes than this wait to be shown: the complete lines follow anyway.
const MAX_WAITING: usize = 64 << 20;

/// How many messages are remembered as written. A process has one at a time, or a few that steer.
const MAX_WRITTEN: usize = 64;

/// Items that happened together.
#[derive(Debug)]
pub(crate) struct Batch {
    pub(crate) at: i64,
    pub(crate) items: Vec<Item>,
    /// The store's reply, if anything goes into the log.
    pub(crate) reply: Option<Reply<Appended>>,
    /// Notified when the batch is in the log and in the view.
    pub(crate) done: Option<oneshot::Sender<Result<Done, HostError>>>,
    pub(crate) sent: Instant,
    size: usize,
}

impl Batch {
    /// Whether the store's error is only returned to the sender: for messages when there is no space or no disk. Any other
    /// item that cannot be written ends the session, because the book would not know of it.
    pub(crate) fn is_refusable(&self, error: &HostError) -> bool {
        let is_message =
            !self.items.is_empty() && self.items.iter().all(|item| matches!(item, Item::Message(_)));
        is_message
            && matches!(
                error,
                HostError::Store(
                    StoreError::Full(_) | StoreError::Unusable { .. } | StoreError::Overloaded { .. }
                )
            )
    }
}

/// A batch is in the log and in the view.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Done {
    /// The number of its first event.
    pub(crate) seq: u64,
    /// Whether it was stored now; false if an event with the same client id was stored before.
    pub(crate) new: bool,
}

/// Puts everything that happens to a session into one order.
#[derive(Debug)]
pub(crate) struct Recorder {
    store: Arc<dyn Store>,
    conversation: ConversationId,
    /// Locked while a batch is sent to the store and to the task that shows it, so that both get it in the same order.
    /// Holds the error once the log has failed.
    batches: Mutex<Result<mpsc::UnboundedSender<Batch>, HostError>>,
    waiting: AtomicUsize,
}

impl Recorder {
    pub(crate) fn new(
        store: Arc<dyn Store>,
        conversation: ConversationId,
    ) -> (Self, mpsc::UnboundedReceiver<Batch>) {
        let (sender, receiver) = mpsc::unbounded_channel();
        let recorder =
            Self { store, conversation, batches: Mutex::new(Ok(sender)), waiting: AtomicUsize::new(0) };
        (recorder, receiver)
    }

    /// Records what happened. Does not wait.
    pub(crate) fn record(
        &self,
        items: Vec<Item>,
        update: ConversationUpdate,
    ) -> oneshot::Receiver<Result<Done, HostError>> {
        let at = now_ms();
        let events = items.iter().filter_map(|item| item.to_event(at, None)).collect();
        let (done, receiver) = oneshot::channel();
        self.send(at, items, events, update, Some(done));
        receiver
    }

    /// Like [`Recorder::record`], but waits until the items are in the log and in the view.
    pub(crate) async fn recorded(
        &self,
        items: Vec<Item>,
        update: ConversationUpdate,
    ) -> Result<Done, HostError> {
        self.record(items, update).await.unwrap_or_else(|_| Err(self.failure()))
    }

    fn send(
        &self,
        at: i64,
        items: Vec<Item>,
        events: Vec<NewEvent>,
        update: ConversationUpdate,
        done: Option<oneshot::Sender<Result<Done, HostError>>>,
    ) {
        let size = items.iter().map(Item::size).sum();
        // Nothing under the lock can panic half way.
        let batches = self.batches.lock().unwrap_or_else(PoisonError::into_inner);
        let Ok(batches) = &*batches else { return };
        self.waiting.fetch_add(size, Ordering::Relaxed);
        let essential = items.iter().all(Item::is_essential);
        let append =
            Append { events, update, essential, ..Append::new(self.conversation.clone(), Vec::new()) };
        let reply =
            (!append.events.is_empty() || !append.update.is_empty()).then(|| self.store.append(append));
        // If the session is no longer shown, the batch is still in the log.
        let _ = batches.send(Batch { at, items, reply, done, sent: Instant::now(), size });
    }

    /// Stops all further writes from here: the log has failed, and another writer may continue it.
    pub(crate) fn close(&self, error: &HostError) {
        *self.batches.lock().unwrap_or_else(PoisonError::into_inner) = Err(error.clone());
    }

    /// The reason why writes fail.
    pub(crate) fn failure(&self) -> HostError {
        let batches = self.batches.lock().unwrap_or_else(PoisonError::into_inner);
        batches.as_ref().err().cloned().unwrap_or_else(gone)
    }

    /// A batch was shown.
    pub(crate) fn shown(&self, batch: &Batch) {
        self.waiting.fetch_sub(batch.size, Ordering::Relaxed);
    }

    /// Whether a batch is still being written or shown.
    pub(crate) fn is_busy(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) > 0
    }

    fn is_overloaded(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) > MAX_WAITING
    }
}

pub(crate) fn gone() -> HostError {
    HostError::Failed("a session was closed while something was written to its log".to_owned())
}

/// Observes a process and records what it does.
pub(crate) struct Scribe {
    recorder: Arc<Recorder>,
    items: Vec<Item>,
    events: Vec<NewEvent>,
    /// The last messages that were written, the newest first.
    written: Vec<MessageId>,
    labeller: Labeller,
}

impl Scribe {
    pub(crate) fn new(recorder: Arc<Recorder>) -> Self {
        Self {
            recorder,
            items: Vec::new(),
            events: Vec::new(),
            written: Vec::new(),
            labeller: Labeller::default(),
        }
    }

    /// Forgets that a message was written. Returns true if it was: then it is queued again, because the process ended
    /// before it could take it. When it is queued for the first time, the log has the message itself.
    fn take_written(&mut self, message: &MessageId) -> bool {
        self.written
            .iter()
            .position(|written| written == message)
            .map(|place| self.written.remove(place))
            .is_some()
    }

    fn push(&mut self, item: Item) {
        // The time is set when all of them are sent: they arrived together.
        self.events.extend(item.to_event(0, None));
        self.items.push(item);
    }

    fn push_line(&mut self, line: &Line<'_>) {
        let item = Item::Line(Bytes::copy_from_slice(line.raw));
        let labels = self.labeller.labels(line);
        self.events.extend(item.to_event(0, search_text(line)).map(|event| NewEvent { labels, ..event }));
        self.items.push(item);
    }
}

impl Observer for Scribe {
    fn line(&mut self, line: &Line<'_>) {
        match &line.body {
            Body::Blank => {}
            // Complete lines do not have the final usage, so this one is logged.
            Body::Known(Message::StreamEvent(StreamEventMessage {
                event: StreamEvent::MessageDelta(delta),
                ..
            })) if delta.usage.is_some() => self.push_line(line),
            Body::Known(Message::StreamEvent(_)) => {
                if !self.recorder.is_overloaded() {
                    self.items.push(Item::Preview(Bytes::copy_from_slice(line.raw)));
                }
            }
            Body::Oversize { length } => {
                let head = String::from_utf8_lossy(line.raw.get(..4096).unwrap_or(line.raw)).into_owned();
                self.push(Item::Oversize(Oversize { length: *length, head }));
            }
            _ => self.push_line(line),
        }
    }

    fn host(&mut self, event: &HostEvent) {
        match event {
            HostEvent::MessageQueued { message, .. } if !self.take_written(message) => {}
            HostEvent::Stderr { text } => self.items.push(Item::Stderr(text.clone())),
            _ => {
                if let HostEvent::MessageSent { message } = event {
                    self.written.truncate(MAX_WRITTEN);
                    self.written.insert(0, message.clone());
                }
                self.push(Item::Host(event.clone()));
            }
        }
    }

    fn pause(&mut self) {
        if self.items.is_empty() {
            return;
        }
        let at = now_ms();
        for event in &mut self.events {
            event.at = at;
        }
        let (items, events) = (std::mem::take(&mut self.items), std::mem::take(&mut self.events));
        self.recorder.send(at, items, events, ConversationUpdate::default(), None);
    }
}

impl Drop for Scribe {
    fn drop(&mut self) {
        self.pause();
    }
}
