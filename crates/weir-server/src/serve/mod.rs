//! From a router to a server that listens: addresses, connections, TLS, and how it all ends.

mod address;
mod connections;
mod ready;
mod server;
mod tls;

pub use address::{PublicUrl, listening_is_remote};
pub use connections::{Listening, Stopping};
pub use ready::{ReadyFile, link, write_ready_file};
pub use server::{ServeError, ServeOptions, Server};
pub use tls::{Certificate, Loaded as LoadedCertificate, TlsError};
