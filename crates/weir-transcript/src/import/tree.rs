//! Finds the lines of a file that belong to the newest branch.
//!
//! Every message names the one before it. Going back in a session and writing something else creates another
//! branch in the same file; the newest one is what the CLI would resume. Tools that run in parallel also create
//! branches, and those belong together.

use std::collections::{HashMap, HashSet};

use weir_wire::ToolUseId;

use super::record::Record;

/// The newest branch of a file.
#[derive(Debug, Default)]
pub(super) struct Branch {
    /// For each line of the file, whether it is kept.
    pub(super) kept: Vec<bool>,
    /// Number of messages that are not kept.
    pub(super) skipped: u64,
    /// Number of branches that are not kept.
    pub(super) skipped_branches: u64,
}

impl Branch {
    /// The newest branch of those lines for which `is_own` holds. Lines without a place in the tree are kept.
    pub(super) fn newest(records: &[Record<'_>], is_own: impl Fn(&Record<'_>) -> bool) -> Self {
        let in_tree = |record: &Record<'_>| record.uuid.is_some() && is_own(record);
        let places: HashMap<&str, usize> = records
            .iter()
            .enumerate()
            .filter(|(_, record)| in_tree(record))
            .filter_map(|(place, record)| Some((record.uuid.as_deref()?, place)))
            .collect();
        let tip = records.iter().rposition(|record| in_tree(record) && record.is_message());
        let mut kept = vec![false; records.len()];
        let mut next = tip;
        while let Some(place) = next {
            let Some(seen) = kept.get_mut(place).filter(|seen| !**seen) else { break };
            *seen = true;
            next = records.get(place).and_then(|record| before(record, place, &places, records, &in_tree));
        }
        keep_parallel_parts(records, &mut kept, &in_tree);

        let is_skipped = |place: usize, record: &Record<'_>| {
            in_tree(record) && record.is_message() && kept.get(place) == Some(&false)
        };
        let skipped: Vec<_> =
            records.iter().enumerate().filter(|(place, record)| is_skipped(*place, record)).collect();
        let parents: HashSet<&str> =
            skipped.iter().filter_map(|(_, record)| record.parent.as_deref()).collect();
        let is_tip = |record: &Record<'_>| record.uuid.as_deref().is_some_and(|uuid| !parents.contains(uuid));
        let skipped_branches = skipped.iter().filter(|(_, record)| is_tip(record)).count() as u64;
        let skipped = skipped.len() as u64;
        for (place, record) in records.iter().enumerate() {
            if let Some(kept) = kept.get_mut(place).filter(|_| record.uuid.is_none() && !record.sidechain) {
                *kept = true;
            }
        }
        Self { kept, skipped, skipped_branches }
    }
}

/// The line before this one on its branch.
fn before(
    record: &Record<'_>,
    place: usize,
    places: &HashMap<&str, usize>,
    records: &[Record<'_>],
    in_tree: &impl Fn(&Record<'_>) -> bool,
) -> Option<usize> {
    let named = record.parent.as_deref().or(record.logical_parent.as_deref())?;
    places.get(named).copied().or_else(|| {
        // The file does not have that line: the previous one is the best guess, and loses nothing.
        records.get(..place)?.iter().rposition(in_tree)
    })
}

/// Adds the other parts of messages that are on the branch, and the results of all their tool calls.
fn keep_parallel_parts(records: &[Record<'_>], kept: &mut [bool], in_tree: &impl Fn(&Record<'_>) -> bool) {
    let messages: HashSet<&str> = records
        .iter()
        .zip(kept.iter())
        .filter(|(record, kept)| **kept && record.kind == "assistant")
        .filter_map(|(record, _)| record.message_id.as_deref())
        .collect();
    let mut calls: HashSet<&ToolUseId> = HashSet::new();
    for (record, kept) in records.iter().zip(kept.iter_mut()).filter(|(record, _)| in_tree(record)) {
        let is_part = record.kind == "assistant"
            && record.message_id.as_deref().is_some_and(|message| messages.contains(message));
        if *kept || is_part {
            *kept = true;
            calls.extend(&record.calls);
        }
    }
    for (record, kept) in records.iter().zip(kept.iter_mut()).filter(|(record, _)| in_tree(record)) {
        *kept |= record.results.iter().any(|call| calls.contains(call));
    }
}

#[cfg(test)]
mod tests {
    use super::{Branch, Record};

    fn kept(file: &str) -> (Vec<usize>, u64, u64) {
        let records = Record::all(file.as_bytes());
        let branch = Branch::newest(&records, |record| !record.sidechain);
        let places = branch.kept.iter().enumerate().filter(|(_, kept)| **kept).map(|(place, _)| place);
        (places.collect(), branch.skipped, branch.skipped_branches)
    }

    #[test]
    fn follows_the_newest_of_two_branches() {
        let file = r#"{"type":"user","uuid":"1","parentUuid":null}
{"type":"assistant","uuid":"2","parentUuid":"1"}
{"type":"user","uuid":"3","parentUuid":"2"}
{"type":"assistant","uuid":"4","parentUuid":"3"}
{"type":"queue-operation"}
{"type":"user","uuid":"5","parentUuid":"2"}
{"type":"assistant","uuid":"6","parentUuid":"5"}"#;
        assert_eq!(kept(file), (vec![0, 1, 4, 5, 6], 2, 1));
    }

    #[test]
    fn keeps_tools_that_ran_in_parallel() {
        let file = r#"{"type":"user","uuid":"1","parentUuid":null}
{"type":"assistant","uuid":"2","parentUuid":"1","message":{"id":"m","content":[{"type":"tool_use","id":"a"}]}}
{"type":"assistant","uuid":"3","parentUuid":"2","message":{"id":"m","content":[{"type":"tool_use","id":"b"}]}}
{"type":"user","uuid":"4","parentUuid":"3","message":{"content":[{"type":"tool_result","tool_use_id":"b"}]}}
{"type":"user","uuid":"5","parentUuid":"2","message":{"content":[{"type":"tool_result","tool_use_id":"a"}]}}
{"type":"assistant","uuid":"6","parentUuid":"5","message":{"id":"n","content":[]}}"#;
        assert_eq!(kept(file), (vec![0, 1, 2, 3, 4, 5], 0, 0));
    }

    #[test]
    fn continues_across_a_compaction_a_gap_and_a_cycle() {
        let compacted = r#"{"type":"user","uuid":"1","parentUuid":null}
{"type":"system","uuid":"2","parentUuid":null,"logicalParentUuid":"1"}
{"type":"user","uuid":"3","parentUuid":"2"}"#;
        assert_eq!(kept(compacted).0, [0, 1, 2]);
        let gap = r#"{"type":"user","uuid":"1","parentUuid":null}
{"type":"user","uuid":"3","parentUuid":"lost"}"#;
        assert_eq!(kept(gap).0, [0, 1]);
        let cycle = r#"{"type":"user","uuid":"1","parentUuid":"2"}
{"type":"user","uuid":"2","parentUuid":"1"}"#;
        assert_eq!(kept(cycle).0, [0, 1]);
    }
}
