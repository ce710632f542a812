//! The server without a network: who may do what, what is refused and how, what every answer has.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that cannot go on should stop")]

mod access;
mod headers;
mod origins;
mod pages;
mod problems;
mod sessions;
mod support;
mod tokens;
