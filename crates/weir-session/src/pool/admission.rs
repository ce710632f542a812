//! Who may have a process when there is room for only so many. Pure.

use std::collections::{HashMap, HashSet};

/// A conversation of the pool, at a glance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Resident {
    /// Which one.
    pub(super) key: String,
    /// Whether it has a process.
    pub(super) has_process: bool,
    /// Whether it has something to do.
    pub(super) is_busy: bool,
    /// When it was last used; more is later.
    pub(super) touched: u64,
}

/// What to do about one more process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Admission {
    /// There is room.
    Admitted,
    /// There is room once a spare one is gone.
    DropSpare,
    /// There is room once this one has been closed.
    Evict(String),
    /// Somebody makes room for this very conversation.
    Wait,
    /// Everybody is busy.
    Full,
}

/// Who is about to have a process, and who is about to lose one.
#[derive(Debug, Default)]
pub(super) struct Room {
    /// Conversations that were promised room, so that it is not promised twice.
    claims: HashMap<String, Claims>,
    /// Conversations whose room was promised to others.
    leaving: HashSet<String>,
}

#[derive(Debug, Default)]
struct Claims {
    count: usize,
    /// Whether the room is there.
    is_ready: bool,
}

impl Room {
    /// How many processes there are or are promised, spares aside.
    pub(super) fn taken(&self, residents: &[Resident]) -> usize {
        self.claims.len() + residents.iter().filter(|resident| self.is_counted(resident)).count()
    }

    /// Whether a conversation has room of its own, for which no claim stands.
    fn is_counted(&self, resident: &Resident) -> bool {
        resident.has_process
            && !self.leaving.contains(&resident.key)
            && !self.claims.contains_key(&resident.key)
    }

    /// Decides whether the conversation `key` may have a process.
    pub(super) fn admit(&self, key: &str, residents: &[Resident], spares: usize, most: usize) -> Admission {
        if let Some(claims) = self.claims.get(key) {
            return if claims.is_ready { Admission::Admitted } else { Admission::Wait };
        }
        let has_room = residents.iter().any(|resident| resident.key == key && self.is_counted(resident));
        if has_room || self.taken(residents) + spares < most {
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

    /// Room is promised to this conversation: it is there, or somebody has to leave first.
    pub(super) fn claim(&mut self, key: &str, is_ready: bool, evicted: Option<String>) {
        let claims = self.claims.entry(key.to_owned()).or_default();
        claims.count += 1;
        claims.is_ready |= is_ready;
        self.leaving.extend(evicted);
    }

    /// Those who had to leave have left.
    pub(super) fn is_ready(&mut self, key: &str, evicted: Option<&str>) {
        if let Some(claims) = self.claims.get_mut(key) {
            claims.is_ready = true;
        }
        if let Some(evicted) = evicted {
            self.leaving.remove(evicted);
        }
    }

    /// The process itself is counted now, or nobody wants it any more.
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
        Resident { key: key.into(), has_process, is_busy, touched }
    }

    #[test]
    fn there_is_room_until_the_limit_is_reached() {
        let residents = [resident("a", true, true, 1), resident("b", false, false, 2)];
        let mut room = Room::default();
        assert_eq!(room.admit("b", &residents, 0, 2), Admission::Admitted);
        room.claim("c", true, None);
        assert_eq!(room.admit("b", &residents, 0, 2), Admission::Full);
        room.release("c", None);
        assert_eq!(room.admit("b", &residents, 0, 2), Admission::Admitted);
    }

    #[test]
    fn who_has_a_process_keeps_it() {
        let residents = [resident("a", true, true, 1)];
        assert_eq!(Room::default().admit("a", &residents, 0, 1), Admission::Admitted);
    }

    #[test]
    fn many_messages_of_one_conversation_count_once() {
        let mut room = Room::default();
        room.claim("a", true, None);
        room.claim("a", true, None);
        let residents = [resident("a", true, true, 1)];
        assert_eq!(room.taken(&residents), 1);
        assert_eq!(room.admit("a", &residents, 0, 2), Admission::Admitted);
        assert_eq!(room.admit("b", &residents, 0, 2), Admission::Admitted);
        room.release("a", None);
        assert_eq!(room.taken(&residents), 1);
    }

    #[test]
    fn a_spare_goes_before_anybody_else_and_then_the_one_that_was_idle_longest() {
        let residents =
            [resident("a", true, false, 7), resident("b", true, false, 3), resident("c", true, true, 1)];
        assert_eq!(Room::default().admit("d", &residents, 1, 4), Admission::DropSpare);
        assert_eq!(Room::default().admit("d", &residents, 0, 3), Admission::Evict("b".into()));
    }

    #[test]
    fn nobody_who_is_busy_or_about_to_be_has_to_go() {
        let busy = [resident("a", true, true, 1), resident("b", true, true, 2)];
        assert_eq!(Room::default().admit("c", &busy, 0, 2), Admission::Full);
        let idle = [resident("a", true, false, 1)];
        let mut room = Room::default();
        room.claim("a", true, None);
        assert_eq!(room.admit("c", &idle, 0, 1), Admission::Full);
    }

    #[test]
    fn room_that_is_being_made_is_not_given_twice() {
        let residents = [resident("a", true, false, 1), resident("b", true, false, 2)];
        let mut room = Room::default();
        assert_eq!(room.admit("c", &residents, 0, 2), Admission::Evict("a".into()));
        room.claim("c", false, Some("a".into()));
        // Another message for the same conversation waits, another conversation takes the next.
        assert_eq!(room.admit("c", &residents, 0, 2), Admission::Wait);
        assert_eq!(room.admit("d", &residents, 0, 2), Admission::Evict("b".into()));
        // The one that leaves has no right to stay.
        assert_eq!(room.admit("a", &residents, 0, 2), Admission::Evict("b".into()));
        let left = [resident("a", false, false, 1), resident("b", true, false, 2)];
        room.is_ready("c", Some("a"));
        assert_eq!(room.admit("c", &left, 0, 2), Admission::Admitted);
        assert_eq!(room.taken(&left), 2);
        room.release("c", Some("a"));
        assert_eq!(room.taken(&left), 1);
    }
}
