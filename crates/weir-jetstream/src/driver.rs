//! The task that writes a session: it does what [`Writer`] says.

use std::collections::HashMap;
use std::collections::VecDeque;
use std::collections::hash_map::Entry;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use bytes::Bytes;
use tokio::sync::mpsc;
use weir_store::{Appended, NewStoredSession, Promise, SessionId, StoreError, StoredSession};

use crate::core::{Core, Read};
use crate::headers;
use crate::parts::MAX_PART;
use crate::record::{self, Kind, Placed, Record};
use crate::request;
use crate::writer::{Action, Answer, Event, Ticket, Write, Writer};

/// A task that has nothing to write ends after this.
const IDLE: Duration = Duration::from_secs(60);
/// The pause before something is tried again.
const PAUSE: Duration = Duration::from_millis(50);

/// A write on its way to the task.
#[derive(Debug)]
pub(crate) struct Sent {
    pub(crate) write: Write,
    pub(crate) promise: Promised,
    /// Approximate memory that it takes.
    pub(crate) size: usize,
}

/// Who waits for a write.
#[derive(Debug)]
pub(crate) enum Promised {
    Created(Promise<StoredSession>, Box<NewStoredSession>),
    Appended(Promise<Appended>),
    Deleted(Promise<bool>),
}

impl Promised {
    fn answer(self, answer: Result<Answer, StoreError>) {
        match (self, answer) {
            (Self::Created(promise, new), Ok(Answer::Created(position))) => {
                promise
                    .answer(new.into_stored().map(|stored| StoredSession { revision: position, ..stored }));
            }
            (Self::Appended(promise), Ok(Answer::Appended(appended))) => promise.answer(Ok(appended)),
            (Self::Deleted(promise), Ok(Answer::Deleted(existed))) => promise.answer(Ok(existed)),
            (promised, Err(error)) => promised.fail(error),
            // The machine answers a write with its own kind of answer.
            (promised, Ok(_)) => promised.fail(StoreError::Closed),
        }
    }

    fn fail(self, error: StoreError) {
        match self {
            Self::Created(promise, _) => promise.answer(Err(error)),
            Self::Appended(promise) => promise.answer(Err(error)),
            Self::Deleted(promise) => promise.answer(Err(error)),
        }
    }
}

impl Core {
    /// Sends a write to the task of its session, which is started if necessary.
    pub(crate) fn write(self: &Arc<Self>, session: &SessionId, sent: Sent) {
        let waiting = self.waiting.load(Ordering::Relaxed);
        // A single write that is larger than the limit must still be possible.
        if waiting > 0 && waiting + sent.size > self.options.queue_limit {
            return sent.promise.fail(StoreError::Overloaded { waiting });
        }
        self.waiting.fetch_add(sent.size, Ordering::Relaxed);
        let mut writers = self.writers();
        let sender = match writers.entry(session.clone()) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(place) => {
                let (sender, receiver) = mpsc::unbounded_channel();
                self.runtime.spawn(Task::new(Arc::clone(self), session.clone(), receiver).run());
                place.insert(sender)
            }
        };
        // Under the lock: the task ends only when it holds the lock and has nothing left.
        if let Err(unsent) = sender.send(sent) {
            self.waiting.fetch_sub(unsent.0.size, Ordering::Relaxed);
            unsent.0.promise.fail(StoreError::Closed);
        }
    }
}

/// The task of a session.
struct Task {
    core: Arc<Core>,
    session: SessionId,
    receiver: mpsc::UnboundedReceiver<Sent>,
    writer: Writer,
    waiting: HashMap<Ticket, (Promised, usize)>,
    next_ticket: Ticket,
    /// Since when nothing was stored although something waits.
    stuck_since: Instant,
}

impl Task {
    fn new(core: Arc<Core>, session: SessionId, receiver: mpsc::UnboundedReceiver<Sent>) -> Self {
        let writer = Writer::new(session.clone(), core.check);
        let (waiting, stuck_since) = (HashMap::new(), Instant::now());
        Self { core, session, receiver, writer, waiting, next_ticket: 0, stuck_since }
    }

    async fn run(mut self) {
        loop {
            match tokio::time::timeout(IDLE, self.receiver.recv()).await {
                Ok(Some(sent)) => {
                    self.stuck_since = Instant::now();
                    let event = self.accept(sent);
                    self.drive(event).await;
                }
                // The log was closed, and everything is done.
                Ok(None) => return,
                Err(_) => {
                    let mut writers = self.core.writers();
                    if self.receiver.is_empty() {
                        writers.remove(&self.session);
                        return;
                    }
                }
            }
        }
    }

    fn accept(&mut self, sent: Sent) -> Event {
        self.next_ticket += 1;
        self.waiting.insert(self.next_ticket, (sent.promise, sent.size));
        Event::Write(self.next_ticket, sent.write)
    }

    /// Continues until everything is written, or has failed.
    async fn drive(&mut self, first: Event) {
        let mut events = VecDeque::from([first]);
        loop {
            let mut step = None;
            while let Some(event) = events.pop_front() {
                for action in self.writer.handle(event) {
                    match action {
                        Action::Answer(ticket, answer) => self.answer(ticket, answer),
                        Action::Grown(placed) => self.grown(&placed),
                        other => step = Some(other),
                    }
                }
            }
            let Some(step) = step else { return };
            let event = self.perform(step).await;
            // What came meanwhile can go into the next record.
            while let Ok(sent) = self.receiver.try_recv() {
                let event = self.accept(sent);
                events.push_back(event);
            }
            events.push_back(event);
        }
    }

    fn answer(&mut self, ticket: Ticket, answer: Result<Answer, StoreError>) {
        if let Some((promised, size)) = self.waiting.remove(&ticket) {
            self.core.waiting.fetch_sub(size, Ordering::Relaxed);
            promised.answer(answer);
        }
    }

    fn grown(&mut self, placed: &Placed) {
        self.stuck_since = Instant::now();
        self.core.tell(&self.session, placed);
        if placed.head.kind == Kind::Deleted {
            let (core, born) = (Arc::clone(&self.core), placed.head.born);
            self.core.runtime.spawn(async move { core.drop_all_parts(born).await });
        }
    }

    async fn perform(&mut self, step: Action) -> Event {
        let mut detail = "no answer in time".to_owned();
        let mut is_first = true;
        loop {
            if self.stuck_since.elapsed() > self.core.options.write_timeout {
                self.stuck_since = Instant::now();
                return Event::Expired(detail);
            }
            let is_repeated = matches!(step, Action::Store { is_repeated: true, .. });
            if !is_first || is_repeated {
                tokio::time::sleep(PAUSE).await;
            }
            is_first = false;
            match self.attempt(&step).await {
                Ok(event) => return event,
                Err(error) => detail = error.to_string(),
            }
        }
    }

    async fn attempt(&self, step: &Action) -> Result<Event, StoreError> {
        let placed = |read: Option<Read>| read.map(|read| read.placed);
        match step {
            Action::ReadLast => Ok(Event::Last(placed(self.core.last(&self.session).await?))),
            Action::ReadNext { after } => {
                Ok(Event::Next(placed(self.core.next(&self.session, after + 1).await?)))
            }
            Action::ReadNames { last } => Ok(self.names(*last).await?.map_or(Event::Gone, Event::Names)),
            Action::Store { record, after, .. } => Ok(self.store(record, *after).await),
            // These are done at once.
            Action::Grown(_) | Action::Answer(..) => Ok(Event::Gone),
        }
    }

    /// The client ids in the log, from the last record that has any to the first. None if the log was deleted meanwhile.
    async fn names(&self, last: u64) -> Result<Option<HashMap<String, u64>>, StoreError> {
        let mut names = HashMap::new();
        let mut position = last;
        while position > 0 {
            let Some(read) = self.core.at(position).await? else { return Ok(None) };
            let contents = record::decode(&self.core.body(&read).await?)?;
            let numbered = (read.placed.first()..).zip(contents.events);
            names.extend(numbered.filter_map(|(seq, event)| Some((event.client_id?, seq))));
            position = read.placed.head.named_before;
        }
        Ok(Some(names))
    }

    async fn store(&self, record: &Record, after: u64) -> Event {
        let body = Bytes::from(record.body.clone());
        let (parts, payload) = if body.len() > MAX_PART {
            match self.core.put_parts(record.head.born, record.head.id, &body).await {
                Ok(parts) => (Some(parts), Bytes::new()),
                // Without the record they are nothing.
                Err(error) => return Event::Rejected(error),
            }
        } else {
            (None, body)
        };
        let mut headers = headers::write(&record.head, parts.as_ref());
        if record.head.kind == Kind::Deleted {
            headers.insert("Nats-Rollup", "sub");
        }
        let subject = self.core.names.log(&self.session);
        match request::send(&self.core.client, subject, headers, payload, Some(after)).await {
            request::Sent::Stored(position) => Event::Stored { position },
            request::Sent::Refused => Event::Refused,
            request::Sent::Rejected(error) => Event::Rejected(error),
            request::Sent::NoAnswer(reason) => {
                tracing::debug!("no acknowledgement for a record of {}: {reason}", self.session);
                Event::NoAnswer
            }
        }
    }
}
