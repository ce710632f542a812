//! Nodes that are killed, stopped and started again while sessions are written and taken over.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::runtime::Runtime;
use weir_jetstream::JetStreamLog;
use weir_store::{Append, Log, SessionId, StoreError};
use weir_testkit::blocking::{until, until_some};
use weir_testkit::nats::Nats;
use weir_testkit::{Random, is_long_run};

use crate::support::{append, create, open, options, runtime, whole_log};

const NODES: usize = 3;

/// Two nodes of Weir on three of NATS, and sessions that are written all the time.
struct World<'w> {
    logs: &'w [JetStreamLog],
    sessions: &'w [SessionId],
    /// What was acknowledged in all.
    stored: AtomicU64,
    is_over: AtomicBool,
}

/// What a writer was told.
#[derive(Debug, Default)]
struct Told {
    session: usize,
    acknowledged: Vec<(u64, String)>,
    /// Nobody knows of these whether they are stored.
    unclear: Vec<String>,
    refused: Vec<String>,
    is_fenced: bool,
}

impl World<'_> {
    /// Writes until it is fenced, or all is over.
    fn write(&self, session: usize, generation: u64) -> Told {
        let mut told = Told { session, ..Told::default() };
        let log = &self.logs[generation as usize % self.logs.len()];
        let mut number = 0;
        while !self.is_over.load(Ordering::Relaxed) {
            number += 1;
            let text = format!("{generation}:{number}");
            match append(log, &self.sessions[session], generation, &text) {
                Ok(seq) => {
                    told.acknowledged.push((seq, text));
                    self.stored.fetch_add(1, Ordering::Relaxed);
                }
                Err(StoreError::Fenced { current, .. }) => {
                    assert!(current > generation);
                    told.refused.push(text);
                    told.is_fenced = true;
                    return told;
                }
                Err(StoreError::Indeterminate { .. }) => told.unclear.push(text),
                Err(StoreError::Unavailable { .. }) => told.refused.push(text),
                Err(error) => panic!("{error}"),
            }
        }
        told
    }

    /// Takes a session over, as a node does whose lease was granted. Tried until it is certain.
    fn claim(&self, session: usize, generation: u64) {
        let log = &self.logs[generation as usize % self.logs.len()];
        until("the session is claimed", || {
            let claim = Append { generation, ..Append::new(self.sessions[session].clone(), Vec::new()) };
            log.append(claim).wait().is_ok()
        });
    }

    fn until_stored(&self, more: u64) {
        let goal = self.stored.load(Ordering::Relaxed) + more;
        until("writing goes on", || self.stored.load(Ordering::Relaxed) >= goal);
    }
}

/// Looks at all logs as a new node does.
fn judge(log: &JetStreamLog, sessions: &[SessionId], told: &[Told]) {
    for (number, session) in sessions.iter().enumerate() {
        let found = whole_log(log, session);
        let count = |text: &String| found.iter().filter(|there| *there == text).count();
        let mut known = 0;
        for writer in told.iter().filter(|writer| writer.session == number) {
            for (seq, text) in &writer.acknowledged {
                assert_eq!(found.get(*seq as usize - 1), Some(text), "acknowledged, and not there");
                assert_eq!(count(text), 1, "{text} is there twice");
            }
            let stored = writer.unclear.iter().map(count).collect::<Vec<_>>();
            assert!(stored.iter().all(|&count| count <= 1), "{stored:?}");
            assert!(writer.refused.iter().all(|text| count(text) == 0), "refused, and there");
            known += writer.acknowledged.len() + stored.iter().sum::<usize>();
        }
        assert_eq!(found.len(), known, "events from nowhere");
        let generations: Vec<u64> =
            found.iter().map(|text| text.split(':').next().unwrap().parse().unwrap()).collect();
        assert!(generations.is_sorted(), "a writer that was replaced has written");
    }
    let stored: usize = told.iter().map(|writer| writer.acknowledged.len()).sum();
    let unclear: usize = told.iter().map(|writer| writer.unclear.len()).sum();
    println!("{stored} events acknowledged, {unclear} unclear, {} writers", told.len());
}

/// The node that leads the log's stream.
fn leader(runtime: &Runtime, nats: &Nats) -> usize {
    until_some("the stream has a leader", || {
        runtime.block_on(async {
            let client = async_nats::connect(nats.urls().as_slice()).await.ok()?;
            let stream = async_nats::jetstream::new(client).get_stream("weir_log").await.ok()?;
            nats.node(stream.cached_info().cluster.as_ref()?.leader.as_ref()?)
        })
    })
}

/// Runs writers, and `disturb` while they write, and looks at everything afterwards.
fn run(sessions: usize, disturb: impl FnOnce(&Runtime, &mut Nats, &World<'_>, &mut dyn FnMut(usize))) {
    if Nats::is_skipped() {
        return;
    }
    let mut nats = Nats::start(NODES).unwrap();
    let runtime = runtime();
    let logs: Vec<_> = (0..2).map(|_| open(&runtime, options(&nats, NODES)).unwrap()).collect();
    let sessions: Vec<_> = (0..sessions).map(|_| create(&logs[0])).collect();
    let world = World {
        logs: &logs,
        sessions: &sessions,
        stored: AtomicU64::new(0),
        is_over: AtomicBool::new(false),
    };
    let told: Vec<Told> = std::thread::scope(|scope| {
        let world = &world;
        let mut writers = Vec::new();
        let mut generations = vec![1; sessions.len()];
        for session in 0..sessions.len() {
            writers.push(scope.spawn(move || world.write(session, 1)));
        }
        let mut take_over = |session: usize| {
            let generation = &mut generations[session];
            *generation += 1;
            let generation = *generation;
            // The writer before goes on until it is told.
            world.claim(session, generation);
            writers.push(scope.spawn(move || world.write(session, generation)));
        };
        disturb(&runtime, &mut nats, world, &mut take_over);
        world.until_stored(20);
        world.is_over.store(true, Ordering::Relaxed);
        writers.into_iter().map(|writer| writer.join().unwrap()).collect()
    });
    let fresh = open(&runtime, options(&nats, NODES)).unwrap();
    judge(&fresh, &sessions, &told);
}

#[test]
fn the_leader_is_killed_while_sessions_are_written() {
    run(4, |runtime, nats, world, take_over| {
        world.until_stored(50);
        for _ in 0..2 {
            let node = leader(runtime, nats);
            nats.kill(node);
            let killed = Instant::now();
            world.until_stored(1);
            println!(
                "the next event was stored {} ms after the leader was killed",
                killed.elapsed().as_millis()
            );
            world.until_stored(30);
            take_over(0);
            nats.begin(node).unwrap();
            nats.wait_until_ready(true).unwrap();
            world.until_stored(30);
        }
    });
}

#[test]
fn the_leader_is_stopped_and_continues_as_if_nothing_had_happened() {
    run(4, |runtime, nats, world, take_over| {
        world.until_stored(50);
        let node = leader(runtime, nats);
        nats.pause(node).unwrap();
        let paused = Instant::now();
        until("the others go on", || world.stored.load(Ordering::Relaxed) >= 150);
        take_over(1);
        println!("{} ms after the leader was stopped", paused.elapsed().as_millis());
        nats.resume(node).unwrap();
        world.until_stored(50);
    });
}

#[test]
fn nothing_is_lost_or_doubled_in_random_faults() {
    let seed = std::env::var("WEIR_FAULT_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(20_261_120);
    let faults = if is_long_run() { 100 } else { 8 };
    println!("WEIR_FAULT_SEED={seed}, {faults} faults");
    run(3, |_, nats, world, take_over| {
        let mut random = Random::new(seed);
        for fault in 0..faults {
            world.until_stored(1 + random.below(20));
            let node = random.below(NODES as u64) as usize;
            let kind = random.below(3);
            let until_end = Duration::from_millis(random.below(4_000));
            let begun = Instant::now();
            let over = || begun.elapsed() >= until_end;
            match kind {
                0 => {
                    nats.kill(node);
                    until("the fault is over", over);
                    nats.begin(node).unwrap();
                }
                1 => {
                    nats.pause(node).unwrap();
                    until("the fault is over", over);
                    nats.resume(node).unwrap();
                }
                // At once: before it has what it missed, another one may be next.
                _ => {
                    nats.kill(node);
                    nats.begin(node).unwrap();
                }
            }
            if random.chance(30) {
                take_over(random.below(3) as usize);
            }
            if fault % 4 == 3 {
                nats.wait_until_ready(true).unwrap();
            }
        }
    });
}
