//! `system` lines about repositories, and about work that others see.

use crate::decode::object::wire_struct;
use crate::id::{CliSessionId, IdRef};
use crate::json::Text;

wire_struct! {
    /// The state of a repository has changed by a command that the CLI ran: a hint to look at it, not a fact about it.
    VcsStateChangedMessage {
        /// `commit`, `push`, `merge` or `rebase`; others are changes too.
        required kind: Text<'a> = "kind",
        /// The branch, where the command named it.
        optional branch: Text<'a> = "branch",
        /// Where the command ended.
        optional cwd: Text<'a> = "cwd",
        /// The session.
        optional session_id: IdRef<'a, CliSessionId> = "session_id",
    }
}

wire_struct! {
    /// A change of code was published for review, such as a pull request.
    CodeChangePublishedMessage {
        /// The kind of forge: `github`, `gitlab`, `gerrit` and the like.
        optional provider: Text<'a> = "provider",
        /// The address of the change.
        required url: Text<'a> = "url",
        /// The repository.
        optional repo: Text<'a> = "repo",
        /// Its number or id there.
        optional identifier: Text<'a> = "identifier",
        /// What was done to it, such as `created`.
        optional action: Text<'a> = "action",
        /// The branch, where that is known.
        optional branch: Text<'a> = "branch",
        /// The session.
        optional session_id: IdRef<'a, CliSessionId> = "session_id",
    }
}
