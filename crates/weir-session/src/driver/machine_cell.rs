//! The machine, together with the fold that it may share with a host.

use std::ops::{Deref, DerefMut};

use weir_transcript::FoldOptions;

use crate::machine::{Action, Machine};
use crate::shared_fold::{FoldGuard, SharedFold};

/// The machine of a session. A shared fold is in the machine only while it is entered.
pub(super) struct MachineCell {
    machine: Machine,
    shared: Option<SharedFold>,
}

/// The machine with its fold, which is locked meanwhile.
pub(super) struct Entered<'m> {
    machine: &'m mut Machine,
    shared: Option<FoldGuard<'m>>,
}

impl MachineCell {
    /// If a fold is shared, the machine uses it in place of its own.
    pub(super) fn new(machine: Machine, shared: Option<SharedFold>) -> Self {
        Self { machine, shared }
    }

    /// Uses this fold from now on.
    pub(super) fn share(&mut self, fold: SharedFold) {
        self.shared = Some(fold);
    }

    /// The options of the shared fold, which are its own.
    pub(super) fn shared_options(&self) -> Option<FoldOptions> {
        self.shared.as_ref().map(|fold| fold.lock().options().clone())
    }

    pub(super) fn enter(&mut self) -> Entered<'_> {
        let mut shared = self.shared.as_ref().map(SharedFold::lock);
        if let Some(fold) = &mut shared {
            self.machine.swap_fold(fold.as_box());
        }
        Entered { machine: &mut self.machine, shared }
    }
}

/// What does not depend on the fold.
impl MachineCell {
    pub(super) fn has_actions(&self) -> bool {
        self.machine.has_actions()
    }

    pub(super) fn take_actions(&mut self) -> Vec<Action> {
        self.machine.take_actions()
    }

    pub(super) fn has_answered(&self) -> bool {
        self.machine.has_answered()
    }

    pub(super) fn is_stopping(&self) -> bool {
        self.machine.is_stopping()
    }

    pub(super) fn is_killing(&self) -> bool {
        self.machine.is_killing()
    }

    pub(super) fn has_ignored_interrupt(&self) -> bool {
        self.machine.has_ignored_interrupt()
    }

    pub(super) fn is_over(&self) -> bool {
        self.machine.is_over()
    }

    pub(super) fn introduction(&self) -> &serde_json::Value {
        self.machine.introduction()
    }
}

impl Deref for Entered<'_> {
    type Target = Machine;

    fn deref(&self) -> &Machine {
        self.machine
    }
}

impl DerefMut for Entered<'_> {
    fn deref_mut(&mut self) -> &mut Machine {
        self.machine
    }
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        if let Some(fold) = &mut self.shared {
            self.machine.swap_fold(fold.as_box());
        }
    }
}
