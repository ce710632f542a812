//! `weir loop` from outside, on the simulated CLI.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that cannot set up its place should stop"
)]

#[path = "../common/mod.rs"]
mod common;
#[path = "../../../weir-telegram/tests/telegram/double.rs"]
#[expect(dead_code, reason = "the tests of the channel use more of it")]
mod double;
#[path = "../../../weir-telegram/tests/telegram/html.rs"]
mod html;

mod chat;
mod commands;
mod kill;
mod limits;
mod news;
mod nights;
mod page;
mod repository;
#[cfg(target_os = "linux")]
mod sandbox;
mod steer;
