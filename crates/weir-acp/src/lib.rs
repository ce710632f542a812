//! Editors on live sessions, by the Agent Client Protocol (ACP).
//!
//! An editor's connection is one more viewer and one more sender of a session of `weir-host`. This crate keeps no state
//! of a session; it translates in both directions:
//!
//! ```text
//!  WatchEvent ──▶ Projection (pure) ──▶ session/update
//!  Request ─────▶ asking ─────────────▶ session/request_permission, elicitation/create ──▶ Decision ──▶ Host::answer
//!  session/prompt ──▶ prompt (pure) ──▶ NewMessage ──▶ Host::send … Host::finished ──▶ stop reason
//! ```
//!
//! - `translate` has no I/O: views and changes become updates, prompts become messages, requests become questions and
//!   the editor's choices become decisions.
//! - `connection` has one task for each session that an editor has opened. It watches the session and sends what the
//!   projection says. A prompt is answered after everything that belongs to its turn was sent.
//! - A [`Guard`] says who the editor is and what it may do. It is asked at each call, so a token that is revoked counts
//!   at once.
//!
//! Editors get the same rules as everyone else from outside: text is inert, slash commands are those of a list, folders
//! must be inside the roots, the first answer to a request wins and is withdrawn from the others, and a request that an
//! editor does not answer is not allowed.
//!
//! With the feature `draft-v2`, editors that ask for version 2 of the protocol get it: `draft` translates once more.
//!
//! Nothing of the crate `agent-client-protocol` is visible outside: its majors break often.

mod agent;
mod connection;
mod dial;
#[cfg(feature = "draft-v2")]
mod draft;
mod envelope;
mod extras;
mod guard;
mod lines;
mod outbox;
mod relay;
mod remote;
mod translate;

pub use agent::{AcpAgent, AcpError};
pub use dial::{Dial, DialError};
pub use extras::Extras;
pub use guard::{Guard, Offer, Owner, Right};
pub use relay::{AgentStreams, relay};
pub use remote::{CONNECTION, Remote, SESSION};
