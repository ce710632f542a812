//! The server without a network: access control, errors, and headers.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that cannot continue should stop")]

mod access;
mod headers;
mod origins;
mod pages;
mod problems;
mod reviews;
mod rewind;
mod sessions;
mod support;
mod tokens;
#[cfg(unix)]
mod viewing;
mod worktrees;
