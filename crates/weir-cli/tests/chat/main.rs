//! `weir chat` from outside, over a pipe and on a terminal.

#[path = "../common/mod.rs"]
mod common;

mod pipe;
mod terminal;
