//! The bridge's channel to Telegram: long polling, HTML, edits, inline buttons, photos, documents, topics.
//!
//! [`TelegramChannel`] is the channel. [`api`] calls the Bot API and knows nothing of the bridge; the types of what
//! comes back hold the few fields that are used.

pub mod api;
mod channel;
mod failure;
mod poll;
mod read;

pub use channel::{TelegramChannel, TelegramOptions};
