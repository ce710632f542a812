//! `weir loop` from outside, on the simulated CLI.

#![expect(clippy::unwrap_used, reason = "a test that cannot set up its place should stop")]

#[path = "../common/mod.rs"]
mod common;

mod commands;
mod repository;
