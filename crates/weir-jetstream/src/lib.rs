//! The log of sessions on a cluster: [`JetStreamLog`] is a [`weir_store::Log`] on NATS JetStream.
//!
//! All sessions share a stream with a subject for each. A write is one message, a *record*, which is stored only if the last
//! record on the subject is the one that the writer has seen; `writer` says what follows from that. Leases are keys of a KV
//! bucket whose time the servers count. Large payloads are stored in parts before the record that names them.
//!
//! Nothing uses it yet but its tests: `weir serve` keeps its sessions in SQLite. `docs/cluster.md` says what is planned.

mod connect;
mod core;
mod driver;
mod error;
mod follow;
mod headers;
mod lease;
mod log;
mod names;
pub mod ownership;
mod parts;
mod read;
mod record;
mod request;
mod writer;

pub use connect::{JetStreamOptions, Warning};
pub use error::ClusterError;
pub use log::JetStreamLog;
