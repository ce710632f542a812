//! `weir replay` from the outside: arguments and bytes in, bytes and an exit code out.

#[path = "../common/mod.rs"]
mod common;

mod events;
mod exit_codes;
mod json;
mod memory;
mod pipes;
mod raw;
mod support;
mod view;
