//! The tools of one message: those that only read run concurrently, the others one after the other.

use std::sync::mpsc;
use std::time::Duration;

use super::Run;
use crate::array;
use crate::cancel::Stop;
use crate::json::Json;
use crate::lines;
use crate::object;
use crate::tools::{self, Call, Finished};

/// Lets a background sub-agent get its first response before its parent gets the next one.
const AGENT_FIRST: Duration = Duration::from_millis(15);

/// How much of a line gets through when the older version ends too soon.
const THROUGH: usize = 1 << 20;

impl Run<'_> {
    /// Runs the calls and writes their results in the order in which they finish. Returns the reason if the turn is
    /// over.
    pub(super) fn round(&mut self, mut calls: Vec<Call>) -> Option<Stop> {
        // A sub-agent is announced before anything runs.
        for call in &mut calls {
            let is_agent = matches!(call.name.as_str(), "Task" | "Agent");
            let possible = (self.agent.is_main() || self.sim.profile.nests_agents())
                && tools::exists(self.sim, &call.name);
            if is_agent && possible && call.starts.is_none() && call.input.str_of("prompt").is_some() {
                call.starts = Some(tools::announce(self.sim, &self.agent, call));
            }
        }
        let mut blocks: Vec<Option<Json>> = vec![None; calls.len()];
        let mut stopped = None;
        let mut next = 0;
        while next < calls.len() {
            let side_by_side =
                calls.iter().skip(next).take_while(|call| tools::runs_concurrently(self.sim, call)).count();
            let count = side_by_side.max(1);
            let group: Vec<(usize, Call)> =
                calls.iter().cloned().enumerate().skip(next).take(count).collect();
            next += count;
            for (place, finished) in self.run_group(group) {
                stopped = stopped.or(finished.stopped);
                if let Some(slot) = blocks.get_mut(place) {
                    *slot = Some(finished.block.clone());
                }
            }
        }
        self.history.tool_results(blocks.into_iter().flatten().collect());
        let launched = calls.iter().any(|call| call.starts.as_ref().is_some_and(|agent| agent.background));
        if launched && stopped.is_none() && !self.sim.profile.is_old() {
            stopped = self.agent.cancel.sleep(AGENT_FIRST).err();
        }
        stopped
    }

    fn run_group(&mut self, group: Vec<(usize, Call)>) -> Vec<(usize, Finished)> {
        let mut all = Vec::new();
        if let [(place, call)] = group.as_slice() {
            let finished = tools::execute(self.sim, &self.agent, call, *place == 0);
            self.write_result(&finished);
            all.push((*place, finished));
            return all;
        }
        let (sender, receiver) = mpsc::channel();
        std::thread::scope(|scope| {
            for (place, call) in group {
                let (sender, sim) = (sender.clone(), self.sim);
                // Concurrent threads must not share a generator, or identifiers would depend on timing.
                let mut agent = self.agent.clone();
                agent.ids = self.agent.ids.fork(&call.id);
                scope.spawn(move || {
                    drop(sender.send((place, tools::execute(sim, &agent, &call, place == 0))));
                });
            }
            drop(sender);
            for (place, finished) in receiver {
                self.write_result(&finished);
                all.push((place, finished));
            }
        });
        all
    }

    fn write_result(&mut self, finished: &Finished) {
        let uuid = self.agent.ids.uuid();
        self.user_lines += 1;
        self.history.save_result(&finished.block, &uuid, finished.structured.clone());
        let quiet =
            self.sim.profile.is_old() && matches!(finished.stopped, Some(Stop::Signal | Stop::Terminate));
        if !self.agent.shows_lines(self.sim)
            || quiet
            || self.sim.profile.is_old() && self.sim.queue.is_ending()
        {
            return;
        }
        let mut extra = object! {};
        // The newer version omits the structured form for sub-agents.
        if self.agent.is_main() || self.sim.profile.is_old() {
            extra.set("tool_use_result", finished.structured.clone());
        }
        if !self.sim.profile.is_old()
            && let Some(meta) = &finished.meta
        {
            extra.set("tool_result_meta", array![meta]);
        }
        let line = lines::user(self.sim, &self.agent, array![&finished.block], &uuid, extra);
        if !self.cut_short(&line) {
            self.sim.out.line(&line);
        }
    }

    /// After the end of its input the older version exits before a very long line is completely written.
    fn cut_short(&self, line: &Json) -> bool {
        if !self.sim.profile.is_old() || !self.sim.queue.input_ended() {
            return false;
        }
        let text = line.to_string();
        let Some(part) = text.as_bytes().get(..THROUGH).filter(|_| self.agent.is_main()) else {
            return false;
        };
        self.sim.out.raw(part);
        self.sim.out.close();
        self.sim.queue.end(Some(0), Stop::Terminate);
        true
    }
}
