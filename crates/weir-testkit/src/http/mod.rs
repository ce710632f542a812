//! HTTP for tests without a library, so that a test decides about every byte: a client, and a server that receives.

mod client;
mod receive;
pub(crate) mod request;

pub use client::{Answer, Client, Event, Events};
pub use receive::{free_address, receive_bodies};
