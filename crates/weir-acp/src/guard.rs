//! Who an editor is and what it may do.

use std::fmt;

use tokio::sync::watch;
use weir_host::{Actor, SessionId};
use weir_wire::PermissionUpdate;

/// What an editor may do. Each right includes the ones before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Right {
    /// List, load and follow sessions.
    Watch,
    /// Answer requests, and cancel turns.
    Answer,
    /// Create sessions, send prompts, change and delete.
    Drive,
}

/// What an editor can choose from.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Offer {
    /// Models.
    pub models: Vec<String>,
    /// Permission modes.
    pub modes: Vec<String>,
    /// Slash commands, without the slash.
    pub commands: Vec<String>,
}

/// Says who an editor is and what it may do. Asked at each call, so that its answers may change.
pub trait Guard: fmt::Debug + Send + Sync + 'static {
    /// Who acts.
    fn actor(&self) -> Actor;

    /// What they may do now; none if their access has ended.
    fn right(&self) -> Option<Right>;

    /// Whether they may know of a session.
    fn may_see(&self, session: &SessionId) -> bool;

    /// Whether new work is accepted in a session, or in a new one.
    ///
    /// # Errors
    /// Why not, for the person.
    fn may_begin(&self, session: Option<&SessionId>) -> Result<(), String>;

    /// What they can choose from.
    fn offer(&self) -> Offer;

    /// Whether they may accept a suggested change of permissions, kept for the session.
    fn may_remember(&self, suggestion: &PermissionUpdate) -> bool;

    /// Whether the editor runs for the person whose processes these are: then MCP servers and further folders of the
    /// editor are used.
    fn is_owner(&self) -> bool;

    /// Whether no one else answers requests: then a request that the editor cannot show is denied instead of being left
    /// to other people.
    fn is_alone(&self) -> bool;

    /// A session was deleted: what gave access to it has no use any more.
    fn deleted(&self, session: &SessionId) {
        let _ = session;
    }

    /// Records that something was done.
    fn record(&self, action: &str, session: Option<&SessionId>, detail: Option<String>) {
        let _ = (action, session, detail);
    }
}

/// The person who started this program, on their own sessions.
#[derive(Debug, Clone)]
pub struct Owner {
    offer: Offer,
    company: Company,
}

/// Who else answers requests.
#[derive(Debug, Clone)]
enum Company {
    Nobody,
    /// As many editors as this says.
    Editors(watch::Receiver<usize>),
    Others,
}

impl Owner {
    /// May do everything, and choose from this. Nobody else answers requests.
    pub fn new(offer: Offer) -> Self {
        Self { offer, company: Company::Nobody }
    }

    /// Says that other editors answer requests too, as long as there are any.
    #[must_use]
    pub fn among_editors(self, others: watch::Receiver<usize>) -> Self {
        Self { company: Company::Editors(others), ..self }
    }

    /// Says that other people answer requests too.
    #[must_use]
    pub fn among_others(self) -> Self {
        Self { company: Company::Others, ..self }
    }
}

impl Guard for Owner {
    fn actor(&self) -> Actor {
        Actor::new("editor")
    }

    fn right(&self) -> Option<Right> {
        Some(Right::Drive)
    }

    fn may_see(&self, _session: &SessionId) -> bool {
        true
    }

    fn may_begin(&self, _session: Option<&SessionId>) -> Result<(), String> {
        Ok(())
    }

    fn offer(&self) -> Offer {
        self.offer.clone()
    }

    fn may_remember(&self, _suggestion: &PermissionUpdate) -> bool {
        true
    }

    fn is_owner(&self) -> bool {
        true
    }

    fn is_alone(&self) -> bool {
        match &self.company {
            Company::Nobody => true,
            Company::Editors(others) => *others.borrow() == 0,
            Company::Others => false,
        }
    }
}
