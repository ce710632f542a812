//! `weir loop` from outside, on the simulated CLI.

#[path = "../common/mod.rs"]
mod common;
mod commands;
mod kill;
mod repository;
