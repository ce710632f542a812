//! The routes under `/v1`, health and metrics: one file per group of handlers.

mod answer;
mod asks;
mod client_tools;
mod control;
mod costs;
mod decisions;
mod errors;
mod events;
mod folders;
mod health;
mod history;
mod keys;
mod loops;
mod message_stream;
mod messages;
mod panels;
mod past;
mod reviews;
mod rewind;
mod routes;
mod sessions;
mod sse;
mod tokens;
pub(crate) mod types;
mod viewing;
mod worktrees;

pub(crate) use answer::json;
pub(crate) use decisions::may_keep;
pub(crate) use events::stream_slot;
pub use routes::app;
pub(crate) use routes::{document, own_paths};
pub(crate) use sessions::may_begin;
pub(crate) use sse::Holder;
