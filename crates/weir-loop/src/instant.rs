//! The instants of a run at which a kill makes a difference: between two changes to the disk.
//!
//! Each change is made between [`begin`] and [`reached`]. In a program both do nothing. In this crate's own tests a run
//! can be killed at each instant, so that none is left to chance (`shell/tests`).

#[cfg(not(test))]
pub(crate) use plain::{begin, reached};
#[cfg(test)]
pub(crate) use tested::{begin, kill_after, meanwhile, reached, revive, was_too_late, watch};

#[cfg(not(test))]
mod plain {
    /// A change is about to be made.
    #[inline]
    pub(crate) fn begin() {}

    /// The change was made.
    #[inline]
    pub(crate) fn reached(_what: &str) {}
}

#[cfg(test)]
mod tested {
    use std::cell::{Cell, RefCell};

    /// The panic payload of a killed run.
    #[derive(Debug)]
    struct Killed;

    /// What is done after this many changes, until it says that it was done.
    type Meanwhile = (usize, Box<dyn FnMut() -> bool>);

    /// Looks at the disk after each change: its number, and what it was.
    type Watch = Box<dyn FnMut(usize, &str)>;

    // Each test runs on one thread, so tests do not affect each other.
    thread_local! {
        static WATCH: RefCell<Option<Watch>> = const { RefCell::new(None) };
        static COUNT: Cell<usize> = const { Cell::new(0) };
        static KILL_AFTER: Cell<Option<usize>> = const { Cell::new(None) };
        static DEAD: RefCell<Option<String>> = const { RefCell::new(None) };
        static MEANWHILE: RefCell<Option<Meanwhile>> = const { RefCell::new(None) };
    }

    /// Kills the run after this many changes.
    pub(crate) fn kill_after(number: usize) {
        revive();
        KILL_AFTER.set(Some(number));
    }

    /// Does something else after this many changes, as a person would meanwhile. It is tried again after the next change
    /// until it says that it was done.
    pub(crate) fn meanwhile(number: usize, what: impl FnMut() -> bool + 'static) {
        COUNT.set(0);
        MEANWHILE.set(Some((number, Box::new(what))));
    }

    /// Whether it was not done, because there were fewer changes.
    pub(crate) fn was_too_late() -> bool {
        MEANWHILE.take().is_some()
    }

    /// Has each change looked at, until the next [`revive`].
    pub(crate) fn watch(look: impl FnMut(usize, &str) + 'static) {
        revive();
        WATCH.set(Some(Box::new(look)));
    }

    /// Returns the last change before the kill, if there was one. The runs that follow are not killed.
    pub(crate) fn revive() -> Option<String> {
        COUNT.set(0);
        KILL_AFTER.set(None);
        WATCH.set(None);
        DEAD.take()
    }

    /// Keeps a killed run from doing anything more, even in parts that have not noticed the kill.
    pub(crate) fn begin() {
        if DEAD.with_borrow(Option::is_some) {
            std::panic::resume_unwind(Box::new(Killed));
        }
    }

    pub(crate) fn reached(what: &str) {
        begin();
        let count = COUNT.get() + 1;
        COUNT.set(count);
        if let Some(mut look) = WATCH.take() {
            look(count, what);
            WATCH.set(Some(look));
        }
        if let Some((number, mut what)) = MEANWHILE.take()
            && !(count >= number && what())
        {
            MEANWHILE.set(Some((number, what)));
        }
        if KILL_AFTER.get() == Some(count) {
            DEAD.set(Some(what.to_owned()));
            begin();
        }
    }
}
