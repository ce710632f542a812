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
#[path = "../../../weir-telegram/tests/telegram/double.rs"]
#[expect(dead_code, reason = "the tests of the channel use more of it")]
mod double;
mod editor;
#[path = "../../../weir-telegram/tests/telegram/html.rs"]
mod html;
mod remote;
#[path = "../loops/repository.rs"]
#[expect(dead_code, reason = "the tests of the loop use more of it")]
mod repository;
mod sharing;
#[path = "../serve/support.rs"]
#[expect(dead_code, reason = "the tests of the server use more of it")]
mod support;
mod together;
