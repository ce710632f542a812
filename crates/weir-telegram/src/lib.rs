//! The bridge's channel to Telegram: long polling, HTML, edits, inline buttons, photos, documents, topics.
//!
//! [`TelegramChannel`] is the channel. `teloxide-core` implements the Bot API.

mod bot;
mod channel;
mod download;
mod failure;
mod perform;
mod poll;
mod read;
mod updates;

pub use channel::{TelegramChannel, TelegramOptions};
