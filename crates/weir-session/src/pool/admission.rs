//! Who may have a process when there is room for only so many. Pure.

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
    /// Everybody is busy.
    Full,
}

/// Decides whether the conversation `key` may have a process.
pub(super) fn admit(
    key: &str,
    residents: &[Resident],
    reserved: usize,
    spares: usize,
    most: usize,
) -> Admission {
    let is_resident = residents.iter().any(|resident| resident.key == key && resident.has_process);
    let live = residents.iter().filter(|resident| resident.has_process).count();
    if is_resident || live + reserved + spares < most {
        return Admission::Admitted;
    }
    if spares > 0 {
        return Admission::DropSpare;
    }
    let idle = residents.iter().filter(|resident| resident.has_process && !resident.is_busy);
    match idle.min_by_key(|resident| resident.touched) {
        Some(oldest) => Admission::Evict(oldest.key.clone()),
        None => Admission::Full,
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
        assert_eq!(admit("b", &residents, 0, 0, 2), Admission::Admitted);
        assert_eq!(admit("b", &residents, 1, 0, 2), Admission::Full);
    }

    #[test]
    fn who_has_a_process_keeps_it() {
        let residents = [resident("a", true, true, 1)];
        assert_eq!(admit("a", &residents, 0, 0, 1), Admission::Admitted);
    }

    #[test]
    fn a_spare_goes_before_anybody_else_and_then_the_one_that_was_idle_longest() {
        let residents =
            [resident("a", true, false, 7), resident("b", true, false, 3), resident("c", true, true, 1)];
        assert_eq!(admit("d", &residents, 0, 1, 4), Admission::DropSpare);
        assert_eq!(admit("d", &residents, 0, 0, 3), Admission::Evict("b".into()));
    }

    #[test]
    fn nobody_who_is_busy_has_to_go() {
        let residents = [resident("a", true, true, 1), resident("b", true, true, 2)];
        assert_eq!(admit("c", &residents, 0, 0, 2), Admission::Full);
    }
}
