//! `weir run` from outside, on a simulated CLI.

#[path = "../common/mod.rs"]
mod common;

mod endings;
mod exit_codes;
mod options;
mod outputs;
mod signals;
mod terminal;
