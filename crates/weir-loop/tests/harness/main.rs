//! The loop on the simulated CLI, with real processes and a real git.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot set up its repository should stop"
)]

mod cheats;
mod ignored;
mod lessons;
mod parallel;
mod place;
mod real;
mod seed;
mod tasks;
