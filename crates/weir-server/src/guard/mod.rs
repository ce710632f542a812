//! Checks on every request before a handler sees it: that it is meant for this server, that no foreign page sent it,
//! who sends it, whether they may, and how often.

mod access;
mod headers;
mod origin;
mod outer;

pub(crate) use access::{Audited, authenticate, require};
pub use origin::{Places, Refusal, RequestOrigin, judge};
pub(crate) use outer::{Peer, check_origin, limit_time, observe};
