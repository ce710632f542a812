//! What Weir does to repositories, some of which are hostile, with a real git.

#![expect(clippy::unwrap_used, reason = "a test that cannot continue should stop")]
#![cfg(unix)]

mod place;
mod review;
mod snapshots;
mod worktrees;
