//! The JSON layer: a validating scanner, lazy borrowed values, and the index that typed decoding reads.
//!
//! Why not an off-the-shelf parser: every line of the protocol must be classified whatever it contains (lone
//! surrogates, ten thousand levels of nesting, numbers beyond `f64`, repeated keys), it must be scanned only
//! once however deep the wanted field is, and a tool result of many megabytes must not be unescaped or copied
//! unless it is read. Nothing in this module knows what a line means.

mod index;
mod raw;
mod rewrite;
mod scan;
mod sorted;
mod syntax;
mod text;

pub(crate) use index::{Index, Node};
pub use raw::{Elements, JsonKind, Members, OwnedJson, RawJson};
pub use sorted::sorted;
pub use syntax::JsonFault;
pub(crate) use syntax::{string_end, trim};
pub use text::{OwnedText, Text};
