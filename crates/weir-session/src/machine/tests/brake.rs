//! Interrupts at every point of a session: nothing of the current turn runs afterwards, everyone waiting for it
//! is told, and messages queued behind it are answered.

use std::collections::BTreeSet;
use std::time::Duration;

use proptest::prelude::*;
use weir_transcript::TurnState;
use weir_wire::MessageId;

use super::host::{Host, Process};
use super::played::{Played, Version};
use crate::ask::Decision;
use crate::error::SessionError;
use crate::machine::{Command, MachineSettings, SendMode};

/// A session with a played CLI.
struct Scene {
    host: Host,
    cli: Played,
    /// How many of the written lines the CLI has received.
    given: usize,
    /// Interrupted messages, and how many tools they had started by then.
    interrupted: BTreeSet<String>,
    tools_before: Vec<(String, usize)>,
    sent: usize,
}

/// A possible next step.
#[derive(Debug, Clone, Copy)]
enum Step {
    Send,
    Steer,
    Interrupt,
    Starts,
    Reads,
    Works,
    Hears,
    Allows,
    Dies,
}

/// Steps that happen by themselves.
const BY_ITSELF: [Step; 5] = [Step::Starts, Step::Reads, Step::Works, Step::Hears, Step::Allows];

impl Scene {
    fn new(version: Version, asks_first: bool) -> Self {
        Self {
            host: Host::new(MachineSettings::default()),
            cli: Played::new(version, asks_first),
            given: 0,
            interrupted: BTreeSet::new(),
            tools_before: Vec::new(),
            sent: 0,
        }
    }

    /// The messages of the current turn: all that were written and not answered, or else the next one.
    fn at_hand(&self) -> Vec<String> {
        let open = |id: &&MessageId| !self.host.ended.contains_key(*id);
        let written: Vec<String> = self
            .host
            .accepted
            .iter()
            .filter(open)
            .filter(|id| self.host.sent.contains(*id))
            .map(|id| id.as_str().to_owned())
            .collect();
        if !written.is_empty() {
            return written;
        }
        let next = self.host.machine.messages.first_queued();
        next.map(|id| id.as_str().to_owned()).into_iter().collect()
    }

    /// Performs a step, if possible. Returns whether it was.
    fn step(&mut self, step: Step) -> bool {
        let is_running = self.host.process == Process::Running;
        match step {
            Step::Send | Step::Steer if self.sent < 4 => {
                self.sent += 1;
                let mode = if matches!(step, Step::Send) { SendMode::Queue } else { SendMode::Steer };
                self.host.send(&format!("m{}", self.sent), mode);
            }
            Step::Interrupt => {
                for id in self.at_hand() {
                    let tools = self.cli.tools.iter().filter(|tool| **tool == id).count();
                    if self.interrupted.insert(id.clone()) {
                        self.tools_before.push((id, tools));
                    }
                }
                self.host.command(|ticket| Command::Interrupt { ticket, only: None });
            }
            Step::Starts if self.host.process == Process::Starting => {
                self.cli.restarts();
                self.given = self.host.written.len();
                self.host.started();
            }
            Step::Reads if is_running && self.cli.can_read() => self.cli.reads(),
            Step::Works if is_running && self.cli.can_work() => self.cli.works(),
            Step::Hears if is_running => {
                let Some(line) = self.cli.says() else { return false };
                self.host.says(&line);
            }
            Step::Allows => {
                let Some(request) = self.host.asked.first().cloned() else { return false };
                self.host.decides(&request, Decision::allow());
            }
            Step::Dies if is_running => {
                self.host.begin_ending();
                for id in self.cli.unread() {
                    if !self.host.ended.contains_key(&MessageId::new(id.as_str())) {
                        self.host.unwritten(&id);
                    }
                }
                self.host.exits(1);
            }
            _ => return false,
        }
        for line in self.host.written.iter().skip(self.given) {
            self.cli.write(line.clone());
        }
        self.given = self.host.written.len();
        true
    }

    /// Runs everything to completion.
    fn finish(&mut self) {
        for _ in 0..2000 {
            let mut is_any = false;
            for step in BY_ITSELF {
                is_any |= self.step(step);
            }
            if is_any {
                continue;
            }
            if self.host.ended.len() == self.host.accepted.len() {
                return;
            }
            if self.host.process == Process::Ending {
                self.host.exits(0);
            } else {
                self.host.pass(Duration::from_secs(30));
            }
        }
        panic!("it does not end: {:?} {:?}", self.host.machine, self.cli);
    }
}

fn versions() -> impl Strategy<Value = Version> {
    prop_oneof![Just(Version::Old), Just(Version::New), Just(Version::Stubborn)]
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    prop::collection::vec(
        prop_oneof![
            3 => Just(Step::Send),
            1 => Just(Step::Steer),
            1 => Just(Step::Interrupt),
            12 => prop::sample::select(BY_ITSELF.to_vec()),
        ],
        0..60,
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn an_interrupt_at_any_point_ends_the_current_turn_and_nothing_else(
        version in versions(),
        asks_first in any::<bool>(),
        steps in steps(),
        dies in prop::option::weighted(0.2, 0..60usize),
    ) {
        let mut scene = Scene::new(version, asks_first);
        for (place, step) in steps.into_iter().enumerate() {
            scene.step(step);
            if dies == Some(place) {
                scene.step(Step::Dies);
            }
        }
        scene.finish();
        for (id, before) in &scene.tools_before {
            let tools = scene.cli.tools.iter().filter(|tool| *tool == id).count();
            prop_assert_eq!(tools, *before, "a tool of {} ran after the interrupt", id);
        }
        for id in &scene.host.accepted {
            let is_interrupted = match &scene.host.ended[id] {
                Err(SessionError::Interrupted) => true,
                Ok(end) => end.turn.state == TurnState::Interrupted,
                Err(_) => false,
            };
            let was_finished = scene.cli.finished.iter().any(|finished| finished == id.as_str());
            if scene.interrupted.contains(id.as_str()) {
                // It may have finished before the CLI received the interrupt.
                prop_assert!(is_interrupted || was_finished, "{:?}", scene.host.ended[id]);
            } else {
                prop_assert!(!is_interrupted, "{} was not the target: {:?}", id.as_str(), scene.host.ended[id]);
                prop_assert!(dies.is_some() || was_finished, "{}", id.as_str());
            }
        }
    }
}

/// Before every single step of a session with two messages, exhaustively instead of at random.
#[test]
fn an_interrupt_before_each_step_of_two_turns() {
    for version in [Version::Old, Version::New, Version::Stubborn] {
        for asks_first in [false, true] {
            for place in 0..60 {
                let mut scene = Scene::new(version, asks_first);
                scene.step(Step::Send);
                scene.step(Step::Send);
                let mut steps = 0;
                'played: loop {
                    let mut is_any = false;
                    for step in BY_ITSELF {
                        if steps == place {
                            break 'played;
                        }
                        if scene.step(step) {
                            is_any = true;
                            steps += 1;
                        }
                    }
                    if !is_any {
                        break;
                    }
                }
                scene.step(Step::Interrupt);
                scene.finish();
                let count = |id: &str| scene.cli.tools.iter().filter(|tool| *tool == id).count();
                for (id, before) in &scene.tools_before {
                    assert_eq!(count(id), *before, "{version:?}, before step {place}");
                }
                for id in ["m1", "m2"] {
                    let is_meant = scene.interrupted.contains(id);
                    let ran = scene.cli.finished.iter().any(|finished| finished == id);
                    assert!(is_meant || ran, "{version:?}, before step {place}: {id} should not be affected");
                }
            }
        }
    }
}
