//! From a router to a listening server: addresses, connections, TLS and shutdown.

mod activity;
mod address;
mod connections;
mod ready;
mod roster;
mod server;
mod tls;

pub(crate) use activity::BodyTooSlow;
pub use address::{PublicUrl, listening_is_remote};
pub use connections::{Listening, Stopping};
pub use ready::{ReadyFile, link, write_ready_file};
pub(crate) use roster::ConnectionCounts;
pub use server::{ServeError, ServeOptions, Server, token_name_problem};
pub use tls::{Certificate, Loaded as LoadedCertificate, TlsError};
