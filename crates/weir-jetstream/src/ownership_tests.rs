//! Two nodes that want the same session, on servers that lose answers, while nodes are stopped and continue.

use std::time::Duration;

use proptest::prelude::*;
use weir_testkit::Random;

use super::{Action, Event, Moment, Owner, Terms};

const MS: Duration = Duration::from_millis(1);

fn terms() -> Terms {
    Terms::new(Duration::from_secs(10), Duration::from_secs(3), Duration::from_millis(500)).unwrap()
}

/// The lease, by the servers' clock.
#[derive(Debug, Default)]
struct Servers {
    holder: Option<usize>,
    until: Moment,
    generation: u64,
}

/// A node, its watcher, and its processes.
struct Node {
    owner: Owner,
    /// Until then it does not run.
    stopped_until: Moment,
    /// What comes back to it, and when.
    coming: Vec<(Moment, Event)>,
    watch: Option<Moment>,
    has_processes: bool,
    /// When the kill ladder it has begun is through.
    ending_until: Option<Moment>,
}

impl Node {
    fn new() -> Self {
        Self {
            owner: Owner::new(terms()),
            stopped_until: Duration::ZERO,
            coming: Vec::new(),
            watch: None,
            has_processes: false,
            ending_until: None,
        }
    }
}

struct World {
    servers: Servers,
    nodes: [Node; 2],
    random: Random,
    handovers: u64,
    last_owner: Option<usize>,
}

impl World {
    fn answer(&mut self, number: usize, now: Moment, events: (Event, Event), is_granted: bool) {
        let delay = MS * u32::try_from(1 + self.random.below(400)).unwrap();
        let lost = self.random.chance(25);
        let event = if is_granted && !lost { events.0 } else { events.1 };
        let delay = if lost { Duration::from_secs(2) } else { delay };
        self.nodes[number].coming.push((now + delay, event));
    }

    fn handle(&mut self, number: usize, event: Event, now: Moment) {
        for action in self.nodes[number].owner.handle(event, now) {
            self.act(number, action, now);
        }
    }

    fn act(&mut self, number: usize, action: Action, now: Moment) {
        let ttl = terms().ttl;
        match action {
            Action::Acquire | Action::Renew => {
                let is_new = action == Action::Acquire;
                let is_free = self.servers.holder.is_none() || self.servers.until <= now;
                let is_ours = self.servers.holder == Some(number) && self.servers.until > now;
                let arrives = !self.random.chance(20);
                let is_granted = arrives && if is_new { is_free } else { is_ours };
                if is_granted {
                    self.servers.holder = Some(number);
                    self.servers.until = now + ttl;
                    self.servers.generation += u64::from(is_new);
                }
                let generation = self.servers.generation;
                let events = if is_new {
                    (Event::Granted { generation }, Event::NotGranted)
                } else if arrives && !is_ours {
                    (Event::Lost, Event::Lost)
                } else {
                    (Event::Renewed, Event::NotRenewed)
                };
                self.answer(number, now, events, is_granted);
            }
            Action::Claim { .. } => self.answer(number, now, (Event::Claimed, Event::Lost), true),
            Action::Watch { until } => self.nodes[number].watch = Some(until),
            Action::Start => {
                assert!(
                    self.nodes[number].watch.is_some_and(|until| until > now),
                    "started without a watcher"
                );
                self.nodes[number].has_processes = true;
                self.handovers += u64::from(self.last_owner.replace(number) != Some(number));
            }
            Action::End => {
                let ladder = MS * u32::try_from(self.random.below(3_001)).unwrap();
                self.nodes[number].ending_until.get_or_insert(now + ladder);
            }
            Action::Release => {
                if self.servers.holder == Some(number) {
                    assert!(!self.nodes[number].has_processes, "given back while processes run");
                    self.servers.holder = None;
                }
            }
            Action::Idle => assert!(!self.nodes[number].has_processes, "idle while processes run"),
        }
    }

    fn step(&mut self, now: Moment) {
        for number in 0..2 {
            let is_stopped = now < self.nodes[number].stopped_until;
            let node = &mut self.nodes[number];
            // The watcher runs in a process of its own.
            if node.has_processes && node.watch.is_some_and(|until| now >= until) {
                node.has_processes = false;
            }
            if is_stopped {
                continue;
            }
            if node.ending_until.is_some_and(|until| now >= until) {
                node.ending_until = None;
                node.has_processes = false;
                self.handle(number, Event::Ended, now);
            }
            let node = &mut self.nodes[number];
            let due: Vec<_> =
                node.coming.extract_if(.., |(at, _)| *at <= now).map(|(_, event)| event).collect();
            due.into_iter().for_each(|event| self.handle(number, event, now));
            if self.nodes[number].owner.next_tick().is_some_and(|at| now >= at) {
                self.handle(number, Event::Tick, now);
            }
            if self.random.chance(2) {
                self.handle(number, Event::Want, now);
            }
            if self.random.below(1_000) < 2 {
                self.handle(number, Event::Unwant, now);
            }
            if self.random.below(1_000) < 3 {
                let length = MS * u32::try_from(self.random.below(30_000)).unwrap();
                self.nodes[number].stopped_until = now + length;
            }
        }
        let driving = self.nodes.iter().filter(|node| node.has_processes).count();
        assert!(driving <= 1, "two nodes drive the session at {now:?}");
        for (number, node) in self.nodes.iter().enumerate() {
            let is_safe = self.servers.holder == Some(number) && now < self.servers.until;
            assert!(
                !node.has_processes || is_safe,
                "processes of node {number} outlive its lease at {now:?}"
            );
            assert!(!node.owner.may_act(now) || is_safe, "node {number} may act without a lease at {now:?}");
        }
    }
}

fn simulate(seed: u64) -> u64 {
    let nodes = [Node::new(), Node::new()];
    let mut world = World {
        servers: Servers::default(),
        nodes,
        random: Random::new(seed),
        handovers: 0,
        last_owner: None,
    };
    for step in 0..4_000 {
        world.step(MS * 50 * step);
    }
    world.handovers
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_process_outlives_the_lease_and_never_two_nodes_drive(seed in any::<u64>()) {
        simulate(seed);
    }
}

#[test]
fn a_session_moves_between_nodes() {
    let handovers: u64 = (0..20).map(simulate).sum();
    assert!(handovers > 40, "{handovers}");
}

#[test]
fn a_lease_must_be_long_enough() {
    let seconds = Duration::from_secs;
    assert!(Terms::new(seconds(5), seconds(5), Duration::ZERO).is_err());
    assert!(Terms::new(seconds(5), seconds(3), seconds(3)).is_err());
    let text = Terms::new(seconds(5), seconds(6), seconds(1)).unwrap_err().to_string();
    assert!(text.contains("5s") && text.contains("6s"), "{text}");
    assert_eq!(Terms::new(seconds(10), seconds(3), seconds(1)).unwrap().renew_every(), seconds(2));
}

#[test]
fn an_answer_that_comes_too_late_saves_nothing() {
    let at = Duration::from_secs;
    let mut owner = Owner::new(terms());
    assert_eq!(owner.handle(Event::Want, at(0)), [Action::Acquire]);
    assert_eq!(owner.handle(Event::Granted { generation: 4 }, at(1)), [Action::Claim { generation: 4 }]);
    let until = Duration::from_millis(9_500);
    assert_eq!(owner.handle(Event::Claimed, at(1)), [Action::Watch { until }, Action::Start]);
    assert!(owner.may_act(at(6)));
    assert_eq!(owner.handle(Event::Tick, at(3)), [Action::Renew]);
    assert_eq!(owner.handle(Event::NotRenewed, at(5)), [Action::Renew]);
    // The kill ladder takes three seconds and must be through half a second before the end.
    assert!(!owner.may_act(Duration::from_millis(6_500)));
    assert_eq!(owner.handle(Event::Renewed, at(7)), [Action::End]);
    assert_eq!(owner.handle(Event::Renewed, at(8)), []);
    assert!(!owner.may_act(at(8)));
    assert_eq!(owner.handle(Event::Ended, at(9)), [Action::Idle]);
    // Granted so late that there is no time to do anything.
    assert_eq!(owner.handle(Event::Want, at(20)), [Action::Acquire]);
    assert_eq!(owner.handle(Event::Granted { generation: 5 }, at(27)), [Action::Release, Action::Idle]);
}
