//! `weir loop` from outside, on the simulated CLI.

mod commands;
#[path = "../common/mod.rs"]
mod common;
mod kill;
mod repository;
