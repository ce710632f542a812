//! The bridge's channel to Matrix: rooms, threads, edits, replies, reactions, typing, pictures and files, in plain and
//! in encrypted rooms.
//!
//! [`MatrixChannel`] is the channel. What an event means (`read`), which events of a room are new (`timeline`), the wire
//! format of messages (`content`) and what errors mean (`failure`) are functions without side effects; `listen`,
//! `listener` and `perform` talk to the homeserver.
//!
//! It knows nothing about sessions, and stores only its login and the data of the Matrix SDK.

// The futures of the SDK are deeply nested.
#![recursion_limit = "256"]

mod backfill;
mod channel;
mod check;
mod content;
mod download;
mod failure;
mod invites;
mod kept_login;
mod listen;
mod listener;
mod login;
mod mention;
mod perform;
mod read;
mod timeline;
mod undecrypted;
mod upgrades;

pub use channel::{MatrixChannel, MatrixOptions};
