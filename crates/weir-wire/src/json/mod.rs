//! The JSON layer: a validating scanner, lazy borrowed values, and the index that typed decoding reads.
//!
//! Why not a ready parser: a line of the protocol must be classified whatever is in it (lone surrogates, ten
//! thousand levels of nesting, numbers beyond `f64`, repeated keys), it must be walked once however deep the
//! wanted field lies, and a tool result of many megabytes must not be unescaped or copied unless somebody
//! asks for it. Nothing in here knows what a line means.

mod index;
mod raw;
mod rewrite;
mod scan;
mod syntax;
mod text;

pub(crate) use index::{Index, Node};
pub use raw::{Elements, JsonKind, Members, OwnedJson, RawJson};
pub use syntax::JsonFault;
pub(crate) use syntax::{string_end, trim};
pub use text::{OwnedText, Text};
