//! The instants of a run at which a kill is felt: between two things that are done to the disk.
//!
//! What is done is done between [`begin`] and [`reached`]. In a program both are nothing. In this crate's own tests a
//! run can be ended at each instant, so that not one of them is left to chance (`shell/tests`).

#[cfg(not(test))]
pub(crate) use plain::{begin, reached};
#[cfg(test)]
pub(crate) use tested::{begin, count, kill_after, reached, revive};

#[cfg(not(test))]
mod plain {
    /// Something is about to be done.
    #[inline]
    pub(crate) fn begin() {}

    /// It was done.
    #[inline]
    pub(crate) fn reached(_what: &str) {}
}

#[cfg(test)]
mod tested {
    use std::cell::{Cell, RefCell};

    /// What a run that is killed unwinds with.
    #[derive(Debug)]
    struct Killed;

    // A test has its run on one thread, so they know nothing of each other.
    thread_local! {
        static COUNT: Cell<usize> = const { Cell::new(0) };
        static KILL_AFTER: Cell<Option<usize>> = const { Cell::new(None) };
        static DEAD: RefCell<Option<String>> = const { RefCell::new(None) };
    }

    /// Kills the run after so many things were done.
    pub(crate) fn kill_after(number: usize) {
        revive();
        KILL_AFTER.set(Some(number));
    }

    /// What was done last before the kill, if there was one. What follows is another run, which is not killed.
    pub(crate) fn revive() -> Option<String> {
        COUNT.set(0);
        KILL_AFTER.set(None);
        DEAD.take()
    }

    /// How many things were done.
    pub(crate) fn count() -> usize {
        COUNT.get()
    }

    /// One that is dead does nothing more, whatever its parts have heard of it.
    pub(crate) fn begin() {
        if DEAD.with_borrow(Option::is_some) {
            std::panic::resume_unwind(Box::new(Killed));
        }
    }

    pub(crate) fn reached(what: &str) {
        begin();
        let count = COUNT.get() + 1;
        COUNT.set(count);
        if KILL_AFTER.get() == Some(count) {
            DEAD.set(Some(what.to_owned()));
            begin();
        }
    }
}
