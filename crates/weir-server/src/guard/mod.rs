//! What every request passes before a handler sees it: that it is meant for us, that no page of somebody else sent
//! it, who sends it, whether they may, and how often.

mod access;
mod headers;
mod origin;
mod outer;

pub(crate) use access::{Audited, authenticate, require};
pub use origin::{Asked, Places, Refusal, judge};
pub(crate) use outer::{Peer, check_origin, observe, patience};
