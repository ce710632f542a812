//! Decides which sessions may have a process when their number is limited. Pure.

use std::collections::{HashMap, HashSet};

/// Summary of a session in the pool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Resident {
    /// Key of the session.
    pub(super) key: String,
    /// Whether it has a process.
    pub(super) has_process: bool,
    /// Whether it has something to do.
    pub(super) is_busy: bool,
    /// Whether it only waits for a person to answer.
    pub(super) awaits_person: bool,
    /// When it was last used; higher is later.
    pub(super) touched: u64,
}

/// Maximum number of processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Capacity {
    /// Processes that are working, starting, ending or idle.
    pub(super) max_processes: usize,
    /// Additional processes of sessions that wait for a person. Beyond this they count like the others.
    pub(super) max_awaiting: usize,
}

/// Decision about one more process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Admission {
    /// There is room.
    Admitted,
    /// There is room once a spare has ended.
    DropSpare,
    /// There is room once this session's process is closed.
    Evict(String),
    /// Room is already being made for this session.
    Wait,
    /// All processes are busy.
    Full,
}

/// Sessions that are about to get or lose a process.
#[derive(Debug, Default)]
pub(super) struct Room {
    /// Sessions that were promised room, so that it is not promised twice.
    claims: HashMap<String, Claims>,
    /// Sessions whose room was promised to others.
    leaving: HashSet<String>,
}

#[derive(Debug, Default)]
struct Claims {
    count: usize,
    /// Whether the room is available.
    is_ready: bool,
}

impl Room {
    /// How many places are taken by processes that exist or are promised, without spares. A session that waits
    /// for a person gives its place back while it waits.
    pub(super) fn taken(&self, residents: &[Resident], capacity: Capacity) -> usize {
        let counted = || residents.iter().filter(|resident| self.is_counted(resident));
        let awaiting = counted().filter(|resident| resident.awaits_person).count();
        self.claims.len() + counted().count() - awaiting.min(capacity.max_awaiting)
    }

    /// Whether a session takes a place other than through a claim.
    fn is_counted(&self, resident: &Resident) -> bool {
        resident.has_process
            && !self.leaving.contains(&resident.key)
            && !self.claims.contains_key(&resident.key)
    }

    /// Decides whether the session `key` may have a process.
    pub(super) fn admit(
        &self,
        key: &str,
        residents: &[Resident],
        spares: usize,
        capacity: Capacity,
    ) -> Admission {
        if let Some(claims) = self.claims.get(key) {
            return if claims.is_ready { Admission::Admitted } else { Admission::Wait };
        }
        let has_room = residents.iter().any(|resident| resident.key == key && self.is_counted(resident));
        if has_room || self.taken(residents, capacity) + spares < capacity.max_processes {
            return Admission::Admitted;
        }
        if spares > 0 {
            return Admission::DropSpare;
        }
        let idle = residents.iter().filter(|resident| self.is_counted(resident) && !resident.is_busy);
        match idle.min_by_key(|resident| resident.touched) {
            Some(oldest) => Admission::Evict(oldest.key.clone()),
            None => Admission::Full,
        }
    }

    /// Promises room to this session: it is available, or another one has to leave first.
    pub(super) fn claim(&mut self, key: &str, is_ready: bool, evicted: Option<String>) {
        let claims = self.claims.entry(key.to_owned()).or_default();
        claims.count += 1;
        claims.is_ready |= is_ready;
        self.leaving.extend(evicted);
    }

    /// The sessions that had to leave have left.
    pub(super) fn mark_ready(&mut self, key: &str, evicted: Option<&str>) {
        if let Some(claims) = self.claims.get_mut(key) {
            claims.is_ready = true;
        }
        if let Some(evicted) = evicted {
            self.leaving.remove(evicted);
        }
    }

    /// Drops a claim: the process itself is counted now, or is no longer wanted.
    pub(super) fn release(&mut self, key: &str, evicted: Option<&str>) {
        if let Some(claims) = self.claims.get_mut(key) {
            claims.count -= 1;
            if claims.count == 0 {
                self.claims.remove(key);
            }
        }
        if let Some(evicted) = evicted {
            self.leaving.remove(evicted);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resident(key: &str, has_process: bool, is_busy: bool, touched: u64) -> Resident {
        Resident { key: key.into(), has_process, is_busy, awaits_person: false, touched }
    }

    /// A session that waits for a person.
    fn awaiting(key: &str) -> Resident {
        Resident { awaits_person: true, ..resident(key, true, true, 1) }
    }

    fn room_for(max_processes: usize) -> Capacity {
        Capacity { max_processes, max_awaiting: 0 }
    }

    #[test]
    fn a_session_waiting_for_a_person_makes_room_for_others() {
        let capacity = Capacity { max_processes: 1, max_awaiting: 2 };
        let room = Room::default();
        let residents = [awaiting("a"), awaiting("b")];
        assert_eq!(room.taken(&residents, capacity), 0);
        assert_eq!(room.admit("c", &residents, 0, capacity), Admission::Admitted);
        // The waiting session keeps its process and may continue at once.
        assert_eq!(room.admit("a", &residents, 0, capacity), Admission::Admitted);
        let residents = [awaiting("a"), awaiting("b"), resident("c", true, true, 1)];
        assert_eq!(room.admit("d", &residents, 0, capacity), Admission::Full);
    }

    #[test]
    fn only_a_limited_number_wait_without_a_place() {
        let capacity = Capacity { max_processes: 1, max_awaiting: 2 };
        let residents = [awaiting("a"), awaiting("b"), awaiting("c")];
        assert_eq!(Room::default().taken(&residents, capacity), 1);
        assert_eq!(Room::default().admit("d", &residents, 0, capacity), Admission::Full);
        // A session that is answered counts at once; no other one starts until there is room again.
        let residents = [awaiting("a"), resident("b", true, true, 1)];
        assert_eq!(Room::default().admit("d", &residents, 0, capacity), Admission::Full);
    }

    #[test]
    fn there_is_room_until_the_limit_is_reached() {
        let residents = [resident("a", true, true, 1), resident("b", false, false, 2)];
        let mut room = Room::default();
        assert_eq!(room.admit("b", &residents, 0, room_for(2)), Admission::Admitted);
        room.claim("c", true, None);
        assert_eq!(room.admit("b", &residents, 0, room_for(2)), Admission::Full);
        room.release("c", None);
        assert_eq!(room.admit("b", &residents, 0, room_for(2)), Admission::Admitted);
    }

    #[test]
    fn a_session_with_a_process_keeps_it() {
        let residents = [resident("a", true, true, 1)];
        assert_eq!(Room::default().admit("a", &residents, 0, room_for(1)), Admission::Admitted);
    }

    #[test]
    fn many_messages_of_one_session_count_once() {
        let mut room = Room::default();
        room.claim("a", true, None);
        room.claim("a", true, None);
        let residents = [resident("a", true, true, 1)];
        assert_eq!(room.taken(&residents, room_for(1)), 1);
        assert_eq!(room.admit("a", &residents, 0, room_for(2)), Admission::Admitted);
        assert_eq!(room.admit("b", &residents, 0, room_for(2)), Admission::Admitted);
        room.release("a", None);
        assert_eq!(room.taken(&residents, room_for(1)), 1);
    }

    #[test]
    fn a_spare_is_dropped_first_and_then_the_longest_idle_session() {
        let residents =
            [resident("a", true, false, 7), resident("b", true, false, 3), resident("c", true, true, 1)];
        assert_eq!(Room::default().admit("d", &residents, 1, room_for(4)), Admission::DropSpare);
        assert_eq!(Room::default().admit("d", &residents, 0, room_for(3)), Admission::Evict("b".into()));
    }

    #[test]
    fn busy_or_promised_sessions_are_not_evicted() {
        let busy = [resident("a", true, true, 1), resident("b", true, true, 2)];
        assert_eq!(Room::default().admit("c", &busy, 0, room_for(2)), Admission::Full);
        let idle = [resident("a", true, false, 1)];
        let mut room = Room::default();
        room.claim("a", true, None);
        assert_eq!(room.admit("c", &idle, 0, room_for(1)), Admission::Full);
    }

    #[test]
    fn room_being_made_is_not_given_twice() {
        let residents = [resident("a", true, false, 1), resident("b", true, false, 2)];
        let mut room = Room::default();
        assert_eq!(room.admit("c", &residents, 0, room_for(2)), Admission::Evict("a".into()));
        room.claim("c", false, Some("a".into()));
        // Another message for the same session waits, another session takes the next place.
        assert_eq!(room.admit("c", &residents, 0, room_for(2)), Admission::Wait);
        assert_eq!(room.admit("d", &residents, 0, room_for(2)), Admission::Evict("b".into()));
        // The session being evicted has no right to stay.
        assert_eq!(room.admit("a", &residents, 0, room_for(2)), Admission::Evict("b".into()));
        let left = [resident("a", false, false, 1), resident("b", true, false, 2)];
        room.mark_ready("c", Some("a"));
        assert_eq!(room.admit("c", &left, 0, room_for(2)), Admission::Admitted);
        assert_eq!(room.taken(&left, room_for(1)), 2);
        room.release("c", Some("a"));
        assert_eq!(room.taken(&left, room_for(1)), 1);
    }
}
