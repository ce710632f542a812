//! `weir loop` from outside, on the simulated CLI.

mod commands;
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot set up its place should stop"
)]

#[path = "../common/mod.rs"]
mod common;
mod kill;
mod repository;
