//! `weir serve`, `weir token` and `weir demo` from outside, on the simulated CLI.

#![cfg(unix)]
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test that cannot continue should stop"
)]

#[path = "../common/mod.rs"]
mod common;

mod attacks;
mod budgets;
mod client_tools;
mod conversation;
mod crowding;
mod decisions;
mod demo;
#[cfg(target_os = "linux")]
mod disk;
mod doors;
mod flood;
mod keys;
mod message_stream;
mod proxy;
mod restart;
mod start;
mod store;
mod streams;
mod support;
mod tokens;
mod tools;
