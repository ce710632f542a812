//! Writers on a log that loses answers, delays and doubles messages, and answers reads with what was.

use std::collections::BTreeMap;

use proptest::prelude::*;
use weir_store::{Append, Check, NewEvent, NewStoredSession, SessionId, StoreError};
use weir_testkit::Random;

use super::{Action, Answer, Event, Ticket, Write, Writer};
use crate::record::{self, Head, Kind, Placed, Record};

fn session() -> SessionId {
    "one".parse().unwrap()
}

fn check() -> Check {
    Check::from_stored(7).unwrap()
}

fn append(generation: u64, texts: &[&str]) -> Append {
    let events = texts.iter().map(|text| NewEvent::new(1, "line", text.as_bytes().to_vec())).collect();
    Append { generation, ..Append::new(session(), events) }
}

fn named(id: &str) -> NewEvent {
    NewEvent { client_id: Some(id.to_owned()), ..NewEvent::new(1, "line", id.as_bytes().to_vec()) }
}

/// The subject of a session: what is stored, and what is under way.
#[derive(Debug, Default)]
struct Subject {
    records: Vec<(Placed, Record)>,
    /// Of the stream, which other sessions use, too.
    position: u64,
    under_way: Vec<(Record, u64)>,
}

impl Subject {
    fn last(&self) -> u64 {
        self.records.last().map_or(0, |(placed, _)| placed.position)
    }

    /// Stores a record if it is expected here.
    fn store(&mut self, record: Record, after: u64, random: &mut Random) -> Option<u64> {
        if self.last() != after {
            return None;
        }
        self.position += 1 + random.below(5);
        let placed = Placed { position: self.position, head: record.head };
        if record.head.kind == Kind::Deleted {
            self.records.clear();
        }
        self.records.push((placed, record));
        Some(self.position)
    }

    fn read(&self, from: u64) -> Option<Placed> {
        self.records.iter().map(|(placed, _)| *placed).find(|placed| placed.position >= from)
    }

    fn names(&self) -> std::collections::HashMap<String, u64> {
        let mut names = std::collections::HashMap::new();
        for (placed, record) in self.records.iter().filter(|(placed, _)| placed.head.kind == Kind::Events) {
            let events = record::decode(&record.body).unwrap().events;
            names.extend(
                (placed.first()..).zip(events).filter_map(|(seq, event)| Some((event.client_id?, seq))),
            );
        }
        names
    }
}

/// A writer, its question that is open, and what it was told.
struct Side {
    writer: Writer,
    open: Option<Action>,
    answers: BTreeMap<Ticket, Result<Answer, StoreError>>,
}

impl Side {
    fn new() -> Self {
        Self { writer: Writer::new(session(), check()), open: None, answers: BTreeMap::new() }
    }

    fn handle(&mut self, event: Event) {
        for action in self.writer.handle(event) {
            match action {
                Action::Answer(ticket, answer) => {
                    assert!(self.answers.insert(ticket, answer).is_none(), "answered twice");
                }
                Action::Grown(_) => {}
                other => assert!(self.open.replace(other).is_none(), "one question at a time"),
            }
        }
    }

    /// Answers the open question, somehow.
    fn step(&mut self, subject: &mut Subject, random: &mut Random, is_calm: bool) {
        let Some(open) = self.open.take() else { return };
        let is_lost = !is_calm && random.chance(30);
        // Time is up between two attempts, and never while one is under way.
        if !is_calm && random.chance(4) {
            return self.handle(Event::Expired("too long".to_owned()));
        }
        match open {
            Action::ReadLast if is_lost => self.open = Some(Action::ReadLast),
            Action::ReadLast => {
                // A leader that was replaced does not know the newest ones.
                let stale = if is_calm { 0 } else { random.below(3) as usize };
                let known = subject.records.len().saturating_sub(stale).max(1);
                let last = subject.records.iter().take(known).next_back().map(|(placed, _)| *placed);
                self.handle(Event::Last(last));
            }
            Action::ReadNames { .. } => {
                let event = if is_lost { Event::Gone } else { Event::Names(subject.names()) };
                self.handle(event);
            }
            Action::ReadNext { after } if is_lost => self.open = Some(Action::ReadNext { after }),
            Action::ReadNext { after } => {
                let is_stale = !is_calm && random.chance(20);
                let next = subject.read(after + 1).filter(|_| !is_stale);
                self.handle(Event::Next(next));
            }
            Action::Store { record, after, .. } => {
                // A message may come late, twice, or never; the answer may be lost although it came.
                if is_lost && random.chance(50) {
                    subject.under_way.push((record, after));
                    return self.handle(Event::NoAnswer);
                }
                if !is_calm && random.chance(8) {
                    let full = StoreError::Unavailable { detail: "full".to_owned() };
                    return self.handle(Event::Rejected(full));
                }
                if !is_calm && random.chance(10) {
                    subject.under_way.push((record.clone(), after));
                }
                let stored = subject.store(record, after, random);
                let event = match stored {
                    _ if is_lost => Event::NoAnswer,
                    Some(position) => Event::Stored { position },
                    None => Event::Refused,
                };
                self.handle(event);
            }
            Action::Grown(_) | Action::Answer(..) => unreachable!("done at once"),
        }
    }
}

/// Writers of several generations on one session, until all is answered.
fn simulate(seed: u64) {
    let mut random = Random::new(seed);
    let mut subject = Subject::default();
    let mut first = Side::new();
    first.handle(Event::Write(0, Write::Create(Box::new(NewStoredSession::new(session(), 1)))));
    while first.open.is_some() {
        first.step(&mut subject, &mut random, true);
    }
    let mut sides: Vec<Side> = (0..3).map(|_| Side::new()).collect();
    // What each ticket wrote: its generation and texts.
    let mut sent: BTreeMap<(usize, Ticket), (u64, Vec<String>)> = BTreeMap::new();
    for round in 0..120 {
        let number = random.below(3) as usize;
        let side = &mut sides[number];
        if round < 80 && random.chance(60) {
            let ticket = round + 1;
            let generation = number as u64 + random.below(2);
            let texts: Vec<String> =
                (0..random.below(3)).map(|event| format!("{number}.{ticket}.{event}")).collect();
            let mut write = append(generation, &texts.iter().map(String::as_str).collect::<Vec<_>>());
            if random.chance(20) {
                write.events.push(named(&format!("m{}", random.below(4))));
            }
            sent.insert((number, ticket), (generation, texts));
            side.handle(Event::Write(ticket, Write::Append(Box::new(write))));
        }
        side.step(&mut subject, &mut random, false);
        if random.chance(20) && !subject.under_way.is_empty() {
            let late = random.below(subject.under_way.len() as u64) as usize;
            let (record, after) = subject.under_way.remove(late);
            subject.store(record, after, &mut random);
        }
    }
    while sides.iter().any(|side| side.open.is_some()) {
        for side in &mut sides {
            side.step(&mut subject, &mut random, true);
        }
    }
    // What is still under way comes at last, when no writer waits for it any more.
    for (record, after) in std::mem::take(&mut subject.under_way) {
        subject.store(record, after, &mut random);
    }
    judge(&subject, &sides, &sent);
}

fn judge(subject: &Subject, sides: &[Side], sent: &BTreeMap<(usize, Ticket), (u64, Vec<String>)>) {
    // Numbers without gaps, generations that never go back, client ids once.
    let (mut newest, mut generation, mut log, mut ids) = (0, 0, Vec::new(), std::collections::HashSet::new());
    for (placed, record) in &subject.records {
        let Head { generation: of_record, count, newest: after, .. } = placed.head;
        assert!(
            of_record >= generation,
            "a writer of generation {of_record} wrote after one of {generation}"
        );
        generation = of_record;
        assert_eq!(after, newest + count);
        newest = after;
        if placed.head.kind == Kind::Events {
            for event in record::decode(&record.body).unwrap().events {
                assert!(
                    event.client_id.clone().is_none_or(|id| ids.insert(id)),
                    "a client id is there twice"
                );
                log.push((of_record, String::from_utf8(event.payload).unwrap()));
            }
        }
    }
    for ((number, ticket), (generation, texts)) in sent {
        let answer = sides[*number].answers.get(ticket).expect("every write is answered");
        let found: Vec<_> = texts
            .iter()
            .map(|text| log.iter().filter(|(of, there)| of == generation && there == text).count())
            .collect();
        let seqs =
            |text: &String| log.iter().position(|(_, there)| there == text).map(|place| place as u64 + 1);
        match answer {
            Ok(Answer::Appended(appended)) => {
                assert!(found.iter().all(|&count| count == 1), "acknowledged, and there {found:?} times");
                for (text, placed) in texts.iter().zip(&appended.placed) {
                    assert_eq!(seqs(text), Some(placed.seq), "acknowledged with another number");
                }
            }
            Err(StoreError::Indeterminate { .. }) => {
                assert!(found.iter().all(|&count| count == found[0] && count <= 1), "there {found:?} times");
            }
            Err(StoreError::Fenced { .. } | StoreError::Unavailable { .. }) => {
                assert!(
                    found.iter().all(|&count| count == 0),
                    "refused ({answer:?}), and there {found:?} times"
                );
            }
            other => panic!("unexpected: {other:?}"),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_happens_on_the_way_a_log_is_as_its_writers_were_told(seed in any::<u64>()) {
        simulate(seed);
    }
}

#[test]
fn writes_that_wait_go_together() {
    let (mut subject, mut random, mut side) = (Subject::default(), Random::new(1), Side::new());
    side.handle(Event::Write(1, Write::Create(Box::new(NewStoredSession::new(session(), 1)))));
    side.handle(Event::Write(2, Write::Append(Box::new(append(0, &["a"])))));
    for ticket in 3..10 {
        side.handle(Event::Write(ticket, Write::Append(Box::new(append(0, &["b"])))));
    }
    // One that expects something else is decided when all before it is stored.
    side.handle(Event::Write(
        10,
        Write::Append(Box::new(Append { expected_newest: Some(3), ..append(0, &["c"]) })),
    ));
    side.handle(Event::Write(11, Write::Append(Box::new(append(2, &["d"])))));
    while side.open.is_some() {
        side.step(&mut subject, &mut random, true);
    }
    let counts: Vec<_> = subject.records.iter().map(|(placed, _)| placed.head.count).collect();
    assert_eq!(counts, [0, 8, 1]);
    assert!(matches!(side.answers[&10], Err(StoreError::Moved { expected: 3, newest: 8 })));
    assert!(matches!(&side.answers[&9], Ok(Answer::Appended(appended)) if appended.newest == 8));
}

#[test]
fn what_was_never_sent_is_not_stored_and_what_was_may_be() {
    let mut side = Side::new();
    side.handle(Event::Write(1, Write::Append(Box::new(append(0, &["a"])))));
    side.open = None;
    side.handle(Event::Expired("no leader".to_owned()));
    assert!(matches!(side.answers[&1], Err(StoreError::Unavailable { .. })));

    let (mut subject, mut random) = (Subject::default(), Random::new(1));
    side.handle(Event::Write(2, Write::Create(Box::new(NewStoredSession::new(session(), 1)))));
    side.step(&mut subject, &mut random, true);
    assert!(matches!(side.open.take(), Some(Action::Store { is_repeated: false, .. })));
    side.handle(Event::NoAnswer);
    assert!(matches!(side.open.take(), Some(Action::ReadNext { after: 0 })));
    side.handle(Event::Next(None));
    assert!(matches!(side.open.take(), Some(Action::Store { is_repeated: true, .. })));
    side.handle(Event::Expired("no answer".to_owned()));
    assert!(matches!(side.answers[&2], Err(StoreError::Indeterminate { .. })));
}

#[test]
fn a_full_disk_is_told_and_the_next_write_is_tried_again() {
    let (mut subject, mut random, mut side) = (Subject::default(), Random::new(1), Side::new());
    side.handle(Event::Write(1, Write::Create(Box::new(NewStoredSession::new(session(), 1)))));
    side.step(&mut subject, &mut random, true);
    side.open = None;
    side.handle(Event::Rejected(StoreError::Unavailable { detail: "full".to_owned() }));
    side.step(&mut subject, &mut random, true);
    assert!(matches!(&side.answers[&1], Err(StoreError::Unavailable { detail }) if detail == "full"));
    side.handle(Event::Write(2, Write::Create(Box::new(NewStoredSession::new(session(), 1)))));
    while side.open.is_some() {
        side.step(&mut subject, &mut random, true);
    }
    assert!(matches!(side.answers[&2], Ok(Answer::Created(_))));
}
