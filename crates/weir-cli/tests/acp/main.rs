//! `weir acp` from outside, on the simulated CLI: what it prints, who shares sessions with whom, and clients that others
//! wrote.

#![cfg(target_os = "linux")]
#![expect(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test that cannot continue should stop"
)]

mod clients;
#[path = "../common/mod.rs"]
mod common;
mod editor;
mod remote;
mod sharing;
#[path = "../serve/support.rs"]
#[expect(dead_code, reason = "the tests of the server use more of it")]
mod support;
