//! `weir loop` from outside, on the simulated CLI.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that cannot set up its place should stop"
)]

#[path = "../common/mod.rs"]
mod common;

mod commands;
mod kill;
mod limits;
mod news;
mod page;
mod repository;
