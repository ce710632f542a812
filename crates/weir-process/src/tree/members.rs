//! Rules that decide whether a process belongs to a launch, over plain data.

#![cfg_attr(
    not(target_os = "linux"),
    expect(dead_code, reason = "only used with the process table of Linux")
)]

use std::collections::{BTreeMap, BTreeSet};

use super::{ProcessId, Scan};
use crate::mark::{LimitMark, Mark};

/// How the processes of a launch are recognised.
#[derive(Debug, Clone)]
pub(super) struct Target {
    /// The CLI itself, if it is known.
    pub(super) root: Option<ProcessId>,
    pub(super) mark: Mark,
    /// The mark as a resource limit, if the system supports it.
    pub(super) limit: Option<LimitMark>,
    /// Every process found to be a member that may still be there: its children are members even if it is gone
    /// at the next scan.
    pub(super) known: BTreeSet<ProcessId>,
}

/// A line of the process table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) id: ProcessId,
    pub(super) parent: u32,
    pub(super) group: u32,
    pub(super) is_zombie: bool,
}

/// Whether the environment and limits of a process carry the mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Marked {
    Yes,
    No,
    /// The process is just being replaced by `exec`.
    Unknown,
}

/// Finds the members of a target in a process table, and remembers them.
pub(super) fn find(
    table: &[Entry],
    target: &mut Target,
    ourselves: u32,
    mut marked: impl FnMut(ProcessId) -> Marked,
) -> Scan {
    let by_pid: BTreeMap<u32, &Entry> = table.iter().map(|entry| (entry.id.pid, entry)).collect();
    let is_there = |id: &ProcessId| by_pid.get(&id.pid).is_some_and(|entry| entry.id == *id);
    target.known.retain(is_there);
    let mut members = target.known.clone();
    members.extend(target.root.filter(is_there));

    let earliest = target.root.map_or(0, |root| root.start);
    let candidates = || table.iter().filter(|entry| entry.id.pid != ourselves && entry.id.start >= earliest);
    if let Some(root) = target.root {
        // The group is still the one that the root led, unless its number has been reused.
        let is_reused = by_pid.get(&root.pid).is_some_and(|entry| entry.id != root);
        members.extend(candidates().filter(|e| e.group == root.pid && !is_reused).map(|entry| entry.id));
    }
    add_descendants(table, &mut members, ourselves);

    let mut is_uncertain = false;
    for entry in candidates().filter(|entry| !entry.is_zombie) {
        if members.contains(&entry.id) {
            continue;
        }
        match marked(entry.id) {
            Marked::Yes => {
                members.insert(entry.id);
            }
            Marked::No => {}
            Marked::Unknown => is_uncertain = true,
        }
    }
    add_descendants(table, &mut members, ourselves);

    let is_alive = |id: &ProcessId| by_pid.get(&id.pid).is_some_and(|entry| !entry.is_zombie);
    members.retain(|id| Some(*id) != target.root);
    target.known.clone_from(&members);
    let is_ours_to_reap = |id: &ProcessId| {
        by_pid.get(&id.pid).is_some_and(|entry| entry.is_zombie && entry.parent == ourselves)
    };
    Scan {
        adopted_zombies: members.iter().copied().filter(is_ours_to_reap).collect(),
        alive: members.into_iter().filter(is_alive).collect(),
        is_uncertain,
    }
}

/// Adds children of members until there are no more.
fn add_descendants(table: &[Entry], members: &mut BTreeSet<ProcessId>, ourselves: u32) {
    let mut pids: BTreeSet<u32> = members.iter().map(|id| id.pid).collect();
    loop {
        let before = members.len();
        for entry in table {
            if entry.id.pid != ourselves && pids.contains(&entry.parent) && members.insert(entry.id) {
                pids.insert(entry.id.pid);
            }
        }
        if members.len() == before {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OURSELVES: u32 = 10;

    fn entry(pid: u32, start: u64, parent: u32, group: u32) -> Entry {
        Entry { id: ProcessId { pid, start }, parent, group, is_zombie: false }
    }

    fn target() -> Target {
        Target {
            root: Some(ProcessId { pid: 100, start: 1000 }),
            mark: Mark::random(),
            limit: None,
            known: BTreeSet::new(),
        }
    }

    fn pids(scan: &Scan) -> Vec<u32> {
        scan.alive.iter().map(|id| id.pid).collect()
    }

    #[test]
    fn descendants_in_any_session_belong() {
        let table = [
            entry(10, 1, 1, 10),
            entry(100, 1000, 10, 100),
            entry(103, 1003, 102, 103),
            entry(102, 1002, 101, 102),
            entry(101, 1001, 100, 101),
            entry(200, 1004, 1, 200),
        ];
        let scan = find(&table, &mut target(), OURSELVES, |_| Marked::No);
        assert_eq!(pids(&scan), [101, 102, 103]);
    }

    #[test]
    fn an_orphan_belongs_by_its_mark_and_its_children_with_it() {
        let table = [entry(102, 1002, 1, 102), entry(103, 1003, 102, 102), entry(104, 1003, 1, 104)];
        let marked = |id: ProcessId| if id.pid == 102 { Marked::Yes } else { Marked::No };
        assert_eq!(pids(&find(&table, &mut target(), OURSELVES, marked)), [102, 103]);
    }

    #[test]
    fn a_known_member_stays_one_after_its_parent_is_gone() {
        let mut target = target();
        let before = [entry(100, 1000, 10, 100), entry(101, 1001, 100, 101)];
        find(&before, &mut target, OURSELVES, |_| Marked::No);
        let after = [entry(101, 1001, 1, 101)];
        assert_eq!(pids(&find(&after, &mut target, OURSELVES, |_| Marked::No)), [101]);
        let reused = [entry(101, 2000, 1, 101)];
        assert_eq!(pids(&find(&reused, &mut target, OURSELVES, |_| Marked::No)), [0; 0]);
    }

    #[test]
    fn a_reused_pid_or_group_is_not_ours() {
        let table = [entry(100, 5000, 1, 100), entry(101, 5001, 100, 100)];
        assert_eq!(pids(&find(&table, &mut target(), OURSELVES, |_| Marked::No)), [0; 0]);
    }

    #[test]
    fn the_group_of_a_root_that_is_gone_belongs() {
        let table = [entry(101, 1001, 1, 100)];
        assert_eq!(pids(&find(&table, &mut target(), OURSELVES, |_| Marked::No)), [101]);
    }

    #[test]
    fn processes_older_than_the_root_are_not_examined() {
        let table = [entry(50, 999, 1, 50)];
        let scan = find(&table, &mut target(), OURSELVES, |_| panic!("looked"));
        assert_eq!(scan, Scan::default());
    }

    #[test]
    fn we_never_belong_even_if_everything_says_so() {
        let table = [entry(100, 1000, 1, 100), entry(OURSELVES, 1001, 100, 100)];
        assert_eq!(pids(&find(&table, &mut target(), OURSELVES, |_| Marked::Yes)), [0; 0]);
    }

    #[test]
    fn zombies_are_members_but_not_alive() {
        let mut zombie = entry(101, 1001, 100, 101);
        zombie.is_zombie = true;
        let table = [entry(100, 1000, 10, 100), zombie, entry(102, 1002, 101, 101)];
        assert_eq!(pids(&find(&table, &mut target(), OURSELVES, |_| Marked::No)), [102]);
    }

    #[test]
    fn an_adopted_zombie_is_ours_to_reap_but_the_root_and_strangers_are_not() {
        let zombie = |pid, group| Entry { is_zombie: true, ..entry(pid, 1001, OURSELVES, group) };
        let root = Entry { is_zombie: true, ..entry(100, 1000, OURSELVES, 100) };
        let table = [root, zombie(101, 100), zombie(102, 102)];
        let scan = find(&table, &mut target(), OURSELVES, |_| Marked::No);
        assert_eq!(scan.adopted_zombies, [ProcessId { pid: 101, start: 1001 }]);
    }

    #[test]
    fn an_unreadable_environment_needs_another_scan() {
        let table = [entry(101, 1001, 1, 101)];
        assert!(find(&table, &mut target(), OURSELVES, |_| Marked::Unknown).is_uncertain);
    }
}
