//! `weir serve`, `weir token` and `weir demo` from outside, on the simulated CLI.

#![cfg(unix)]
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that cannot go on should stop")]

#[path = "../common/mod.rs"]
mod common;

mod attacks;
mod budgets;
mod conversation;
mod crowding;
mod decisions;
mod demo;
mod doors;
mod proxy;
mod restart;
mod start;
mod streams;
mod support;
mod tokens;
