//! Assigns lines to agents: finds the tool call that started each sub-agent.

use std::collections::{HashMap, HashSet};

use weir_wire::{RawJson, ToolUseId};

use super::Transcript;
use super::record::{Record, text_at};
use super::tree::Branch;

/// The lines of one agent, in order.
#[derive(Debug, Default)]
pub(super) struct Lane<'a> {
    /// The tool call that started it; `None` for the main agent.
    pub(super) agent: Option<ToolUseId>,
    pub(super) records: Vec<Record<'a>>,
}

/// The lines of all agents, the main one first.
#[derive(Debug, Default)]
pub(super) struct Lanes<'a> {
    pub(super) lanes: Vec<Lane<'a>>,
    pub(super) lines: u64,
    pub(super) skipped: u64,
    pub(super) skipped_branches: u64,
    pub(super) unplaced: u64,
}

/// Lines of a sub-agent whose call is not known yet.
struct Candidate<'a> {
    id: Option<String>,
    call: Option<ToolUseId>,
    records: Vec<Record<'a>>,
}

impl<'a> Lanes<'a> {
    pub(super) fn of(transcript: &Transcript<'a>) -> Self {
        let records = Record::all(transcript.main);
        let mut lanes = Self { lines: records.len() as u64, ..Self::default() };
        let branch = Branch::newest(&records, |record| !record.sidechain);
        lanes.skipped += branch.skipped;
        lanes.skipped_branches += branch.skipped_branches;
        let mut candidates = side_chains(&records);
        let main = records.into_iter().zip(&branch.kept).filter(|(_, kept)| **kept).map(|(record, _)| record);
        lanes.lanes.push(Lane { agent: None, records: main.collect() });

        for file in &transcript.agents {
            // Sub-agents have no branches, so all lines are kept.
            let records = Record::all(file.lines);
            lanes.lines += records.len() as u64;
            let meta = file.meta.and_then(|meta| RawJson::parse(meta).ok()).unwrap_or_default();
            let call = text_at(meta, "toolUseId").map(ToolUseId::new);
            candidates.push(Candidate { id: Some(file.id.to_owned()), call, records });
        }
        lanes.place(candidates);
        lanes
    }

    /// Finds the call of each candidate. A placed agent may contain the calls of others.
    fn place(&mut self, mut candidates: Vec<Candidate<'a>>) {
        let mut taken: HashSet<ToolUseId> = HashSet::new();
        loop {
            let calls = Calls::in_lanes(&self.lanes);
            let found = candidates.iter().enumerate().find_map(|(place, candidate)| {
                let call = calls.started(candidate).filter(|call| !taken.contains(call))?;
                Some((place, call))
            });
            let Some((place, call)) = found else { break };
            taken.insert(call.clone());
            let records = candidates.remove(place).records;
            self.lanes.push(Lane { agent: Some(call), records });
        }
        self.unplaced = candidates.len() as u64;
    }
}

/// The tool calls in some lines.
#[derive(Default)]
struct Calls {
    ids: HashSet<ToolUseId>,
    by_agent: HashMap<String, ToolUseId>,
    by_prompt: HashMap<String, Vec<ToolUseId>>,
}

impl Calls {
    fn in_lanes(lanes: &[Lane<'_>]) -> Self {
        let mut calls = Self::default();
        for record in lanes.iter().flat_map(|lane| &lane.records) {
            calls.ids.extend(record.calls.iter().cloned());
            if let (Some(agent), [call]) = (&record.result_agent, record.results.as_slice()) {
                calls.by_agent.insert(agent.clone(), call.clone());
            }
            for block in record.content().elements().filter(|_| !record.calls.is_empty()) {
                let prompt = block.get("input").and_then(|input| text_at(input, "prompt"));
                if let (Some(prompt), Some(id)) = (prompt, text_at(block, "id")) {
                    calls.by_prompt.entry(prompt).or_default().push(ToolUseId::new(id));
                }
            }
        }
        calls
    }

    /// The call that started this sub-agent, found by its file, by the call's result, or by its prompt.
    fn started(&self, candidate: &Candidate<'_>) -> Option<ToolUseId> {
        if let Some(call) = candidate.call.as_ref().filter(|call| self.ids.contains(*call)) {
            return Some(call.clone());
        }
        if let Some(call) = candidate.id.as_ref().and_then(|id| self.by_agent.get(id)) {
            return Some(call.clone());
        }
        let prompt = candidate.records.iter().find(|record| record.kind == "user")?.said();
        match self.by_prompt.get(&prompt)?.as_slice() {
            [call] => Some(call.clone()),
            _ => None,
        }
    }
}

/// Older versions keep sub-agents in the session's own file, as separate chains of lines that each start at a
/// root.
fn side_chains<'a>(records: &[Record<'a>]) -> Vec<Candidate<'a>> {
    let mut root_of: HashMap<&str, usize> = HashMap::new();
    let mut chains: Vec<Candidate<'a>> = Vec::new();
    for record in records.iter().filter(|record| record.sidechain) {
        let known = record.parent.as_deref().and_then(|parent| root_of.get(parent)).copied();
        let chain = known.unwrap_or_else(|| {
            chains.push(Candidate { id: record.text("agentId"), call: None, records: Vec::new() });
            chains.len() - 1
        });
        if let Some(uuid) = &record.uuid {
            root_of.insert(uuid, chain);
        }
        if let Some(candidate) = chains.get_mut(chain) {
            candidate.records.push(record.clone());
        }
    }
    chains
}
