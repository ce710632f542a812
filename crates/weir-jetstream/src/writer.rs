//! How a session is written, as a state machine: what is sent, and what an answer, a missing answer or a refusal means.
//!
//! A record is stored only if the last one on its session's subject is the one that the writer has seen. From this follows
//! everything else:
//!
//! - *Once.* A record can only ever be stored as the successor of the one it was made for. If no answer comes, the writer
//!   reads that successor: it is this record, or another one (then this one never will be stored), or none yet (then it is
//!   sent again, and of all copies at most one can be stored).
//! - *Without gaps.* The numbers of its events continue those of the record before it.
//! - *Fenced.* The writer has seen the generation of the record before it, so no record follows one of a higher generation.
//!
//! Writes that come while a record is under way wait, and go together into the next one.
//!
//! The machine does no I/O and reads no clock; [`crate::driver`] does.

use std::collections::{HashMap, VecDeque};

use weir_store::{Append, Appended, Check, NewEvent, NewStoredSession, SessionId, StoreError};

use crate::record::{self, Head, Kind, Placed, Record, RecordId};

/// Writes are put together into one record up to about this size. One larger write is a record by itself.
const MAX_TOGETHER: usize = 256 << 10;

/// A write.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Write {
    Create(Box<NewStoredSession>),
    Append(Box<Append>),
    Delete,
}

/// Identifies a write, for its answer.
pub(crate) type Ticket = u64;

/// The answer to a write.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Answer {
    /// The session was created; the number of its first record.
    Created(u64),
    Appended(Appended),
    /// Whether there was anything to delete.
    Deleted(bool),
}

/// What happens to a writer.
#[derive(Debug, Clone)]
pub(crate) enum Event {
    /// A caller wants to write.
    Write(Ticket, Write),
    /// The last record on the subject.
    Last(Option<Placed>),
    /// The client ids in the log, with the numbers of their events.
    Names(HashMap<String, u64>),
    /// What was read for the client ids is no longer there.
    Gone,
    /// The record is stored.
    Stored { position: u64 },
    /// It is not, because the last record on the subject is not the expected one.
    Refused,
    /// It is not, for another reason: there is no space, for example.
    Rejected(StoreError),
    /// No answer came. It may be stored, or be stored later.
    NoAnswer,
    /// The first record on the subject after the expected one.
    Next(Option<Placed>),
    /// It has taken too long.
    Expired(String),
}

/// What a writer wants done.
#[derive(Debug, Clone)]
pub(crate) enum Action {
    /// Read the last record on the subject.
    ReadLast,
    /// Read the client ids in the log, beginning with the record at this position.
    ReadNames {
        last: u64,
    },
    /// Store a record, if the last one on the subject is at this position.
    Store {
        record: Record,
        after: u64,
        is_repeated: bool,
    },
    /// Read the first record on the subject after this position.
    ReadNext {
        after: u64,
    },
    /// The log ends with this record now.
    Grown(Placed),
    Answer(Ticket, Result<Answer, StoreError>),
}

/// Writes one session.
#[derive(Debug)]
pub(crate) struct Writer {
    session: SessionId,
    check: Check,
    queue: VecDeque<(Ticket, Write)>,
    state: State,
    /// The last record on the subject, if that is known.
    last: Option<Option<Placed>>,
    /// The client ids in the log up to there, if they are known.
    names: Option<HashMap<String, u64>>,
}

#[derive(Debug)]
enum State {
    Idle,
    /// Reading the last record.
    Reading,
    /// Reading client ids.
    Naming,
    /// A record is under way.
    Storing(Box<Flight>),
}

/// A record that is under way.
#[derive(Debug)]
struct Flight {
    record: Record,
    after: u64,
    /// The writes in it, to be done again if it is not stored.
    writes: Vec<(Ticket, Write)>,
    /// Their answers if it is.
    answers: Vec<Answer>,
    /// The client ids that it adds.
    names: Vec<(String, u64)>,
    /// Whether a copy of it was sent without an answer.
    may_be_stored: bool,
    /// Why it was rejected the last time it was sent.
    rejected: Option<StoreError>,
}

impl Writer {
    pub(crate) fn new(session: SessionId, check: Check) -> Self {
        let (queue, state) = (VecDeque::new(), State::Idle);
        Self { session, check, queue, state, last: None, names: None }
    }

    /// Whether nothing waits and nothing is under way.
    pub(crate) fn is_idle(&self) -> bool {
        matches!(self.state, State::Idle)
    }

    pub(crate) fn handle(&mut self, event: Event) -> Vec<Action> {
        let mut actions = Vec::new();
        match (std::mem::replace(&mut self.state, State::Idle), event) {
            (state, Event::Write(ticket, write)) => {
                self.queue.push_back((ticket, write));
                self.state = state;
            }
            (State::Reading, Event::Last(last)) => {
                self.last = Some(last);
                self.names = None;
            }
            (State::Naming, Event::Names(names)) => self.names = Some(names),
            (State::Naming, Event::Gone) => self.last = None,
            (State::Storing(flight), event) => self.handle_flight(*flight, event, &mut actions),
            (State::Reading | State::Naming, Event::Expired(detail)) => {
                self.last = None;
                self.fail_queue(&detail, &mut actions);
            }
            // An answer to a question that was given up.
            (state, _) => self.state = state,
        }
        if self.is_idle() {
            self.proceed(&mut actions);
        }
        actions
    }

    fn handle_flight(&mut self, mut flight: Flight, event: Event, actions: &mut Vec<Action>) {
        match event {
            Event::Stored { position } => return self.stored(flight, position, actions),
            Event::Next(Some(next)) if next.head.id == flight.record.head.id => {
                return self.stored(flight, next.position, actions);
            }
            // Another record has its place for ever. What was in it is looked at again, in the light of that.
            Event::Next(Some(_)) => {
                self.last = None;
                flight.writes.into_iter().rev().for_each(|write| self.queue.push_front(write));
                return;
            }
            Event::Next(None) => match flight.rejected.take().filter(|_| !flight.may_be_stored) {
                Some(error) => {
                    self.last = None;
                    let failed = flight
                        .writes
                        .into_iter()
                        .map(|(ticket, _)| Action::Answer(ticket, Err(error.clone())));
                    actions.extend(failed);
                    return;
                }
                None => {
                    let (record, after) = (flight.record.clone(), flight.after);
                    actions.push(Action::Store { record, after, is_repeated: true });
                }
            },
            Event::Refused => actions.push(Action::ReadNext { after: flight.after }),
            Event::Rejected(error) => {
                flight.rejected = Some(error);
                actions.push(Action::ReadNext { after: flight.after });
            }
            Event::NoAnswer => {
                flight.may_be_stored = true;
                actions.push(Action::ReadNext { after: flight.after });
            }
            Event::Expired(detail) => {
                self.last = None;
                let error = if flight.may_be_stored {
                    StoreError::Indeterminate { detail: detail.clone() }
                } else {
                    StoreError::Unavailable { detail: detail.clone() }
                };
                let failed =
                    flight.writes.into_iter().map(|(ticket, _)| Action::Answer(ticket, Err(error.clone())));
                actions.extend(failed);
                self.fail_queue(&detail, actions);
                return;
            }
            Event::Write(..) | Event::Last(_) | Event::Names(_) | Event::Gone => {}
        }
        self.state = State::Storing(Box::new(flight));
    }

    fn stored(&mut self, flight: Flight, position: u64, actions: &mut Vec<Action>) {
        let placed = Placed { position, head: flight.record.head };
        self.last = Some(Some(placed));
        match placed.head.kind {
            Kind::Created => self.names = Some(HashMap::new()),
            Kind::Deleted => self.names = None,
            Kind::Events => {
                self.names.iter_mut().for_each(|names| names.extend(flight.names.iter().cloned()));
            }
        }
        actions.push(Action::Grown(placed));
        for ((ticket, _), answer) in flight.writes.into_iter().zip(flight.answers) {
            let answer = if let Answer::Created(_) = answer { Answer::Created(position) } else { answer };
            actions.push(Action::Answer(ticket, Ok(answer)));
        }
    }

    /// Nothing of what waits was sent.
    fn fail_queue(&mut self, detail: &str, actions: &mut Vec<Action>) {
        let error = StoreError::Unavailable { detail: detail.to_owned() };
        let failed = self.queue.drain(..).map(|(ticket, _)| Action::Answer(ticket, Err(error.clone())));
        actions.extend(failed);
    }

    /// Begins the next step, if anything waits.
    fn proceed(&mut self, actions: &mut Vec<Action>) {
        while let Some((ticket, write)) = self.queue.pop_front() {
            let Some(last) = self.last else {
                self.queue.push_front((ticket, write));
                self.state = State::Reading;
                actions.push(Action::ReadLast);
                return;
            };
            let alive = last.filter(|last| last.head.kind != Kind::Deleted);
            let after = last.map_or(0, |last| last.position);
            let begun = match (write, alive) {
                (Write::Create(_), Some(_)) => Err(StoreError::IdInUse(self.session.clone())),
                (Write::Create(new), None) => self.created(ticket, new, after),
                (Write::Delete, None) => {
                    actions.push(Action::Answer(ticket, Ok(Answer::Deleted(false))));
                    continue;
                }
                (Write::Delete, Some(last)) => {
                    let nothing =
                        Head { newest: 0, generation: 0, named_before: 0, ..self.head_after(&last) };
                    let head = Head { kind: Kind::Deleted, previous: 0, ..nothing };
                    let writes = vec![(ticket, Write::Delete)];
                    Ok(Flight::new(
                        Record { head, body: Vec::new() },
                        after,
                        writes,
                        vec![Answer::Deleted(true)],
                    ))
                }
                (Write::Append(_), None) => Err(StoreError::NotFound(self.session.clone())),
                (Write::Append(append), Some(last)) => match self.together(ticket, *append, last, actions) {
                    Ok(Some(flight)) => Ok(flight),
                    Ok(None) if self.is_idle() => continue,
                    Ok(None) => return,
                    Err(error) => Err(error),
                },
            };
            match begun {
                Ok(flight) => {
                    actions.push(Action::Store { record: flight.record.clone(), after, is_repeated: false });
                    self.state = State::Storing(Box::new(flight));
                    return;
                }
                Err(error) => actions.push(Action::Answer(ticket, Err(error))),
            }
        }
    }

    fn created(&self, ticket: Ticket, new: Box<NewStoredSession>, after: u64) -> Result<Flight, StoreError> {
        // Only to find out whether it is valid.
        new.clone().into_stored()?;
        let body = record::encode_new(&new).map_err(|error| StoreError::Invalid(error.to_string()))?;
        let id = RecordId::random();
        let head = Head {
            id,
            kind: Kind::Created,
            generation: 0,
            check: self.check,
            newest: 0,
            count: 0,
            born: id,
            // What is before it belongs to another session, which was deleted.
            previous: 0,
            named_before: 0,
            is_named: false,
        };
        let (writes, answers) = (vec![(ticket, Write::Create(new))], vec![Answer::Created(0)]);
        Ok(Flight::new(Record { head, body }, after, writes, answers))
    }

    /// The head of a record without events after this one.
    fn head_after(&self, last: &Placed) -> Head {
        Head {
            id: RecordId::random(),
            kind: Kind::Events,
            generation: last.head.generation,
            check: self.check,
            newest: last.head.newest,
            count: 0,
            born: last.head.born,
            previous: last.position,
            named_before: last.last_named(),
            is_named: false,
        }
    }

    /// A record with this append and those that wait behind it, as far as they fit. None if nothing has to be stored, or if
    /// the client ids must be read first.
    fn together(
        &mut self,
        ticket: Ticket,
        append: Append,
        last: Placed,
        actions: &mut Vec<Action>,
    ) -> Result<Option<Flight>, StoreError> {
        let (generation, current) = (append.generation, last.head.generation);
        if generation < current {
            return Err(StoreError::Fenced { session: self.session.clone(), generation, current });
        }
        append.check()?;
        let mut group = Group::new(last.head.newest, self.check);
        if needs_names(&append) && self.names.is_none() {
            self.queue.push_front((ticket, Write::Append(Box::new(append))));
            self.state = State::Naming;
            actions.push(Action::ReadNames { last: last.last_named() });
            return Ok(None);
        }
        group.add(ticket, append, self.names.as_ref())?;
        // The others only if nothing has to be refused: that is decided when all before them is stored.
        while group.size < MAX_TOGETHER
            && let Some((_, Write::Append(next))) = self.queue.front()
            && next.generation == generation
            && next.check().is_ok()
            && group.size + next.size() <= MAX_TOGETHER
            && !(needs_names(next) && self.names.is_none())
            && group.accepts(next, self.names.as_ref())
            && let Some((ticket, Write::Append(next))) = self.queue.pop_front()
        {
            group.add(ticket, *next, self.names.as_ref())?;
        }
        if group.events.is_empty() && group.updates.is_empty() && generation == current {
            for ((ticket, _), answer) in group.writes.into_iter().zip(group.answers) {
                actions.push(Action::Answer(ticket, Ok(answer)));
            }
            return Ok(None);
        }
        let head = Head {
            generation,
            newest: group.newest,
            count: group.events.len() as u64,
            is_named: !group.names.is_empty(),
            ..self.head_after(&last)
        };
        let body = record::encode(group.updates, &group.events);
        let body = body.map_err(|error| StoreError::Invalid(error.to_string()))?;
        let flight = Flight::new(Record { head, body }, last.position, group.writes, group.answers);
        Ok(Some(Flight { names: group.names, ..flight }))
    }
}

impl Flight {
    fn new(record: Record, after: u64, writes: Vec<(Ticket, Write)>, answers: Vec<Answer>) -> Self {
        Self { record, after, writes, answers, names: Vec::new(), may_be_stored: false, rejected: None }
    }
}

fn needs_names(append: &Append) -> bool {
    append.events.iter().any(|event| event.client_id.is_some())
}

/// Appends that go into one record.
struct Group {
    newest: u64,
    check: Check,
    size: usize,
    events: Vec<NewEvent>,
    updates: Vec<weir_store::SessionUpdate>,
    names: Vec<(String, u64)>,
    writes: Vec<(Ticket, Write)>,
    answers: Vec<Answer>,
}

impl Group {
    fn new(newest: u64, check: Check) -> Self {
        Self {
            newest,
            check,
            size: 0,
            events: Vec::new(),
            updates: Vec::new(),
            names: Vec::new(),
            writes: Vec::new(),
            answers: Vec::new(),
        }
    }

    /// The number of the event with this client id.
    fn known(&self, event: &NewEvent, names: Option<&HashMap<String, u64>>) -> Option<u64> {
        let id = event.client_id.as_ref()?;
        let stored = names.and_then(|names| names.get(id)).copied();
        stored.or_else(|| self.names.iter().find(|(name, _)| name == id).map(|(_, seq)| *seq))
    }

    /// Whether the log is where the append expects it.
    fn accepts(&self, append: &Append, names: Option<&HashMap<String, u64>>) -> bool {
        let is_expected = append.expected_newest.is_none_or(|expected| expected == self.newest);
        is_expected || append.events.iter().all(|event| self.known(event, names).is_some())
    }

    fn add(
        &mut self,
        ticket: Ticket,
        append: Append,
        names: Option<&HashMap<String, u64>>,
    ) -> Result<(), StoreError> {
        if !self.accepts(&append, names) {
            let expected = append.expected_newest.unwrap_or_default();
            return Err(StoreError::Moved { expected, newest: self.newest });
        }
        self.size += append.size();
        let mut placed = Vec::with_capacity(append.events.len());
        for event in &append.events {
            if let Some(seq) = self.known(event, names) {
                placed.push(weir_store::Placed { seq, new: false });
                continue;
            }
            self.newest += 1;
            placed.push(weir_store::Placed { seq: self.newest, new: true });
            self.names.extend(event.client_id.clone().map(|id| (id, self.newest)));
            self.events.push(event.clone());
        }
        if !append.update.is_empty() {
            self.updates.push(append.update.clone());
        }
        self.answers.push(Answer::Appended(Appended { placed, newest: self.newest, check: self.check }));
        self.writes.push((ticket, Write::Append(Box::new(append))));
        Ok(())
    }
}

#[cfg(test)]
#[path = "writer_tests.rs"]
mod tests;
