//! From a router to a server that listens: connections, TLS, and how it all ends.

mod connections;
mod ready;
mod tls;

pub use connections::{Listening, Stopping};
pub use ready::{ReadyFile, link, write_ready_file};
pub use tls::{Certificate, Loaded as LoadedCertificate, TlsError};
